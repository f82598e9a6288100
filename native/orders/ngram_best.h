// The best path over label n-grams (Viterbi), in O(states + nodes) per position.
//
// The best history for which v = z l is the longest match is the best one that ends in z, unless a longer
// n-gram matches it; then the histories are looked through without those of longer matches. Ties: the state
// with the smaller number, which is the one with the smaller last label.
#pragma once

#include "base/poll.h"
#include "orders/ngram_scores.h"

namespace crfkit {

class NgramBest {
 public:
  explicit NgramBest(const NgramWeights& w)
      : w_(w),
        a_(*w.ngrams),
        top_(static_cast<size_t>(a_.n_states())),
        arg_(static_cast<size_t>(a_.n_states())),
        through_(static_cast<size_t>(a_.n_states())) {}

  static constexpr int64_t kKept = int64_t{1} << 23;  // back-pointers that are kept at most

  // Writes the best path into labels [T]; returns the first position that no permitted path reaches, or -1.
  int64_t path(const NgramView& x, int32_t* labels) {
    const int64_t T = x.length, Q = a_.n_states();
    const int64_t block =
        T * Q <= kKept ? T : static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(T))));
    const int64_t n_blocks = (T + block - 1) / block;
    permitted_.read(a_.L, x);
    delta_.resize(static_cast<size_t>(2 * Q));
    back_.resize(static_cast<size_t>(block * Q));
    marks_.resize(static_cast<size_t>((n_blocks - 1) * Q));
    for (int64_t t = 0; t < T; ++t) {
      if (t > 0 && t % block == 0) std::copy_n(row(t - 1), Q, marks_.data() + (t / block - 1) * Q);
      if (!advance(x, t, row(t - 1), row(t), back_.data() + t % block * Q)) return t;
    }
    int32_t s = 0;
    const double* last = row(T - 1);
    for (int32_t other = 1; other < Q; ++other)
      if (last[other] > last[s]) s = other;
    for (int64_t b = n_blocks - 1; b >= 0; --b) {
      const int64_t first = b * block, end = std::min(T, first + block);
      if (b + 1 < n_blocks) {
        if (b > 0) std::copy_n(marks_.data() + (b - 1) * Q, Q, row(first - 1));
        for (int64_t t = first; t < end; ++t) advance(x, t, row(t - 1), row(t), back_.data() + t % block * Q);
      }
      for (int64_t t = end - 1; t >= first; --t) {
        labels[t] = a_.state_label[static_cast<size_t>(s)];
        if (t > 0) s = back_[static_cast<size_t>(t % block * Q + s)];
      }
    }
    return -1;
  }

  // δ [states] of position t from that of t-1, less its maximum, and the states before; false: nothing is
  // permitted. `read` must have been called.
  bool advance(const NgramView& x, int64_t t, const double* delta, double* to, int32_t* back) {
    poll(a_.n_nodes());
    std::fill_n(to, a_.n_states(), -HUGE_VAL);
    if (t > 0) best_histories(t, delta);
    double best = -HUGE_VAL;
    for (const int32_t* l = permitted_.begin(t); l < permitted_.end(t); ++l) {
      const double psi = x.psi(a_.L, t, *l);
      const int32_t root = a_.group[static_cast<size_t>(*l)];
      if (t == 0) {
        to[a_.state_group[static_cast<size_t>(*l)]] = psi;
      } else {
        for (int32_t v = root; v < a_.group[static_cast<size_t>(*l) + 1]; ++v) {
          const int32_t z = a_.parent[static_cast<size_t>(v)];
          if (z >= 0 && top_[static_cast<size_t>(z)] == -HUGE_VAL) continue;
          const History from = best_without_longer(t, v, z, delta);
          if (from.score == -HUGE_VAL) continue;
          const double score = psi + (from.score + x.step(w_, t, v));
          const int32_t d = a_.dest[static_cast<size_t>(v)];
          if (score > to[d] || (score == to[d] && score > -HUGE_VAL && from.state < back[d])) {
            to[d] = score;
            back[d] = from.state;
          }
        }
      }
      for (int32_t s = a_.state_group[static_cast<size_t>(*l)];
           s < a_.state_group[static_cast<size_t>(*l) + 1]; ++s)
        best = to[s] > best ? to[s] : best;
    }
    if (best == -HUGE_VAL) return false;
    for (const int32_t* l = permitted_.begin(t); l < permitted_.end(t); ++l)
      for (int32_t s = a_.state_group[static_cast<size_t>(*l)];
           s < a_.state_group[static_cast<size_t>(*l) + 1]; ++s)
        to[s] -= best;
    shift_ = best;
    return true;
  }
  void read(const NgramView& x) { permitted_.read(a_.L, x); }
  double shift() const { return shift_; }  // what the last call of `advance` has subtracted

 private:
  struct History {
    double score;
    int32_t state;
  };

  double* row(int64_t t) { return delta_.data() + (t & 1) * a_.n_states(); }

  // For every state z: the best state that ends in it, and which longer state leads there (-1: z itself).
  void best_histories(int64_t t, const double* delta) {
    for (auto& top : top_) top = -HUGE_VAL;
    all_ = {-HUGE_VAL, 0};
    for (const int32_t* k = permitted_.begin(t - 1); k < permitted_.end(t - 1); ++k) {
      const int32_t first = a_.state_group[static_cast<size_t>(*k)],
                    last = a_.state_group[static_cast<size_t>(*k) + 1];
      for (int32_t s = first; s < last; ++s) {
        top_[static_cast<size_t>(s)] = delta[s];
        arg_[static_cast<size_t>(s)] = s;
        through_[static_cast<size_t>(s)] = -1;
      }
      for (int32_t s = last - 1; s > first; --s) {
        const auto z = static_cast<size_t>(a_.state_fail[static_cast<size_t>(s)]),
                   from = static_cast<size_t>(s);
        if (top_[from] > top_[z] || (top_[from] == top_[z] && arg_[from] < arg_[z])) {
          top_[z] = top_[from];
          arg_[z] = arg_[from];
          through_[z] = s;
        }
      }
      if (top_[static_cast<size_t>(first)] > all_.score) all_ = {top_[static_cast<size_t>(first)], first};
    }
  }

  // Whether a longer n-gram than v matches the histories through state c, of those below the parent of v.
  bool longer(int32_t v, int32_t c) const {
    const int32_t* end = a_.below.end(v);
    const int32_t* at = std::lower_bound(a_.below.begin(v), end, c, [this](int32_t other, int32_t wanted) {
      return a_.parent[static_cast<size_t>(other)] < wanted;
    });
    return at < end && a_.parent[static_cast<size_t>(*at)] == c;
  }

  History best_without_longer(int64_t t, int32_t v, int32_t z, const double* delta) const {
    const int32_t c = z < 0 ? all_.state : through_[static_cast<size_t>(z)];
    if (c < 0 || !longer(v, c)) {
      const auto at = static_cast<size_t>(z < 0 ? all_.state : z);
      return {top_[at], arg_[at]};
    }
    History best{-HUGE_VAL, 0};
    auto offer = [&](double score, int32_t state) {
      if (score > best.score || (score == best.score && state < best.state)) best = {score, state};
    };
    if (z >= 0) offer(delta[z], z);
    const int32_t* out = a_.below.begin(v);
    const int32_t* out_end = a_.below.end(v);
    auto consider = [&](int32_t s) {
      while (out < out_end && a_.parent[static_cast<size_t>(*out)] < s) ++out;
      if (out < out_end && a_.parent[static_cast<size_t>(*out)] == s) return;
      offer(top_[static_cast<size_t>(s)], arg_[static_cast<size_t>(s)]);
    };
    if (z >= 0) {
      for (const int32_t* s = a_.state_below.begin(z); s < a_.state_below.end(z); ++s) consider(*s);
    } else {
      for (const int32_t* k = permitted_.begin(t - 1); k < permitted_.end(t - 1); ++k)
        consider(a_.state_group[static_cast<size_t>(*k)]);
    }
    return best;
  }

  const NgramWeights& w_;
  const LabelNgrams& a_;
  PermittedLabels permitted_;
  std::vector<double> top_;             // [states]
  std::vector<int32_t> arg_, through_;  // [states]
  History all_{};                       // the best single label's state, with the best score of all
  std::vector<double> delta_, marks_;   // [2, states], [blocks - 1, states]
  std::vector<int32_t> back_;           // [block, states]
  double shift_ = 0;
};

}  // namespace crfkit
