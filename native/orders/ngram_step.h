// One step of the chain over label n-grams, in O(states + nodes), without the histories that do not matter.
//
//   A(z)   = Σ of α over all states that end in z                            S = A of the empty history
//   m(v)   = A(z) - Σ_{v': fail(v') = v} A(z')       v = z l, v' = z' l: the mass for which v is the longest
//   match α'(d)  = Σ_{v: dest(v) = d} m(v) e^W(v) ψ(l)
//
//   g(v)   = e^W(v) ψ(l) β'(dest(v))
//   β(s)   = β(fail(s)) + Σ_{v continues s} (g(v) - g(fail(v)))              β(empty) = Σ_l g(l)
//
// Differences lose digits where nearly everything is subtracted. That harms only where the result is small
// compared with what it was computed from; there, and only there, the sums are taken again without
// subtraction:
//
//   m(v)   = α(z) + Σ_{z': fail(z') = z, z' l is no node} A(z')              β(s) = Σ_l g(longest match of s
//   l)
#pragma once

#include <utility>

#include "orders/ngram_scores.h"

namespace crfkit {

constexpr double kSmallShare = 1e-5;  // results below this share of their terms are computed again

class NgramStep {
 public:
  explicit NgramStep(const NgramWeights& w)
      : w_(w),
        a_(*w.ngrams),
        sums_(static_cast<size_t>(a_.n_states())),
        bound_(static_cast<size_t>(a_.n_states())),
        mass_(static_cast<size_t>(a_.n_nodes())),
        gain_(static_cast<size_t>(a_.n_nodes())),
        resolved_(static_cast<size_t>(a_.L)) {}

  // Begins the step from position t-1 to t: labels before and here, exp of the pair scores [L, L] or null,
  // and the factor of pairs that are no n-gram.
  void begin(const PermittedLabels& labels, int64_t t, const double* psi, const double* pairs, double other) {
    before_ = labels.begin(t - 1), before_end_ = labels.end(t - 1);
    here_ = labels.begin(t), here_end_ = labels.end(t);
    all_before_ = before_end_ - before_ == a_.L;
    psi_ = psi;
    pairs_ = pairs;
    other_ = other;
  }

  // α' from α; returns Σ α'. Fills mass(v) of the nodes of this step.
  double forward(const double* alpha, double* to) {
    alpha_ = alpha;
    total_ = 0;
    for (const int32_t* k = before_; k < before_end_; ++k) {
      const int32_t first = a_.state_group[static_cast<size_t>(*k)],
                    last = a_.state_group[static_cast<size_t>(*k) + 1];
      for (int32_t s = first; s < last; ++s) sum(s) = alpha[s];
      for (int32_t s = last - 1; s > first; --s) sum(a_.state_fail[static_cast<size_t>(s)]) += sum(s);
      total_ += sum(first);
    }
    double result = 0;
    for (const int32_t* l = here_; l < here_end_; ++l) {
      const int32_t root = a_.group[static_cast<size_t>(*l)];
      const int32_t first = a_.state_group[static_cast<size_t>(*l)],
                    last = a_.state_group[static_cast<size_t>(*l) + 1];
      mass(root) = total_;
      for_nodes(*l, [&](int32_t v) {
        const double held = sum(a_.parent[static_cast<size_t>(v)]);
        mass(v) = held;
        mass(a_.fail[static_cast<size_t>(v)]) -= held;
      });
      spread(*l, to);
      bool sound = true;
      for (int32_t s = first; s < last; ++s) sound &= to[s] >= kSmallShare * bound_[static_cast<size_t>(s)];
      if (!sound) {
        mass_again(root);
        for_nodes(*l, [&](int32_t v) { mass_again(v); });
        spread(*l, to);
      }
      for (int32_t s = first; s < last; ++s) result += to[s];
    }
    return result;
  }

  // β of the position before from β'; fills gain(v) of the nodes of this step.
  void backward(const double* beta, double* to) {
    double all = 0;
    for (const int32_t* k = before_; k < before_end_; ++k)
      for (int32_t s = a_.state_group[static_cast<size_t>(*k)];
           s < a_.state_group[static_cast<size_t>(*k) + 1]; ++s)
        to[s] = 0;
    for (const int32_t* l = here_; l < here_end_; ++l) {
      const int32_t root = a_.group[static_cast<size_t>(*l)];
      all += gain(root) =
          w_.factor[static_cast<size_t>(root)] * other_ * psi_[*l] * beta[a_.dest[static_cast<size_t>(root)]];
      for_nodes(*l, [&](int32_t v) {
        gain(v) = factor(v) * psi_[*l] * beta[a_.dest[static_cast<size_t>(v)]];
        to[a_.parent[static_cast<size_t>(v)]] += gain(v) - gain(a_.fail[static_cast<size_t>(v)]);
      });
    }
    for (const int32_t* k = before_; k < before_end_; ++k)
      for (int32_t s = a_.state_group[static_cast<size_t>(*k)];
           s < a_.state_group[static_cast<size_t>(*k) + 1]; ++s) {
        const int32_t shorter = a_.state_fail[static_cast<size_t>(s)];
        const double from = shorter < 0 ? all : to[shorter];
        to[s] += from;
        if (!(to[s] >= kSmallShare * from)) to[s] = gain_again(s);
      }
  }

