// Single paths over label n-grams: their score, samples, the n best, and segments.
#pragma once

#include "base/splitmix.h"
#include "chain/nbest.h"
#include "chain/sample.h"
#include "chain/segment_probability.h"
#include "orders/ngram_best.h"
#include "orders/ngram_logs.h"
#include "orders/ngram_sums.h"

namespace crfkit {

// Returns the score of a path: -inf if it is forbidden, 0 if it is empty.
inline double path_score(const NgramWeights& w, const NgramView& x, const int32_t* labels) {
  const LabelNgrams& a = *w.ngrams;
  double sum = 0, carry = 0;
  int32_t s = -1;
  auto add = [&](double score) {
    const double next = sum + score;
    if (std::isfinite(next))
      carry += std::fabs(sum) >= std::fabs(score) ? (sum - next) + score : (score - next) + sum;
    sum = next;
  };
  for (int64_t t = 0; t < x.length; ++t) {
    const int32_t v = a.step(s, labels[t]);
    add(x.psi(a.L, t, labels[t]));
    if (t > 0) add(x.step(w, t, v));
    s = a.dest[static_cast<size_t>(v)];
  }
  return sum + carry;
}

// α in log space, up to a constant per position; by scaled sums where they are sound.
class NgramAlphas {
 public:
  explicit NgramAlphas(const NgramWeights& w) : a_(*w.ngrams), sums_(w), logs_(w) {}

  // Returns the first position that no permitted path reaches, or -1. states: as in NgramOut.
  int64_t fill(const NgramView& x, double* states = nullptr) {
    double log_z;
    NgramOut out{};
    out.log_z = &log_z;
    out.states = states;
    if (x.length * a_.n_states() > NgramSums::kKept || !sums_.posterior(x, out))
      return states ? logs_.posterior(x, out) : logs_.forward(x);
    logs_.alphas().assign(static_cast<size_t>(x.length * a_.n_states()), -HUGE_VAL);
    for (int64_t t = 0; t < x.length; ++t)
      for (const int32_t s : sums_.states(t))
        logs_.alphas()[static_cast<size_t>(t * a_.n_states() + s)] = std::log(sums_.alpha(t)[s]);
    return -1;
  }
  const double* at(int64_t t) const { return logs_.alpha(t); }

 private:
  const LabelNgrams& a_;
  NgramSums sums_;
  NgramLogs logs_;
};

// As sample_paths of chain/sample.h.
inline int64_t sample_paths(const NgramWeights& w, const NgramView& x, uint64_t key, int64_t n_samples,
                            int32_t* labels, int64_t stride) {
  const LabelNgrams& a = *w.ngrams;
  NgramAlphas alphas(w);
  const int64_t dead = alphas.fill(x), T = x.length;
  if (dead >= 0) return dead;
  std::vector<int32_t> state(static_cast<size_t>(n_samples));
  std::vector<double> weights(static_cast<size_t>(a.n_states()));
  for (int64_t t = T - 1; t >= 0; --t) {
    const double* here = alphas.at(t);
    for (int64_t i = 0; i < n_samples; ++i) {
      poll(a.n_states());
      int32_t& after = state[static_cast<size_t>(i)];
      for (int32_t s = 0; s < a.n_states(); ++s) {
        weights[static_cast<size_t>(s)] = here[s];
        if (t + 1 == T || here[s] == -HUGE_VAL) continue;
        const int32_t v = a.step(s, a.state_label[static_cast<size_t>(after)]);
        weights[static_cast<size_t>(s)] =
            a.dest[static_cast<size_t>(v)] == after ? here[s] + x.step(w, t + 1, v) : -HUGE_VAL;
      }
      after = static_cast<int32_t>(draw(weights, uniform(key, static_cast<uint64_t>(i * T + t))));
      labels[i * stride + t] = a.state_label[static_cast<size_t>(after)];
    }
  }
  return -1;
}

// The states of all positions with the best path into each, for PathEnumerator.
class NgramTrellis {
 public:
  NgramTrellis(const NgramWeights& w, const NgramView& x) : w_(w), a_(*w.ngrams), x_(x) {
    NgramBest best(w);
    best.read(x);
    delta_.resize(static_cast<size_t>(x.length * a_.n_states()));
    back_.resize(delta_.size());
    for (int64_t t = 0; t < x.length; ++t) {
      double* to = delta_.data() + t * a_.n_states();
      if (!best.advance(x, t, to - (t > 0 ? a_.n_states() : 0), to, back_.data() + t * a_.n_states())) {
        dead_ = t;
        return;
      }
      shifts_.push_back(best.shift());
    }
  }

