// Expected transitions of scaled_chain.h, summed over many positions at once. A kernel header.
#pragma once

#include "chain/lattice.h"
#include "simd/tiles.h"

namespace crfkit::CRFKIT_ISA {

// counts[c, j, l] += weight M[c][j, l] Σ_{i < n} α_i[j, c] v_i[c, l]: the expected transitions of n
// positions. alpha: [n, states] of the in-states; v: [n, states].
template <class Real, int K>
void add_counts(const SharedEdges<Real>& e, int64_t n, const Real* alpha, const Real* v, double weight,
                double* counts) {
  constexpr int W = Lanes<Real>::count;
  const ChainDims& d = e.dims;
  const int L = d.labels, Lp = K > 0 ? K * W : d.padded;
  for (int64_t c = 0; c < d.contexts; ++c) {
    const Real* a0 = alpha + in_offset(d, c);
    const Real* v0 = v + c * Lp;
    for_tiles<K>(Lp / W, [&](auto tile, int k0) {
      constexpr int KT = decltype(tile)::value;
      constexpr int R = KT == 1 ? 8 : KT == 2 ? 6 : KT == 3 ? 4 : 3;  // rows j held in registers at once
      for (int j = 0; j < L; j += R) {
        const int rows = L - j < R ? L - j : R;
        const Real* a[R];  // surplus rows repeat the last one and are not stored
        CRFKIT_UNROLL
        for (int r = 0; r < R; ++r) a[r] = a0 + (j + (r < rows ? r : rows - 1)) * d.forget_stride;
        Pack<Real> acc[R][KT];
        CRFKIT_UNROLL
        for (int r = 0; r < R; ++r) {
          CRFKIT_UNROLL
          for (int k = 0; k < KT; ++k) acc[r][k] = splat<Real>(0);
        }
        const Real* vi = v0 + k0 * W;
        for (int64_t i = 0; i < n; ++i, vi += d.states) {
          Pack<Real> row[KT];
          CRFKIT_UNROLL
          for (int k = 0; k < KT; ++k) row[k] = load(vi + k * W);
          CRFKIT_UNROLL
          for (int r = 0; r < R; ++r) {
            const Pack<Real> s = splat<Real>(a[r][i * d.states]);
            CRFKIT_UNROLL
            for (int k = 0; k < KT; ++k) acc[r][k] += s * row[k];
          }
        }
        CRFKIT_UNROLL
        for (int r = 0; r < R; ++r) {
          if (r >= rows) break;
          const int64_t at = (c * L + j + r) * Lp + k0 * W;
          CRFKIT_UNROLL
          for (int k = 0; k < KT; ++k) {
            const Pack<Real> p = acc[r][k] * load(e.full + at + k * W);
            double* to = counts + at + k * W;
            add_weighted<Real>(to, weight, p);
          }
        }
      }
    });
  }
}

}  // namespace crfkit::CRFKIT_ISA
