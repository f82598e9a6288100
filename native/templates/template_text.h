// Templates of CRF++ and Wapiti, compiled into feature programs: the bytes that features/template.py makes of
// the same text. The languages are described in features/template_crfpp.py and template_wapiti.py.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/shortened.h"

namespace crfkit {

// Writes a program in the layout of docs/model-file.md.
class ProgramWriter {
 public:
  static std::string number(uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
    return out + static_cast<char>(value);
  }
  static std::string signed_number(int64_t value) {
    return number(value >= 0 ? static_cast<uint64_t>(value) << 1 : (static_cast<uint64_t>(-value) << 1) - 1);
  }
  static std::string text(std::string_view value) { return number(value.size()) += value; }

  size_t input(const std::string& code) { return add(code, &inputs_, &input_codes_); }
  size_t node(const std::string& code) { return add(code, &nodes_, &node_codes_); }
  void line(std::string code) { lines_.push_back(std::move(code)); }

  // The program of a template, whose steps are applied to the texts outside the sequence too.
  std::string finish(const std::vector<std::string>& before, const std::vector<std::string>& after) const {
    std::string out = "\1";
    out += many(input_codes_);
    out += '\1';
    for (const auto* borders : {&before, &after}) {
      out += number(borders->size());
      for (const std::string& border : *borders) out += text(border);
    }
    return out + number(0) + many(node_codes_) + many(lines_);
  }

 private:
  static size_t add(const std::string& code, std::map<std::string, size_t>* known,
                    std::vector<std::string>* codes) {
    const auto [at, is_new] = known->emplace(code, codes->size());
    if (is_new) codes->push_back(code);
    return at->second;
  }
  static std::string many(const std::vector<std::string>& things) {
    std::string out = number(things.size());
    for (const std::string& thing : things) out += thing;
    return out;
  }

  std::map<std::string, size_t> inputs_, nodes_;
  std::vector<std::string> input_codes_, node_codes_, lines_;
};

class TemplateCompiler {
 public:
  explicit TemplateCompiler(bool wapiti) : wapiti_(wapiti) {}

  // Throws Damage, with the line, if the text is no template.
  std::string compile(std::string_view text) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    size_t n_lines = 0;
    for (number_ = 1; !text.empty() || number_ == 1; ++number_) {
      const size_t end = std::min(text.find('\n'), text.size());
      n_lines += read_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (n_lines == 0) throw Damage("its template has no lines");
    if (n_lines > kMostLines) throw Damage("its template has more than 5000 lines");
    std::vector<std::string> before, after;
    const size_t furthest = wapiti_ ? 4 : kFurthestRow;
    for (const bool is_before : {true, false}) {
      std::vector<std::string>& borders = is_before ? before : after;
      const std::string stem = std::string(wapiti_ ? "_x" : "_B") + (is_before ? '-' : '+');
      for (size_t n = 1; n <= furthest; ++n) borders.push_back(stem + std::to_string(n));
      if (wapiti_) borders.push_back(stem + '#');
    }
    return code_.finish(before, after);
  }

 private:
  static constexpr size_t kMostLines = 5000;
  static constexpr int64_t kFurthestRow = 8, kLargest = INT32_MAX;
  static constexpr std::string_view kSpace = " \t\v\f\r", kDigits = "0123456789";

  struct Part {
    std::string code;   // as the program has it
    std::string after;  // the literal behind it
  };

  [[noreturn]] void fail(const std::string& problem) const {
    throw Damage("line " + std::to_string(number_) + " of its template: " + problem + ": " + quoted(raw_));
  }

  bool read_line(std::string_view line) {
    raw_ = line;
    if (wapiti_) line = line.substr(0, std::min(line.find('#'), line.size()));
    const std::string_view blanks = wapiti_ ? kSpace : "\r";
    line = line.substr(0, line.find_last_not_of(blanks) + 1);
    if (line.empty()) return false;
    if (!wapiti_ && (line[0] == '#' || line.find_first_not_of(" \t") == std::string_view::npos)) return false;
    std::string text(line);
    if (wapiti_ && text[0] >= 'A' && text[0] <= 'Z') text[0] = static_cast<char>(text[0] - 'A' + 'a');
    if (std::string_view(wapiti_ ? "ub*" : "UB").find(text[0]) == std::string_view::npos) {
      fail(wapiti_ ? "a Wapiti template line begins with u, b, * or #"
                   : "a CRF++ template line begins with U, B or #");
    }
    const bool edge = text[0] == 'b' || text[0] == 'B';
    std::string first;
    std::vector<Part> parts;
    rest_ = text;
    while (!rest_.empty()) {
      std::string& literal = parts.empty() ? first : parts.back().after;
      const size_t macro = std::min(rest_.find('%'), rest_.size());
      literal += rest_.substr(0, macro);
      rest_.remove_prefix(macro);
      if (!rest_.empty()) parts.push_back({wapiti_ ? wapiti_macro() : crfpp_macro(), ""});
    }
    if (edge && parts.empty() && !has_plain_) {
      has_plain_ = true;  // stands for the transitions between labels; makes no attribute
      return true;
    }
    std::string code;
    code += !wapiti_ && edge ? '\1' : '\0';  // not at the first position
    code += '\0';                            // texts are not escaped
    code += '\0';                            // no vector
    code += ProgramWriter::text(first) + ProgramWriter::number(parts.size());
    for (const Part& part : parts) code += part.code + ProgramWriter::text(part.after);
    code_.line(code + ProgramWriter::number(0));
    return true;
  }

