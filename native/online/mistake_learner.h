// Learns the weights of a linear CRF from its mistakes: decodes one sequence after the other with the weights
// so far and, where the best path is wrong, changes them by a rule (update_rule.h).
//
// If some labels are not known, the true path is the best one that agrees with the others (Sun, Matsuzaki,
// Okanohara and Tsujii, "Latent variable perceptron algorithm for structured classification", IJCAI 2009). It
// runs in the order given, in one thread and in double precision.
#pragma once

#include <string>

#include "base/poll.h"
#include "linear/linear_objective.h"
#include "online/update_rule.h"
#include "validation/span_lattice.h"

namespace crfkit {

struct Mistakes {
  double loss;   // Σ of the losses of sequences with a mistake
  double share;  // Σ of the shares of wrong labels
};

class MistakeLearner {
 public:
  // Starts at θ. The objective, whose data it reads, must live as long as the learner.
  MistakeLearner(const LinearObjective& objective, UpdateRule rule, const double* theta)
      : o_(objective), rule_(rule), scores_(span_scores(objective, 0)) {
    load(*scores_.state, scores_.state_weights, theta);
    if (scores_.pair) load(*scores_.pair, scores_.pair_weights, theta + o_.first_pair());
    scores_.edges = o_.edges().zeros();
    o_.edges().from_theta(theta + o_.first_edge(), scores_.edges);
    std::array<std::vector<float>, kMaxOrder> free;
    for (size_t k = 0; k < free.size(); ++k) free[k].assign(scores_.edges[k].size(), 0.0f);
    o_.edges().for_each([&](size_t k, size_t slot, int64_t) { free[k][slot] = 1.0f; });
    for (size_t k = 0; k < free.size(); ++k)
      parts_.emplace_back(scores_.edges[k], rule_, std::move(free[k]), std::vector<double>());
  }
  MistakeLearner(const MistakeLearner&) = delete;  // parts_ points into scores_
  MistakeLearner& operator=(const MistakeLearner&) = delete;

  int64_t n_parameters() const { return o_.n_parameters(); }
  const LinearObjective& objective() const { return o_; }

  // Takes the sequences in this order. Ctrl-C ends it between two sequences, or while one is decoded.
  Mistakes run(const int32_t* ids, int64_t n) {
    Mistakes found{0, 0};
    const std::vector<int64_t>& offsets = o_.offsets();
    const std::vector<double>& weights = o_.settings().weights;
    for (int64_t i = 0; i < n; ++i) {
      const auto id = static_cast<size_t>(ids[i]);
      const int64_t T = offsets[id + 1] - offsets[id];
      const double weight = weights.empty() ? 1.0 : weights[id];
      poll(1000 * T);
      if (T > 0 && weight > 0) learn(offsets[id], T, weight, found);
      ++turn_;
    }
    return found;
  }

  // Counts n sequences as taken without a mistake.
  void skip(int64_t n) { turn_ += static_cast<double>(n); }

  // Writes the weights as θ: those of now or, if the rule is averaged, their mean over all sequences so far.
  void store(double* theta) const {
    for_parameters(*this, [&](const UpdatedWeights& part, size_t i, int64_t p, double scale) {
      theta[p] = part.mean(i, turn_) / scale;
    });
  }

  // Everything that a learner needs to continue as if it had never stopped: state_size numbers, and the turn.
  int64_t state_size() const {
    return n_parameters() * (1 + (rule_.averaged ? 1 : 0) + (rule_.variance > 0 ? 1 : 0));
  }
  double state(double* out) const {
    for_parameters(*this, [&](const UpdatedWeights& part, size_t i, int64_t, double) {
      UpdatedWeights::for_state(part, i, [&](double entry) { *out++ = entry; });
    });
    return turn_;
  }
  void restore(const double* state, double turn) {
    for_parameters(*this, [&](UpdatedWeights& part, size_t i, int64_t, double) {
      UpdatedWeights::for_state(part, i, [&](double& entry) { entry = *state++; });
    });
    turn_ = turn;
  }

 private:
  void load(const LinearLayout& layout, ExactTable& table, const double* theta) {
    table.reset(layout);
    table.load(layout, theta);
    ExactTable units;
    if (!layout.unit.empty()) {
      units.fill(layout, 1.0);
      for (size_t i = 0; i < layout.unit.size(); ++i) units.at(layout, i) = layout.unit[i];
    }
    parts_.emplace_back(table.dense, rule_, layout.row_shares, std::move(units.dense));
    parts_.emplace_back(table.sparse, rule_, layout.sparse_shares, std::move(units.sparse));
  }

