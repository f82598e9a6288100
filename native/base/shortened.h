// Shortens text for a message: long text is cut, never inside a UTF-8 character, and NULs, which would end
// the message, are replaced.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace crfkit {

inline std::string shortened(std::string_view text) {
  constexpr size_t kLongest = 60;  // bytes
  size_t cut = std::min(text.size(), kLongest);
  while (cut < text.size() && cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xc0) == 0x80) --cut;
  std::string out(text.substr(0, cut));
  for (size_t nul; (nul = out.find('\0')) != std::string::npos;) out.replace(nul, 1, "\\0");
  return cut < text.size() ? out + "..." : out;
}

// Returns the text in quotes, shortened.
inline std::string quoted(std::string_view text) { return "'" + shortened(text) + "'"; }

}  // namespace crfkit
