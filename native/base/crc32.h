// CRC-32 (the polynomial of zlib, gzip and PNG), eight bytes per step by eight tables.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace crfkit {

inline uint32_t crc32(std::string_view bytes) {
  using Tables = std::array<std::array<uint32_t, 256>, 8>;
  static constexpr Tables kTables = [] {
    Tables tables{};
    for (uint32_t b = 0; b < 256; ++b) {
      uint32_t c = b;
      for (int bit = 0; bit < 8; ++bit) c = (c >> 1) ^ (c & 1 ? 0xedb88320u : 0u);
      tables[0][b] = c;
    }
    for (size_t k = 1; k < 8; ++k) {
      for (size_t b = 0; b < 256; ++b) {
        tables[k][b] = tables[0][tables[k - 1][b] & 0xff] ^ (tables[k - 1][b] >> 8);
      }
    }
    return tables;
  }();
  const auto* p = reinterpret_cast<const unsigned char*>(bytes.data());
  const auto word = [](const unsigned char* q) {
    return uint32_t{q[0]} | uint32_t{q[1]} << 8 | uint32_t{q[2]} << 16 | uint32_t{q[3]} << 24;
  };
  size_t n = bytes.size();
  uint32_t c = ~0u;
  for (; n >= 8; n -= 8, p += 8) {
    const uint32_t low = c ^ word(p), high = word(p + 4);
    c = kTables[7][low & 0xff] ^ kTables[6][low >> 8 & 0xff] ^ kTables[5][low >> 16 & 0xff] ^
        kTables[4][low >> 24] ^ kTables[3][high & 0xff] ^ kTables[2][high >> 8 & 0xff] ^
        kTables[1][high >> 16 & 0xff] ^ kTables[0][high >> 24];
  }
  for (; n > 0; --n, ++p) c = kTables[0][(c ^ *p) & 0xff] ^ (c >> 8);
  return ~c;
}

}  // namespace crfkit
