// Rows of labels in registers: a tile is a few Packs of a row. A kernel header.
#pragma once

#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// out[k] = Σ_{i < n} a[i * stride] rows[i, k] for KT packs; several partial sums hide the latency of the
// multiply-adds.
template <class Real, int KT>
CRFKIT_INLINE void weighted_rows(const Real* a, int64_t stride, const Real* rows, int Lp, int n,
                                 Pack<Real>* out) {
  constexpr int W = Lanes<Real>::count;
  constexpr int U = KT == 1 ? 8 : KT == 2 ? 4 : KT == 3 ? 4 : 2;
  Pack<Real> acc[U][KT];
  CRFKIT_UNROLL
  for (int u = 0; u < U; ++u) {
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) acc[u][k] = splat<Real>(0);
  }
  int i = 0;
  for (; i + U <= n; i += U, rows += U * Lp, a += U * stride) {
    CRFKIT_UNROLL
    for (int u = 0; u < U; ++u) {
      const Pack<Real> s = splat<Real>(a[u * stride]);
      CRFKIT_UNROLL
      for (int k = 0; k < KT; ++k) acc[u][k] += s * load(rows + u * Lp + k * W);
    }
  }
  for (; i < n; ++i, rows += Lp, a += stride) {
    const Pack<Real> s = splat<Real>(*a);
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) acc[0][k] += s * load(rows + k * W);
  }
  CRFKIT_UNROLL
  for (int k = 0; k < KT; ++k) {
    if constexpr (U == 8) {
      CRFKIT_UNROLL
      for (int u = 0; u < 4; ++u) acc[u][k] += acc[u + 4][k];
    }
    if constexpr (U >= 4) {
      acc[0][k] += acc[2][k];
      acc[1][k] += acc[3][k];
    }
    out[k] = acc[0][k] + acc[1][k];
  }
}

// Calls fn(tile width as a type, first pack) over the packs of a row: all at once when K, the number of
// packs, is known at compile time; else in fours and ones (K = 0).
template <int Width>
struct Tile {
  static constexpr int value = Width;
};
template <int K, class Fn>
CRFKIT_INLINE void for_tiles(int packs, Fn&& fn) {
  if constexpr (K > 0) {
    (void)packs;
    fn(Tile<K>{}, 0);
  } else {
    int k = 0;
    for (; k + 4 <= packs; k += 4) fn(Tile<4>{}, k);
    for (; k < packs; ++k) fn(Tile<1>{}, k);
  }
}

// Calls fn(number of packs as a type) if loops are unrolled for that number, else fn(0).
template <class Fn>
CRFKIT_INLINE auto with_width(int packs, Fn&& fn) {
  switch (packs) {
    case 1:
      return fn(Tile<1>{});
    case 2:
      return fn(Tile<2>{});
    case 3:
      return fn(Tile<3>{});
    case 4:
      return fn(Tile<4>{});
    default:
      return fn(Tile<0>{});
  }
}

template <class Real>
CRFKIT_INLINE void add_weighted(double* to, double weight, const Pack<Real>& p) {
  constexpr int W = Lanes<Real>::count;
  for (int i = 0; i < W; ++i) to[i] += weight * static_cast<double>(p[i]);
}

}  // namespace crfkit::CRFKIT_ISA
