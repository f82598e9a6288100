// Marginals of a sequence in the linear objective: in float, else in double, else in log space. A kernel
// header.
#pragma once

#include <string.h>

#include "chain/log_chain.h"
#include "chain/scaled_chain.h"
#include "linear/linear_problem.h"

namespace crfkit::CRFKIT_ISA {

// The scores of a piece, [n, Lp] and [n, L, Lp], for log space, which needs rows without padding and all edge
// scores of a position in one table.
struct LogScores {
  LatticeView view;
  LogTables tables;
  double* node_out;  // [n, L] for marginals
  double* pair_out;  // [n, L, L]
  double* memory;    // what is left of it
};

inline LogScores log_scores(const LinearProblem& p, const LinearWeights& w, const Piece& piece,
                            const float* node, const float* pairs, double* memory) {
  const ChainDims& d = p.dims;
  const int64_t L = d.labels, Lp = d.padded, n = piece.last - piece.first;
  const int64_t n_node = n * Lp, n_pair = pairs ? n_node * L : 0;
  double* scores = memory;
  double* pair_scores = scores + n_node;
  LogScores out{};
  out.node_out = pair_scores + n_pair;
  out.pair_out = out.node_out + n_node;
  out.memory = out.pair_out + n_pair;
  for (int64_t t = 0; t < n; ++t)
    for (int l = 0; l < L; ++l) scores[t * L + l] = static_cast<double>(node[t * Lp + l]);
  out.view.length = n;
  out.view.first = piece.first;
  out.view.node = scores;
  for (int k = 0; k < d.order; ++k) out.view.edges[k] = w.edges[k];
  out.tables = *w.tables;
  if (!pairs) return out;
  for (int64_t t = 0; t < n; ++t) {
    const bool inner = piece.first + t > 0;
    for (int64_t j = 0; j < L; ++j)
      for (int64_t l = 0; l < L; ++l)
        pair_scores[(t * L + j) * L + l] =
            w.edges[0][j * L + l] + (inner ? static_cast<double>(pairs[(t * L + j) * Lp + l]) : 0.0);
  }
  out.view.edges[0] = pair_scores;
  out.view.edge_strides[0] = L * L;
  out.tables = cut_log_tables(d, out.memory, false);
  out.memory += log_tables_size(d);
  return out;
}

// Writes marginals of log space to float rows with 0 in the padding.
inline void pad_marginals(const ChainDims& d, int64_t n, const LogScores& x, float* node, float* pairs) {
  const int64_t L = d.labels, Lp = d.padded;
  for (int64_t t = 0; t < n; ++t)
    for (int64_t l = 0; l < Lp; ++l)
      node[t * Lp + l] = l < L ? static_cast<float>(x.node_out[t * L + l]) : 0.0f;
  for (int64_t row = 0; row < (pairs ? n * L : 0); ++row)
    for (int64_t l = 0; l < Lp; ++l)
      pairs[row * Lp + l] = l < L ? static_cast<float>(x.pair_out[row * L + l]) : 0.0f;
}

// Returns log Z. Writes marginals [T, Lp] over `node` and, if `pairs` is not null, those of label pairs [T,
// L, Lp] over it; adds transitions times `weight` to the block. Falls back from float to double, then to log
// space. -inf in `node` forbids a label.
inline double posterior(const LinearProblem& p, const LinearWeights& w, int64_t T, float* node, float* pairs,
                        double weight, const LinearBlock& block) {
  if (block.ngrams)
    return block.ngrams->posterior(block.ngrams->worker, T, node, pairs, weight, block.counts);
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
  const LogScores x = log_scores(p, w, {0, T, T}, node, pairs, block.memory);
  log_posterior(d, x.view, x.tables, x.memory, wanted(x.node_out, x.pair_out));
  pad_marginals(d, T, x, node, pairs);
  return log_z;
}

}  // namespace crfkit::CRFKIT_ISA
