// Strings <-> ids 0..n-1, append-only. The strings lie end to end in one arena; an open-addressing hash table
// finds their ids. Both are plain arrays, so a vocabulary can be attached to a memory-mapped model file and
// used at once; it copies them when the first string is added.
//
// A slot of the table is 0 (empty) or tag << b | id + 1, where 2^b is the number of slots and the tag is made
// of the highest 32 - b bits of the string's hash: most probes that miss are refused without touching the
// arena. Attached arrays may be damaged: every id and offset read from them is checked before it is followed.
//
// A vocabulary may lie over another one that no longer grows: it then holds only the strings that came later.
// So a large vocabulary can be extended without a copy, and without a change that others would see.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace crfkit {

inline void prefetch(const void* address) {
#if defined(__GNUC__) || defined(__clang__)
  __builtin_prefetch(address);
#else
  (void)address;
#endif
}

// Little-endian on every machine, because hashes are stored in files.
template <class Word>
inline Word load_word(const char* bytes) {
  Word word;
  std::memcpy(&word, bytes, sizeof word);
  if constexpr (std::endian::native == std::endian::big) {
    Word swapped = 0;
    for (size_t i = 0; i < sizeof word; ++i) swapped = (swapped << 8) | ((word >> (8 * i)) & 0xff);
    word = swapped;
  }
  return word;
}

// Hashes eight bytes per step, with a multiplication and a shift each. A tail shorter than eight bytes is
// read as a word that overlaps earlier bytes; the length is mixed in first, so the overlap is never
// ambiguous. Stored in model files: any change needs a new Vocabulary::kHashVersion.
inline uint64_t hash_string(std::string_view s) {
  constexpr uint64_t kStart = 0x972387f2670cb691u;
  constexpr uint64_t kStep = 0xb22698c4b2d6a349u;
  constexpr uint64_t kFinish = 0x8dafe9842fe3cb4fu;
  uint64_t h = kStart ^ (s.size() * kFinish);
  const auto step = [&h](uint64_t word) {
    h = (h ^ word) * kStep;
    h ^= h >> 32;
  };
  const char* p = s.data();
  const size_t n = s.size();
  if (n >= 8) {
    for (size_t i = 0; i + 8 <= n; i += 8) step(load_word<uint64_t>(p + i));
    if (n % 8 != 0) step(load_word<uint64_t>(p + n - 8));
  } else if (n >= 4) {
    step(load_word<uint32_t>(p) | uint64_t{load_word<uint32_t>(p + n - 4)} << 32);
  } else if (n > 0) {
    const auto byte = [p](size_t i) { return uint64_t{static_cast<unsigned char>(p[i])}; };
    step(byte(0) | byte(n / 2) << 8 | byte(n - 1) << 16);
  }
  h *= kFinish;
  return h ^ (h >> 29);
}

// Compares n bytes in the same overlapping words; names are short, and a call to memcmp costs more.
inline bool same_bytes(const char* a, const char* b, size_t n) {
  const auto differ = [a, b]<class Word>(size_t i, Word) {
    return load_word<Word>(a + i) ^ load_word<Word>(b + i);
  };
  if (n >= 8) {
    for (size_t i = 0; i + 8 <= n; i += 8) {
      if (differ(i, uint64_t{})) return false;
    }
    return differ(n - 8, uint64_t{}) == 0;
  }
  if (n >= 4) return (differ(0, uint32_t{}) | differ(n - 4, uint32_t{})) == 0;
  return n == 0 || (a[0] == b[0] && a[n / 2] == b[n / 2] && a[n - 1] == b[n - 1]);
}

class Vocabulary {
 public:
  static constexpr uint32_t kHashVersion = 1;
  static constexpr int32_t kUnknown = -1;

  Vocabulary() { rebuild(kFewestSlots); }

  // Looks strings up in arrays that the caller owns and keeps alive: arena [arena_size], offsets [n + 1],
  // slots [n_slots]. Never reads beyond these sizes, whatever the arrays hold.
  Vocabulary(const char* arena, size_t arena_size, const int64_t* offsets, size_t n, const uint32_t* slots,
             size_t n_slots)
      : arena_(arena), arena_size_(arena_size), offsets_(offsets), n_(n), slots_(slots), attached_(true) {
    if (!std::has_single_bit(n_slots) || n_slots > kMostSlots || n >= n_slots) {
      throw std::invalid_argument("the hash table must have 2^b slots, more than there are strings");
    }
    set_slot_count(n_slots);
  }

  Vocabulary(const Vocabulary&) = delete;
  Vocabulary& operator=(const Vocabulary&) = delete;

