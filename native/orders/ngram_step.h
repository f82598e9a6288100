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
//   m(v)   = α(z) + Σ_{z': fail(z') = z, z' l is no node} A(z')
//   β(s)   = Σ_l g(longest match of s l)
#pragma once

#include <utility>

#include "orders/live_lists.h"

namespace crfkit {

constexpr double kSmallShare = 1e-5;  // results below this share of their terms are computed again

class NgramStep {
 public:
  explicit NgramStep(const NgramWeights& w)
      : w_(w),
        a_(*w.ngrams),
        sums_(static_cast<size_t>(a_.n_states())),
        bound_(static_cast<size_t>(a_.n_states())),
        summed_in_(static_cast<size_t>(a_.n_states()), 0),
        mass_(static_cast<size_t>(a_.n_nodes())),
        gain_(static_cast<size_t>(a_.n_nodes())),
        resolved_(static_cast<size_t>(a_.L)) {}

  // Begins a sequence.
  void read(const PermittedLabels& labels) {
    labels_ = &labels;
    for (auto& lists : lists_) lists.forget();
  }

  // What is possible at position t; valid until it is asked for t + 2 or t - 2.
  const LiveLists& at(int64_t t) {
    lists_[t % 2].find(a_, *labels_, t);
    return lists_[t % 2];
  }

  // Begins the step from position t-1 to t: exp of the pair scores [L, L] or null, and the factor of pairs
  // that are no n-gram.
  void begin(int64_t t, const double* psi, const double* pairs, double other) {
    before_ = &at(t - 1), here_ = &at(t);
    psi_ = psi;
    pairs_ = pairs;
    other_ = other;
  }

  // α' from α; returns Σ α'. Fills mass(v) of the nodes of this step.
  double forward(const double* alpha, double* to) {
    alpha_ = alpha;
    total_ = 0;
    ++step_;
    for (int64_t k = 0; k < before_->n_labels(); ++k) {
      const LiveLists::List states = before_->states(k);
      for (const int32_t s : states) {
        sum(s) = alpha[s];
        summed_in_[static_cast<size_t>(s)] = step_;
      }
      for (const int32_t* s = states.last - 1; s > states.first; --s)
        sum(a_.state_fail[static_cast<size_t>(*s)]) += sum(*s);
      total_ += sum(*states.first);
    }
    double result = 0;
    for (int64_t l = 0; l < here_->n_labels(); ++l) {
      const LiveLists::List nodes = here_->nodes(l), states = here_->states(l);
      mass(*nodes.first) = total_;
      for (const int32_t* v = nodes.first + 1; v < nodes.last; ++v) {
        const double held = sum(a_.parent[static_cast<size_t>(*v)]);
        mass(*v) = held;
        mass(a_.fail[static_cast<size_t>(*v)]) -= held;
      }
      spread(nodes, states, to);
      bool sound = true;
      for (const int32_t s : states) sound &= to[s] >= kSmallShare * bound_[static_cast<size_t>(s)];
      if (!sound) {
        for (const int32_t v : nodes) mass_again(v);
        spread(nodes, states, to);
      }
      for (const int32_t s : states) result += to[s];
    }
    return result;
  }

  // β of the position before from β'; fills gain(v) of the nodes of this step.
  void backward(const double* beta, double* to) {
    double all = 0;
    for (const int32_t s : before_->states()) to[s] = 0;
    for (int64_t l = 0; l < here_->n_labels(); ++l) {
      const LiveLists::List nodes = here_->nodes(l);
      const int32_t root = *nodes.first;
      const double psi = psi_[a_.label[static_cast<size_t>(root)]];
      all += gain(root) =
          w_.factor[static_cast<size_t>(root)] * other_ * psi * beta[a_.dest[static_cast<size_t>(root)]];
      for (const int32_t* v = nodes.first + 1; v < nodes.last; ++v) {
        gain(*v) = factor(*v) * psi * beta[a_.dest[static_cast<size_t>(*v)]];
        to[a_.parent[static_cast<size_t>(*v)]] += gain(*v) - gain(a_.fail[static_cast<size_t>(*v)]);
      }
    }
    for (const int32_t s : before_->states()) {
      const int32_t shorter = a_.state_fail[static_cast<size_t>(s)];
      const double from = shorter < 0 ? all : to[shorter];
      to[s] += from;
      if (!(to[s] >= kSmallShare * from)) to[s] = gain_again(s);
    }
  }

