// Forward-backward with scaled probabilities, for edge scores shared by all positions, plus optional scores
// of label pairs at single positions. A kernel header.
//
//   α_t[c, l]     = k_t ψ_t[l] Σ_j α_{t-1}[j, c] M[c][j, l]        k_t = 1 / Σ α_{t-1}
//   β_{t-1}[j, c] = h_t Σ_l M[c][j, l] ψ_t[l] β_t[c, l]            h_t = 1 / Σ β_t
//   p(y_t = l)             = Σ_c α_t[c, l] β_t[c, l] / q_t         q_t = Σ α_t β_t
//   p((j, c) at t-1, l at t) = α_{t-1}[j, c] M[c][j, l] ψ_t[l] β_t[c, l] k_t / q_t
//   log Z = Σ_t log Σ α_t + the maxima that were subtracted
//
// ψ_t = exp(node_t - max), M = exp(edge - max), so both are at most 1. The scale k_t of a step is the sum of
// the step before, so that a step need not wait for its own sum.
//
// Pair scores of a position, P_t = exp(pair_t - max), are factors of M in order 1, and of ψ_t in higher
// orders, where the two labels are the end of an out-state.
//
// Correctness. Every number below the smallest normal one, τ, may be flushed to 0, and the lost path may be
// the best one: if it is poor at both ends, α drops it at one end and β at the other, and it is never
// compared with the others in between. Therefore α and β are raised at every step by slightly more than they
// can have lost (`spare`), whether forbidden or not. They are then upper bounds that include every path, and
// both are at most about 1; the surplus at a position is at most `spare` in the units of q_t or of the
// unscaled q_t Σ α_{t-1}. Requiring q_t >= floor and q_t Σ α_{t-1} >= floor proves that the surplus is less
// than spare / floor of the probability at each position. Otherwise scaled_posterior returns false and the
// sequence must be done in log space (log_chain.h), which also detects a lattice without any path.
#pragma once

#include <limits>

#include "base/poll.h"
#include "chain/lattice.h"
#include "chain/scaled_counts.h"
#include "chain/scaled_factors.h"
#include "simd/tiles.h"