  double& mass(int32_t v) { return mass_[static_cast<size_t>(v)]; }
  double& gain(int32_t v) { return gain_[static_cast<size_t>(v)]; }
  double& sum(int32_t s) { return sums_[static_cast<size_t>(s)]; }

  // Calls fn(v) for the nodes of two or more labels that end in l and in a permitted label before it.
  template <class Fn>
  void for_nodes(int32_t l, Fn&& fn) const {
    const int32_t root = a_.group[static_cast<size_t>(l)], last = a_.group[static_cast<size_t>(l) + 1];
    if (all_before_) {
      for (int32_t v = root + 1; v < last; ++v) fn(v);
      return;
    }
    const int32_t* at = a_.below.begin(root);
    const int32_t* end = a_.below.end(root);
    for (const int32_t* k = before_; k < before_end_ && at < end; ++k) {
      at = std::lower_bound(at, end, *k, [this](int32_t v, int32_t wanted) {
        return a_.previous[static_cast<size_t>(v)] < wanted;
      });
      if (at == end || a_.previous[static_cast<size_t>(*at)] != *k) continue;
      const int32_t stop = at + 1 < end ? at[1] : last;
      for (int32_t v = *at; v < stop; ++v) fn(v);
    }
  }

 private:
  double factor(int32_t v) const {
    const double own = w_.factor[static_cast<size_t>(v)];
    return pairs_ ? own * pairs_[static_cast<int64_t>(a_.previous[static_cast<size_t>(v)]) * a_.L +
                                 a_.label[static_cast<size_t>(v)]]
                  : own;
  }

  void spread(int32_t l, double* to) {
    const int32_t root = a_.group[static_cast<size_t>(l)];
    for (int32_t s = a_.state_group[static_cast<size_t>(l)]; s < a_.state_group[static_cast<size_t>(l) + 1];
         ++s)
      to[s] = bound_[static_cast<size_t>(s)] = 0;
    const double e = w_.factor[static_cast<size_t>(root)] * other_ * psi_[l];
    to[a_.dest[static_cast<size_t>(root)]] = mass(root) * e;
    bound_[static_cast<size_t>(a_.dest[static_cast<size_t>(root)])] = total_ * e;
    for_nodes(l, [&](int32_t v) {
      const double f = factor(v) * psi_[l];
      const auto d = static_cast<size_t>(a_.dest[static_cast<size_t>(v)]);
      to[d] += mass(v) * f;
      bound_[d] += sum(a_.parent[static_cast<size_t>(v)]) * f;
    });
  }

  // m(v) without subtraction.
  void mass_again(int32_t v) {
    const int32_t z = a_.parent[static_cast<size_t>(v)];
    if (a_.below.size(v) == 0 || mass(v) >= 0.1 * (z < 0 ? total_ : sum(z))) return;
    const int32_t* out = a_.below.begin(v);  // the states to leave out are the parents of these
    const int32_t* out_end = a_.below.end(v);
    auto left_out = [&](int32_t s) {
      while (out < out_end && a_.parent[static_cast<size_t>(*out)] < s) ++out;
      return out < out_end && a_.parent[static_cast<size_t>(*out)] == s;
    };
    double held = z < 0 ? 0 : alpha_[z];
    if (z < 0) {
      for (const int32_t* k = before_; k < before_end_; ++k)
        if (const int32_t s = a_.state_group[static_cast<size_t>(*k)]; !left_out(s)) held += sum(s);
    } else {
      for (const int32_t* s = a_.state_below.begin(z); s < a_.state_below.end(z); ++s)
        if (!left_out(*s)) held += sum(*s);
    }
    mass(v) = held;
  }

  // β(s) without subtraction.
  double gain_again(int32_t s) {
    for (const int32_t* l = here_; l < here_end_; ++l)
      resolved_[static_cast<size_t>(*l)] = gain(a_.group[static_cast<size_t>(*l)]);
    chain_.clear();
    for (int32_t z = s; z >= 0; z = a_.state_fail[static_cast<size_t>(z)]) chain_.push_back(z);
    for (size_t i = chain_.size(); i-- > 0;)
      for (const int32_t* v = a_.children.begin(chain_[i]); v < a_.children.end(chain_[i]); ++v)
        resolved_[static_cast<size_t>(a_.label[static_cast<size_t>(*v)])] = gain(*v);
    double total = 0;
    for (const int32_t* l = here_; l < here_end_; ++l) total += resolved_[static_cast<size_t>(*l)];
    return total;
  }

  const NgramWeights& w_;
  const LabelNgrams& a_;
  std::vector<double> sums_, bound_;  // [states] A; what α' was computed from
  std::vector<double> mass_, gain_;   // [nodes] m, g
  std::vector<double> resolved_;      // [L]
  std::vector<int32_t> chain_;
  const int32_t *before_, *before_end_, *here_, *here_end_;
  const double *alpha_, *psi_, *pairs_;
  bool all_before_;
  double total_, other_;
};

}  // namespace crfkit