  int64_t dead() const { return dead_; }
  int64_t length() const { return x_.length; }
  int64_t states() const { return a_.n_states(); }
  int32_t label(int64_t s) const { return a_.state_label[static_cast<size_t>(s)]; }
  double best(int64_t t, int64_t s) const { return delta_[static_cast<size_t>(t * a_.n_states() + s)]; }
  int64_t best_before(int64_t t, int64_t s) const {
    return back_[static_cast<size_t>(t * a_.n_states() + s)];
  }
  template <class Fn>
  void for_last(Fn&& fn) const {
    for (int64_t s = 0; s < a_.n_states(); ++s) fn(s);
  }
  template <class Fn>
  void for_before(int64_t t, int64_t s, Fn&& fn) const {
    for (int32_t from = 0; from < a_.n_states(); ++from)
      if (best(t - 1, from) > -HUGE_VAL && a_.dest[static_cast<size_t>(a_.step(from, label(s)))] == s)
        fn(int64_t{from});
  }
  double arrive(int64_t t, int64_t s, int64_t from, double score) const {
    const int32_t v = a_.step(static_cast<int32_t>(from), label(s));
    return x_.psi(a_.L, t, label(s)) + (score + x_.step(w_, t, v)) - shifts_[static_cast<size_t>(t)];
  }

 private:
  const NgramWeights& w_;
  const LabelNgrams& a_;
  const NgramView& x_;
  std::vector<double> delta_, shifts_;  // [T, states], [T]
  std::vector<int32_t> back_;           // [T, states]
  int64_t dead_ = -1;
};

// As segment_probability of chain/segment_probability.h. states: [T, states] their probabilities.
inline double segment_probability(const NgramWeights& w, const NgramView& x, const SegmentRules& rules,
                                  const SegmentPlace& segment, const NgramAlphas& alphas,
                                  const double* states) {
  const LabelNgrams& a = *w.ngrams;
  const auto L = static_cast<int64_t>(a.L);
  const auto Q = static_cast<size_t>(a.n_states());
  std::vector<double> before(Q, 1.0), now(Q), all(Q);
  const int64_t last_step = segment.stop < x.length ? segment.stop : x.length - 1;
  for (int64_t t = segment.start; t <= last_step; ++t) {
    const auto permitted = [&](int64_t k, int64_t l) -> bool {
      if (t == segment.start) return rules.kinds[l] == segment.kind && rules.opens[k * L + l];
      return t < segment.stop ? rules.joins[k * L + l] : rules.closes[k * (L + 1) + l];
    };
    std::fill(now.begin(), now.end(), 0.0);
    if (t == 0) {
      for (int32_t l = 0; l < a.L; ++l)
        now[static_cast<size_t>(a.state_group[static_cast<size_t>(l)])] = permitted(L, l);
    } else {
      // p(s before | d here): shares of exp(α + W); exp(-top) keeps them in range
      std::vector<double> top(Q, -HUGE_VAL);
      const double* alpha = alphas.at(t - 1);
      auto over = [&](auto&& fn) {
        for_matches(a, [&](int32_t s, const int32_t* match) {
          poll(a.L);
          if (alpha[s] == -HUGE_VAL) return;
          for (int32_t l = 0; l < a.L; ++l) {
            const auto d = static_cast<size_t>(a.dest[static_cast<size_t>(match[l])]);
            if (states[t * a.n_states() + static_cast<int64_t>(d)] > 0)
              fn(s, l, d, alpha[s] + x.step(w, t, match[l]));
          }
        });
      };
      over([&](int32_t, int32_t, size_t d, double score) { top[d] = score > top[d] ? score : top[d]; });
      std::fill(all.begin(), all.end(), 0.0);
      over([&](int32_t s, int32_t l, size_t d, double score) {
        if (score == -HUGE_VAL) return;
        const double share = std::exp(score - top[d]);
        all[d] += share;
        if (permitted(a.state_label[static_cast<size_t>(s)], l))
          now[d] += share * before[static_cast<size_t>(s)];
      });
      for (size_t d = 0; d < Q; ++d) now[d] = all[d] > 0 ? now[d] / all[d] : 0.0;
    }
    std::swap(before, now);
  }
  double total = 0;
  for (size_t d = 0; d < Q; ++d) {
    const bool ends = segment.stop < x.length || rules.closes[a.state_label[d] * (L + 1) + L];
    if (ends) total += states[last_step * a.n_states() + static_cast<int64_t>(d)] * before[d];
  }
  return total < 1 ? total : 1;
}

}  // namespace crfkit
