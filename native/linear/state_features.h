// Which attribute-label pairs become features: those seen together often enough.
#pragma once

#include <cstdint>
#include <vector>

#include "base/poll.h"

namespace crfkit {

struct StateFeatures {
  std::vector<int64_t> indptr;  // [A + 1]
  std::vector<int32_t> labels;  // [F], ascending within an attribute
};

// Counts an attribute at a position for the label there. If the label is one of several (allowed: [ΣT, L]),
// it counts for each of them; if nothing is known about it, for none. min_count >= 1.
inline StateFeatures find_state_features(int64_t n_positions, int64_t n_attributes, int n_labels,
                                         const int64_t* indptr, const int32_t* indices, const int32_t* labels,
                                         const uint8_t* allowed, int64_t min_count) {
  const auto A = static_cast<size_t>(n_attributes), L = static_cast<size_t>(n_labels);
  auto permitted = [&](int64_t t, auto&& fn) {  // the labels position t counts for
    if (labels[t] >= 0) {
      fn(labels[t]);
    } else if (allowed) {
      const uint8_t* row = allowed + t * n_labels;
      int n = 0;
      for (int l = 0; l < n_labels; ++l) n += row[l] != 0;
      if (n < n_labels)
        for (int l = 0; l < n_labels; ++l)
          if (row[l]) fn(l);
    }
  };
  // Labels by attribute: a counting sort, then one tally of L labels per attribute.
  std::vector<int64_t> first(A + 1, 0);
  for (int64_t t = 0; t < n_positions; ++t) {
    poll_at(t);
    permitted(t, [&](int) {
      for (int64_t i = indptr[t]; i < indptr[t + 1]; ++i) ++first[static_cast<size_t>(indices[i]) + 1];
    });
  }
  for (size_t a = 0; a < A; ++a) first[a + 1] += first[a];
  std::vector<int32_t> seen(static_cast<size_t>(first[A]));
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  for (int64_t t = 0; t < n_positions; ++t) {
    poll_at(t);
    permitted(t, [&](int l) {
      for (int64_t i = indptr[t]; i < indptr[t + 1]; ++i)
        seen[static_cast<size_t>(next[static_cast<size_t>(indices[i])]++)] = l;
    });
  }
  StateFeatures out;
  out.indptr.assign(A + 1, 0);
  std::vector<int64_t> tally(L, 0);
  for (size_t a = 0; a < A; ++a) {
    int low = n_labels, high = -1;
    for (auto i = static_cast<size_t>(first[a]); i < static_cast<size_t>(first[a + 1]); ++i) {
      ++tally[static_cast<size_t>(seen[i])];
      low = seen[i] < low ? seen[i] : low;
      high = seen[i] > high ? seen[i] : high;
    }
    for (int l = low; l <= high; ++l) {
      if (tally[static_cast<size_t>(l)] >= min_count) out.labels.push_back(l);
      tally[static_cast<size_t>(l)] = 0;
    }
    out.indptr[a + 1] = static_cast<int64_t>(out.labels.size());
  }
  return out;
}

}  // namespace crfkit
