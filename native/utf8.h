// Is a run of bytes UTF-8? By the table of well-formed byte sequences in the Unicode standard (table 3-7): no
// overlong forms, no surrogates, nothing above U+10FFFF. What Python's strict decoder accepts, and no more.
#pragma once

#include <cstdint>
#include <cstring>
#include <string_view>

namespace crfkit {

inline bool is_utf8(std::string_view text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const unsigned char* const end = p + text.size();
  while (p != end) {
    if (end - p >= 8) {  // most text is ASCII
      uint64_t word;
      std::memcpy(&word, p, 8);
      if ((word & 0x8080808080808080u) == 0) {
        p += 8;
        continue;
      }
    }
    const unsigned char lead = *p++;
    if (lead < 0x80) continue;
    if (lead < 0xc2 || lead > 0xf4) return false;
    const int n_more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    if (end - p < n_more) return false;
    // The second byte has a narrower range after four of the leads.
    const unsigned char lowest = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
    const unsigned char highest = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
    if (*p < lowest || *p > highest) return false;
    for (int i = 1; i < n_more; ++i) {
      if ((p[i] & 0xc0) != 0x80) return false;
    }
    p += n_more;
  }
  return true;
}

}  // namespace crfkit
