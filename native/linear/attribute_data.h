// The attributes of the training data as given, and how to pass through them once.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/mapped_file.h"
#include "base/poll.h"

namespace crfkit {

// The attributes as given: compressed sparse rows over positions, and the labels each attribute may score.
struct AttributeData {
  int64_t n_positions;          // ΣT
  int64_t n_attributes;         // A
  const int64_t* indptr;        // [ΣT + 1]
  const int32_t* indices;       // [nnz]
  const double* values;         // [nnz] or null: all ones
  const int64_t* state_indptr;  // [A + 1] features of an attribute
  const int32_t* state_labels;  // [F] their labels
  const double* units;          // [A] the size of an attribute's values, or null: all 1
  bool as_given = false;        // one parameter per feature, in the order of features, whatever the data
  const std::vector<bool>* skipped = nullptr;  // [ΣT] positions whose attributes do not count; null: none
};

constexpr int64_t kStretch = 1 << 16;  // positions, or numbers, after which mapped memory is let go

// Calls fn(from, to) for stretches of 0 .. n - 1, one after the other.
template <class Fn>
void for_stretches(int64_t n, Fn&& fn) {
  for (int64_t from = 0; from < n; from += kStretch) fn(from, std::min(from + kStretch, n));
}

// Calls fn(t, first, last) for every position t, with its entries first .. last - 1. Data that is mapped from
// a file need not fit into memory.
template <class Fn>
void for_positions(const AttributeData& x, Fn&& fn) {
  for_stretches(x.n_positions, [&](int64_t from, int64_t to) {
    const int64_t first = x.indptr[from], last = x.indptr[to];
    for (int64_t t = from; t < to; ++t) {
      poll_at(t);
      const bool counts = !x.skipped || !(*x.skipped)[static_cast<size_t>(t)];
      fn(t, x.indptr[t], x.indptr[counts ? t + 1 : t]);
    }
    let_go(x.indptr + from, to - from);
    let_go(x.indices + first, last - first);
    if (x.values) let_go(x.values + first, last - first);
  });
}

}  // namespace crfkit
