// What the linear objective does position by position: scores from weights, derivatives back to them, and the
// score of the true path. A kernel header; see linear_kernel.h.
//
// Each function takes positions from .. to - 1 of a sequence that begins at position `first` of the data. The
// block's arrays begin at `from`.
#pragma once

#include <string.h>

#include "base/poll.h"
#include "linear/linear_problem.h"
#include "linear/settle.h"
#include "simd/tiles.h"

namespace crfkit::CRFKIT_ISA {

// scores[l] = Σ_a value_a w[a, l] for one position. K: packs in a row where it is known, else 0.
template <int K>
CRFKIT_INLINE void gather(const LinearFeatures& f, LinearTable<const float> w, int64_t t, float* scores) {
  constexpr int W = Lanes<float>::count;
  const int Lp = f.padded;
  const int64_t first = f.row_ptr[t], last = f.row_ptr[t + 1];
  for_tiles<K>(Lp / W, [&](auto tile, int k0) {
    constexpr int KT = decltype(tile)::value;
    Pack<float> sum[KT];
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) sum[k] = splat(0.0f);
    for (int64_t i = first; i < last; ++i) {
      const float* row = w.dense + static_cast<int64_t>(f.rows[i]) * Lp + k0 * W;
      if (f.row_values) {
        const Pack<float> value = splat(f.row_values[i]);
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) sum[k] += value * load(row + k * W);
      } else {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) sum[k] += load(row + k * W);
      }
    }
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) store(scores + (k0 + k) * W, sum[k]);
  });
  for (int64_t i = f.sparse_ptr[t]; i < f.sparse_ptr[t + 1]; ++i)
    scores[f.sparse_labels[i]] += w.sparse[f.sparse_ids[i]] * (f.sparse_values ? f.sparse_values[i] : 1.0f);
}

// The transposed product: adds d[l], times the value (or its square), to every parameter active at t. In a
// stochastic step, which changes the weights themselves, also times the number of features that share them.
template <int K, bool Square, bool Shares = false>
CRFKIT_INLINE void scatter(const LinearFeatures& f, int64_t t, const float* d, LinearTable<float> to) {
  constexpr int W = Lanes<float>::count;
  const int Lp = f.padded;
  const int64_t first = f.row_ptr[t], last = f.row_ptr[t + 1];
  auto factor = [](float v) { return Square ? v * v : v; };
  for_tiles<K>(Lp / W, [&](auto tile, int k0) {
    constexpr int KT = decltype(tile)::value;
    Pack<float> x[KT];
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) x[k] = load(d + (k0 + k) * W);
    for (int64_t i = first; i < last; ++i) {
      float* row = to.dense + static_cast<int64_t>(f.rows[i]) * Lp + k0 * W;
      if (Shares) {
        const float* shares = f.row_shares + static_cast<int64_t>(f.rows[i]) * Lp + k0 * W;
        const float value = f.row_values ? f.row_values[i] : 1.0f;
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k)
          store(row + k * W, load(row + k * W) + load(shares + k * W) * x[k] * value);
      } else if (f.row_values) {
        const Pack<float> value = splat(factor(f.row_values[i]));
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) store(row + k * W, load(row + k * W) + value * x[k]);
      } else {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) store(row + k * W, load(row + k * W) + x[k]);
      }
    }
  });
  for (int64_t i = f.sparse_ptr[t]; i < f.sparse_ptr[t + 1]; ++i)
    to.sparse[f.sparse_ids[i]] += d[f.sparse_labels[i]] *
                                  (f.sparse_values ? factor(f.sparse_values[i]) : 1.0f) *
                                  (Shares ? f.sparse_shares[f.sparse_ids[i]] : 1.0f);
}

// Writes scores to block.node and block.pairs. Class weights lower the score of the right label.
template <int K>
CRFKIT_INLINE void fill_scores(const LinearProblem& p, const LinearWeights& w, int64_t first, int64_t from,
                               int64_t to, const LinearBlock& block) {
  const int64_t Lp = p.dims.padded, LLp = p.dims.labels * Lp;
  float *node = block.node, *pairs = block.pairs;
  for (int64_t t = from; t < to; ++t, node += Lp) {
    poll_at(t);
    const int32_t y = p.labels[first + t];
    gather<K>(p.state, w.state, first + t, node);
    if (w.scale != 1)
      for (int l = 0; l < Lp; ++l) node[l] *= w.scale;
    if (p.log_cost && y >= 0) node[y] -= p.log_cost[y];
    if (p.likely) {
      const uint8_t* bits = p.likely + (first + t) * ((p.dims.labels + 7) / 8);
      for (int l = 0; l < p.dims.labels; ++l)
        if (!(bits[l / 8] >> l % 8 & 1)) node[l] = -HUGE_VALF;
    }
    if (!pairs) continue;
    if (p.pair.row_ptr)
      gather<0>(p.pair, w.pair, first + t, pairs);
    else
      memset(pairs, 0, sizeof(float) * static_cast<size_t>(LLp));
    if (w.scale != 1)
      for (int64_t i = 0; i < LLp; ++i) pairs[i] *= w.scale;
    if (p.masks && t > 0) {
      const float* mask = p.masks + p.kinds[first + t] * LLp;
      for (int64_t i = 0; i < LLp; ++i) pairs[i] += mask[i];
    }
    pairs += LLp;
  }
}

