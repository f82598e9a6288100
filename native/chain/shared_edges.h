// Edge scores shared by all positions, exponentiated once for a whole batch. A kernel header.
#pragma once

#include <math.h>

#include "chain/lattice.h"

namespace crfkit::CRFKIT_ISA {

// Exponentiates tables of edge scores into `memory` (shared_edges_size Reals).
// edges[k]: [L^(k+2)], k < order; start, end: [L] or null. -inf is permitted anywhere.
template <class Real>
void prepare_edges(const ChainDims& d, const double* const* edges, const double* start, const double* end,
                   Real* memory, SharedEdges<Real>* out) {
  const int L = d.labels, Lp = d.padded;
  const int64_t C = d.contexts;
  out->dims = d;
  const int64_t size = shared_edges_size(d);
  for (int64_t i = 0; i < size; ++i) memory[i] = 0;
  auto take = [&memory](int64_t n) {
    Real* p = memory;
    memory += n;
    return p;
  };
  // A table without any permitted entry keeps max 0 and stays all 0.
  auto raise = [](double& max, double x) {
    if (x > max) max = x;
  };
  auto finite = [](double max) { return max == -HUGE_VAL ? 0.0 : max; };

  out->full = take(C * L * Lp);
  out->full_t = take(C * L * Lp);
  double max = -HUGE_VAL;
  for (int64_t h = 0; h < C * L; ++h)
    for (int l = 0; l < L; ++l) raise(max, history_score(edges, d.order, L, h, l));
  out->full_max = max = finite(max);
  for (int64_t c = 0; c < C; ++c)
    for (int j = 0; j < L; ++j)
      for (int l = 0; l < L; ++l) {
        const Real m = static_cast<Real>(exp(history_score(edges, d.order, L, j * C + c, l) - max));
        out->full[(c * L + j) * Lp + l] = m;
        out->full_t[(c * L + l) * Lp + j] = m;
      }

  for (int t = 1; t < d.order; ++t) {
    const int64_t H = power(L, t);
    out->expand[t] = take(H * Lp);
    max = -HUGE_VAL;
    for (int64_t h = 0; h < H; ++h)
      for (int l = 0; l < L; ++l) raise(max, history_score(edges, t, L, h, l));
    out->expand_max[t] = max = finite(max);
    for (int64_t h = 0; h < H; ++h)
      for (int l = 0; l < L; ++l)
        out->expand[t][h * Lp + l] = static_cast<Real>(exp(history_score(edges, t, L, h, l) - max));
  }

  auto boundary = [&](const double* scores, Real* row) {
    double top = -HUGE_VAL;
    for (int l = 0; l < L; ++l) raise(top, scores ? scores[l] : 0.0);
    top = finite(top);
    for (int l = 0; l < L; ++l) row[l] = static_cast<Real>(exp((scores ? scores[l] : 0.0) - top));
    return top;
  };
  out->start = take(Lp);
  out->start_max = boundary(start, out->start);
  out->end = take(Lp);
  out->end_max = boundary(end, out->end);
}

}  // namespace crfkit::CRFKIT_ISA
