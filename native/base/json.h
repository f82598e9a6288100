// A strict reader of JSON (RFC 8259). The whole text is validated once; values are then read where they
// stand, so nothing is allocated in proportion to what a damaged file announces. NaN and Infinity are not
// JSON.
#pragma once

#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/utf8.h"

namespace crfkit {

class JsonValidator {
 public:
  explicit JsonValidator(std::string_view text) : text_(text) {}

  // Throws Damage unless the text is one JSON value.
  void run() {
    if (!is_utf8(text_)) throw Damage("it is not UTF-8");
    std::vector<char> open;  // the brackets around the current place
    bool expects_value = true;
    while (true) {
      skip_blanks();
      if (expects_value) {
        const char c = peek();
        if (c == '[' || c == '{') {
          if (open.size() >= kDeepest) fail("it is nested too deep");
          ++at_;
          open.push_back(c);
          skip_blanks();
          if (peek() == (c == '[' ? ']' : '}')) {
            ++at_;
            open.pop_back();
            expects_value = false;
          } else if (c == '{') {
            key();
          }
          continue;
        }
        scalar();
        expects_value = false;
        continue;
      }
      if (open.empty()) break;
      const char c = peek();
      if (c == ',') {
        ++at_;
        skip_blanks();
        if (open.back() == '{') key();
        expects_value = true;
      } else if (c == (open.back() == '[' ? ']' : '}')) {
        ++at_;
        open.pop_back();
      } else {
        fail("expected ',' or the end of a list or an object");
      }
    }
    if (at_ != text_.size()) fail("text follows its value");
  }

 private:
  static constexpr size_t kDeepest = 900;  // about what Python's reader accepts
  static constexpr size_t kMostDigits = 20;

  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool digit() const { return peek() >= '0' && peek() <= '9'; }

  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\n\r").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  [[noreturn]] void fail(const std::string& reason) const {
    throw Damage(reason + " (byte " + std::to_string(at_) + ")");
  }

  void key() {
    if (peek() != '"') fail("expected a name in quotes");
    string();
    skip_blanks();
    if (peek() != ':') fail("expected ':' after a name");
    ++at_;
  }

  void scalar() {
    if (peek() == '"') return string();
    if (peek() == '-' || digit()) return number();
    for (const std::string_view word : {"null", "true", "false"}) {
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return;
      }
    }
    fail("expected a value");
  }

  void string() {
    for (++at_; peek() != '"'; ++at_) {
      if (at_ >= text_.size()) fail("a text is cut off");
      if (static_cast<unsigned char>(peek()) < 0x20) fail("a text has a control character");
      if (peek() != '\\') continue;
      ++at_;
      if (peek() == 'u') {
        for (int i = 0; i < 4; ++i) {
          ++at_;
          if (std::string_view("0123456789abcdefABCDEF").find(peek()) == std::string_view::npos ||
              peek() == '\0') {
            fail("expected four hexadecimal digits after \\u");
          }
        }
      } else if (std::string_view("\"\\/bfnrt").find(peek()) == std::string_view::npos || peek() == '\0') {
        fail("an unknown escape");
      }
    }
    ++at_;
  }

  void digits() {
    if (!digit()) fail("expected a digit");
    while (digit()) ++at_;
  }

  void number() {
    const size_t start = at_;
    if (peek() == '-') ++at_;
    if (peek() == '0') {
      ++at_;
    } else {
      digits();
    }
    bool whole = true;
    if (peek() == '.') {
      whole = false;
      ++at_;
      digits();
    }
    if (peek() == 'e' || peek() == 'E') {
      whole = false;
      ++at_;
      if (peek() == '+' || peek() == '-') ++at_;
      digits();
    }
    if (whole && at_ - start > kMostDigits) {
      fail("an integer of " + std::to_string(at_ - start) + " digits");
    }
  }

  std::string_view text_;
  size_t at_ = 0;
};

// A value within validated text.
class Json {
 public:
  // Validates the text.
  static Json parse(std::string_view text) {
    JsonValidator(text).run();
    return Json(text.substr(blanks(text, 0)));
  }

  bool is_object() const { return text_[0] == '{'; }
  bool is_array() const { return text_[0] == '['; }
  bool is_string() const { return text_[0] == '"'; }
  bool is_null() const { return text_[0] == 'n'; }
  bool is_bool() const { return text_[0] == 't' || text_[0] == 'f'; }
  bool truth() const { return text_[0] == 't'; }

  // Returns an integer that fits into 64 bits.
  std::optional<int64_t> integer() const {
    const size_t end = std::min(text_.find_first_not_of("-0123456789"), text_.size());
    int64_t value = 0;
    const auto [stop, problem] = std::from_chars(text_.data(), text_.data() + end, value);
    const bool fraction =
        end < text_.size() && std::string_view(".eE").find(text_[end]) != std::string_view::npos;
    if (problem != std::errc() || stop != text_.data() + end || end == 0 || fraction) return std::nullopt;
    return value;
  }

