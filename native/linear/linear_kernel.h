// Value and gradient of the weighted negative log likelihood of a linear-chain CRF. A kernel header.
//
//   loss      = Σ_i weight_i (log Z(x_i) - S(x_i, y_i))
//   d loss/dw[a, l] = Σ_t value_a(t) weight (p(y_t = l | x) - [y_t = l])
//
// and the same for attributes that score pairs of labels (y_{t-1}, y_t). Pairs may be forbidden, position by
// position: Z then sums over the permitted paths only, and y must be one of them.
//
// Partial labels: S becomes log Z over the permitted paths, and [y_t = l] their marginals.
// Class weights (softmax-margin): every path that is wrong at a position of class c has its score raised by
// log cost_c there, which is the same as lowering the score of the right label.
//
// Scores and probabilities are float; log Z, the loss and expected transitions are double. The gradient is
// summed in float over at most SettlePlan::kLongest terms at a time, and these sums in double. p(y_t) - 1 of
// the right label is taken as minus the sum of the others, which keeps its digits when p(y_t) is nearly 1.
#pragma once

#include <string.h>

#include "base/poll.h"
#include "chain/log_chain.h"
#include "chain/scaled_chain.h"
#include "linear/linear_problem.h"
#include "linear/settle.h"

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

// Returns log Z. Writes marginals [T, Lp] over `node` and, if `pairs` is not null, those of label pairs [T,
// L, Lp] over it; adds transitions times `weight` to the block. Falls back from float to double, then to log
// space. -inf in `node` forbids a label.
inline double posterior(const LinearProblem& p, const LinearWeights& w, int64_t T, float* node, float* pairs,
                        double weight, const LinearBlock& block) {
  const ChainDims& d = p.dims;
  const int64_t n_node = T * d.padded, n_pair = pairs ? n_node * d.labels : 0;
  double log_z = 0;
  // Marginals go to a buffer first: a failed attempt must not change the scores.
  float* marginals = reinterpret_cast<float*>(block.memory);
  double* memory = block.memory + (n_node + n_pair + 1) / 2;
  auto wanted = [&]<class Real>(Real* node_out, Real* pair_out) {
    PosteriorOut<Real> out{};
    out.log_z = &log_z;
    out.node = node_out;
    out.pair = pairs ? pair_out : nullptr;
    out.pair_row = d.padded;
    out.weight = weight;
    out.counts = block.counts;
    for (int t = 1; t < d.order; ++t) out.expand[t] = block.expand[t];
    return out;
  };
  const auto out = wanted(marginals, marginals + n_node);
  if (scaled_posterior<float>(*w.shared, T, node, pairs, memory, out)) {
    memcpy(node, marginals, sizeof(float) * static_cast<size_t>(n_node));
    if (pairs) memcpy(pairs, out.pair, sizeof(float) * static_cast<size_t>(n_pair));
    return log_z;
  }
  double* scores = block.memory;            // [T, Lp]
  double* pair_scores = scores + n_node;    // [T, L, Lp]
  double* results = pair_scores + n_pair;   // [T, Lp]
  double* pair_results = results + n_node;  // [T, L, Lp]
  memory = pair_results + n_pair;
  for (int64_t i = 0; i < n_node; ++i) scores[i] = static_cast<double>(node[i]);
  for (int64_t i = 0; i < n_pair; ++i) pair_scores[i] = static_cast<double>(pairs[i]);
  const auto exact = wanted(results, pair_results);
  if (scaled_posterior<double>(*w.exact, T, scores, pairs ? pair_scores : nullptr, memory, exact)) {
    for (int64_t i = 0; i < n_node; ++i) node[i] = static_cast<float>(results[i]);
    for (int64_t i = 0; i < n_pair; ++i) pairs[i] = static_cast<float>(pair_results[i]);
    return log_z;
  }
  // Log space needs rows without padding, and all edge scores of a position in one table.
  const int64_t L = d.labels, Lp = d.padded;
  for (int64_t t = 0; t < T; ++t)
    for (int l = 0; l < L; ++l) scores[t * L + l] = static_cast<double>(node[t * Lp + l]);
  LatticeView view{};
  view.length = T;
  view.node = scores;
  for (int k = 0; k < d.order; ++k) view.edges[k] = w.edges[k];
  LogTables tables = *w.tables;
  if (pairs) {
    for (int64_t t = 0; t < T; ++t)
      for (int64_t j = 0; j < L; ++j)
        for (int64_t l = 0; l < L; ++l)
          pair_scores[(t * L + j) * L + l] =
              w.edges[0][j * L + l] + (t > 0 ? static_cast<double>(pairs[(t * L + j) * Lp + l]) : 0.0);
    view.edges[0] = pair_scores;
    view.edge_strides[0] = L * L;
    tables = cut_log_tables(d, memory, false);
    memory += log_tables_size(d);
  }
  log_posterior(d, view, tables, memory, exact);
  for (int64_t t = 0; t < T; ++t)
    for (int64_t l = 0; l < Lp; ++l) node[t * Lp + l] = l < L ? static_cast<float>(results[t * L + l]) : 0.0f;
  for (int64_t row = 0; row < (pairs ? T * L : 0); ++row)
    for (int64_t l = 0; l < Lp; ++l)
      pairs[row * Lp + l] = l < L ? static_cast<float>(pair_results[row * L + l]) : 0.0f;
  return log_z;
}

