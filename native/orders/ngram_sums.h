// Forward-backward over label n-grams, with scaled probabilities in double precision.
//
// α and β are raised at every step by more than they can have lost to underflow, as in chain/scaled_chain.h;
// where that could matter, ngram_posterior returns false, and the sequence must be done in log space
// (ngram_logs.h). In a long sequence α is kept at every √T-th position only, and computed again in between.
#pragma once

#include <limits>

#include "base/poll.h"
#include "orders/ngram_step.h"

namespace crfkit {

class NgramSums {
 public:
  explicit NgramSums(const NgramWeights& w) : w_(w), a_(*w.ngrams), step_(w) {}

  static constexpr int64_t kKept = int64_t{1} << 23;  // numbers of α that are kept at most

  // False if probability may have been lost; nothing has been added to the counts then.
  bool posterior(const NgramView& x, const NgramOut& out) {
    x_ = &x;
    T_ = x.length;
    rest_ = 1;
    labels_.read(a_.L, x);
    step_.read(labels_);
    for (int64_t t = 0; t < T_; ++t)
      if (labels_.size(t) == 0) return false;
    block_ = T_ * a_.n_states() <= kKept
                 ? T_
                 : static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(T_))));
    alpha_.resize(static_cast<size_t>(block_ * a_.n_states()));
    marks_.resize(static_cast<size_t>((T_ - 1) / block_ * a_.n_states()));
    lifts_.resize(static_cast<size_t>(T_));
    psi_.resize(static_cast<size_t>(a_.L));
    if (x.pair) pairs_.resize(static_cast<size_t>(a_.L) * static_cast<size_t>(a_.L));
    double log_z = 0;
    for (int64_t t = 0; t < T_; ++t) {
      if (t > 0 && t % block_ == 0)
        std::copy_n(row(t - 1), a_.n_states(), marks_.data() + (t / block_ - 1) * a_.n_states());
      const double part = advance(t);
      if (!std::isfinite(part)) return false;
      log_z += part;
    }
    *out.log_z = log_z;
    return backward(out);
  }

  // α of a position [states], normalised, if all were kept; only possible states are set.
  const double* alpha(int64_t t) const { return alpha_.data() + t * a_.n_states(); }
  bool kept_all() const { return block_ == T_; }
  LiveLists::List states(int64_t t) { return step_.at(t).states(); }  // the possible ones

 private:
  double* row(int64_t t) { return alpha_.data() + t % block_ * a_.n_states(); }

  // Computes ψ and the exponentials of pair scores of position t; returns what was subtracted.
  double exponentiate(int64_t t) {
    double top = -HUGE_VAL;
    for (const int32_t* l = labels_.begin(t); l < labels_.end(t); ++l) {
      const double score = x_->psi(a_.L, t, *l);
      top = score > top ? score : top;
    }
    for (const int32_t* l = labels_.begin(t); l < labels_.end(t); ++l)
      psi_[static_cast<size_t>(*l)] = std::exp(x_->psi(a_.L, t, *l) - top);
    if (!x_->pair || t == 0) return top;
    double most = 0;
    for_pairs(t, [&](double score, size_t) { most = score > most ? score : most; });
    for_pairs(t, [&](double score, size_t at) { pairs_[at] = std::exp(score - most); });
    rest_ = std::exp(-most);
    return top + most;
  }

  // Calls fn(score, place in a table [L, L]) for the permitted label pairs of a position.
  template <class Fn>
  void for_pairs(int64_t t, Fn&& fn) const {
    for (const int32_t* k = labels_.begin(t - 1); k < labels_.end(t - 1); ++k)
      for (const int32_t* l = labels_.begin(t); l < labels_.end(t); ++l)
        fn(x_->pair[(t * a_.L + *k) * x_->pair_row + *l],
           static_cast<size_t>(*k) * static_cast<size_t>(a_.L) + static_cast<size_t>(*l));
  }

  double lift(double scale) const {
    return 4 * static_cast<double>(a_.n_nodes() + 4) * std::numeric_limits<double>::min() * (1 + scale);
  }

  // Computes α of position t, normalised; returns the logarithm of its sum.
  double advance(int64_t t) {
    poll(a_.n_nodes());
    const double top = exponentiate(t);
    double* to = row(t);
    double total = 0;
    if (t == 0) {
      for (const int32_t s : states(0))  // labels alone
        total += to[s] = psi_[static_cast<size_t>(a_.state_label[static_cast<size_t>(s)])];
    } else {
      step_.begin(t, psi_.data(), x_->pair ? pairs_.data() : nullptr, rest_);
      total = step_.forward(before(t), to);
    }
    const double scale = 1 / total, more = lift(scale);
    lifts_[static_cast<size_t>(t)] = more;
    for (const int32_t s : states(t)) to[s] = to[s] * scale + more;
    return std::log(total) + top + (t > 0 ? w_.top : 0.0);
  }

  const double* before(int64_t t) {
    return t % block_ == 0 ? marks_.data() + (t / block_ - 1) * a_.n_states() : row(t - 1);
  }

  bool backward(const NgramOut& out) {
    beta_.resize(static_cast<size_t>(a_.n_states()));
    other_.resize(beta_.size());
    if (out.nodes) {
      for (const int32_t v : counted_) count(v) = 0;
      counted_.clear();
      counts_.resize(static_cast<size_t>(a_.n_nodes()));
    }
    if (out.table) table_.assign(static_cast<size_t>(a_.L) * static_cast<size_t>(a_.L), 0.0);
    const bool arcs = out.nodes || out.pair || out.table;
    double beta_sum = 0, beta_lift = 0;
    for (const int32_t s : states(T_ - 1)) beta_sum += beta_[static_cast<size_t>(s)] = 1;
    for (int64_t first = (T_ - 1) / block_ * block_; first >= 0; first -= block_) {
      const int64_t last = std::min(T_, first + block_);
      if (last < T_)
        for (int64_t t = first; t < last; ++t) advance(t);
      for (int64_t t = last - 1; t >= first; --t) {
        poll(a_.n_nodes());
        const double* alpha = row(t);
        double q = 0;
        for (const int32_t s : states(t)) q += alpha[s] * beta_[static_cast<size_t>(s)];
        const double n_states = static_cast<double>(a_.n_states());
        if (!(q > 1e12 * (lifts_[static_cast<size_t>(t)] * beta_sum + beta_lift * n_states))) return false;
        if (out.node) node_marginals(t, alpha, 1 / q, out.node + t * a_.L);
        if (out.states) {
          std::fill_n(out.states + t * a_.n_states(), a_.n_states(), 0.0);
          for (const int32_t s : states(t))
            out.states[t * a_.n_states() + s] = alpha[s] * beta_[static_cast<size_t>(s)] / q;
        }
        if (t == 0) break;
        exponentiate(t);
        step_.begin(t, psi_.data(), x_->pair ? pairs_.data() : nullptr, rest_);
        step_.backward(beta_.data(), other_.data());
        if (arcs) {
          spare_.resize(beta_.size());
          step_.forward(before(t), spare_.data());
          add_arcs(t, out);
        }
        beta_sum = 0;
        for (const int32_t s : states(t - 1)) beta_sum += other_[static_cast<size_t>(s)];
        const double scale = 1 / beta_sum;
        beta_lift = lift(scale);
        beta_sum = 0;
        for (const int32_t s : states(t - 1))
          beta_sum += beta_[static_cast<size_t>(s)] = other_[static_cast<size_t>(s)] * scale + beta_lift;
      }
    }
    if (out.pair) std::fill_n(out.pair, a_.L * out.pair_row, 0.0);
    if (out.nodes)
      for (const int32_t v : counted_) out.nodes[v] += out.weight * count(v);
    for (size_t i = 0; out.table && i < table_.size(); ++i) out.table[i] += out.weight * table_[i];
    return true;
  }

  void node_marginals(int64_t t, const double* alpha, double scale, double* to) {
    std::fill_n(to, a_.L, 0.0);
    const LiveLists& here = step_.at(t);
    for (int64_t l = 0; l < here.n_labels(); ++l) {
      double p = 0;
      for (const int32_t s : here.states(l)) p += alpha[s] * beta_[static_cast<size_t>(s)];
      to[a_.state_label[static_cast<size_t>(*here.states(l).first)]] = p * scale;
    }
  }

  // The probabilities of the nodes as longest matches of position t: m g / Σ m g.
  void add_arcs(int64_t t, const NgramOut& out) {
    double q = 0;
    for (const int32_t v : step_.at(t).nodes()) q += step_.mass(v) * step_.gain(v);
    const double scale = 1 / q;
    if (out.nodes)
      for (const int32_t v : step_.at(t).nodes()) {
        const double p = step_.mass(v) * step_.gain(v) * scale;
        if (p == 0) continue;
        if (count(v) == 0) counted_.push_back(v);
        count(v) += p;
      }
    if (!out.pair && !out.table) return;
    const int64_t row = out.pair ? out.pair_row : a_.L;
    double* to = out.pair ? out.pair + t * a_.L * row : nullptr;
    if (!to) {
      one_.resize(table_.size());
      to = one_.data();
    }
    std::fill_n(to, a_.L * row, 0.0);
    for (const int32_t* k = labels_.begin(t - 1); k < labels_.end(t - 1); ++k)
      for (const int32_t* l = labels_.begin(t); l < labels_.end(t); ++l)
        to[*k * row + *l] = step_.sum(a_.state_group[static_cast<size_t>(*k)]) *
                            step_.gain(a_.group[static_cast<size_t>(*l)]) * scale;
    for (const int32_t v : step_.at(t).nodes()) {
      if (a_.fail[static_cast<size_t>(v)] < 0) continue;
      double& p = to[a_.previous[static_cast<size_t>(v)] * row + a_.label[static_cast<size_t>(v)]];
      if (a_.length_two(static_cast<size_t>(v))) p = 0;  // comes before all longer ones
      p += step_.mass(v) * step_.gain(v) * scale;
    }
    if (out.table)
      for (int64_t k = 0; k < a_.L; ++k)
        for (int64_t l = 0; l < a_.L; ++l) table_[static_cast<size_t>(k * a_.L + l)] += to[k * row + l];
  }

  double& count(int32_t v) { return counts_[static_cast<size_t>(v)]; }

  const NgramWeights& w_;
  const LabelNgrams& a_;
  NgramStep step_;
  const NgramView* x_ = nullptr;
  int64_t T_ = 0, block_ = 0;
  double rest_ = 1;  // the factor of pairs that are no n-gram
  PermittedLabels labels_;
  std::vector<double> alpha_, marks_;         // [block, states], [blocks - 1, states]
  std::vector<double> lifts_;                 // [T]
  std::vector<double> psi_, pairs_;           // [L], [L, L]
  std::vector<double> beta_, other_, spare_;  // [states]
  std::vector<double> counts_, table_, one_;
  std::vector<int32_t> counted_;  // the nodes whose counts are not 0
};

}  // namespace crfkit
