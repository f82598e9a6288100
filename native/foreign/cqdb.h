// CQDB, the dictionary of strings and ids in CRFsuite's model files (two per file: labels and attributes).
//
//   header   24 bytes: "CQDB", size, flag, 0x62445371, number of strings n, offset of the backward links
//   refs     256 x (offset of a hash table or 0, its slots)
//   records  id, bytes of the key with its NUL, the key with its NUL
//   tables   the slots of all tables: (hash, offset of the record or 0)
//   links    n offsets: the record of each id
//
// Numbers are little-endian u32, offsets count from the header. A key of hash h is in table h mod 256, at
// slot (h >> 8) mod slots or, if that is taken, the next free one; a table has two slots per key. The
// hash is Bob Jenkins' hashlittle (lookup3, public domain, burtleburtle.net/bob/c/lookup3.c) of the key with
// its NUL.
#pragma once

#include <array>
#include <bit>
#include <cstring>

#include "base/names.h"
#include "ingest/vocabulary.h"

namespace crfkit {

inline constexpr uint32_t kCqdbByteOrder = 0x62445371;
inline constexpr size_t kCqdbTables = 256;
inline constexpr size_t kCqdbData = 24 + 8 * kCqdbTables;  // where the records begin

// Three words of state, twelve bytes per round; bytes missing from the last round count as zero.
inline uint32_t hashlittle(const uint8_t* key, size_t length) {
  uint32_t a = 0xdeadbeef + static_cast<uint32_t>(length), b = a, c = a;
  const auto add = [&](const uint8_t* block) {
    const auto* bytes = reinterpret_cast<const char*>(block);
    a += load_word<uint32_t>(bytes);
    b += load_word<uint32_t>(bytes + 4);
    c += load_word<uint32_t>(bytes + 8);
  };
  const auto mix = [](uint32_t& x, uint32_t& y, uint32_t& z, int shift) {
    x -= z;
    x ^= std::rotl(z, shift);
    z += y;
  };
  const auto close = [](uint32_t& x, uint32_t y, int shift) {
    x ^= y;
    x -= std::rotl(y, shift);
  };
  for (; length > 12; length -= 12, key += 12) {
    add(key);
    mix(a, b, c, 4);
    mix(b, c, a, 6);
    mix(c, a, b, 8);
    mix(a, b, c, 16);
    mix(b, c, a, 19);
    mix(c, a, b, 4);
  }
  std::array<uint8_t, 12> last{};
  std::memcpy(last.data(), key, length);
  add(last.data());
  close(c, b, 14);
  close(a, c, 11);
  close(b, a, 25);
  close(c, b, 16);
  close(a, c, 4);
  close(b, a, 14);
  close(c, b, 24);
  return c;
}

inline void store_u32(uint8_t* to, uint64_t value) {
  for (int i = 0; i < 4; ++i) to[i] = static_cast<uint8_t>(value >> (8 * i));
}

// Returns the n strings of a chunk, by id. The hash tables are not needed for that and not read.
inline Names read_cqdb(const uint8_t* chunk, size_t available, size_t n) {
  const auto u32 = [chunk](uint64_t at) {
    return uint64_t{load_word<uint32_t>(reinterpret_cast<const char*>(chunk) + at)};
  };
  if (available < kCqdbData || std::memcmp(chunk, "CQDB", 4) != 0) throw Damage("a dictionary is missing");
  const uint64_t size = u32(4), links = u32(20);
  if (size < kCqdbData || size > available) throw Damage("a dictionary is cut off");
  if (u32(12) != kCqdbByteOrder) throw Damage("a dictionary has another byte order");
  if (u32(16) != n) {
    throw Damage("expected a dictionary of " + std::to_string(n) + " strings, got one of " +
                 std::to_string(u32(16)));
  }
  if (n > 0 && (links < kCqdbData || links + uint64_t{4} * n > size)) {
    throw Damage("the links of a dictionary lie outside it");
  }
  Names names;
  names.offsets.reserve(n + 1);
  uint64_t total = 0;
  for (size_t id = 0; id < n; ++id) {
    const auto broken = [id](const char* how) {
      return Damage("string " + std::to_string(id) + " of a dictionary " + how);
    };
    const uint64_t at = u32(links + 4 * id);
    if (at < kCqdbData || at + 8 > size) throw broken("lies outside it");
    const uint64_t length = u32(at + 4);
    if (u32(at) != id || length == 0 || at + 8 + length > size) throw broken("is malformed");
    // Records must be disjoint; overlapping ones could take far more memory than the file.
    if ((total += 8 + length) > size) throw Damage("the strings of a dictionary overlap");
    const auto* key = reinterpret_cast<const char*>(chunk) + at + 8;
    if (std::memchr(key, 0, length) != key + length - 1) throw broken("must hold one NUL, at its end");
    names.add({key, length - 1});
  }
  return names;
}

// Returns the size of a chunk with n strings of so many bytes in total, without their NULs.
inline uint64_t cqdb_size(uint64_t n, uint64_t bytes) { return kCqdbData + bytes + 29 * n; }

// Writes the chunk that gives string i of arena [bytes], offsets [n + 1] the id i to out [cqdb_size]. The
// caller guarantees that the offsets ascend from 0, no string holds a NUL, and the size fits into 32 bits.
inline void write_cqdb(const uint8_t* arena, const int64_t* offsets, size_t n, uint8_t* out) {
  const uint64_t bytes = n > 0 ? static_cast<uint64_t>(offsets[n]) : 0, size = cqdb_size(n, bytes);
  std::fill(out, out + size, uint8_t{0});
  std::vector<uint32_t> hashes(n);  // [n]
  std::array<uint64_t, kCqdbTables> slots{};
  uint64_t at = kCqdbData;
  const uint64_t links = size - 4 * n;
  for (size_t id = 0; id < n; ++id) {
    const auto length = static_cast<size_t>(offsets[id + 1] - offsets[id]);
    store_u32(out + at, id);
    store_u32(out + at + 4, length + 1);
    if (length > 0) std::memcpy(out + at + 8, arena + offsets[id], length);
    hashes[id] = hashlittle(out + at + 8, length + 1);
    slots[hashes[id] % kCqdbTables] += 2;
    store_u32(out + links + 4 * id, at);
    at += 9 + length;
  }
  std::array<uint64_t, kCqdbTables> tables{};  // where each begins
  for (size_t t = 0; t < kCqdbTables; ++t) {
    tables[t] = at;
    if (slots[t] > 0) store_u32(out + 24 + 8 * t, at);
    store_u32(out + 28 + 8 * t, slots[t]);
    at += 8 * slots[t];
  }
  for (size_t id = 0; id < n; ++id) {
    const size_t table = hashes[id] % kCqdbTables;
    uint64_t slot = (hashes[id] >> 8) % slots[table];
    const auto taken = [&] {
      return load_word<uint32_t>(reinterpret_cast<char*>(out) + tables[table] + 8 * slot + 4) != 0;
    };
    while (taken()) slot = (slot + 1) % slots[table];
    store_u32(out + tables[table] + 8 * slot, hashes[id]);
    std::memcpy(out + tables[table] + 8 * slot + 4, out + links + 4 * id, 4);
  }
  std::memcpy(out, "CQDB", 4);
  store_u32(out + 4, size);
  store_u32(out + 12, kCqdbByteOrder);
  store_u32(out + 16, n);
  store_u32(out + 20, n > 0 ? links : 0);
}

}  // namespace crfkit
