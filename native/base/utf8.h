// Well-formed UTF-8, by the table of byte sequences in the Unicode standard (table 3-7): no overlong forms,
// no surrogates, nothing above U+10FFFF. Accepts exactly what Python's strict decoder accepts.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace crfkit {

// Returns the length of the first character of a non-empty text in bytes; 0 if it begins with none.
inline size_t utf8_character(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char lead = p[0];
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text.size() < size) return 0;
  // After four of the lead bytes the second byte has a narrower range.
  const unsigned char lowest = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned char highest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (p[1] < lowest || p[1] > highest) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((p[i] & 0xc0) != 0x80) return 0;
  }
  return size;
}

inline bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    if (text.size() >= 8) {  // most text is ASCII
      uint64_t word;
      std::memcpy(&word, text.data(), 8);
      if ((word & 0x8080808080808080u) == 0) {
        text.remove_prefix(8);
        continue;
      }
    }
    const size_t size = utf8_character(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

// Replaces bytes that belong to no character by \xhh, like Python's errors="backslashreplace".
inline std::string escape_ill_formed(std::string_view text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  while (!text.empty()) {
    const size_t size = utf8_character(text);
    if (size == 0) {
      const auto byte = static_cast<unsigned char>(text.front());
      out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    } else {
      out += text.substr(0, size);
    }
    text.remove_prefix(size == 0 ? 1 : size);
  }
  return out;
}

}  // namespace crfkit
