// Numbers as text, the same in every locale: a point, never a comma. Reading accepts a plus sign and blanks
// around the number; writing gives the shortest text that reads back as the same double.
#pragma once

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string>
#include <string_view>

#include "base/read_double.h"

namespace crfkit {

enum class NumberText { number, not_finite, malformed };

// Tells whether a number that does not fit into a double is too large (else it is too small). Decided by its
// decimal exponent, counted from the first digit that is not 0.
inline bool is_huge(std::string_view text) {
  long long exponent = 0;
  if (const size_t e = text.find_first_of("eE"); e != std::string_view::npos) {
    const char* digits = text.data() + e + 1;
    if (*digits == '+') ++digits;
    // An exponent too long for a long long outweighs all the digits that memory could hold.
    const bool negative = *digits == '-';
    if (std::from_chars(digits, text.data() + text.size(), exponent).ec != std::errc()) return !negative;
    exponent = std::clamp(exponent, -(1LL << 60), 1LL << 60);  // the sum below must not overflow
    text = text.substr(0, e);
  }
  const size_t point = std::min(text.find('.'), text.size());
  const size_t first = text.find_first_of("123456789");
  if (first == std::string_view::npos) return false;
  const auto leading = static_cast<long long>(point) - static_cast<long long>(first);
  return exponent + leading > 0;
}

// Parses a decimal number with blanks or a CR around it. If it is too small it is 0, if too large not finite.
inline NumberText parse_number(std::string_view text, double* value) {
  constexpr std::string_view kBlanks = " \r";
  const size_t begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return NumberText::malformed;
  text = text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
  if (text.size() > 1 && text[0] == '+' && text[1] != '-') text.remove_prefix(1);
  const auto [end, problem] = read_double(text.data(), text.data() + text.size(), *value);
  if (end != text.data() + text.size() || problem == std::errc::invalid_argument) {
    return NumberText::malformed;
  }
  if (problem == std::errc::result_out_of_range) {
    *value = 0.0;
    return is_huge(text) ? NumberText::not_finite : NumberText::number;
  }
  return std::isfinite(*value) ? NumberText::number : NumberText::not_finite;
}

inline void append_number(double value, std::string* out) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, value).ptr;
  out->append(digits, end);
}

}  // namespace crfkit
