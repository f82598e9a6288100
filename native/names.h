// Many strings end to end, as model files of other tools are read into and written from.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace crfkit {

// What is wrong with a file; the reader adds which one.
struct Damage : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Names {
  std::vector<uint8_t> arena;       // [bytes]
  std::vector<int64_t> offsets{0};  // [n + 1], string i is arena[offsets[i] .. offsets[i + 1])

  size_t size() const { return offsets.size() - 1; }
  void add(std::string_view name) {
    arena.insert(arena.end(), name.begin(), name.end());
    offsets.push_back(static_cast<int64_t>(arena.size()));
  }
};

// As Python decodes it: no overlong forms, no surrogates, nothing above U+10FFFF.
inline bool is_utf8(std::string_view s) {
  const auto byte = [s](size_t i) { return static_cast<unsigned char>(s[i]); };
  for (size_t i = 0; i < s.size();) {
    const unsigned char lead = byte(i);
    if (lead < 0x80) {
      ++i;
      continue;
    }
    const size_t more = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : 1;
    if (lead < 0xc2 || lead > 0xf4 || s.size() - i <= more) return false;
    for (size_t k = 1; k <= more; ++k) {
      if ((byte(i + k) & 0xc0) != 0x80) return false;
    }
    const unsigned char second = byte(i + 1);
    if ((lead == 0xe0 && second < 0xa0) || (lead == 0xed && second > 0x9f) ||
        (lead == 0xf0 && second < 0x90) || (lead == 0xf4 && second > 0x8f)) {
      return false;
    }
    i += more + 1;
  }
  return true;
}

}  // namespace crfkit
