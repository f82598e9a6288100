// The memory in which one thread computes the sequences of the linear objective, one after the other.
//
// It grows to what the thread's own sequences need. A long sequence is computed in pieces (linear_pieces.h),
// so that this stays small however long it is: only the α and β at the borders of pieces grow with it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>

#include "linear/linear_problem.h"

namespace crfkit {

// Memory that grows, without its content, and is not set to zero: pages that nobody writes cost nothing.
template <class T>
class Room {
 public:
  T* of(int64_t size) {
    if (size > size_) {
      memory_.reset();
      memory_.reset(new T[static_cast<size_t>(size)]);
      size_ = size;
    }
    return memory_.get();
  }

 private:
  std::unique_ptr<T[]> memory_;
  int64_t size_ = 0;
};

// Which sequences are computed in pieces: those of more than `whole` positions, in pieces of `piece`.
struct PieceLengths {
  int64_t whole, piece;

  // Pieces stay in the cache, and shorter sequences are computed only once.
  static constexpr int64_t kWholeBytes = 32 << 20, kPieceBytes = 1 << 20;

  static PieceLengths of(const ChainDims& d, bool pairs, bool partial) {
    const int64_t row = linear_memory_size(d, 1025, pairs) - linear_memory_size(d, 1, pairs);
    const int64_t scores = d.padded * (pairs ? d.labels + 1 : 1) * (partial ? 2 : 1);
    const int64_t bytes = row / 1024 * 8 + scores * 4;  // per position
    PieceLengths lengths{kWholeBytes / bytes, kPieceBytes / bytes};
    // Expected transitions are summed over this many positions at once, except those of label pairs.
    const int64_t unit = pairs && d.order == 1 ? 1 : kCountBlock;
    lengths.piece = std::max(unit, lengths.piece / unit * unit);
    lengths.whole = std::max(lengths.whole, piece_rows(d, lengths.piece));
    return lengths;
  }
};

class LinearWorkspace {
 public:
  // Gives a block room for sequences of up to `longest` positions. pairs, partial: whether there are scores
  // of label pairs, and labels that are not fully known.
  void lend(const ChainDims& d, bool pairs, bool partial, const PieceLengths& lengths, int64_t longest,
            LinearBlock& block) {
    const bool cut = longest > lengths.whole;
    // A thread with a long sequence may have shorter ones that are computed whole.
    const int64_t n = cut ? std::max(lengths.whole, piece_rows(d, lengths.piece)) : longest;
    const int64_t node = n * d.padded, pair = pairs ? node * d.labels : 0;
    block.whole = lengths.whole;
    block.piece = lengths.piece;
    block.node = node_.of(node);
    block.bound = partial ? bound_.of(node) : nullptr;
    block.pairs = pairs ? pairs_.of(pair) : nullptr;
    block.bound_pairs = pairs && partial ? bound_pairs_.of(pair) : nullptr;
    block.row = row_.of(pairs ? int64_t{d.padded} * d.labels : d.padded);
    block.memory = memory_.of(linear_memory_size(d, n, pairs));
    const int64_t marks = cut ? piece_count(d, longest, lengths.piece) * mark_size(d) : 0;
    block.marks = marks_.of(partial ? 2 * marks : marks);
  }

 private:
  Room<float> node_, bound_, pairs_, bound_pairs_, row_;
  Room<double> memory_, marks_;
};

}  // namespace crfkit
