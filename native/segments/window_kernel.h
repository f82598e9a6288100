// Sums and maxima of products over a window of places, for segment_window.h. A kernel header.
#pragma once

#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// Σ_i x[i] l[i], i < n.
inline double window_sum(const double* x, const double* l, int64_t n) {
  constexpr int W = Lanes<double>::count;
  Pack<double> a = splat(0.0), b = splat(0.0), c = splat(0.0), d = splat(0.0);
  int64_t i = 0;
  for (; i + 4 * W <= n; i += 4 * W) {
    a += load(x + i) * load(l + i);
    b += load(x + i + W) * load(l + i + W);
    c += load(x + i + 2 * W) * load(l + i + 2 * W);
    d += load(x + i + 3 * W) * load(l + i + 3 * W);
  }
  for (; i + W <= n; i += W) a += load(x + i) * load(l + i);
  double sum = sum_lanes<double>((a + b) + (c + d));
  for (; i < n; ++i) sum += x[i] * l[i];
  return sum;
}

// max_i a[i] + l[i], i < n; -inf if there is none.
inline double window_best(const double* a, const double* l, int64_t n) {
  constexpr int W = Lanes<double>::count;
  Pack<double> p = splat(-HUGE_VAL), q = p;
  int64_t i = 0;
  for (; i + 2 * W <= n; i += 2 * W) {
    p = larger(p, load(a + i) + load(l + i));
    q = larger(q, load(a + i + W) + load(l + i + W));
  }
  double best = max_lanes<double>(larger(p, q));
  for (; i < n; ++i) best = a[i] + l[i] > best ? a[i] + l[i] : best;
  return best;
}

// counts[i] += factor x[i] l[i], i < n.
inline void window_add(const double* x, const double* l, double factor, int64_t n, double* counts) {
  constexpr int W = Lanes<double>::count;
  const Pack<double> f = splat(factor);
  int64_t i = 0;
  for (; i + W <= n; i += W) store(counts + i, load(counts + i) + f * (load(x + i) * load(l + i)));
  for (; i < n; ++i) counts[i] += factor * (x[i] * l[i]);
}

}  // namespace crfkit::CRFKIT_ISA
