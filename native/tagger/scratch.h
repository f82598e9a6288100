// The memory of one call of a tagger. It is kept for the next call, so that calls allocate next to nothing.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "ingest/ingest_rows.h"
#include "program/feature_runner.h"
#include "tagger/chain_tables.h"

namespace crfkit {

// What a front end needs to read its sequences.
struct ReaderMemory {
  virtual ~ReaderMemory() = default;
};

struct Scratch {
  RowBuilder rows;                        // attributes of the sequence
  RowBuilder more;                        // the same with those of conjunctions and rules
  std::unique_ptr<FeatureRunner> runner;  // of models that make attributes themselves
  std::vector<int32_t> forced;            // [T] labels that rules make certain, -1: any; or empty
  std::vector<double> values;             // [T, K] of tree models
  std::unique_ptr<ReaderMemory> reader;   //
  SequenceScores scores;
  ChainMemory memory;
  std::vector<double> marginals;  // [T, L]
  std::vector<int32_t> labels;    // [T]
};

// A few Scratches that wait for their next use. Threads that find none make their own.
class ScratchPool {
 public:
  ScratchPool() = default;
  ScratchPool(const ScratchPool&) = delete;
  ScratchPool& operator=(const ScratchPool&) = delete;
  ~ScratchPool() {
    for (auto& slot : slots_) delete slot.load(std::memory_order_acquire);
  }

  std::unique_ptr<Scratch> take() {
    for (auto& slot : slots_) {
      if (slot.load(std::memory_order_relaxed) == nullptr) continue;
      if (Scratch* found = slot.exchange(nullptr, std::memory_order_acq_rel)) {
        return std::unique_ptr<Scratch>(found);
      }
    }
    return std::make_unique<Scratch>();
  }

  void give_back(std::unique_ptr<Scratch> scratch) {
    if (scratch->scores.node.capacity() + scratch->memory.work.capacity() > kLargest) return;
    for (auto& slot : slots_) {
      Scratch* none = nullptr;
      if (slot.compare_exchange_strong(none, scratch.get(), std::memory_order_acq_rel)) {
        (void)scratch.release();
        return;
      }
    }
  }

 private:
  static constexpr size_t kLargest = size_t{1} << 20;  // numbers; the memory of long sequences is freed
  std::array<std::atomic<Scratch*>, 8> slots_{};
};

// A Scratch for the time of a call.
class Borrowed {
 public:
  explicit Borrowed(ScratchPool* pool) : pool_(pool), scratch_(pool->take()) {}
  ~Borrowed() {
    if (scratch_ != nullptr) pool_->give_back(std::move(scratch_));
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  Scratch* operator->() const { return scratch_.get(); }
  Scratch* get() const { return scratch_.get(); }

 private:
  ScratchPool* pool_;
  std::unique_ptr<Scratch> scratch_;
};

}  // namespace crfkit