namespace crfkit::CRFKIT_ISA {

template <class Real>
struct Floor;
template <>
struct Floor<float> {
  static constexpr float value = 1e-25f;  // τ = 1.2e-38
};
template <>
struct Floor<double> {
  static constexpr double value = 1e-270;  // τ = 2.2e-308
};

// A bound on what α or β can lose at a step of this scale: τ for each label, and for ψ, the edges, the scale
// and the result.
template <class Real>
CRFKIT_INLINE Real spare(const ChainDims& d, Real scale) {
  return 2 * static_cast<Real>(d.labels + 4) * std::numeric_limits<Real>::min() * (1 + scale);
}

// α and its sums, of a piece; unless it is the first, α and its sum of the position before it lie before
// them. tables: [n, L, Lp] of exponentiate_pairs, or null; row: [Lp].
template <class Real, int K>
void forward(const SharedEdges<Real>& e, const Piece& piece, const Real* psi, const Real* tables, Real* row,
             Real* alpha, Real* sums) {
  constexpr int W = Lanes<Real>::count;
  const ChainDims& d = e.dims;
  const int L = d.labels, Lp = K > 0 ? K * W : d.padded;
  Real scale = piece.first == 0 ? Real(1) : 1 / sums[-1];
  for (int64_t t = piece.first; t < piece.last; ++t, psi += Lp, alpha += d.states, ++sums) {
    poll_at(t);
    Pack<Real> sum = splat<Real>(0);
    const Pack<Real> lift = splat(spare(d, scale));
    const Real* table = tables && t > 0 ? tables + (t - piece.first) * L * Lp : nullptr;
    const Real* factors = d.order > 1 ? table : nullptr;
    if (t >= d.order) {
      const Real* before = alpha - d.states;
      const Real* rows = d.order == 1 && table ? table : e.full;
      for (int64_t c = 0; c < d.contexts; ++c, rows += L * Lp) {
        const Real* psi_c = paired_psi(d, psi, factors, c, row);
        for_tiles<K>(Lp / W, [&](auto tile, int k0) {
          constexpr int KT = decltype(tile)::value;
          Pack<Real> in[KT];
          if (d.order == 1)  // a stride the compiler knows
            weighted_rows<Real, KT>(before, 1, rows + k0 * W, Lp, L, in);
          else
            weighted_rows<Real, KT>(before + in_offset(d, c), d.forget_stride, rows + k0 * W, Lp, L, in);
          CRFKIT_UNROLL
          for (int k = 0; k < KT; ++k) {
            const Pack<Real> a = in[k] * (load(psi_c + (k0 + k) * W) * scale) + lift;
            store(alpha + c * Lp + (k0 + k) * W, a);
            sum += a;
          }
        });
      }
    } else {  // histories grow by a label: each has one predecessor
      const int64_t H = contexts_at(d, t);
      const Real* edges = t == 0 ? e.start : e.expand[t];
      for (int64_t h = 0; h < H; ++h) {
        const Real in = t == 0 ? Real(1) : scale * alpha[state_offset(d, h) - d.states];
        const Real* psi_h = paired_psi(d, psi, factors, h, row);
        for (int l = 0; l < Lp; l += W) {
          const Pack<Real> a = load(edges + h * Lp + l) * load(psi_h + l) * in + lift;
          store(alpha + h * Lp + l, a);
          sum += a;
        }
      }
    }
    *sums = sum_lanes<Real>(sum);
    scale = 1 / *sums;
  }
}

// The arrays scaled_posterior works in, cut from one block of memory, for a sequence or a piece of n
// positions.
template <class Real>
struct ScaledWork {
  double* counts;   // [C, L, Lp] of this sequence, where counts_apart
  Real* psi;        // [n, Lp]
  Real* tables;     // [n, L, Lp] of exponentiate_pairs, or null
  Real* alpha;      // [n, states], and before it α of the position before a piece
  Real* sums;       // [n] Σ α_t, likewise
  Real* v;          // [min(T, kCountBlock), states] ψ_t β_t k_t / q_t
  Real* beta;       // [states]
  Real* weighted;   // [states] ψ_t β_t
  Real* expand;     // [Σ_{1 <= t < n} L^t, Lp] expected histories of the first positions
  Real* row;        // [Lp]
  Real* paired;     // [Lp] ψ_t P_t, with pair scores alone
  Real* pair_sums;  // [L, Lp] expected transitions of a few positions, with pair scores in order 1
};

template <class Real>
ScaledWork<Real> cut_workspace(const ChainDims& d, int64_t T, int64_t n, bool pairs, double* memory) {
  ScaledWork<Real> w;
  w.counts = memory;
  Real* p = reinterpret_cast<Real*>(memory + (counts_apart(T, pairs) ? d.states * d.labels : 0));
  auto take = [&p](int64_t size) {
    Real* taken = p;
    p += size;
    return taken;
  };
  w.psi = take(n * d.padded);
  w.alpha = take((n + 1) * d.states) + d.states;
  w.v = take((T < kCountBlock ? T : kCountBlock) * d.states);
  w.beta = take(d.states);
  w.weighted = take(d.states);
  w.expand = take(expand_size(d));
  w.row = take(d.padded);
  w.tables = pairs ? take(n * d.labels * d.padded) : nullptr;
  w.paired = pairs ? take(d.padded) : nullptr;
  w.pair_sums = pairs ? take(d.labels * d.padded) : nullptr;
  w.sums = take(n + 1) + 1;
  return w;
}

// Computes the marginals of label pairs at position t. In order 1 a pair is a transition; in higher orders it
// is the last two labels of a state.
template <class Real>
void fill_pairs(const SharedEdges<Real>& e, int64_t t, const Real* alpha, const ScaledWork<Real>& w,
                Real inverse, Real share, int64_t pair_row, Real* pair) {
  const ChainDims& d = e.dims;
  const int64_t L = d.labels, Lp = d.padded;
  for (int64_t i = 0; i < L * pair_row; ++i) pair[i] = 0;
  if (t == 0) return;
  if (d.order == 1) {
    const Real* before = alpha - d.states;
    for (int64_t j = 0; j < L; ++j) {
      const Real in = before[j] * share;
      for (int64_t l = 0; l < pair_row; ++l)
        pair[j * pair_row + l] = in * (e.full[j * Lp + l] * w.weighted[l]);
    }
  } else {
    for (int64_t h = 0; h < contexts_at(d, t); ++h) {
      Real* to = pair + h % L * pair_row;
      for (int64_t l = 0; l < pair_row; ++l) to[l] += alpha[h * Lp + l] * w.beta[h * Lp + l] * inverse;
    }
  }
}

// Order 1 with pair scores: computes β_{t-1} from ψ_t β_t in w.weighted, and the expected transitions into t.
// These are added to w.pair_sums and, if `pair` ([L, Lp]) is not null, written to it.
template <class Real, int K>
void backward_pairs(const ChainDims& d, const Real* table, const Real* before, Real share, Real scale,
                    const ScaledWork<Real>& w, Real* pair) {
  constexpr int W = Lanes<Real>::count;
  const int L = d.labels, Lp = K > 0 ? K * W : d.padded;
  const Real lift = spare(d, scale);
  Real* sums = w.pair_sums;
  for (int j = 0; j < L; ++j, table += Lp, sums += Lp) {
    Pack<Real> sum = splat<Real>(0);
    const Pack<Real> in = splat<Real>(before[j] * share);
    CRFKIT_UNROLL
    for (int l = 0; l < (K > 0 ? K * W : Lp); l += W) {
      const Pack<Real> onward = load(table + l) * load(w.weighted + l);
      const Pack<Real> p = onward * in;
      sum += onward;
      store(sums + l, load(sums + l) + p);
      if (pair) store(pair + j * Lp + l, p);
    }
    w.beta[j] = sum_lanes<Real>(sum) * scale + lift;
  }
}

// Moves w.pair_sums to w.counts.
template <class Real>
void settle_pair_sums(const ChainDims& d, const ScaledWork<Real>& w) {
  constexpr int W = Lanes<Real>::count;
  for (int64_t i = 0; i < d.states * d.labels; i += W) {
    add_weighted<Real>(w.counts + i, 1.0, load(w.pair_sums + i));
    store(w.pair_sums + i, splat<Real>(0));
  }
}

// Computes β, marginals and counts. False if probability may have been lost; counts are then unchanged.
// Pieces come last one first, w.beta and what is counted so far stay in w between them. All but the first
// have a multiple of kCountBlock positions, or there are pair scores in order 1.
template <class Real, int K>
bool backward(const SharedEdges<Real>& e, const Piece& piece, const ScaledWork<Real>& w,
              const PosteriorOut<Real>& out) {
  constexpr int W = Lanes<Real>::count;
  const ChainDims& d = e.dims;
  const int L = d.labels, Lp = K > 0 ? K * W : d.padded;
  const Real floor = Floor<Real>::value;
  const int64_t T = piece.T;
  const bool one_block = T <= kCountBlock, apart = counts_apart(T, w.tables != nullptr);
  const int64_t capacity = one_block ? T : kCountBlock;
  const int64_t table_size = d.states * L;
  const bool in_table = w.tables && d.order == 1;  // pair scores are part of the edges
  if (in_table && (piece.last == T || !out.counts))
    for (int64_t i = 0; i < table_size; ++i) w.pair_sums[i] = 0;
  if (piece.last == T) {
    if (out.counts && apart)
      for (int64_t i = 0; i < table_size; ++i) w.counts[i] = 0;
    for (int64_t s = 0; s < d.states; ++s) w.beta[s] = s % Lp < L ? 1 : 0;
  }

  bool sound = true;
  int64_t waiting = 0;  // positions from t on whose v waits at the end of w.v
  for (int64_t t = piece.last - 1; t >= piece.first; --t) {
    poll_at(t);
    const int64_t H = contexts_at(d, t), i = t - piece.first;  // place in the piece
    const Real* psi = w.psi + i * Lp;
    const Real* alpha = w.alpha + i * d.states;
    const Real* table = w.tables && t > 0 ? w.tables + i * L * Lp : nullptr;
    const Real before = t > 0 ? w.sums[i - 1] : Real(1);
    const Pack<Real> lifted = splat(spare(d, 1 / before));  // what forward added: forbidden labels get 0
    Pack<Real> q_pack = splat<Real>(0), b_pack = splat<Real>(0);
    CRFKIT_UNROLL
    for (int l = 0; l < (K > 0 ? K * W : Lp); l += W) {
      Pack<Real> node = splat<Real>(0);
      const Pack<Real> p = load(psi + l);
      for (int64_t h = 0; h < H; ++h) {
        const Pack<Real> b = load(w.beta + h * Lp + l);
        store(w.weighted + h * Lp + l, p * b);
        node += (load(alpha + h * Lp + l) - lifted) * b;
        b_pack += b;
      }
      store(w.row + l, node);
      q_pack += node;
    }
    if (table && d.order > 1)
      for (int64_t h = 0; h < H; ++h) {
        const Real* factors = table + h % L * Lp;
        for (int l = 0; l < Lp; l += W)
          store(w.weighted + h * Lp + l, load(w.weighted + h * Lp + l) * load(factors + l));
      }
    const Real q = sum_lanes<Real>(q_pack);
    sound &= q >= floor && q * before >= floor && w.sums[i] >= floor;
    const Real inverse = 1 / q;
    if (out.node)
      for (int l = 0; l < Lp; l += W) store(out.node + i * Lp + l, load(w.row + l) * inverse);
    if (out.pair && (t == 0 || !in_table))
      fill_pairs<Real>(e, t, alpha, w, inverse, inverse / before, out.pair_row,
                       out.pair + i * L * out.pair_row);
    if (t == 0) break;

    const Real share = inverse / before;  // k_t / q_t
    const Real scale = 1 / sum_lanes<Real>(b_pack), lift = spare(d, scale);
    if (in_table) {
      backward_pairs<Real, K>(d, table, alpha - d.states, share, scale, w,
                              out.pair ? out.pair + i * L * Lp : nullptr);
      if (out.counts && t % kCountBlock == 1) settle_pair_sums(d, w);
    } else if (t >= d.order) {
      if (out.counts) {
        ++waiting;
        Real* v = w.v + (capacity - waiting) * d.states;
        for (int64_t s = 0; s < d.states; s += W) store(v + s, load(w.weighted + s) * share);
        if (waiting == capacity && apart) {
          add_counts<Real, K>(e, waiting, alpha - d.states, v, 1.0, w.counts);
          waiting = 0;
        }
      }
      const Real* rows = e.full_t;
      for (int64_t c = 0; c < d.contexts; ++c, rows += L * Lp) {
        Real* to = d.order == 1 ? w.beta : w.row;
        for_tiles<K>(Lp / W, [&](auto tile, int k0) {
          constexpr int KT = decltype(tile)::value;
          Pack<Real> in[KT];
          weighted_rows<Real, KT>(w.weighted + c * Lp, 1, rows + k0 * W, Lp, L, in);
          CRFKIT_UNROLL
          for (int k = 0; k < KT; ++k) store(to + (k0 + k) * W, in[k] * scale + lift);
        });
        if (d.order > 1) {
          Real* column = w.beta + in_offset(d, c);
          for (int j = 0; j < L; ++j) column[j * d.forget_stride] = w.row[j];
        }
      }
    } else {
      for (int64_t h = 0; h < H; ++h) {
        const Real in = alpha[state_offset(d, h) - d.states] * share;
        Pack<Real> sum = splat<Real>(0);
        for (int l = 0; l < Lp; l += W) {
          const Pack<Real> onward = load(e.expand[t] + h * Lp + l) * load(w.weighted + h * Lp + l);
          sum += onward;
          store(w.expand + (e.expand[t] - e.expand[1]) + h * Lp + l, onward * in);
        }
        w.beta[state_offset(d, h)] = sum_lanes<Real>(sum) * scale + lift;
      }
    }
  }
  if (!sound || !out.counts || piece.first > 0) return sound;

  const Real* oldest = w.alpha + (d.order - 1) * d.states;
  const Real* v = w.v + (capacity - waiting) * d.states;
  if (!apart) {
    if (waiting) add_counts<Real, K>(e, waiting, oldest, v, out.weight, out.counts);
  } else {
    if (waiting) add_counts<Real, K>(e, waiting, oldest, v, 1.0, w.counts);
    for (int64_t i = 0; i < table_size; ++i) out.counts[i] += out.weight * w.counts[i];
  }
  for (int t = 1; t < d.order && t < T; ++t)
    for (int64_t i = 0; i < power(L, t) * Lp; i += W)
      add_weighted<Real>(out.expand[t] + i, out.weight, load(w.expand + (e.expand[t] - e.expand[1]) + i));
  return true;
}

// log Z of what has been seen, by parts: the maxima of nodes and pairs, logarithms of Σ α, and a product of
// such sums whose logarithm has not been taken yet.
struct ScaledTotals {
  double nodes, pairs, logs, product;
};
constexpr ScaledTotals kNoTotals = {0, 0, 0, 1};

// Exponentiates the scores of a piece and runs forward through it. False: a position permits no label.
template <class Real, int K>
bool run_forward(const SharedEdges<Real>& e, const Piece& piece, const Real* node, const Real* pairs,
                 const ScaledWork<Real>& w, ScaledTotals* totals) {
  if (!exponentiate_nodes<Real, K>(e, piece, node, w.psi, &totals->nodes)) return false;
  if (pairs) exponentiate_pairs<Real>(e, piece, pairs, w.tables, &totals->pairs);
  forward<Real, K>(e, piece, w.psi, w.tables, w.paired, w.alpha, w.sums);
  for (int64_t t = 0; t < piece.last - piece.first; ++t) {
    totals->product *= static_cast<double>(w.sums[t]);
    if (totals->product < 1e-30 || totals->product > 1e200) {
      totals->logs += log(totals->product);
      totals->product = 1;
    }
  }
  return true;
}

template <class Real>
double log_z_of(const SharedEdges<Real>& e, int64_t T, const ScaledTotals& totals) {
  const ChainDims& d = e.dims;
  double log_z = totals.nodes + totals.pairs + e.start_max + e.end_max;
  for (int t = 1; t < d.order && t < T; ++t) log_z += e.expand_max[t];
  if (T > d.order) log_z += static_cast<double>(T - d.order) * e.full_max;
  return log_z + (totals.logs + log(totals.product));
}

template <class Real, int K>
bool scaled_posterior_of_width(const SharedEdges<Real>& e, int64_t T, const Real* node, const Real* pairs,
                               double* memory, const PosteriorOut<Real>& out) {
  const ChainDims& d = e.dims;
  const Piece all = {0, T, T};
  const ScaledWork<Real> w = cut_workspace<Real>(d, T, T, pairs != nullptr, memory);
  ScaledTotals totals = kNoTotals;
  if (!run_forward<Real, K>(e, all, node, pairs, w, &totals)) return false;

  bool wanted = out.node || out.pair || out.counts;
  if (!wanted) {  // log Z alone: when no single state has become tiny, nothing is lost and β is not needed
    for (int64_t t = 0; t < T && !wanted; ++t) {
      const Real before = t > 0 && w.sums[t - 1] < 1 ? w.sums[t - 1] : Real(1);
      const Real floor = Floor<Real>::value / before;
      const int64_t H = contexts_at(d, t);
      for (int64_t h = 0; h < H; ++h) {
        int small = 0;
        for (int l = 0; l < d.labels; ++l) small |= !(w.alpha[t * d.states + h * d.padded + l] >= floor);
        wanted |= small != 0;
      }
    }
  }
  if (wanted && !backward<Real, K>(e, all, w, out)) return false;
  *out.log_z = log_z_of(e, T, totals);
  return true;
}

// Computes log Z, marginals and expected transitions of one sequence of T >= 1 positions. Returns false if it
// must be done in log space instead (then counts are unchanged and the other outputs undefined). node: [T,
// Lp] scores, pairs: [T, L, Lp] scores of label pairs or null, any finite numbers in the padding; memory:
// scaled_workspace_size doubles.
template <class Real>
bool scaled_posterior(const SharedEdges<Real>& e, int64_t T, const Real* node, const Real* pairs,
                      double* memory, const PosteriorOut<Real>& out) {
  const FlushTiny guard;
  return with_width(e.dims.padded / Lanes<Real>::count, [&](auto width) {
    return scaled_posterior_of_width<Real, decltype(width)::value>(e, T, node, pairs, memory, out);
  });
}

}  // namespace crfkit::CRFKIT_ISA
