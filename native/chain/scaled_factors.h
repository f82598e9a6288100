// The factors of scaled_chain.h at each position: ψ_t of labels, P_t of label pairs. A kernel header.
#pragma once

#include "chain/lattice.h"
#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// Computes ψ = exp(node - max), 0 in the padding, and adds up the maxima. False: a position permits no label.
template <class Real, int K>
bool exponentiate_nodes(const SharedEdges<Real>& e, const Piece& piece, const Real* node, Real* psi,
                        double* maxima) {
  constexpr int W = Lanes<Real>::count;
  const int L = e.dims.labels, Lp = K > 0 ? K * W : e.dims.padded;
  const int packs = K > 0 ? K : Lp / W;
  constexpr int kTail = kPadding / W;  // packs at the end of a row that may hold padding
  Pack<Real> mask[kTail];              // is added to them: -inf in the padding
  for (int i = 0; i < kPadding; ++i)
    mask[i / W][i % W] = Lp - kPadding + i < L ? Real(0) : -static_cast<Real>(HUGE_VAL);
  double total = *maxima;
  for (int64_t t = piece.first; t < piece.last; ++t, node += Lp, psi += Lp) {
    Pack<Real> last[kTail], top = splat(-static_cast<Real>(HUGE_VAL));
    CRFKIT_UNROLL
    for (int k = 0; k < kTail; ++k) {
      last[k] = load(node + (packs - kTail + k) * W) + mask[k];
      top = larger(top, last[k]);
    }
    CRFKIT_UNROLL
    for (int k = 0; k < packs - kTail; ++k) top = larger(top, load(node + k * W));
    const Real max = max_lanes<Real>(top);
    if (!(max > -HUGE_VAL)) return false;
    total += static_cast<double>(max);
    CRFKIT_UNROLL
    for (int k = 0; k < packs - kTail; ++k) store(psi + k * W, exponential<Real>(load(node + k * W) - max));
    CRFKIT_UNROLL
    for (int k = 0; k < kTail; ++k) store(psi + (packs - kTail + k) * W, exponential<Real>(last[k] - max));
  }
  if (piece.last == piece.T) {
    Real* final_row = psi - Lp;  // the end scores count at the last position
    for (int l = 0; l < Lp; ++l) final_row[l] *= e.end[l];
  }
  *maxima = total;
  return true;
}

// Computes P_t for t >= 1, in order 1 times M; adds up the maxima. scores, tables: [n, L, Lp] of the piece.
template <class Real>
void exponentiate_pairs(const SharedEdges<Real>& e, const Piece& piece, const Real* scores, Real* tables,
                        double* maxima) {
  constexpr int W = Lanes<Real>::count;
  const int64_t size = static_cast<int64_t>(e.dims.labels) * e.dims.padded;
  double total = *maxima;
  for (int64_t t = piece.first == 0 ? 1 : 0; t < piece.last - piece.first; ++t) {
    const Real* from = scores + t * size;
    Real* to = tables + t * size;
    Pack<Real> top = load(from);
    for (int64_t i = W; i < size; i += W) top = larger(top, load(from + i));
    const Real max = max_lanes<Real>(top);
    total += static_cast<double>(max);
    if (e.dims.order == 1)
      for (int64_t i = 0; i < size; i += W)
        store(to + i, exponential<Real>(load(from + i) - max) * load(e.full + i));
    else
      for (int64_t i = 0; i < size; i += W) store(to + i, exponential<Real>(load(from + i) - max));
  }
  *maxima = total;
}

// Returns ψ_t P_t for the labels after history h: psi itself if there are no pair scores, else `row`.
template <class Real>
CRFKIT_INLINE const Real* paired_psi(const ChainDims& d, const Real* psi, const Real* table, int64_t h,
                                     Real* row) {
  constexpr int W = Lanes<Real>::count;
  if (!table) return psi;
  const Real* factors = table + h % d.labels * d.padded;
  for (int l = 0; l < d.padded; l += W) store(row + l, load(psi + l) * load(factors + l));
  return row;
}

}  // namespace crfkit::CRFKIT_ISA
