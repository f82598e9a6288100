// How a mistake changes the weights: one rule with a few numbers covers the perceptron, passive-aggressive
// updates and AROW (src/crfkit/optim/ has their settings and papers).
//
//   Δ    = C(y) - C(ŷ)                          counts of features on the true path and on the best path
//   loss = S(ŷ) - S(y) + wrong^power            wrong: labels in which they differ
//   τ    = loss / (Δᵀ Σ Δ + slack / weight)     but at least least·weight and at most most·weight
//   w   += τ Σ Δ
//   Σ⁻¹ += weight Δ² / slack                    only if the rule has variances; otherwise Σ = 1
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace crfkit {

struct UpdateRule {
  double least, most;  // bounds of τ
  double slack;
  double power;
  double variance;  // Σ at the start; 0: Σ = 1 for ever
  bool averaged;    // whether the mean of the weights over all sequences is wanted
};

// Some of the weights, with what the rule needs to know about each. A weight is kept as the factor of the
// stored values: k features that share a parameter, in units of `unit`, have the weight w k unit.
class UpdatedWeights {
 public:
  // shares: [n] k, 0 where there is no feature. units: [n], or empty: all 1.
  UpdatedWeights(std::vector<double>& weights, const UpdateRule& rule, std::vector<float> shares,
                 std::vector<double> units)
      : weights_(weights),
        shares_(std::move(shares)),
        units_(std::move(units)),
        delta_(weights.size(), 0.0),
        marked_(weights.size(), 0) {
    if (rule.variance > 0) variance_.assign(weights.size(), rule.variance);
    if (rule.averaged) sums_.assign(weights.size(), 0.0);
  }

  // Adds a stored value to Δ.
  void count(size_t i, double value) {
    if (!marked_[i]) touched_.push_back(i);
    marked_[i] = 1;
    delta_[i] += value;
  }

  // Returns Δᵀ Σ Δ.
  double spread() const {
    double sum = 0;
    for (size_t i : touched_) sum += variance(i) * gain(i) * delta_[i] * delta_[i];
    return sum;
  }

  // w += τ Σ Δ, and the variances become smaller; Δ is then 0 again. turn: of the sequence, from 1.
  void apply(double tau, double certainty, double turn) {
    for (size_t i : touched_) {
      const double step = tau * variance(i) * gain(i) * delta_[i];
      weights_[i] += step;
      if (!sums_.empty()) sums_[i] += turn * step;
      if (!variance_.empty() && shares_[i] > 0) {
        const double value = delta_[i] * unit(i);
        variance_[i] = 1 / (1 / variance_[i] + certainty * value * value);
      }
    }
    forget();
  }
  // Δ = 0.
  void forget() {
    for (size_t i : touched_) {
      delta_[i] = 0;
      marked_[i] = 0;
    }
    touched_.clear();
  }

  // Calls fn(entry) for what there is to know about a weight between two sequences: the weight itself, the
  // sum for its mean, and its variance, as far as the rule has them.
  template <class Self, class Fn>
  static void for_state(Self& self, size_t i, Fn&& fn) {
    fn(self.weights_[i]);
    if (!self.sums_.empty()) fn(self.sums_[i]);
    if (!self.variance_.empty()) fn(self.variance_[i]);
  }

  // Returns a weight: now, or its mean over all sequences before `turn`.
  double mean(size_t i, double turn) const {
    return sums_.empty() ? weights_[i] : weights_[i] - sums_[i] / turn;
  }

 private:
  double unit(size_t i) const { return units_.empty() ? 1.0 : units_[i]; }
  double gain(size_t i) const { return static_cast<double>(shares_[i]) * unit(i) * unit(i); }
  double variance(size_t i) const { return variance_.empty() ? 1.0 : variance_[i]; }

  std::vector<double>& weights_;
  std::vector<float> shares_;
  std::vector<double> units_, delta_, variance_, sums_;
  std::vector<uint8_t> marked_;  // [n] whether it is in touched_
  std::vector<size_t> touched_;
};

}  // namespace crfkit