  double& mass(int32_t v) { return mass_[static_cast<size_t>(v)]; }
  double& gain(int32_t v) { return gain_[static_cast<size_t>(v)]; }
  double& sum(int32_t s) { return sums_[static_cast<size_t>(s)]; }

 private:
  double factor(int32_t v) const {
    const double own = w_.factor[static_cast<size_t>(v)];
    return pairs_ ? own * pairs_[static_cast<int64_t>(a_.previous[static_cast<size_t>(v)]) * a_.L +
                                 a_.label[static_cast<size_t>(v)]]
                  : own;
  }

  void spread(LiveLists::List nodes, LiveLists::List states, double* to) {
    for (const int32_t s : states) to[s] = bound_[static_cast<size_t>(s)] = 0;
    const int32_t root = *nodes.first;
    const double psi = psi_[a_.label[static_cast<size_t>(root)]];
    const double e = w_.factor[static_cast<size_t>(root)] * other_ * psi;
    to[a_.dest[static_cast<size_t>(root)]] = mass(root) * e;
    bound_[static_cast<size_t>(a_.dest[static_cast<size_t>(root)])] = total_ * e;
    for (const int32_t* v = nodes.first + 1; v < nodes.last; ++v) {
      const double f = factor(*v) * psi;
      const auto d = static_cast<size_t>(a_.dest[static_cast<size_t>(*v)]);
      to[d] += mass(*v) * f;
      bound_[d] += sum(a_.parent[static_cast<size_t>(*v)]) * f;
    }
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
      for (int64_t k = 0; k < before_->n_labels(); ++k)
        if (const int32_t s = *before_->states(k).first; !left_out(s)) held += sum(s);
    } else {
      for (const int32_t* s = a_.state_below.begin(z); s < a_.state_below.end(z); ++s)
        if (summed_in_[static_cast<size_t>(*s)] == step_ && !left_out(*s)) held += sum(*s);
    }
    mass(v) = held;
  }

  // β(s) without subtraction.
  double gain_again(int32_t s) {
    for (int64_t l = 0; l < here_->n_labels(); ++l) {
      const int32_t root = *here_->nodes(l).first;
      resolved_[static_cast<size_t>(a_.label[static_cast<size_t>(root)])] = gain(root);
    }
    chain_.clear();
    for (int32_t z = s; z >= 0; z = a_.state_fail[static_cast<size_t>(z)]) chain_.push_back(z);
    for (size_t i = chain_.size(); i-- > 0;)
      for (const int32_t* v = a_.children.begin(chain_[i]); v < a_.children.end(chain_[i]); ++v)
        resolved_[static_cast<size_t>(a_.label[static_cast<size_t>(*v)])] = gain(*v);
    double total = 0;
    for (int64_t l = 0; l < here_->n_labels(); ++l)
      total += resolved_[static_cast<size_t>(a_.label[static_cast<size_t>(*here_->nodes(l).first)])];
    return total;
  }

  const NgramWeights& w_;
  const LabelNgrams& a_;
  std::vector<double> sums_, bound_;  // [states] A; what α' was computed from
  std::vector<int64_t> summed_in_;    // [states] the step in which A was computed; 0: none
  std::vector<double> mass_, gain_;   // [nodes] m, g
  std::vector<double> resolved_;      // [L]
  std::vector<int32_t> chain_;
  const PermittedLabels* labels_ = nullptr;
  LiveLists lists_[2];  // of positions of which the last number is even, and odd
  const LiveLists *before_, *here_;
  const double *alpha_, *psi_, *pairs_;
  int64_t step_ = 0;  // how often `forward` was called
  double total_, other_;
};

}  // namespace crfkit
