// Text as a number, as Python's float() reads it: decimal digits and blanks of any script, underscores
// between digits, "inf" and "nan".
#pragma once

#include <limits>
#include <string>
#include <string_view>

#include "base/number_text.h"
#include "unicode/unicode.h"

namespace crfkit {

enum class CellNumber { kNumber, kMissing, kInfinite, kMalformed };

// Blank text and NaN are missing.
inline CellNumber read_cell_number(std::string_view cell, double* value) {
  std::string text;
  bool blank = true;
  while (!cell.empty()) {
    const uint32_t character = unicode::take(&cell);
    const bool space = unicode::is_any(character, unicode::kSpace);
    blank &= space;
    const int digit = character < 0x80 ? -1 : unicode::decimal_value(character);
    text += character < 0x80 ? static_cast<char>(character)
            : space          ? ' '
            : digit >= 0     ? static_cast<char>('0' + digit)
                             : '?';
  }
  if (blank) return CellNumber::kMissing;
  constexpr std::string_view kBlanks = " \t\n\v\f\r";
  text.erase(0, std::min(text.find_first_not_of(kBlanks), text.size()));
  text.erase(text.find_last_not_of(kBlanks) + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t i = text.find('_'); i != std::string::npos; i = text.find('_', i)) {
    if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return CellNumber::kMalformed;
    }
    text.erase(i, 1);
  }
  std::string word;
  for (const char c : text) word += c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (!word.empty() && (word[0] == '+' || word[0] == '-')) word.erase(0, 1);
  if (word == "nan") return CellNumber::kMissing;
  if (word == "inf" || word == "infinity") return CellNumber::kInfinite;
  if (text.find_first_not_of("0123456789.eE+-") != std::string::npos) return CellNumber::kMalformed;
  switch (parse_number(text, value)) {
    case NumberText::number:
      return CellNumber::kNumber;
    case NumberText::not_finite:
      return CellNumber::kInfinite;
    case NumberText::malformed:
      break;
  }
  return CellNumber::kMalformed;
}

}  // namespace crfkit
