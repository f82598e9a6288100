// Sequences of sparse attribute rows, built position by position in the layout of crfkit.data.Sequences.
// An attribute occurs once per position: repeated values are added up, and sums of zero dropped (or kept,
// to count at how many positions an attribute was given at all).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "ingest/ingest_array.h"

namespace crfkit {

class RowBuilder {
 public:
  explicit RowBuilder(bool keep_zeros = false) : keep_zeros_(keep_zeros) {
    offsets.push_back(0);
    indptr.push_back(0);
  }

  GrowableArray<int64_t> offsets;  // [N + 1]
  GrowableArray<int64_t> indptr;   // [ΣT + 1]
  GrowableArray<int32_t> indices;  // [nnz]
  GrowableArray<double> values;    // [nnz], or empty while every value is 1

  void add(int32_t attribute, double value) {
    if (value != 1.0 && !valued_) write_ones();
    indices.push_back(attribute);
    if (valued_) values.push_back(value);
  }

  // Closes the position. Returns -1, or an attribute whose values add up to infinity.
  int32_t end_position() {
    const size_t start = static_cast<size_t>(indptr[indptr.size() - 1]);
    int32_t overflown = -1;
    if (has_repeats(start)) overflown = merge(start);
    indptr.push_back(static_cast<int64_t>(indices.size()));
    return overflown;
  }

  // Closes the position when the caller knows that no attribute is repeated.
  void end_distinct_position() { indptr.push_back(static_cast<int64_t>(indices.size())); }

  void end_sequence() { offsets.push_back(static_cast<int64_t>(indptr.size()) - 1); }

  // Forgets everything, for the next sequences.
  void clear() {
    offsets.shrink(1);
    indptr.shrink(1);
    indices.shrink(0);
    values.shrink(0);
    valued_ = false;
  }

  // Whether values holds anything.
  bool valued() const { return valued_; }

  bool all_ones() const {
    return !valued_ ||
           std::all_of(values.data(), values.data() + values.size(), [](double v) { return v == 1.0; });
  }

 private:
  static constexpr size_t kShortRow = 48;
  static constexpr int32_t kMerged = -1;  // replaces an attribute whose value was added to an earlier mention

  void write_ones() {
    for (size_t i = 0; i < indices.size(); ++i) values.push_back(1.0);
    valued_ = true;
  }

  bool has_repeats(size_t start) {
    const int32_t* row = indices.data() + start;
    const size_t n = indices.size() - start;
    if (n <= kShortRow) {
      // Compares all pairs, without branches: faster than sorting for the rows that templates make.
      int repeats = 0;
      for (size_t i = 1; i < n; ++i) {
        for (size_t j = 0; j < i; ++j) repeats |= row[i] == row[j];
      }
      return repeats != 0;
    }
    sorted_.assign(row, row + n);
    std::sort(sorted_.begin(), sorted_.end());
    return std::adjacent_find(sorted_.begin(), sorted_.end()) != sorted_.end();
  }

  // Every attribute keeps the place of its first mention.
  int32_t merge(size_t start) {
    if (!valued_) write_ones();
    const size_t n = indices.size() - start;
    order_.clear();
    for (size_t i = 0; i < n; ++i) order_.emplace_back(indices[start + i], i);
    std::sort(order_.begin(), order_.end());
    int32_t overflown = -1;
    for (size_t first = 0, next; first < n; first = next) {
      double sum = values[start + order_[first].second];
      for (next = first + 1; next < n && order_[next].first == order_[first].first; ++next) {
        sum += values[start + order_[next].second];
        indices[start + order_[next].second] = kMerged;
      }
      values[start + order_[first].second] = sum;
      if (!std::isfinite(sum)) overflown = order_[first].first;
    }
    size_t kept = start;
    for (size_t i = start; i < start + n; ++i) {
      if (indices[i] == kMerged || (values[i] == 0.0 && !keep_zeros_)) continue;
      indices[kept] = indices[i];
      values[kept++] = values[i];
    }
    indices.shrink(kept);
    values.shrink(kept);
    return overflown;
  }

  bool keep_zeros_;
  bool valued_ = false;                            // values are written out
  std::vector<int32_t> sorted_;                    // [row]
  std::vector<std::pair<int32_t, size_t>> order_;  // [row] (attribute, place in the row)
};

}  // namespace crfkit