  // Returns a vocabulary with the same strings that can grow by itself; `source` must not grow any more. It
  // shares the strings of a large source, and copies those of a small one, because looking up in one table is
  // faster. The strings that a source holds over another vocabulary are copied; once they are many, so is
  // everything below them. So a vocabulary that is extended again and again has two layers at most.
  static std::shared_ptr<Vocabulary> extended(const std::shared_ptr<const Vocabulary>& source) {
    const bool flat = source->base_ == nullptr;
    if (source->size() < kFewestShared || (!flat && source->n_ > source->base_->n_ / kShareOfLayer))
      return source->flattened();
    auto out = std::make_shared<Vocabulary>();
    out->base_ = flat ? source : source->base_;
    if (!flat) out->take_strings(*source);
    return out;
  }

  // Returns a copy that lies over nothing. The hash table of an attached one is rebuilt, not trusted.
  std::shared_ptr<Vocabulary> flattened() const {
    auto out = std::make_shared<Vocabulary>();
    const Vocabulary& first = base_ ? *base_ : *this;
    out->take_strings(first);
    if (base_)
      for (size_t id = 0; id < n_; ++id) {
        std::string_view s;
        if (!string(base_->n_ + id, &s)) throw std::invalid_argument(kDamaged);
        out->add_new(s, hash_string(s));
      }
    return out;
  }

  size_t size() const { return below() + n_; }

  // The arrays of a vocabulary that lies over nothing.
  bool is_flat() const { return base_ == nullptr; }
  size_t arena_size() const { return arena_size_; }
  size_t slot_count() const { return slot_mask_ + 1; }
  const char* arena() const { return arena_; }
  const int64_t* offsets() const { return offsets_; }
  const uint32_t* slots() const { return slots_; }

  // Finds the string of an id < size(); returns false if damaged offsets point outside the arena.
  bool string(size_t id, std::string_view* out) const {
    if (id < below()) return base_->string(id, out);
    id -= below();
    const int64_t begin = offsets_[id], end = offsets_[id + 1];
    if (begin < 0 || begin > end || static_cast<uint64_t>(end) > arena_size_) return false;
    *out = {arena_ + begin, static_cast<size_t>(end - begin)};
    return true;
  }

  int32_t find(std::string_view s, uint64_t hash) const {
    if (!base_) return find_own(s, hash);
    const int32_t id = base_->find_own(s, hash);
    if (id != kUnknown || n_ == 0) return id;
    const int32_t own = find_own(s, hash);
    return own == kUnknown ? own : own + static_cast<int32_t>(below());
  }

  int32_t find_or_add(std::string_view s, uint64_t hash) {
    const int32_t id = find(s, hash);
    return id != kUnknown ? id : add_new(s, hash);
  }

  // Prefetches for a batch of look-ups: first all slots, then what the slots point to.
  void prefetch_slot(uint64_t hash) const {
    const Vocabulary& v = lowest();
    prefetch(v.slots_ + (hash & v.slot_mask_));
  }
  void prefetch_offsets(uint64_t hash) const {
    const Vocabulary& v = lowest();
    const uint32_t id = v.id_of(v.slots_[hash & v.slot_mask_]);
    if (id < v.n_) prefetch(v.offsets_ + id);
  }
  void prefetch_string(uint64_t hash) const {
    const Vocabulary& v = lowest();
    const uint32_t id = v.id_of(v.slots_[hash & v.slot_mask_]);
    std::string_view known;
    if (id < v.n_ && v.string(id, &known)) prefetch(known.data());
  }

  // Removes every string from id n on, to undo a batch that failed half-way.
  void truncate(size_t n) {
    if (n >= size()) return;
    own();
    n_ = n - below();
    owned_offsets_.resize(n_ + 1);
    owned_arena_.resize(static_cast<size_t>(owned_offsets_[n_]));
    rebuild(slot_count());
  }

 private:
  static constexpr size_t kFewestSlots = 8;
  static constexpr size_t kMostSlots = size_t{1} << 31;
  static constexpr size_t kFewestShared = size_t{1} << 14;  // strings
  static constexpr size_t kShareOfLayer = 16;  // a layer has at most 1/16 of the strings below it
  static constexpr const char* kDamaged = "the vocabulary's string offsets are damaged";

  size_t below() const { return base_ ? base_->n_ : 0; }  // how many strings are in the layer below
  const Vocabulary& lowest() const { return base_ ? *base_ : *this; }

  // Copies the strings of one layer into this one, which is empty.
  void take_strings(const Vocabulary& from) {
    if (!from.attached_) {
      owned_offsets_ = from.owned_offsets_;
      owned_arena_ = from.owned_arena_;
      owned_slots_ = from.owned_slots_;
      n_ = from.n_;
      set_slot_count(owned_slots_.size());
      refresh();
      return;
    }
    arena_ = from.arena_;
    arena_size_ = from.arena_size_;
    offsets_ = from.offsets_;
    n_ = from.n_;
    attached_ = true;
    own();
  }

