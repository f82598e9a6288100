// Value and gradient of the weighted negative log likelihood of a linear-chain CRF. A kernel header.
//
//   loss      = Σ_i weight_i (log Z(x_i) - S(x_i, y_i))
//   d loss/dw[a, l] = Σ_t value_a(t) weight (p(y_t = l | x) - [y_t = l])
//
// Partial labels: S becomes log Z over the permitted paths, and [y_t = l] their marginals.
// Class weights (softmax-margin): every path that is wrong at a position of class c has its score raised by
// log cost_c there, which is the same as lowering the score of the right label.
//
// Scores, probabilities and the gradient's partial sums are float; log Z, the loss, and expected transitions
// are double. p(y_t) - 1 of the right label is taken as minus the sum of the others, which keeps its digits
// when p(y_t) is nearly 1.
#pragma once

#include "linear_problem.h"
#include "log_chain.h"
#include "scaled_chain.h"

namespace crfkit::CRFKIT_ISA {

// node[l] = Σ_a value_a w[a, l] for one position.
template <int K>
CRFKIT_INLINE void gather(const LinearProblem& p, const LinearWeights& w, int64_t t, float* node) {
  constexpr int W = Lanes<float>::count;
  const int Lp = p.dims.padded;
  const int64_t first = p.row_ptr[t], last = p.row_ptr[t + 1];
  for_tiles<K>(Lp / W, [&](auto tile, int k0) {
    constexpr int KT = decltype(tile)::value;
    Pack<float> sum[KT];
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) sum[k] = splat(0.0f);
    for (int64_t i = first; i < last; ++i) {
      const float* row = w.dense + static_cast<int64_t>(p.rows[i]) * Lp + k0 * W;
      if (p.row_values) {
        const Pack<float> value = splat(p.row_values[i]);
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) sum[k] += value * load(row + k * W);
      } else {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) sum[k] += load(row + k * W);
      }
    }
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) store(node + (k0 + k) * W, sum[k]);
  });
  for (int64_t i = p.sparse_ptr[t]; i < p.sparse_ptr[t + 1]; ++i)
    node[p.sparse_labels[i]] += w.sparse[p.sparse_ids[i]] * (p.sparse_values ? p.sparse_values[i] : 1.0f);
}

// The transposed product: adds d[l], times the value (or its square), to every parameter active at t. In a
// stochastic step, which changes the weights themselves, also times the number of features that share them.
template <int K, bool Square, bool Shares = false>
CRFKIT_INLINE void scatter(const LinearProblem& p, int64_t t, const float* d, float* dense, float* sparse) {
  constexpr int W = Lanes<float>::count;
  const int Lp = p.dims.padded;
  const int64_t first = p.row_ptr[t], last = p.row_ptr[t + 1];
  auto factor = [](float v) { return Square ? v * v : v; };
  for_tiles<K>(Lp / W, [&](auto tile, int k0) {
    constexpr int KT = decltype(tile)::value;
    Pack<float> x[KT];
    CRFKIT_UNROLL
    for (int k = 0; k < KT; ++k) x[k] = load(d + (k0 + k) * W);
    for (int64_t i = first; i < last; ++i) {
      float* row = dense + static_cast<int64_t>(p.rows[i]) * Lp + k0 * W;
      if (Shares) {
        const float* shares = p.row_shares + static_cast<int64_t>(p.rows[i]) * Lp + k0 * W;
        const float value = p.row_values ? p.row_values[i] : 1.0f;
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k)
          store(row + k * W, load(row + k * W) + load(shares + k * W) * x[k] * value);
      } else if (p.row_values) {
        const Pack<float> value = splat(factor(p.row_values[i]));
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) store(row + k * W, load(row + k * W) + value * x[k]);
      } else {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) store(row + k * W, load(row + k * W) + x[k]);
      }
    }
  });
  for (int64_t i = p.sparse_ptr[t]; i < p.sparse_ptr[t + 1]; ++i)
    sparse[p.sparse_ids[i]] += d[p.sparse_labels[i]] * (p.sparse_values ? factor(p.sparse_values[i]) : 1.0f) *
                               (Shares ? p.sparse_shares[p.sparse_ids[i]] : 1.0f);
}

// log Z; marginals [T, Lp] written over `node`; transitions added to the block times `weight`. Falls back
// from float to double, and from there to log space. -inf in `node` forbids a label.
inline double posterior(const LinearProblem& p, const LinearWeights& w, int64_t T, float* node, double weight,
                        const LinearBlock& block) {
  const ChainDims& d = p.dims;
  double log_z = 0;
  // The marginals go to their own place first: a failed attempt must leave the scores as they were.
  float* marginals = reinterpret_cast<float*>(block.memory);
  double* memory = block.memory + (T * d.padded + 1) / 2;
  PosteriorOut<float> out{.log_z = &log_z,
                          .node = marginals,
                          .pair = nullptr,
                          .weight = weight,
                          .counts = block.counts,
                          .expand = {}};
  for (int t = 1; t < d.order; ++t) out.expand[t] = block.expand[t];
  if (scaled_posterior<float>(*w.shared, T, node, memory, out)) {
    memcpy(node, marginals, sizeof(float) * static_cast<size_t>(T * d.padded));
    return log_z;
  }
  double* scores = block.memory;            // [T, Lp]
  double* results = scores + T * d.padded;  // [T, Lp]
  memory = results + T * d.padded;
  for (int64_t i = 0; i < T * d.padded; ++i) scores[i] = static_cast<double>(node[i]);
  PosteriorOut<double> exact{.log_z = &log_z,
                             .node = results,
                             .pair = nullptr,
                             .weight = weight,
                             .counts = block.counts,
                             .expand = {}};
  for (int t = 1; t < d.order; ++t) exact.expand[t] = block.expand[t];
  if (scaled_posterior<double>(*w.exact, T, scores, memory, exact)) {
    for (int64_t i = 0; i < T * d.padded; ++i) node[i] = static_cast<float>(results[i]);
    return log_z;
  }
  for (int64_t t = 0; t < T; ++t)  // log space wants rows without padding
    for (int l = 0; l < d.labels; ++l) scores[t * d.labels + l] = static_cast<double>(node[t * d.padded + l]);
  LatticeView view{};
  view.length = T;
  view.node = scores;
  for (int k = 0; k < d.order; ++k) view.edges[k] = w.edges[k];
  LogOut log_out{.log_z = &log_z,
                 .node = results,
                 .pair = nullptr,
                 .weight = weight,
                 .counts = block.counts,
                 .expand = {},
                 .entropy = nullptr};
  for (int t = 1; t < d.order; ++t) log_out.expand[t] = block.expand[t];
  log_posterior(d, view, *w.tables, memory, log_out);
  for (int64_t t = 0; t < T; ++t)
    for (int l = 0; l < d.padded; ++l)
      node[t * d.padded + l] = l < d.labels ? static_cast<float>(results[t * d.labels + l]) : 0.0f;
  return log_z;
}

