// Tables of edge scores or counts, one per order: table k is over the last k + 2 labels, [L^(k+2)].
#pragma once

#include <cstdint>

#include "chain/lattice.h"

namespace crfkit {

// Calls fn(k, slot) for the entries of the tables that position t of a path uses.
template <class Fn>
void for_edges_into(const ChainDims& d, const int32_t* labels, int64_t t, Fn&& fn) {
  int64_t slot = labels[t], span = d.labels;
  for (int k = 0; k < d.order && k < t; ++k) {
    slot += labels[t - 1 - k] * span;
    span *= d.labels;
    fn(k, slot);
  }
}

// Adds expected transitions in the chain's layout (`counts` and `expand` of LogOut) to the tables. A history
// and the label after it count in every table that looks back no further.
inline void add_expected_edges(const ChainDims& d, const double* counts, const double* const* expand,
                               double* const* tables) {
  const int64_t L = d.labels;
  auto add = [&](const double* row, int n_labels, int64_t history) {
    int64_t span = 1;
    for (int k = 0; k < n_labels; ++k) {
      span *= L;
      for (int64_t l = 0; l < L; ++l) tables[k][history % span * L + l] += row[l];
    }
  };
  for (int64_t c = 0; c < d.contexts; ++c)
    for (int64_t j = 0; j < L; ++j) add(counts + (c * L + j) * d.padded, d.order, j * d.contexts + c);
  for (int t = 1; t < d.order; ++t)
    for (int64_t h = 0; h < power(L, t); ++h) add(expand[t] + h * d.padded, t, h);
}

}  // namespace crfkit