  // Returns a number that has a fraction or an exponent, as Python writes floats.
  std::optional<double> real() const {
    const size_t end = std::min(text_.find_first_not_of("-+.eE0123456789"), text_.size());
    if (text_.substr(0, end).find_first_of(".eE") == std::string_view::npos) return std::nullopt;
    double value = 0;
    const bool sound = std::from_chars(text_.data(), text_.data() + end, value).ec == std::errc();
    return sound ? std::optional(value) : std::nullopt;
  }

  // Returns the text of a string. Throws Damage if an escape makes half a surrogate pair.
  std::string string() const {
    std::string out;
    for (size_t i = 1; text_[i] != '"'; ++i) {
      if (text_[i] != '\\') {
        out += text_[i];
        continue;
      }
      const char c = text_[++i];
      if (c != 'u') {
        constexpr std::string_view kLetters = "bfnrt", kMeant = "\b\f\n\r\t";
        const size_t which = kLetters.find(c);
        out += which == std::string_view::npos ? c : kMeant[which];
        continue;
      }
      uint32_t point = unit(i + 1);
      i += 4;
      if (point >= 0xd800 && point < 0xdc00 && text_.substr(i + 1, 2) == "\\u") {
        const uint32_t low = unit(i + 3);
        if (low >= 0xdc00 && low < 0xe000) {
          point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
          i += 6;
        }
      }
      if (point >= 0xd800 && point < 0xe000) throw Damage("a text in its header is not UTF-8");
      append_utf8(point, &out);
    }
    return out;
  }

  // Calls visit(value) for the values of an array.
  template <class Visit>
  void for_each(Visit&& visit) const {
    walk([&](std::string_view, Json value) { visit(value); });
  }

  // Calls visit(name, value) for the members of an object; names are as written, escapes included.
  template <class Visit>
  void for_each_member(Visit&& visit) const {
    walk(visit);
  }

  // Returns a member of an object; of several with the same name, the last. The name must be plain ASCII.
  std::optional<Json> member(std::string_view name) const {
    std::optional<Json> found;
    for_each_member([&](std::string_view key, Json value) {
      if (key == name ||
          (key.find('\\') != std::string_view::npos && Json(quoted_from(key)).string() == name))
        found = value;
    });
    return found;
  }

 private:
  explicit Json(std::string_view from) : text_(from) {}

  // A key lies between its quotes in the text.
  static std::string_view quoted_from(std::string_view key) { return {key.data() - 1, key.size() + 2}; }

  static size_t blanks(std::string_view text, size_t at) {
    return std::min(text.find_first_not_of(" \t\n\r", at), text.size());
  }

  static size_t after_string(std::string_view text, size_t at) {
    for (++at; text[at] != '"'; ++at) at += text[at] == '\\';
    return at + 1;
  }

  // Returns where the value that begins here ends.
  static size_t after_value(std::string_view text, size_t at) {
    if (text[at] == '"') return after_string(text, at);
    size_t depth = 0;
    if (text[at] != '[' && text[at] != '{') {
      return std::min(text.find_first_of(",]} \t\n\r", at), text.size());
    }
    do {
      const char c = text[at];
      if (c == '"') {
        at = after_string(text, at);
        continue;
      }
      depth += c == '[' || c == '{';
      depth -= c == ']' || c == '}';
      ++at;
    } while (depth > 0);
    return at;
  }

  template <class Visit>
  void walk(Visit&& visit) const {
    const bool object = is_object();
    size_t at = blanks(text_, 1);
    while (text_[at] != ']' && text_[at] != '}') {
      std::string_view key;
      if (object) {
        const size_t end = after_string(text_, at);
        key = text_.substr(at + 1, end - at - 2);
        at = blanks(text_, blanks(text_, end) + 1);
      }
      visit(key, Json(text_.substr(at)));
      at = blanks(text_, after_value(text_, at));
      if (text_[at] == ',') at = blanks(text_, at + 1);
    }
  }

  uint32_t unit(size_t at) const {
    uint32_t value = 0;
    std::from_chars(text_.data() + at, text_.data() + at + 4, value, 16);
    return value;
  }

  static void append_utf8(uint32_t c, std::string* out) {
    const auto byte = [out](uint32_t bits) { out->push_back(static_cast<char>(bits)); };
    const auto tail = [byte](uint32_t bits) { byte(0x80 | (bits & 0x3f)); };
    if (c < 0x80) {
      byte(c);
    } else if (c < 0x800) {
      byte(0xc0 | c >> 6), tail(c);
    } else if (c < 0x10000) {
      byte(0xe0 | c >> 12), tail(c >> 6), tail(c);
    } else {
      byte(0xf0 | c >> 18), tail(c >> 12), tail(c >> 6), tail(c);
    }
  }

  std::string_view text_;  // from the first character of the value on
};

}  // namespace crfkit
