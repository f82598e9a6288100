// std::from_chars for doubles, also where the C++ library does not have it (libc++, which macOS uses).
#pragma once

#include <charconv>
#include <system_error>

#if defined(_LIBCPP_VERSION) || defined(CRFKIT_NO_FROM_CHARS)
#include <locale.h>
#include <stdlib.h>
#ifdef __APPLE__
#include <xlocale.h>
#endif

#include <cerrno>
#include <cmath>
#include <string>
#endif

namespace crfkit {

#if defined(_LIBCPP_VERSION) || defined(CRFKIT_NO_FROM_CHARS)

// By strtod in the locale "C". It reads more than from_chars does: blanks, a plus sign and 0x in front.
inline std::from_chars_result read_double(const char* first, const char* last, double& value,
                                          std::chars_format format = std::chars_format::general) {
  static const locale_t kPlain = newlocale(LC_ALL_MASK, "C", nullptr);
  const bool hexadecimal = format == std::chars_format::hex;
  const bool negative = first != last && *first == '-';
  const char* begin = first + (negative ? 1 : 0);
  const bool letter = begin != last && (*begin == 'i' || *begin == 'I' || *begin == 'n' || *begin == 'N');
  auto digit = [&](const char* c) {
    if (c == last) return false;
    const char lower = static_cast<char>(*c | 0x20);
    return (*c >= '0' && *c <= '9') || (hexadecimal && lower >= 'a' && lower <= 'f');
  };
  const bool point = begin != last && *begin == '.' && digit(begin + 1);
  if (!letter && !point && !digit(begin)) return {first, std::errc::invalid_argument};
  std::string text(begin, last);
  if (!hexadecimal && text.size() > 1 && text[0] == '0' && (text[1] | 0x20) == 'x') text.resize(1);
  if (hexadecimal && !letter) text.insert(0, "0x");
  char* stop = nullptr;
  errno = 0;
  const double found = strtod_l(text.c_str(), &stop, kPlain);
  if (stop == text.c_str()) return {first, std::errc::invalid_argument};
  const char* end = begin + (stop - text.c_str()) - (hexadecimal && !letter ? 2 : 0);
  if (errno == ERANGE && (found == 0 || std::isinf(found))) return {end, std::errc::result_out_of_range};
  value = negative ? -found : found;
  return {end, std::errc()};
}

#else

inline std::from_chars_result read_double(const char* first, const char* last, double& value,
                                          std::chars_format format = std::chars_format::general) {
  return std::from_chars(first, last, value, format);
}

#endif

}  // namespace crfkit
