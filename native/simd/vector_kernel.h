// Dot products with the rows of a matrix, and sums of its rows, for a range of columns. A kernel header.
#pragma once

#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// out[i] = Σ_k rows[i, k] v[k], k < n; single precision in runs of a few thousand columns.
inline void row_dots(const float* rows, int64_t stride, int n_rows, const float* v, int64_t n, double* out) {
  constexpr int W = Lanes<float>::count;
  for (int i = 0; i < n_rows; ++i, rows += stride) {
    Pack<float> a = splat(0.0f), b = splat(0.0f), c = splat(0.0f), d = splat(0.0f);
    int64_t k = 0;
    for (; k + 4 * W <= n; k += 4 * W) {
      a += load(rows + k) * load(v + k);
      b += load(rows + k + W) * load(v + k + W);
      c += load(rows + k + 2 * W) * load(v + k + 2 * W);
      d += load(rows + k + 3 * W) * load(v + k + 3 * W);
    }
    double sum = static_cast<double>(sum_lanes<float>((a + b) + (c + d)));
    for (; k < n; ++k) sum += static_cast<double>(rows[k]) * static_cast<double>(v[k]);
    out[i] = sum;
  }
}

// out[k] += Σ_i factors[i] rows[i, k], k < n.
inline void add_rows(const float* rows, int64_t stride, int n_rows, const float* factors, int64_t n,
                     float* out) {
  constexpr int W = Lanes<float>::count;
  for (int i = 0; i < n_rows; ++i, rows += stride) {
    const Pack<float> f = splat(factors[i]);
    int64_t k = 0;
    for (; k + W <= n; k += W) store(out + k, load(out + k) + f * load(rows + k));
    for (; k < n; ++k) out[k] += factors[i] * rows[k];
  }
}

}  // namespace crfkit::CRFKIT_ISA