  // Calls fn(part, entry, parameter, scale) for each parameter: θ is its entry divided by the scale.
  template <class Self, class Fn>
  static void for_parameters(Self& self, Fn&& fn) {
    auto group = [&](const LinearLayout& layout, size_t dense, int64_t first) {
      const size_t n_dense = layout.slots.size();
      for (size_t i = 0; i < layout.scale.size(); ++i) {
        const bool in_row = i < n_dense;
        fn(self.parts_[in_row ? dense : dense + 1],
           in_row ? static_cast<size_t>(layout.slots[i]) : i - n_dense, first + static_cast<int64_t>(i),
           layout.scale[i]);
      }
    };
    group(*self.scores_.state, 0, 0);
    if (self.scores_.pair) group(*self.scores_.pair, 2, self.o_.first_pair());
    const size_t edges = self.parts_.size() - kMaxOrder;
    self.o_.edges().for_each([&](size_t k, size_t slot, int64_t p) {
      fn(self.parts_[edges + k], slot, self.o_.first_edge() + p, 1.0);
    });
  }

  void learn(int64_t first, int64_t T, double weight, Mistakes& found) {
    best_.resize(static_cast<size_t>(T));
    truth_.resize(static_cast<size_t>(T));
    lattice_.begin(scores_, o_.lengths(), first, T);
    lattice_.decode(best_.data());
    const auto wrong = static_cast<double>(count_wrong(first, T));
    if (wrong == 0) return;
    lattice_.decode_truth(truth_.data());
    const double loss = lattice_.difference(best_.data(), truth_.data()) + std::pow(wrong, rule_.power);
    found.loss += loss;
    found.share += wrong / static_cast<double>(T);
    count(first, T, truth_.data(), best_.data(), 1);
    count(first, T, best_.data(), truth_.data(), -1);
    double tau = rule_.most;
    if (rule_.least < rule_.most) {
      double spread = rule_.slack / weight;
      for (const UpdatedWeights& part : parts_) spread += part.spread();
      tau = spread > 0 ? loss / spread : 0;  // paths with the same features cannot be told apart
    }
    tau = std::clamp(tau, rule_.least * weight, rule_.most * weight);
    const double certainty = rule_.slack > 0 ? weight / rule_.slack : 0;
    for (UpdatedWeights& part : parts_)
      std::isfinite(tau) ? part.apply(tau, certainty, turn_) : part.forget();
  }

  // Returns how many labels of the best path contradict what is known.
  int64_t count_wrong(int64_t first, int64_t T) const {
    int64_t wrong = 0;
    for (int64_t t = 0; t < T; ++t) {
      const int32_t known = scores_.labels[first + t], label = best_[static_cast<size_t>(t)];
      wrong += known >= 0 ? known != label : !scores_.allowed[(first + t) * scores_.dims.labels + label];
    }
    return wrong;
  }

  // Adds `sign` times the features of path y to Δ, where it differs from the other path.
  void count(int64_t first, int64_t T, const int32_t* y, const int32_t* other, double sign) {
    const int64_t Lp = scores_.dims.padded;
    const size_t edges = parts_.size() - kMaxOrder;
    for (int64_t t = 0; t < T; ++t) {
      bool same = y[t] == other[t];
      if (!same) count(*scores_.state, 0, first + t, y[t], sign);
      for (int k = 1; k <= scores_.dims.order && t - k >= 0; ++k) same &= y[t - k] == other[t - k];
      if (same) continue;
      for_edges_into(scores_.dims, y, t, [&](int k, int64_t slot) {
        parts_[edges + static_cast<size_t>(k)].count(static_cast<size_t>(slot), sign);
      });
      if (scores_.pair && t > 0 && (y[t] != other[t] || y[t - 1] != other[t - 1]))
        count(*scores_.pair, 2, first + t, y[t - 1] * Lp + y[t], sign);
    }
  }
  void count(const LinearLayout& layout, size_t part, int64_t t, int64_t label, double sign) {
    for_active_entries(
        layout, t, label, [&](size_t i, double value) { parts_[part].count(i, sign * value); },
        [&](size_t i, double value) { parts_[part + 1].count(i, sign * value); });
  }

  const LinearObjective& o_;
  UpdateRule rule_;
  SpanScores scores_;
  std::vector<UpdatedWeights>
      parts_;  // state dense, sparse; pairs dense, sparse, if any; edges of each order
  SpanLattice lattice_;
  std::vector<int32_t> best_, truth_;
  double turn_ = 1;  // of the next sequence
};

}  // namespace crfkit
