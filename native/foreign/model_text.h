// The long parts of text models: Wapiti's netstrings and weights, CRF++'s numbered features. White space is
// skipped where the tools themselves skip it (scanf), so CRLF files can be read too.
#pragma once

#include <charconv>
#include <cmath>
#include <cstring>

#include "base/number_text.h"
#include "base/shortened.h"
#include "foreign/foreign_model.h"

namespace crfkit {

class TextReader {
 public:
  TextReader(const uint8_t* text, size_t size, size_t at)
      : text_(reinterpret_cast<const char*>(text)), size_(size), at_(std::min(at, size)) {}

  size_t at() const { return at_; }
  size_t left() const { return size_ - at_; }
  bool done() const { return at_ == size_; }
  char peek() const { return text_[at_]; }

  void skip_blanks() {
    while (!done() && is_space(peek())) ++at_;
  }

  // Reads digits as a number that fits into 63 bits.
  int64_t number() {
    const size_t start = at_;
    uint64_t value = 0;
    for (; !done() && peek() >= '0' && peek() <= '9'; ++at_) {
      value = value * 10 + static_cast<uint64_t>(peek() - '0');
      if (at_ - start >= 18) fail("a number has more than 18 digits");
    }
    if (at_ == start) fail("expected a number");
    return static_cast<int64_t>(value);
  }

  void expect(char c) {
    if (done() || peek() != c) fail(std::string("expected '") + c + "'");
    ++at_;
  }

  std::string_view take(size_t n) {
    if (n > left()) fail("a string of " + std::to_string(n) + " bytes is cut off");
    at_ += n;
    return {text_ + at_ - n, n};
  }

  // Reads up to the next white space.
  std::string_view word() {
    const size_t start = at_;
    while (!done() && !is_space(peek())) ++at_;
    return {text_ + start, at_ - start};
  }

  // Whether the line has an end.
  bool has_line() const { return std::memchr(text_ + at_, '\n', size_ - at_) != nullptr; }

  // Reads the rest of the line and skips its end; a CR before the end is not part of the line.
  std::string_view line() {
    const size_t start = at_;
    while (!done() && peek() != '\n') ++at_;
    size_t end = at_;
    if (!done()) ++at_;
    if (end > start && text_[end - 1] == '\r') --end;
    return {text_ + start, end - start};
  }

  [[noreturn]] void fail(const std::string& reason) const {
    const auto lines = std::count(text_, text_ + at_, '\n');
    throw Damage("line " + std::to_string(lines + 1) + ": " + reason);
  }

 private:
  static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

  const char* text_;  // [size]
  size_t size_;
  size_t at_;
};

// Reads n consecutive strings "length:bytes,".
inline Names read_netstrings(TextReader* text, uint64_t n) {
  if (n > text->left() / 3)
    text->fail(std::to_string(n) + " strings are announced, but the file ends before");
  Names names;
  for (uint64_t i = 0; i < n; ++i) {
    text->skip_blanks();
    const auto length = static_cast<uint64_t>(text->number());
    text->expect(':');
    names.add(text->take(length));
    text->expect(',');
  }
  return names;
}

// Parses C99's hexadecimal notation as printf's %a writes it, [-]0x1.8p+3: at most 16 digits, an exponent.
// Exact; returns false for any other word.
inline bool parse_hex_float(std::string_view word, double* value) {
  size_t i = 0;
  const auto at = [&word](size_t k) { return k < word.size() ? word[k] : '\0'; };
  const bool negative = at(0) == '-';
  if (negative) ++i;
  if (at(i) != '0' || at(i + 1) != 'x') return false;
  i += 2;
  uint64_t mantissa = 0;
  int digits = 0, exponent = 0, power = 0;
  bool fraction = false;
  for (;; ++i) {
    const char c = at(i);
    if (c == '.' && !fraction) {
      fraction = true;
      continue;
    }
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    if (++digits > 16) return false;
    if (fraction) exponent -= 4;
    mantissa = mantissa << 4 | static_cast<uint64_t>(digit);
  }
  if (digits == 0 || at(i) != 'p') return false;
  ++i;
  const bool down = at(i) == '-';
  if (down || at(i) == '+') ++i;
  if (i == word.size()) return false;
  for (; at(i) >= '0' && at(i) <= '9'; ++i) power = std::min(power * 10 + (at(i) - '0'), 100000);
  if (i != word.size()) return false;
  exponent += down ? -power : power;
  const double magnitude = std::ldexp(static_cast<double>(mantissa), exponent);
  *value = negative ? -magnitude : magnitude;
  return true;
}

// Parses a weight as C reads it: hexadecimal or decimal, with an optional sign, infinity or NaN.
inline double parse_weight(std::string_view word) {
  double value = 0;
  if (parse_hex_float(word, &value)) return value;
  std::string_view digits = word;
  const bool negative = digits.starts_with('-');
  if (negative || digits.starts_with('+')) digits.remove_prefix(1);
  const bool hexadecimal = digits.starts_with("0x") || digits.starts_with("0X");
  if (hexadecimal) digits.remove_prefix(2);
  const auto format = hexadecimal ? std::chars_format::hex : std::chars_format::general;
  const auto [end, problem] = read_double(digits.data(), digits.data() + digits.size(), value, format);
  const bool whole = end == digits.data() + digits.size() && problem != std::errc::invalid_argument;
  if (!whole || digits.starts_with('-')) throw Damage("expected a weight, got " + quoted(word));
  if (problem == std::errc::result_out_of_range) {
    if (hexadecimal) throw Damage("expected a weight within the range of a double, got " + quoted(word));
    value = is_huge(digits) ? HUGE_VAL : 0.0;
  }
  return negative ? -value : value;
}

// Reads n lines "place=weight".
inline std::vector<KeyedWeight> read_weights(TextReader* text, uint64_t n) {
  if (n > text->left() / 3)
    text->fail(std::to_string(n) + " weights are announced, but the file ends before");
  std::vector<KeyedWeight> weights;
  weights.reserve(n);
  for (uint64_t i = 0; i < n; ++i) {
    text->skip_blanks();
    const int64_t place = text->number();
    text->expect('=');
    weights.push_back({place, parse_weight(text->word())});
  }
  return weights;
}

// Reads lines "number name" up to and including an empty line.
inline Names read_numbered(TextReader* text, std::vector<int64_t>* numbers) {
  Names names;
  while (true) {
    if (text->done()) text->fail("the file ends within the list of features");
    if (text->peek() == '\n' || text->peek() == '\r') {
      text->line();
      return names;
    }
    numbers->push_back(text->number());
    if (text->done() || (text->peek() != ' ' && text->peek() != '\t')) text->expect(' ');
    text->take(1);
    names.add(text->line());
  }
}

}  // namespace crfkit
