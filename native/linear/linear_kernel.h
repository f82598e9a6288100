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

#include <math.h>
#include <string.h>

#include "base/poll.h"
#include "linear/linear_pieces.h"
#include "linear/linear_positions.h"
#include "linear/linear_posterior.h"

namespace crfkit::CRFKIT_ISA {

// Scores beyond it, or not finite, make the loss +inf: optimisers then try a smaller step.
constexpr double kLargestScore = 1e9;

inline void add_loss(int64_t T, double weight, double log_z, double target, LinearBlock& block) {
  const double largest = kLargestScore * static_cast<double>(T);
  const bool fit = fabs(log_z) <= largest && fabs(target) <= largest;
  block.loss += fit ? weight * (log_z - target) : HUGE_VAL;
}

template <int K>
void whole_sequence(const LinearProblem& p, const LinearWeights& w, int64_t first, int64_t T, double weight,
                    bool known, LinearBlock& block) {
  fill_scores<K>(p, w, first, 0, T, block);
  double target;
  if (known) {
    PathScore path = kEmptyPath;
    add_path_score(p, w, 0, T, block.node, block.pairs, p.labels + first, &path);
    target = path.score;
    if (block.ngrams) target += block.ngrams->transitions(block.ngrams->worker, T, p.labels + first);
  } else {
    bind_scores(p, first, 0, T, block.node, block.bound);
    float* bound_pairs = block.pairs ? block.bound_pairs : nullptr;
    const int64_t n_pair = T * p.dims.labels * p.dims.padded;
    if (bound_pairs) memcpy(bound_pairs, block.pairs, sizeof(float) * static_cast<size_t>(n_pair));
    target = posterior(p, w, T, block.bound, bound_pairs, -weight, block);
  }
  add_loss(T, weight, posterior(p, w, T, block.node, block.pairs, weight, block), target, block);
  Settling state(p.state, first, block.next_event), pair(p.pair, first, block.next_event + 2);
  learn_positions<K>(p, first, 0, T, known, static_cast<float>(weight), state, pair, block);
}

template <int K>
void long_sequence(const LinearProblem& p, const LinearWeights& w, int64_t first, int64_t T, double weight,
                   bool known, LinearBlock& block) {
  const LongSequence<K> x{p, w, block, first, T};
  PieceChain bound{};
  if (!known) bound = x.run(true, -weight, block.marks + x.count() * mark_size(p.dims));
  const PieceChain all = x.run(false, weight, block.marks);
  if (all.precision == Precision::kNone || bound.precision == Precision::kNone) {
    block.loss = HUGE_VAL;
    return;
  }
  PathScore path = kEmptyPath;
  Settling state(p.state, first, block.next_event), pair(p.pair, first, block.next_event + 2);
  for (int64_t i = 0; i < x.count(); ++i) {
    const Piece piece = x.piece(i);
    fill_scores<K>(p, w, first, piece.first, piece.last, block);
    if (known) {
      add_path_score(p, w, piece.first, piece.last, block.node, block.pairs, p.labels + first, &path);
    } else {
      bind_scores(p, first, piece.first, piece.last, block.node, block.bound);
      float* bound_pairs = block.pairs ? block.bound_pairs : nullptr;
      const int64_t n_pair = (piece.last - piece.first) * p.dims.labels * p.dims.padded;
      if (bound_pairs) memcpy(bound_pairs, block.pairs, sizeof(float) * static_cast<size_t>(n_pair));
      x.marginals(bound, i, block.bound, bound_pairs);
    }
    x.marginals(all, i, block.node, block.pairs);
    learn_positions<K>(p, first, piece.first, piece.last, known, static_cast<float>(weight), state, pair,
                       block);
  }
  add_loss(T, weight, all.log_z, known ? path.score : bound.log_z, block);
}

template <int K>
void linear_sequence(const LinearProblem& p, const LinearWeights& w, int64_t sequence, LinearBlock& block) {
  const int64_t first = p.offsets[sequence], T = p.offsets[sequence + 1] - first;
  const double weight = p.weights ? p.weights[sequence] : 1.0;
  if (T == 0 || weight == 0) return;
  poll(100 * T);
  bool known = true;
  for (int64_t t = first; p.allowed && t < first + T; ++t) known &= p.labels[t] >= 0;
  if (T <= block.whole)
    whole_sequence<K>(p, w, first, T, weight, known, block);
  else
    long_sequence<0>(p, w, first, T, weight, known, block);  // the specialised ones would double the code
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