  int32_t find_own(std::string_view s, uint64_t hash) const {
    const uint32_t tag = tag_of(hash);
    size_t slot = hash & slot_mask_;
    for (size_t probes = 0; probes <= slot_mask_; ++probes, slot = (slot + 1) & slot_mask_) {
      const uint32_t entry = slots_[slot];
      if (entry == 0) return kUnknown;
      if ((entry >> slot_bits_) != tag) continue;
      const uint32_t id = id_of(entry);
      std::string_view known;
      if (id < n_ && string(below() + id, &known) && known.size() == s.size() &&
          same_bytes(known.data(), s.data(), s.size())) {
        return static_cast<int32_t>(id);
      }
    }
    return kUnknown;
  }

  // At most 7 of 10 slots are used.
  static bool crowded(size_t n, size_t n_slots) { return n * 10 > n_slots * 7; }

  uint32_t tag_of(uint64_t hash) const { return static_cast<uint32_t>(hash >> 32) >> slot_bits_; }
  // Returns the id in a slot; for an empty or damaged slot an id no vocabulary reaches.
  uint32_t id_of(uint32_t entry) const { return (entry & static_cast<uint32_t>(slot_mask_)) - 1; }

  void set_slot_count(size_t n_slots) {
    slot_mask_ = n_slots - 1;
    slot_bits_ = std::countr_zero(n_slots);
  }

  int32_t add_new(std::string_view s, uint64_t hash) {
    own();
    if (crowded(n_ + 1, slot_count())) {
      if (slot_count() == kMostSlots) throw std::length_error("a vocabulary holds at most 1.5e9 strings");
      rebuild(slot_count() * 2);
    }
    owned_offsets_.push_back(static_cast<int64_t>(owned_arena_.size() + s.size()));
    try {
      owned_arena_.insert(owned_arena_.end(), s.begin(), s.end());
    } catch (...) {
      owned_offsets_.pop_back();
      refresh();
      throw;
    }
    place(hash, n_++);
    refresh();
    return static_cast<int32_t>(size() - 1);
  }

  // Copies the strings of an attached vocabulary; the hash table is rebuilt, not trusted.
  void own() {
    if (!attached_) return;
    int64_t last = 0;
    for (size_t id = 0; id <= n_; ++id) {
      if (offsets_[id] < last || static_cast<uint64_t>(offsets_[id]) > arena_size_ ||
          (id == 0 && offsets_[0] != 0)) {
        throw std::invalid_argument(kDamaged);
      }
      last = offsets_[id];
    }
    owned_offsets_.assign(offsets_, offsets_ + n_ + 1);
    owned_arena_.assign(arena_, arena_ + last);
    attached_ = false;
    size_t n_slots = kFewestSlots;
    while (crowded(n_, n_slots)) n_slots *= 2;
    rebuild(n_slots);
  }

  void rebuild(size_t n_slots) {
    owned_slots_.assign(n_slots, 0);
    set_slot_count(n_slots);
    refresh();
    for (size_t id = 0; id < n_; ++id) {
      const auto begin = static_cast<size_t>(offsets_[id]), end = static_cast<size_t>(offsets_[id + 1]);
      place(hash_string({arena_ + begin, end - begin}), id);
    }
  }

  void place(uint64_t hash, size_t id) {
    size_t slot = hash & slot_mask_;
    while (owned_slots_[slot] != 0) slot = (slot + 1) & slot_mask_;
    // slot_bits_ >= 3, so neither shift is by the whole width.
    owned_slots_[slot] = tag_of(hash) << slot_bits_ | static_cast<uint32_t>(id + 1);
  }

  void refresh() {
    arena_ = owned_arena_.data();
    arena_size_ = owned_arena_.size();
    offsets_ = owned_offsets_.data();
    slots_ = owned_slots_.data();
  }

  std::shared_ptr<const Vocabulary> base_;  // the layer below, which is flat; ids go on after its own
  const char* arena_ = nullptr;             // [arena_size]
  size_t arena_size_ = 0;                   //
  const int64_t* offsets_ = nullptr;        // [n + 1], string id is arena[offsets[id] .. offsets[id + 1])
  size_t n_ = 0;                            //
  const uint32_t* slots_ = nullptr;         // [2^slot_bits]
  size_t slot_mask_ = 0;                    // 2^slot_bits - 1
  int slot_bits_ = 0;                       //
  bool attached_ = false;                   // the arrays above belong to the caller
  std::vector<char> owned_arena_;           // [arena_size]
  std::vector<int64_t> owned_offsets_{0};   // [n + 1]
  std::vector<uint32_t> owned_slots_;       // [2^slot_bits]
};

}  // namespace crfkit