// S(x, y), from node scores in float and edge scores in double.
inline double path_score(const LinearProblem& p, const LinearWeights& w, int64_t T, const float* node,
                         const int32_t* y) {
  double score = 0;
  int64_t history = 0, span = 1;
  const int L = p.dims.labels;
  for (int64_t t = 0; t < T; ++t) {
    score += static_cast<double>(node[t * p.dims.padded + y[t]]);
    const int known = t < p.dims.order ? static_cast<int>(t) : p.dims.order;
    score += history_score(w.edges, known, L, history, y[t]);
    if (t < p.dims.order) span *= L;
    history = (history * L + y[t]) % span;
  }
  return score;
}

template <int K>
void linear_sequence(const LinearProblem& p, const LinearWeights& w, int64_t sequence, LinearBlock& block) {
  constexpr int W = Lanes<float>::count;
  const int L = p.dims.labels, Lp = p.dims.padded;
  const int64_t first = p.offsets[sequence], T = p.offsets[sequence + 1] - first;
  const double weight = p.weights ? p.weights[sequence] : 1.0;
  if (T == 0 || weight == 0) return;
  const int32_t* y = p.labels + first;

  bool known = true;
  for (int64_t t = 0; t < T; ++t) {
    float* node = block.node + t * Lp;
    gather<K>(p, w, first + t, node);
    if (w.scale != 1)
      for (int l = 0; l < Lp; ++l) node[l] *= w.scale;
    known &= y[t] >= 0;
    if (p.log_cost && y[t] >= 0) node[y[t]] -= p.log_cost[y[t]];
  }
  double target;
  if (known) {
    target = path_score(p, w, T, block.node, y);
  } else {
    for (int64_t t = 0; t < T; ++t)
      for (int l = 0; l < Lp; ++l) {
        const bool permitted = l < L && (y[t] >= 0 ? y[t] == l : p.allowed[(first + t) * L + l] != 0);
        block.bound[t * Lp + l] = permitted ? block.node[t * Lp + l] : -HUGE_VALF;
      }
    target = posterior(p, w, T, block.bound, -weight, block);
  }
  block.loss += weight * (posterior(p, w, T, block.node, weight, block) - target);

  for (int64_t t = 0; t < T; ++t) {
    float* d = block.node + t * Lp;
    if (block.label_diag) {  // not dense_diag: that is null, too, where no attribute has a dense row
      for (int l = 0; l < Lp; ++l) {
        block.row[l] = static_cast<float>(weight) * d[l] * (1 - d[l]);
        block.label_diag[l] += static_cast<double>(block.row[l]);
      }
      scatter<K, true>(p, first + t, block.row, block.dense_diag, block.sparse_diag);
    }
    float residual = 0;
    if (known) {
      d[y[t]] = 0;
      Pack<float> others = splat(0.0f);
      for (int l = 0; l < Lp; l += W) others += load(d + l);
      residual = sum_lanes<float>(others);
      d[y[t]] = -residual;
    } else {
      for (int l = 0; l < L; ++l) {
        d[l] -= block.bound[t * Lp + l];
        residual += d[l] < 0 ? -d[l] : d[l];
      }
    }
    if (residual < 1e-9f) continue;  // nothing a float sum over the data would notice
    const float factor = static_cast<float>(weight) * block.step;
    if (factor != 1)
      for (int l = 0; l < Lp; ++l) d[l] *= factor;
    if (block.step != 1)
      scatter<K, false, true>(p, first + t, d, block.dense, block.sparse);
    else
      scatter<K, false>(p, first + t, d, block.dense, block.sparse);
  }
}

// Sequences ids[first..last) (or first..last themselves where ids is null), added to the block's sums.
inline void linear_block(const LinearProblem& p, const LinearWeights& w, const int32_t* ids, int64_t first,
                         int64_t last, LinearBlock& block) {
  for (int64_t i = first; i < last; ++i) {
    const int64_t sequence = ids ? ids[i] : i;
    switch (p.dims.padded / Lanes<float>::count) {
      case 1:
        linear_sequence<1>(p, w, sequence, block);
        break;
      case 2:
        linear_sequence<2>(p, w, sequence, block);
        break;
      case 3:
        linear_sequence<3>(p, w, sequence, block);
        break;
      case 4:
        linear_sequence<4>(p, w, sequence, block);
        break;
      default:
        linear_sequence<0>(p, w, sequence, block);
    }
  }
}

}  // namespace crfkit::CRFKIT_ISA