// bound = node where partial labels permit a label, else -inf; both [to - from, Lp], or one array.
inline void bind_scores(const LinearProblem& p, int64_t first, int64_t from, int64_t to, const float* node,
                        float* bound) {
  const int L = p.dims.labels, Lp = p.dims.padded;
  for (int64_t t = first + from; t < first + to; ++t, node += Lp, bound += Lp)
    for (int l = 0; l < Lp; ++l) {
      const bool permitted = l < L && (p.labels[t] >= 0 ? p.labels[t] == l : p.allowed[t * L + l] != 0);
      bound[l] = permitted ? node[l] : -HUGE_VALF;
    }
}

// S(x, y) of the positions so far, from node and pair scores in float and edge scores in double.
struct PathScore {
  double score;
  int64_t history, span;  // the labels before, and L to the power of how many they are
};
constexpr PathScore kEmptyPath = {0, 0, 1};

inline void add_path_score(const LinearProblem& p, const LinearWeights& w, int64_t from, int64_t to,
                           const float* node, const float* pairs, const int32_t* y, PathScore* path) {
  const int L = p.dims.labels, Lp = p.dims.padded;
  for (int64_t t = from; t < to; ++t, node += Lp) {
    path->score += static_cast<double>(node[y[t]]);
    if (pairs && t > 0) path->score += static_cast<double>(pairs[((t - from) * L + y[t - 1]) * Lp + y[t]]);
    if (!w.edges[0]) continue;
    const int known = t < p.dims.order ? static_cast<int>(t) : p.dims.order;
    path->score += history_score(w.edges, known, L, path->history, y[t]);
    if (t < p.dims.order) path->span *= L;
    path->history = (path->history * L + y[t]) % path->span;
  }
}

// Derivatives of a position that are smaller in all are left out. Marginals are not more exact than that
// (scaled_chain.h), and at 10⁹ positions of this kind a sum lacks 0.001.
constexpr float kNegligible = 1e-12f;

// Turns marginals into derivatives, in place: d[l] = p[l] - [l = target], or - bound[l] if the target is not
// one label. The right label's p - 1 is minus the sum of the others. Returns Σ |d| over all but the target.
template <int K>
CRFKIT_INLINE float residuals(int n, float* d, int64_t target, const float* bound) {
  constexpr int W = Lanes<float>::count;
  float residual = 0;
  if (bound) {
    for (int i = 0; i < n; ++i) {
      d[i] -= bound[i];
      residual += d[i] < 0 ? -d[i] : d[i];
    }
    return residual;
  }
  d[target] = 0;
  Pack<float> others = splat(0.0f);
  for (int i = 0; i < (K > 0 ? K * W : n); i += W) others += load(d + i);
  residual = sum_lanes<float>(others);
  d[target] = -residual;
  return residual;
}

// Adds one position's derivatives to the gradient, and to the diagonal if requested; p: [f.padded] marginals,
// overwritten.
template <int K>
CRFKIT_INLINE void learn(const LinearFeatures& f, int64_t t, float weight, float* p, int64_t target,
                         const float* bound, LinearTable<float> gradient, LinearTable<float> diagonal,
                         double* label_diag, const LinearBlock& block) {
  if (block.label_diag) {               // tables of the diagonal are also null if there are no rows
    for (int l = 0; l < f.padded; ++l)  // rounding may lift a probability above 1
      block.row[l] = p[l] < 1 ? weight * p[l] * (1 - p[l]) : 0.0f;
    if (label_diag)
      for (int l = 0; l < f.padded; ++l) label_diag[l] += static_cast<double>(block.row[l]);
    scatter<K, true>(f, t, block.row, diagonal);
  }
  if (residuals<K>(f.padded, p, target, bound) < kNegligible) return;
  const float factor = weight * block.step;
  if (factor != 1)
    for (int l = 0; l < f.padded; ++l) p[l] *= factor;
  if (block.step != 1)
    scatter<K, false, true>(f, t, p, gradient);
  else
    scatter<K, false>(f, t, p, gradient);
}

// Adds the derivatives of positions to the block's sums, and moves these to double when it is time.
// block.node, block.pairs and, unless all labels are known, block.bound and block.bound_pairs hold marginals.
template <int K>
CRFKIT_INLINE void learn_positions(const LinearProblem& p, int64_t first, int64_t from, int64_t to,
                                   bool known, float weight, Settling& state, Settling& pair,
                                   const LinearBlock& block) {
  const int64_t Lp = p.dims.padded, LLp = p.dims.labels * Lp;
  const int32_t* y = p.labels + first;
  for (int64_t t = from; t < to; ++t) {
    poll_at(t);
    const int64_t i = t - from;
    learn<K>(p.state, first + t, weight, block.node + i * Lp, y[t], known ? nullptr : block.bound + i * Lp,
             block.state.recent, block.state_diag.recent, block.label_diag, block);
    if (first + t >= state.due) state.settle(first + t, block.state, block.state_diag);
    if (p.pair.row_ptr && t > 0)
      learn<0>(p.pair, first + t, weight, block.pairs + i * LLp,
               static_cast<int64_t>(known ? y[t - 1] : 0) * Lp + y[t],
               known ? nullptr : block.bound_pairs + i * LLp, block.pair.recent, block.pair_diag.recent,
               nullptr, block);
    if (first + t >= pair.due) pair.settle(first + t, block.pair, block.pair_diag);
  }
}

}  // namespace crfkit::CRFKIT_ISA
