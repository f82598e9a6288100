// Long sequences of the linear objective, in pieces, so that memory does not grow with their length. A kernel
// header.
//
// α is kept at the beginning of every piece, β at its end, and the rest is computed again when it is needed
// (Tarnas and Hughey, "Reduced space hidden Markov model training", Bioinformatics 1998). There are three
// passes, each of which computes the scores of a piece anew:
//
//   forward    α at the beginnings; log Z
//   backward   within each piece α again, then β; expected transitions; whether the precision is sufficient
//   forward    within each piece α and β again, from both ends; marginals, which become derivatives
//
// The first two are repeated in double and then in log space if float loses too much: nothing is added to the
// gradient before the outcome is certain. Each number is the same, to the bit, as that of linear_posterior.h.
#pragma once

#include "linear/linear_positions.h"
#include "linear/linear_posterior.h"

namespace crfkit::CRFKIT_ISA {

enum class Precision { kFloat, kDouble, kLog, kNone };  // kNone: no permitted path

// The sums over the paths of one sequence: all paths, or those that agree with partial labels.
struct PieceChain {
  bool bound;
  double weight;  // of its expected transitions
  double* marks;  // [pieces, 2 states + 1] α before the piece and its sum, β at its end
  Precision precision;
  double log_z;
};

template <int K>
struct LongSequence {
  const LinearProblem& p;
  const LinearWeights& w;
  const LinearBlock& block;
  int64_t first, T;  // where it begins in the data, and its length

  int64_t count() const { return piece_count(p.dims, T, block.piece); }
  Piece piece(int64_t i) const {
    const int64_t n = count(), last = T - (n - 1 - i) * block.piece;
    return {i == 0 ? 0 : last - block.piece, last, T};
  }
  double* mark(const PieceChain& chain, int64_t i) const { return chain.marks + i * mark_size(p.dims); }
  // The most positions of a piece.
  int64_t rows() const { return piece_rows(p.dims, block.piece); }

  // Computes the scores of a piece of a chain: block.node and block.pairs.
  void fill(const PieceChain& chain, const Piece& x) const {
    fill_scores<K>(p, w, first, x.first, x.last, block);
    if (chain.bound) bind_scores(p, first, x.first, x.last, block.node, block.node);
  }

  // The chain's edges, the scores and a workspace, all in one precision.
  template <class Real>
  struct Scaled {
    const SharedEdges<Real>& edges;
    Real *node, *pairs;
    ScaledWork<Real> work;
  };
  // Takes scores in float, or converts them to double, into block.memory.
  template <class Real>
  Scaled<Real> scaled(const Piece& x, float* node, float* pairs) const {
    const ChainDims& d = p.dims;
    if constexpr (sizeof(Real) == sizeof(float)) {
      return {*w.shared, node, pairs, cut_workspace<float>(d, T, rows(), pairs, block.memory)};
    } else {
      const int64_t n_node = (x.last - x.first) * d.padded, n_pair = pairs ? n_node * d.labels : 0;
      double* scores = block.memory;
      double* pair_scores = scores + rows() * d.padded;
      double* memory = pair_scores + (pairs ? rows() * d.labels * d.padded : 0);
      for (int64_t i = 0; i < n_node; ++i) scores[i] = static_cast<double>(node[i]);
      for (int64_t i = 0; i < n_pair; ++i) pair_scores[i] = static_cast<double>(pairs[i]);
      return {*w.exact, scores, pairs ? pair_scores : nullptr,
              cut_workspace<double>(d, T, rows(), pairs, memory)};
    }
  }

