// Forward-backward over label n-grams in log space, over all pairs of a state and a label: slow, and right
// for any scores. It is the fallback of ngram_sums.h, and computes entropies:
//
//   H = H(first label) + Σ_t Σ_s p(s at t-1) H(next label | s), which has no cancellation.
#pragma once

#include "base/poll.h"
#include "orders/ngram_scores.h"

namespace crfkit {

// log Σ exp of terms that come one by one.
struct LogSum {
  double top = -HUGE_VAL, sum = 0;

  void add(double x) {
    if (x == -HUGE_VAL) return;
    if (x <= top) {
      sum += std::exp(x - top);
    } else {
      sum = sum * std::exp(top - x) + 1;
      top = x;
    }
  }
  double value() const { return sum > 0 ? top + std::log(sum) : -HUGE_VAL; }
};

// Calls fn(s, matches) for every state s; matches[l] is the node that label l after s makes.
template <class Fn>
void for_matches(const LabelNgrams& a, Fn&& fn) {
  const auto L = static_cast<size_t>(a.L);
  std::vector<std::vector<int32_t>> rows(1, std::vector<int32_t>(a.group.begin(), a.group.end() - 1));
  std::vector<size_t> depth(static_cast<size_t>(a.n_states()));
  for (int32_t s = 0; s < a.n_states(); ++s) {
    const int32_t shorter = a.state_fail[static_cast<size_t>(s)];
    const size_t d = depth[static_cast<size_t>(s)] =
        shorter < 0 ? 1 : depth[static_cast<size_t>(shorter)] + 1;
    if (rows.size() <= d) rows.emplace_back(L);
    rows[d] = rows[d - 1];  // that of `shorter`, which was the last one of its depth
    for (const int32_t* v = a.children.begin(s); v < a.children.end(s); ++v)
      rows[d][static_cast<size_t>(a.label[static_cast<size_t>(*v)])] = *v;
    fn(s, rows[d].data());
  }
}

class NgramLogs {
 public:
  explicit NgramLogs(const NgramWeights& w) : w_(w), a_(*w.ngrams) {}

  // Computes α of all positions; returns the first position that no permitted path reaches, or -1.
  int64_t forward(const NgramView& x) {
    const auto Q = static_cast<size_t>(a_.n_states());
    alpha_.assign(static_cast<size_t>(x.length) * Q, -HUGE_VAL);
    log_z_ = carry_ = 0;
    std::vector<LogSum> to(Q);
    for (int64_t t = 0; t < x.length; ++t) {
      double* here = alpha_.data() + t * a_.n_states();
      if (t == 0) {
        for (int32_t l = 0; l < a_.L; ++l) here[a_.state_group[static_cast<size_t>(l)]] = x.psi(a_.L, 0, l);
      } else {
        std::fill(to.begin(), to.end(), LogSum{});
        const double* before = here - a_.n_states();
        for_matches(a_, [&](int32_t s, const int32_t* match) {
          poll(a_.L);
          if (before[s] == -HUGE_VAL) return;
          for (int32_t l = 0; l < a_.L; ++l) {
            const double score = x.psi(a_.L, t, l);
            if (score > -HUGE_VAL)
              to[static_cast<size_t>(a_.dest[static_cast<size_t>(match[l])])].add(
                  score + (before[s] + x.step(w_, t, match[l])));
          }
        });
        for (size_t s = 0; s < Q; ++s) here[s] = to[s].value();
      }
      double top = -HUGE_VAL;
      for (size_t s = 0; s < Q; ++s) top = here[s] > top ? here[s] : top;
      if (top == -HUGE_VAL) return t;
      for (size_t s = 0; s < Q; ++s) here[s] -= top;
      add(top);
    }
    LogSum all;
    const double* last = alpha_.data() + (x.length - 1) * a_.n_states();
    for (size_t s = 0; s < Q; ++s) all.add(last[s]);
    log_z_ += carry_ + all.value();
    return -1;
  }