  // ---- macros; rest_ begins with %

  bool take(char c) {
    if (rest_.empty() || rest_[0] != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  std::string_view take_all(std::string_view characters) {
    const std::string_view found = rest_.substr(0, rest_.find_first_not_of(characters));
    rest_.remove_prefix(found.size());
    return found;
  }
  // More than a row or column can be if there are too many digits.
  static int64_t value_of(std::string_view digits, int base) {
    int64_t value = 0;
    for (const char c : digits) {
      const int digit = c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10;
      value = std::min(value * base + digit, kLargest + 1);
    }
    return value;
  }

  std::string part_code(char anchor, int64_t row, const std::string& node) {
    std::string code(1, anchor);
    return code + ProgramWriter::signed_number(row) + ProgramWriter::number(code_.node(node)) + '\1';
  }
  // The node of a cell, by its bytes.
  std::string cell(int64_t column) {
    std::string input("\0\0\0\0", 4);  // text, not optional, not computed, by place
    input += ProgramWriter::signed_number(column) + ProgramWriter::text("column " + std::to_string(column));
    return std::string(1, '\0') + ProgramWriter::number(code_.input(input));
  }

  std::string crfpp_macro() {
    const std::string_view whole = rest_;
    const auto wrong = [&] {
      fail("expected %x[row,column], like %x[-1,0], got " + quoted(whole.substr(0, 20)));
    };
    if (!rest_.starts_with("%x[")) wrong();
    rest_.remove_prefix(3);
    const bool negative = take('-');
    const std::string_view row_digits = take_all(kDigits);
    if (row_digits.empty() || !take(',')) wrong();
    const std::string_view column_digits = take_all(kDigits);
    if (column_digits.empty() || !take(']')) wrong();
    const int64_t row = value_of(row_digits, 10), column = value_of(column_digits, 10);
    if (column > kLargest) fail("the column is too large");
    if (row > kFurthestRow) fail("rows are -8 to 8");
    return part_code('\0', negative ? -row : row, cell(column));
  }

  std::string wapiti_macro() {
    const std::string_view whole = rest_;
    const auto wrong = [&] {
      fail("expected %x[row,column], %t[row,column,\"pattern\"] or %m[row,column,\"pattern\"], got " +
           quoted(whole.substr(0, 30)));
    };
    const char letter = rest_.size() > 1 ? rest_[1] : '\0';
    if (letter == '\0' || std::string_view("xtmXTM").find(letter) == std::string_view::npos) wrong();
    rest_.remove_prefix(2);
    if (!take('[')) wrong();
    const bool anchored = take('@');
    take_all(kSpace);
    const bool negative = take('-');
    if (!negative) take('+');
    int64_t row = 0;
    if (rest_.starts_with("0x") || rest_.starts_with("0X")) {
      rest_.remove_prefix(2);
      const std::string_view digits = take_all("0123456789abcdefABCDEF");
      if (digits.empty()) wrong();
      row = value_of(digits, 16);
    } else if (rest_.starts_with('0')) {
      row = value_of(take_all("01234567"), 8);
    } else {
      const std::string_view digits = take_all(kDigits);
      if (digits.empty()) wrong();
      row = value_of(digits, 10);
    }
    if (!take(',')) wrong();
    take_all(kSpace);
    take('+');
    const std::string_view column_digits = take_all(kDigits);
    if (column_digits.empty()) wrong();
    const int64_t column = value_of(column_digits, 10);
    std::string pattern;
    bool has_pattern = false;
    if (take(',')) {
      if (!take('"')) wrong();
      has_pattern = true;
      while (!rest_.empty() && rest_[0] != '"') {
        const size_t n = rest_[0] == '\\' ? 2 : 1;
        if (rest_.size() < n) wrong();
        pattern += rest_.substr(0, n);
        rest_.remove_prefix(n);
      }
      if (!take('"')) wrong();
    }
    if (!take(']') || has_pattern == (letter == 'x' || letter == 'X')) wrong();
    if (row > kLargest || column > kLargest) fail("the row or the column is too large");
    if (has_pattern) check_pattern(pattern);
    if (negative) row = -row;
    const char anchor = !anchored ? '\0' : row < 0 ? '\2' : '\1';
    if (anchor == '\1') --row;  // @1 is the first row
    std::string node = cell(column);
    const bool fold = letter < 'a';
    if (has_pattern || fold) {
      const std::string of = ProgramWriter::number(code_.node(node));
      node = '\1' + of;
      if (has_pattern) {
        node += letter == 't' || letter == 'T' ? '\x10' : '\x11';  // the steps match and find
        node += fold ? '\1' : '\0';
        node += ProgramWriter::text(pattern);
      } else {
        node += '\x12';  // the step ascii_lower
      }
    }
    return part_code(anchor, row, node);
  }

  void check_pattern(std::string_view pattern) const {
    for (size_t i = pattern.starts_with('^') ? 1 : 0; i < pattern.size();) {
      if (pattern[i] == '*' || pattern[i] == '?') {
        fail(std::string(1, pattern[i]) + " follows nothing in " + quoted(pattern));
      }
      i += pattern[i] == '\\' ? 2 : 1;
      if (i < pattern.size() && (pattern[i] == '*' || pattern[i] == '?')) ++i;
    }
  }

  const bool wapiti_;
  ProgramWriter code_;
  bool has_plain_ = false;
  size_t number_ = 0;      // of the current line, from 1
  std::string_view raw_;   // the current line
  std::string_view rest_;  // of it
};

}  // namespace crfkit
