// All keys of a double-array trie as CRF++'s models hold it (Darts), with their values.
//
// Units are (base i32, check u32). The root is unit 0. A node with base b has its child for byte c at unit
// b + c + 1, if the check there is b; a key ends at the node if the check of unit b is b, and its value is
// then -base - 1 of unit b. Bases are 1 or more, each of one node only; check 0 means unused.
//
// Aoe, J. (1989): An efficient digital search algorithm by using a double-array structure. IEEE TSE 15(9).
#pragma once

#include "base/names.h"
#include "ingest/vocabulary.h"

namespace crfkit {

struct DoubleArrayEntries {
  Names keys;                   // in byte order
  std::vector<int64_t> values;  // [keys]
};

// Reads units [8 * n]. Damaged files cannot make it run forever: every group of siblings is entered at most
// once. The total length of the keys is bounded too, because a few long paths with many ends could spell far
// more than the file holds.
inline DoubleArrayEntries read_double_array(const uint8_t* units, size_t n) {
  const auto word = [units](size_t unit, size_t k) {
    return load_word<uint32_t>(reinterpret_cast<const char*>(units) + 8 * unit + 4 * k);
  };
  const auto base_of = [&](size_t unit) { return static_cast<int32_t>(word(unit, 0)); };
  const size_t most_bytes = 64 * n + (size_t{1} << 20);
  DoubleArrayEntries found;
  if (n == 0) return found;
  if (n >= size_t{1} << 31) throw Damage("the double array is too large");

  // Units by their check: children of the node with base b are siblings[starts[b] .. starts[b + 1]).
  std::vector<uint32_t> starts(n + 2, 0);  // [n + 2]
  for (size_t unit = 0; unit < n; ++unit) {
    if (const uint32_t check = word(unit, 1); check > 0 && check < n) ++starts[check + 2];
  }
  for (size_t b = 2; b < n + 2; ++b) starts[b] += starts[b - 1];
  std::vector<uint32_t> siblings(starts[n + 1]);  // [units in use]
  for (size_t unit = 0; unit < n; ++unit) {
    if (const uint32_t check = word(unit, 1); check > 0 && check < n) {
      siblings[starts[check + 1]++] = static_cast<uint32_t>(unit);
    }
  }

  std::vector<bool> entered(n, false);  // by base
  struct Level {
    uint32_t base, next;  // next: place in siblings
  };
  std::vector<Level> path;
  std::string key;
  const auto enter = [&](int32_t base) {
    if (base < 1 || static_cast<size_t>(base) >= n || entered[static_cast<size_t>(base)]) {
      throw Damage("the double array does not form a tree");
    }
    entered[static_cast<size_t>(base)] = true;
    path.push_back({static_cast<uint32_t>(base), starts[static_cast<size_t>(base)]});
  };
  enter(base_of(0));
  while (!path.empty()) {
    Level& level = path.back();
    if (level.next == starts[level.base + 1]) {
      path.pop_back();
      if (!path.empty()) key.pop_back();
      continue;
    }
    const uint32_t unit = siblings[level.next++];
    if (unit == level.base) {
      if (base_of(unit) >= 0) throw Damage("a key in the double array has no value");
      if (found.keys.arena.size() + key.size() > most_bytes) {
        throw Damage("the keys in the double array are impossibly long");
      }
      found.keys.add(key);
      found.values.push_back(-(int64_t{base_of(unit)} + 1));
      continue;
    }
    // Byte 0 ends a key and is not part of it.
    if (unit < level.base + 2 || unit > level.base + 256)
      throw Damage("the double array does not form a tree");
    key.push_back(static_cast<char>(unit - level.base - 1));
    enter(base_of(unit));
  }
  return found;
}

}  // namespace crfkit