  const double* alpha(int64_t t) const { return alpha_.data() + t * a_.n_states(); }
  std::vector<double>& alphas() { return alpha_; }

  // Returns what `forward` returns.
  int64_t posterior(const NgramView& x, const NgramOut& out) {
    const int64_t dead = forward(x);
    if (dead >= 0) return dead;
    *out.log_z = log_z_;
    const auto Q = static_cast<size_t>(a_.n_states());
    if (out.pair) std::fill_n(out.pair, x.length * a_.L * out.pair_row, 0.0);
    std::vector<double> beta(Q, 0.0), earlier(Q), p(Q), terms(static_cast<size_t>(a_.L));
    double entropy = 0;
    for (int64_t t = x.length - 1; t >= 0; --t) {
      const double* here = alpha(t);
      LogSum q;
      for (size_t s = 0; s < Q; ++s) q.add(here[s] + beta[s]);
      for (size_t s = 0; s < Q; ++s) p[s] = std::exp(here[s] + beta[s] - q.value());
      if (out.node) {
        std::fill_n(out.node + t * a_.L, a_.L, 0.0);
        for (size_t s = 0; s < Q; ++s) out.node[t * a_.L + a_.state_label[s]] += p[s];
      }
      if (out.states) std::copy(p.begin(), p.end(), out.states + t * a_.n_states());
      if (t == 0) break;
      const double* before = alpha(t - 1);
      LogSum total;
      for_matches(a_, [&](int32_t s, const int32_t* match) {
        LogSum sum;
        for (int32_t l = 0; l < a_.L; ++l) sum.add(arrive(x, t, match[l], beta.data()));
        earlier[static_cast<size_t>(s)] = sum.value();
        total.add(before[s] + sum.value());
      });
      for_matches(a_, [&](int32_t s, const int32_t* match) {
        poll(a_.L);
        const double from = before[s] - total.value();
        if (from == -HUGE_VAL) return;
        const double p_state = std::exp(from + earlier[static_cast<size_t>(s)]);
        for (int32_t l = 0; l < a_.L; ++l) {
          const double gain = arrive(x, t, match[l], beta.data());
          if (gain == -HUGE_VAL) continue;
          const double share = std::exp(from + gain);
          if (out.nodes) out.nodes[match[l]] += out.weight * share;
          const int32_t k = a_.state_label[static_cast<size_t>(s)];
          if (out.table) out.table[static_cast<int64_t>(k) * a_.L + l] += out.weight * share;
          if (out.pair) out.pair[(t * a_.L + k) * out.pair_row + l] += share;
          const double log_next = gain - earlier[static_cast<size_t>(s)];
          entropy -= p_state * std::exp(log_next) * log_next;
        }
      });
      double top = -HUGE_VAL;
      for (size_t s = 0; s < Q; ++s) top = earlier[s] > top ? earlier[s] : top;
      for (size_t s = 0; s < Q; ++s) beta[s] = earlier[s] - top;
    }
    for (size_t s = 0; s < Q; ++s)
      if (p[s] > 0) entropy -= p[s] * std::log(p[s]);
    if (out.entropy) *out.entropy = entropy > 0 ? entropy : 0;
    return -1;
  }

 private:
  double arrive(const NgramView& x, int64_t t, int32_t v, const double* beta) const {
    const double score = x.psi(a_.L, t, a_.label[static_cast<size_t>(v)]);
    return score == -HUGE_VAL ? score : x.step(w_, t, v) + score + beta[a_.dest[static_cast<size_t>(v)]];
  }
  void add(double x) {  // compensated: sums of large scores keep their digits
    const double next = log_z_ + x;
    carry_ += std::fabs(log_z_) >= std::fabs(x) ? (log_z_ - next) + x : (x - next) + log_z_;
    log_z_ = next;
  }

  const NgramWeights& w_;
  const LabelNgrams& a_;
  std::vector<double> alpha_;  // [T, states]
  double log_z_ = 0, carry_ = 0;
};

}  // namespace crfkit