  template <class Real>
  bool scaled_forward(const Piece& x, const Scaled<Real>& s, const double* mark, ScaledTotals* totals) const {
    const FlushTiny guard;
    const int64_t states = p.dims.states;
    if (x.first > 0) {
      for (int64_t i = 0; i < states; ++i) s.work.alpha[i - states] = static_cast<Real>(mark[i]);
      s.work.sums[-1] = static_cast<Real>(mark[states]);
    }
    return with_width(p.dims.padded / Lanes<Real>::count, [&](auto width) {
      return run_forward<Real, decltype(width)::value>(s.edges, x, s.node, s.pairs, s.work, totals);
    });
  }
  template <class Real>
  bool scaled_backward(const Piece& x, const Scaled<Real>& s, const PosteriorOut<Real>& out) const {
    const FlushTiny guard;
    return with_width(p.dims.padded / Lanes<Real>::count, [&](auto width) {
      return backward<Real, decltype(width)::value>(s.edges, x, s.work, out);
    });
  }

  // What the second pass computes. Label pairs in order 1 get marginals as well, which nobody reads: their
  // sums would otherwise be rounded differently.
  template <class Real>
  PosteriorOut<Real> counting(const PieceChain& chain, Real* pairs) const {
    PosteriorOut<Real> out{};
    if (p.dims.order == 1) out.pair = pairs;
    out.pair_row = p.dims.padded;
    out.weight = chain.weight;
    out.counts = block.counts;
    for (int t = 1; t < p.dims.order; ++t) out.expand[t] = block.expand[t];
    return out;
  }

  // The first two passes. False if probability may have been lost; the block's counts are then unchanged.
  template <class Real>
  bool try_scaled(PieceChain& chain) const {
    const int64_t states = p.dims.states, n = count();
    ScaledTotals totals = kNoTotals, again;
    for (int64_t i = 0; i < n; ++i) {
      const Piece x = piece(i);
      fill(chain, x);
      const auto s = scaled<Real>(x, block.node, block.pairs);
      if (!scaled_forward(x, s, mark(chain, i), &totals)) return false;
      if (i + 1 == n) break;
      const int64_t end = x.last - x.first - 1;
      double* next = mark(chain, i + 1);
      for (int64_t k = 0; k < states; ++k) next[k] = static_cast<double>(s.work.alpha[end * states + k]);
      next[states] = static_cast<double>(s.work.sums[end]);
    }
    for (int64_t i = n - 1; i >= 0; --i) {
      const Piece x = piece(i);
      if (i + 1 < n) fill(chain, x);  // the last piece is there still
      const auto s = scaled<Real>(x, block.node, block.pairs);
      again = kNoTotals;
      scaled_forward(x, s, mark(chain, i), &again);
      double* beta = mark(chain, i) + states + 1;
      for (int64_t k = 0; i + 1 < n && k < states; ++k) beta[k] = static_cast<double>(s.work.beta[k]);
      if (!scaled_backward(x, s, counting<Real>(chain, s.pairs))) return false;
    }
    chain.log_z = log_z_of(scaled<Real>(piece(0), block.node, block.pairs).edges, T, totals);
    return true;
  }

  // The third pass within a piece: writes marginals over its scores.
  template <class Real>
  void scaled_marginals(const PieceChain& chain, int64_t i, float* node, float* pairs) const {
    const int64_t states = p.dims.states;
    const Piece x = piece(i);
    const auto s = scaled<Real>(x, node, pairs);
    ScaledTotals again = kNoTotals;
    scaled_forward(x, s, mark(chain, i), &again);
    const double* beta = mark(chain, i) + states + 1;
    for (int64_t k = 0; x.last < T && k < states; ++k) s.work.beta[k] = static_cast<Real>(beta[k]);
    PosteriorOut<Real> out{};
    out.node = s.node;
    out.pair = s.pairs;
    out.pair_row = p.dims.padded;
    scaled_backward(x, s, out);
    if constexpr (sizeof(Real) == sizeof(double)) {
      const int64_t n_node = (x.last - x.first) * p.dims.padded;
      for (int64_t k = 0; k < n_node; ++k) node[k] = static_cast<float>(s.node[k]);
      for (int64_t k = 0; pairs && k < n_node * p.dims.labels; ++k) pairs[k] = static_cast<float>(s.pairs[k]);
    }
  }