// Returns S(x, y) from node and pair scores in float and edge scores in double.
inline double path_score(const LinearProblem& p, const LinearWeights& w, int64_t T, const float* node,
                         const float* pairs, const int32_t* y) {
  double score = 0;
  int64_t history = 0, span = 1;
  const int L = p.dims.labels;
  for (int64_t t = 0; t < T; ++t) {
    score += static_cast<double>(node[t * p.dims.padded + y[t]]);
    if (pairs && t > 0) score += static_cast<double>(pairs[(t * L + y[t - 1]) * p.dims.padded + y[t]]);
    const int known = t < p.dims.order ? static_cast<int>(t) : p.dims.order;
    score += history_score(w.edges, known, L, history, y[t]);
    if (t < p.dims.order) span *= L;
    history = (history * L + y[t]) % span;
  }
  return score;
}

// Derivatives of a position that are smaller in all are left out. Marginals are not more exact than that
// (scaled_chain.h), and at 10⁹ positions of this kind a sum lacks 0.001.
constexpr float kNegligible = 1e-12f;

// Scores beyond it, or not finite, make the loss +inf: optimisers then try a smaller step.
constexpr double kLargestScore = 1e9;

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

template <int K>
void linear_sequence(const LinearProblem& p, const LinearWeights& w, int64_t sequence, LinearBlock& block) {
  const int L = p.dims.labels, Lp = p.dims.padded;
  const int64_t first = p.offsets[sequence], T = p.offsets[sequence + 1] - first, LLp = L * Lp;
  const double weight = p.weights ? p.weights[sequence] : 1.0;
  if (T == 0 || weight == 0) return;
  poll(100 * T);
  const int32_t* y = p.labels + first;

  bool known = true;
  for (int64_t t = 0; t < T; ++t) {
    poll_at(t);
    float* node = block.node + t * Lp;
    gather<K>(p.state, w.state, first + t, node);
    if (w.scale != 1)
      for (int l = 0; l < Lp; ++l) node[l] *= w.scale;
    known &= y[t] >= 0;
    if (p.log_cost && y[t] >= 0) node[y[t]] -= p.log_cost[y[t]];
    if (block.pairs) {
      float* pairs = block.pairs + t * LLp;
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
    }
  }
  double target;
  if (known) {
    target = path_score(p, w, T, block.node, block.pairs, y);
  } else {
    for (int64_t t = 0; t < T; ++t)
      for (int l = 0; l < Lp; ++l) {
        const bool permitted = l < L && (y[t] >= 0 ? y[t] == l : p.allowed[(first + t) * L + l] != 0);
        block.bound[t * Lp + l] = permitted ? block.node[t * Lp + l] : -HUGE_VALF;
      }
    float* bound_pairs = block.pairs ? block.bound_pairs : nullptr;
    if (bound_pairs) memcpy(bound_pairs, block.pairs, sizeof(float) * static_cast<size_t>(T * LLp));
    target = posterior(p, w, T, block.bound, bound_pairs, -weight, block);
  }
  const double log_z = posterior(p, w, T, block.node, block.pairs, weight, block);
  const double largest = kLargestScore * static_cast<double>(T);
  const bool fit = fabs(log_z) <= largest && fabs(target) <= largest;
  block.loss += fit ? weight * (log_z - target) : HUGE_VAL;

  const auto factor = static_cast<float>(weight);
  Settling state(p.state, first, block.next_event), pair(p.pair, first, block.next_event + 2);
  for (int64_t t = 0; t < T; ++t) {
    poll_at(t);
    learn<K>(p.state, first + t, factor, block.node + t * Lp, y[t], known ? nullptr : block.bound + t * Lp,
             block.state.recent, block.state_diag.recent, block.label_diag, block);
    if (first + t >= state.due) state.settle(first + t, block.state, block.state_diag);
    if (p.pair.row_ptr && t > 0)
      learn<0>(p.pair, first + t, factor, block.pairs + t * LLp,
               static_cast<int64_t>(known ? y[t - 1] : 0) * Lp + y[t],
               known ? nullptr : block.bound_pairs + t * LLp, block.pair.recent, block.pair_diag.recent,
               nullptr, block);
    if (first + t >= pair.due) pair.settle(first + t, block.pair, block.pair_diag);
  }
}

// Adds sequences ids[first..last) (first..last themselves if ids is null) to the block's sums.
inline void linear_block(const LinearProblem& p, const LinearWeights& w, const int32_t* ids, int64_t first,
                         int64_t last, LinearBlock& block) {
  with_width(p.dims.padded / Lanes<float>::count, [&](auto width) {
    for (int64_t i = first; i < last; ++i)
      linear_sequence<decltype(width)::value>(p, w, ids ? ids[i] : i, block);
  });
}

}  // namespace crfkit::CRFKIT_ISA
