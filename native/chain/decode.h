// The best path (Viterbi). A kernel header.
//
//   δ_t[c, l] = ψ_t[l] + max_j (δ_{t-1}[j, c] + F_t[c][j, l]) - a_t        a_t: so that max δ_t = 0
//
// Ties: the smallest predecessor label j, and the smallest last state.
#pragma once

#include "chain/lattice.h"
#include "chain/log_chain.h"
#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// Computes δ_t and, for each state, the label j forgotten on the way in (back: [T, states], positions t >= n
// only). delta: [T, states] if keep_all, else two rows used in turn; δ_t is row t or row t % 2. maxima: [T].
// Returns the first position that no permitted path reaches, or -1.
inline int64_t best_scores(const ChainDims& d, const LatticeView& x, const LogTables& tables, bool keep_all,
                           double* delta, double* maxima, uint16_t* back, double* psi) {
  const int L = d.labels, Lp = d.padded;
  return log_recursion(
      d, x, tables, maxima, psi, [&](int64_t t) { return delta + (keep_all ? t : t % 2) * d.states; },
      [&](int64_t t, const double* rows, const double* in, const double* psi_l, int64_t place, double* to) {
        // Two halves of the labels side by side, to hide latency; the first half wins ties.
        const int half = (L + 1) / 2;
        Pack<double> best = splat(kForbidden), best2 = best, label = splat(0.0), label2 = label;
        auto meet = [&](int j, Pack<double>& top, Pack<double>& arg) {
          const Pack<double> score = load(rows + j * Lp) + in[j * d.forget_stride];
          arg = select_greater(score, top, splat(static_cast<double>(j)), arg);
          top = larger(score, top);
        };
        for (int j = 0; j + half < L; ++j) {
          meet(j, best, label);
          meet(j + half, best2, label2);
        }
        if (L % 2) meet(half - 1, best, label);
        label = select_greater(best2, best, label2, label);
        store(to, load(psi_l) + larger(best2, best));
        store_whole(back + t * d.states + place, label);
      });
}

// Writes the best path into labels [T]. memory: viterbi_workspace_size doubles.
inline int64_t viterbi(const ChainDims& d, const LatticeView& x, const LogTables& tables, double* memory,
                       int32_t* labels) {
  const int64_t T = x.length;
  double* delta = memory;                                    // [2, states]
  double* psi = delta + 2 * d.states;                        // [Lp]
  double* maxima = psi + d.padded;                           // [T]
  uint16_t* back = reinterpret_cast<uint16_t*>(maxima + T);  // [T, states]
  const int64_t dead = best_scores(d, x, tables, false, delta, maxima, back, psi);
  if (dead >= 0) return dead;
  walk_back(d, Piece{0, T, T}, back, best_last_state(d, T, delta + (T - 1) % 2 * d.states), labels);
  return -1;
}

}  // namespace crfkit::CRFKIT_ISA
