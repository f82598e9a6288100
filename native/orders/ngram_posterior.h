// Marginals of a sequence of the linear objective over label n-grams.
#pragma once

#include <memory>

#include "chain/lattice.h"
#include "orders/ngram_logs.h"
#include "orders/ngram_sums.h"

namespace crfkit {

// The n-grams of an objective and their weights of now.
struct NgramModel {
  std::unique_ptr<LabelNgrams> ngrams;
  NgramWeights weights;

  void load(const double* edge, const double* rows) { weights.load(*ngrams, edge, rows); }
};

// The workspace of one thread.
class NgramPosterior {
 public:
  explicit NgramPosterior(const NgramModel& model)
      : m_(model), a_(*model.ngrams), sums_(model.weights), logs_(model.weights) {}

  // What linear_posterior.h does: returns log Z, writes marginals over node [T, Lp] and pairs [T, L, Lp] (or
  // null), and adds `weight` times the expected nodes to counts.
  double run(int64_t T, float* node, float* pairs, double weight, double* counts) {
    const int64_t L = a_.L, Lp = (L + kPadding - 1) / kPadding * kPadding;
    node_.resize(static_cast<size_t>(T * L));
    for (int64_t t = 0; t < T; ++t)
      for (int64_t l = 0; l < L; ++l)
        node_[static_cast<size_t>(t * L + l)] = static_cast<double>(node[t * Lp + l]);
    if (pairs) pair_.assign(pairs, pairs + T * L * Lp);
    NgramView x{T, node_.data(), nullptr, nullptr, pairs ? pair_.data() : nullptr, Lp};
    double log_z = -HUGE_VAL;
    NgramOut out{};
    out.log_z = &log_z;
    marginals_.resize(node_.size());
    out.node = marginals_.data();
    if (pairs) {
      pair_marginals_.resize(pair_.size());
      out.pair = pair_marginals_.data();
      out.pair_row = Lp;
    }
    out.weight = weight;
    out.nodes = counts;
    if (!sums_.posterior(x, out) && logs_.posterior(x, out) >= 0) return -HUGE_VAL;
    for (int64_t t = 0; t < T; ++t)
      for (int64_t l = 0; l < Lp; ++l)
        node[t * Lp + l] = l < L ? static_cast<float>(marginals_[static_cast<size_t>(t * L + l)]) : 0.0f;
    for (int64_t i = 0; pairs && i < T * L * Lp; ++i)
      pairs[i] = i % Lp < L ? static_cast<float>(pair_marginals_[static_cast<size_t>(i)]) : 0.0f;
    return log_z;
  }

  // The score of the transitions of a path.
  double transitions(int64_t T, const int32_t* labels) const {
    double score = 0;
    int32_t s = -1;
    for (int64_t t = 0; t < T; ++t) {
      const int32_t v = a_.step(s, labels[t]);
      score += m_.weights.totals[static_cast<size_t>(v)];
      s = a_.dest[static_cast<size_t>(v)];
    }
    return score;
  }

 private:
  const NgramModel& m_;
  const LabelNgrams& a_;
  NgramSums sums_;
  NgramLogs logs_;
  std::vector<double> node_, marginals_;       // [T, L]
  std::vector<double> pair_, pair_marginals_;  // [T, L, Lp]
};

}  // namespace crfkit
