// Which attribute-label pairs become features: those seen together often enough.
//
// The data is counted in parts, so that the memory grows with the pairs that occur and not with the data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/mapped_file.h"
#include "base/poll.h"

namespace crfkit {

// How often each attribute occurs with each label, only pairs that occur.
struct LabelCounts {
  std::vector<int64_t> indptr;  // [A + 1]
  std::vector<int32_t> labels;  // ascending within an attribute
  std::vector<int64_t> counts;
};

struct StateFeatures {
  std::vector<int64_t> indptr;  // [A + 1]
  std::vector<int32_t> labels;  // [F], ascending within an attribute
};

// Positions with their attributes and labels, as in a Sequences and Labels.
struct LabelledPositions {
  int64_t n_positions, n_attributes;
  int n_labels;
  const int64_t* indptr;   // [ΣT + 1]
  const int32_t* indices;  // [nnz]
  const int32_t* labels;   // [ΣT] -1: not known, or one of several
  const uint8_t* allowed;  // [ΣT, L] or null
  const uint8_t* counts;   // [A] whether an attribute counts; null: all do

  // Calls fn(label, first, last) with the entries of position t for every label it counts for. If the label
  // is one of several, that is each of them; if nothing is known about it, none.
  template <class Fn>
  void at(int64_t t, Fn&& fn) const {
    if (labels[t] >= 0) {
      fn(labels[t], indptr[t], indptr[t + 1]);
    } else if (allowed) {
      const uint8_t* row = allowed + t * n_labels;
      int n = 0;
      for (int l = 0; l < n_labels; ++l) n += row[l] != 0;
      for (int l = 0; l < n_labels && n < n_labels; ++l)
        if (row[l]) fn(l, indptr[t], indptr[t + 1]);
    }
  }
  bool has(int64_t i) const { return !counts || counts[indices[i]]; }
};

// Counts positions from .. to - 1: a counting sort of labels by attribute, then one tally per attribute.
inline LabelCounts count_labels(const LabelledPositions& x, int64_t from, int64_t to) {
  const auto A = static_cast<size_t>(x.n_attributes);
  std::vector<int64_t> first(A + 1, 0);
  for (int64_t t = from; t < to; ++t) {
    poll_at(t);
    x.at(t, [&](int, int64_t i, int64_t last) {
      for (; i < last; ++i) first[static_cast<size_t>(x.indices[i]) + 1] += x.has(i);
    });
  }
  for (size_t a = 0; a < A; ++a) first[a + 1] += first[a];
  std::vector<int32_t> seen(static_cast<size_t>(first[A]));
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  for (int64_t t = from; t < to; ++t) {
    poll_at(t);
    x.at(t, [&](int l, int64_t i, int64_t last) {
      for (; i < last; ++i)
        if (x.has(i)) seen[static_cast<size_t>(next[static_cast<size_t>(x.indices[i])]++)] = l;
    });
  }
  LabelCounts out;
  out.indptr.assign(A + 1, 0);
  std::vector<int64_t> tally(static_cast<size_t>(x.n_labels), 0);
  for (size_t a = 0; a < A; ++a) {
    int low = x.n_labels, high = -1;
    for (auto i = static_cast<size_t>(first[a]); i < static_cast<size_t>(first[a + 1]); ++i) {
      ++tally[static_cast<size_t>(seen[i])];
      low = std::min(low, seen[i]);
      high = std::max(high, seen[i]);
    }
    for (int l = low; l <= high; ++l) {
      int64_t& n = tally[static_cast<size_t>(l)];
      if (n > 0) {
        out.labels.push_back(l);
        out.counts.push_back(n);
      }
      n = 0;
    }
    out.indptr[a + 1] = static_cast<int64_t>(out.labels.size());
  }
  return out;
}

// Returns the sums of two tables of counts.
inline LabelCounts added(const LabelCounts& one, const LabelCounts& two) {
  LabelCounts out;
  out.indptr.assign(one.indptr.size(), 0);
  out.labels.reserve(std::max(one.labels.size(), two.labels.size()));
  out.counts.reserve(out.labels.capacity());
  for (size_t a = 0; a + 1 < one.indptr.size(); ++a) {
    auto i = static_cast<size_t>(one.indptr[a]), j = static_cast<size_t>(two.indptr[a]);
    const auto i_end = static_cast<size_t>(one.indptr[a + 1]), j_end = static_cast<size_t>(two.indptr[a + 1]);
    while (i < i_end || j < j_end) {
      const bool of_one = j == j_end || (i < i_end && one.labels[i] <= two.labels[j]);
      const bool of_two = i == i_end || (j < j_end && two.labels[j] <= one.labels[i]);
      out.labels.push_back(of_one ? one.labels[i] : two.labels[j]);
      out.counts.push_back((of_one ? one.counts[i++] : 0) + (of_two ? two.counts[j++] : 0));
    }
    out.indptr[a + 1] = static_cast<int64_t>(out.labels.size());
  }
  return out;
}

// Returns the pairs that occur min_count times, min_count >= 1. `part`: most entries that are counted at
// once.
inline StateFeatures find_state_features(const LabelledPositions& x, int64_t min_count, int64_t part) {
  part = std::max(part, 4 * x.n_attributes);  // so that adding up parts costs less than counting them
  LabelCounts all;
  for (int64_t from = 0, to; from < x.n_positions || all.indptr.empty(); from = to) {
    const int64_t first = x.n_positions ? x.indptr[from] : 0;
    to = std::upper_bound(x.indptr + from, x.indptr + x.n_positions, first + part) - x.indptr;
    to = std::min(std::max(to, from + 1), x.n_positions);
    LabelCounts some = count_labels(x, from, to);
    all = all.indptr.empty() ? std::move(some) : added(all, some);
    let_go(x.indptr + from, to - from);
    let_go(x.indices + first, x.indptr[to] - first);
    let_go(x.labels + from, to - from);
  }
  StateFeatures out;
  out.indptr.assign(all.indptr.size(), 0);
  for (size_t a = 0; a + 1 < all.indptr.size(); ++a) {
    for (auto i = static_cast<size_t>(all.indptr[a]); i < static_cast<size_t>(all.indptr[a + 1]); ++i)
      if (all.counts[i] >= min_count) out.labels.push_back(all.labels[i]);
    out.indptr[a + 1] = static_cast<int64_t>(out.labels.size());
  }
  return out;
}

}  // namespace crfkit
