// Pairs of numbers <-> ids 0, 1, 2, ... in order of first appearance: open addressing, exact keys.
#pragma once

#include <cstdint>
#include <vector>

namespace crfkit {

class PairTable {
 public:
  PairTable() : slots_(kFewestSlots) {}

  static constexpr uint32_t kUnknown = UINT32_MAX;

  uint32_t size() const { return n_; }

  uint32_t find(uint32_t left, uint32_t right) const {
    const uint64_t key = uint64_t{left} << 32 | right;
    for (size_t slot = place(key);; slot = (slot + 1) & (slots_.size() - 1)) {
      if (slots_[slot].id_plus_1 == 0) return kUnknown;
      if (slots_[slot].key == key) return slots_[slot].id_plus_1 - 1;
    }
  }

  uint32_t find_or_add(uint32_t left, uint32_t right) {
    if (const uint32_t known = find(left, right); known != kUnknown) return known;
    const uint64_t key = uint64_t{left} << 32 | right;
    if (2 * (size_t{n_} + 1) > slots_.size()) double_slots();
    put({key, ++n_});
    return n_ - 1;
  }

 private:
  static constexpr size_t kFewestSlots = 64;

  struct Slot {
    uint64_t key = 0;
    uint32_t id_plus_1 = 0;  // 0: empty
  };

  size_t place(uint64_t key) const {
    uint64_t h = key * 0x9e3779b97f4a7c15u;  // 2^64 / golden ratio
    h ^= h >> 32;
    return h & (slots_.size() - 1);
  }

  void put(const Slot& entry) {
    size_t slot = place(entry.key);
    while (slots_[slot].id_plus_1 != 0) slot = (slot + 1) & (slots_.size() - 1);
    slots_[slot] = entry;
  }

  void double_slots() {
    std::vector<Slot> old(slots_.size() * 2);
    old.swap(slots_);
    for (const Slot& entry : old) {
      if (entry.id_plus_1 != 0) put(entry);
    }
  }

  std::vector<Slot> slots_;  // [2^b]
  uint32_t n_ = 0;
};

}  // namespace crfkit