  // The same in log space.
  struct Logs {
    LogScores scores;
    LogWork work;
  };
  Logs logs(const Piece& x, const float* node, const float* pairs) const {
    const LogScores scores = log_scores(p, w, x, node, pairs, block.memory);
    return {scores, cut_log_work(p.dims, x.last - x.first, scores.memory)};
  }
  // Returns whether there is a permitted path.
  bool log_forward_piece(const Logs& s, const double* mark) const {
    const int64_t states = p.dims.states;
    for (int64_t i = 0; s.scores.view.first > 0 && i < states; ++i) s.work.alpha[i - states] = mark[i];
    return log_forward(p.dims, s.scores.view, s.scores.tables, s.work.alpha, s.work.maxima, s.work.psi) < 0;
  }

  bool try_logs(PieceChain& chain) const {
    const ChainDims& d = p.dims;
    const int64_t states = d.states, n = count();
    CarefulSum total;
    for (int64_t i = 0; i < n; ++i) {
      const Piece x = piece(i);
      fill(chain, x);
      const Logs s = logs(x, block.node, block.pairs);
      if (!log_forward_piece(s, mark(chain, i))) return false;
      for (int64_t t = 0; t < x.last - x.first; ++t) total.add(s.work.maxima[t]);
      const double* alpha = s.work.alpha + (x.last - x.first - 1) * states;
      if (i + 1 < n) {
        for (int64_t k = 0; k < states; ++k) mark(chain, i + 1)[k] = alpha[k];
      } else {
        total.add(log_sum(alpha, contexts_at(d, T - 1) * d.padded));
      }
    }
    chain.log_z = total.sum + total.carry;
    begin_backward(d, mark(chain, n - 1) + states + 1);
    for (int64_t i = n - 1; i >= 0; --i) {
      const Piece x = piece(i);
      if (i + 1 < n) fill(chain, x);
      const Logs s = logs(x, block.node, block.pairs);
      log_forward_piece(s, mark(chain, i));
      const double* beta = mark(chain, i) + states + 1;
      for (int64_t k = 0; k < states; ++k) s.work.beta[k] = beta[k];
      log_backward(d, s.scores.view, s.scores.tables, s.work, counting<double>(chain, nullptr));
      for (int64_t k = 0; i > 0 && k < states; ++k) mark(chain, i - 1)[states + 1 + k] = s.work.beta[k];
    }
    return true;
  }

  void log_marginals(const PieceChain& chain, int64_t i, float* node, float* pairs) const {
    const int64_t states = p.dims.states;
    const Piece x = piece(i);
    const Logs s = logs(x, node, pairs);
    log_forward_piece(s, mark(chain, i));
    for (int64_t k = 0; k < states; ++k) s.work.beta[k] = mark(chain, i)[states + 1 + k];
    LogOut out{};
    out.node = s.scores.node_out;
    out.pair = pairs ? s.scores.pair_out : nullptr;
    log_backward(p.dims, s.scores.view, s.scores.tables, s.work, out);
    pad_marginals(p.dims, x.last - x.first, s.scores, node, pairs);
  }

  PieceChain run(bool bound, double weight, double* marks) const {
    PieceChain chain{bound, weight, marks, Precision::kFloat, 0};
    if (try_scaled<float>(chain)) return chain;
    chain.precision = Precision::kDouble;
    if (try_scaled<double>(chain)) return chain;
    chain.precision = try_logs(chain) ? Precision::kLog : Precision::kNone;
    return chain;
  }
  void marginals(const PieceChain& chain, int64_t i, float* node, float* pairs) const {
    if (chain.precision == Precision::kFloat)
      scaled_marginals<float>(chain, i, node, pairs);
    else if (chain.precision == Precision::kDouble)
      scaled_marginals<double>(chain, i, node, pairs);
    else
      log_marginals(chain, i, node, pairs);
  }
};

}  // namespace crfkit::CRFKIT_ISA
