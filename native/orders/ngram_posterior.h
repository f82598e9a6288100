// Marginals of a sequence of the linear objective over label n-grams, with or without pruning.
//
// Coarse to fine (Mueller, Schmid and Schütze, "Efficient higher-order CRFs for morphological tagging", EMNLP
// 2013): a label whose probability at a position is below `prune` in the same model without its n-grams of
// three labels and more is left out there. Labels that the training data has are always kept.
#pragma once

#include <memory>

#include "linear/linear_problem.h"
#include "orders/ngram_logs.h"
#include "orders/ngram_sums.h"

namespace crfkit {

// The n-grams of an objective and their weights of now.
struct NgramModel {
  std::unique_ptr<LabelNgrams> ngrams, pairs;  // pairs: those of two labels alone, if labels are pruned
  NgramWeights weights, pair_weights;
  double prune = 0;

  void load(const double* edge, const double* rows) {
    weights.load(*ngrams, edge, rows);
    if (pairs) pair_weights.load(*pairs, edge, nullptr);
  }
};

// The workspace of one thread.
class NgramPosterior {
 public:
  explicit NgramPosterior(const NgramModel& model)
      : m_(model), a_(*model.ngrams), sums_(model.weights), logs_(model.weights) {
    if (model.pairs) coarse_ = std::make_unique<NgramSums>(model.pair_weights);
  }

  // What linear_posterior.h does: returns log Z, writes marginals over node [T, Lp] and pairs [T, L, Lp] (or
  // null), and adds `weight` times the expected nodes to counts. kept: which labels must not be pruned; null:
  // all.
  double run(int64_t T, float* node, float* pairs, double weight, double* counts, const KeptLabels* kept) {
    const int64_t L = a_.L, Lp = (L + kPadding - 1) / kPadding * kPadding;
    node_.resize(static_cast<size_t>(T * L));
    for (int64_t t = 0; t < T; ++t)
      for (int64_t l = 0; l < L; ++l)
        node_[static_cast<size_t>(t * L + l)] = static_cast<double>(node[t * Lp + l]);
    if (pairs) pair_.assign(pairs, pairs + T * L * Lp);
    NgramView x{T, node_.data(), nullptr, nullptr, pairs ? pair_.data() : nullptr, Lp};
    if (coarse_ && kept) leave_out(x, *kept);
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
  void leave_out(const NgramView& x, const KeptLabels& kept) {
    double log_z;
    NgramOut out{};
    out.log_z = &log_z;
    marginals_.resize(node_.size());
    out.node = marginals_.data();
    if (!coarse_->posterior(x, out)) return;
    for (int64_t t = 0; t < x.length; ++t)
      for (int32_t l = 0; l < a_.L; ++l) {
        const bool open = kept.labels[t] < 0 && kept.allowed[t * a_.L + l];
        const auto at = static_cast<size_t>(t * a_.L + l);
        if (marginals_[at] < m_.prune && l != kept.labels[t] && !open) node_[at] = -HUGE_VAL;
      }
  }

  const NgramModel& m_;
  const LabelNgrams& a_;
  NgramSums sums_;
  NgramLogs logs_;
  std::unique_ptr<NgramSums> coarse_;
  std::vector<double> node_, marginals_;       // [T, L]
  std::vector<double> pair_, pair_marginals_;  // [T, L, Lp]
};

}  // namespace crfkit
