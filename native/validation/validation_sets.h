// Constraints of validation sets: h_j(w) = Σ over the spans of set j of max_ŷ S(ŷ) - S(y), and gradients.
//
// A span is a run of positions of the training data, decoded as a sequence of its own; a set is any number of
// spans. With a margin m, every wrong label gains m: h_j = max_ŷ (S(ŷ) + m · wrong(ŷ)) - S(y);
// positions with a set of labels, or none, are left out of wrong(ŷ).
//
//   envelope   ∂h_j = C(ŷ) - C(y), a subgradient: h_j is a maximum of linear functions less a linear one
//   flip       the envelope and what flip_gradient.h estimates
//   smoothed   h_j ≤ T · (log Z(w/T) - S(y)/T), whose gradient is E[C] - C(y) at temperature T
//              (≤ where all labels are known: with partial ones S(y) is smoothed as well)
#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "linear/linear_objective.h"
#include "validation/flip_gradient.h"

namespace crfkit {

struct ValidationSpans {
  std::vector<int64_t> first, last;  // positions first .. last - 1 of the data
  std::vector<int32_t> set;          // which set each belongs to, ascending
  int n_sets;                        // V
};

class ValidationSets {
 public:
  ValidationSets(LinearObjective& objective, ValidationSpans spans, double margin)
      : o_(objective), spans_(std::move(spans)), scores_(span_scores(objective, margin)) {
    begins_.push_back(0);
    for (size_t i = 0; i < spans_.first.size(); ++i) {
      begins_.push_back(begins_.back() + spans_.last[i] - spans_.first[i]);
      ends_.push_back(spans_.first[i]);
      ends_.push_back(spans_.last[i]);
    }
    best_.assign(static_cast<size_t>(begins_.back()), 0);
    truth_ = best_;
  }

  int n_sets() const { return spans_.n_sets; }
  int64_t n_positions() const { return begins_.back(); }
  int order() const { return o_.order(); }
  int64_t n_parameters() const { return o_.n_parameters(); }
  const std::vector<int32_t>& best() const { return best_; }

  // Computes h [V] at θ by Viterbi; the paths are kept for `envelope` and `flip`.
  void decode(const double* theta, double* h) {
    load(theta);
    std::vector<double> loss(n_spans(), 0.0);
    lattices_.resize(static_cast<size_t>(threads()));
    over_spans(0, n_spans(), [&](int worker, size_t i) {
      SpanLattice& x = lattices_[static_cast<size_t>(worker)];
      x.begin(scores_, o_.lengths(), spans_.first[i], spans_.last[i] - spans_.first[i]);
      x.decode(best_.data() + begins_[i]);
      x.decode_truth(truth_.data() + begins_[i]);
      loss[i] = x.difference(best_.data() + begins_[i], truth_.data() + begins_[i]);
    });
    std::fill(h, h + n_sets(), 0.0);
    for (size_t i = 0; i < n_spans(); ++i) h[spans_.set[i]] += loss[i];
  }

  // gradient [P] = Σ_j coefficients_j (C(ŷ_j) - C(y_j)) along the paths of the last decode.
  void envelope(const double* coefficients, double* gradient) {
    std::fill(gradient, gradient + n_parameters(), 0.0);
    sums_state_.reset(*scores_.state);
    if (scores_.pair) sums_pair_.reset(*scores_.pair);
    EdgeTables edges = o_.edges().zeros();
    for (size_t i = 0; i < n_spans(); ++i) {
      const double c = coefficients[spans_.set[i]];
      if (c == 0) continue;
      const int32_t* y = truth_.data() + begins_[i];
      const int32_t* best = best_.data() + begins_[i];
      for (int64_t t = 0; t < spans_.last[i] - spans_.first[i]; ++t) {
        bool same = best[t] == y[t];
        if (!same) {
          count_state(spans_.first[i] + t, best[t], c);
          count_state(spans_.first[i] + t, y[t], -c);
        }
        for (int k = 1; k <= order() && t - k >= 0; ++k) same &= best[t - k] == y[t - k];
        if (same) continue;
        o_.edges().add_step(best, t, c, edges);
        o_.edges().add_step(y, t, -c, edges);
        if (scores_.pair && t > 0 && (best[t] != y[t] || best[t - 1] != y[t - 1])) {
          count_pair(spans_.first[i] + t, best[t - 1], best[t], c);
          count_pair(spans_.first[i] + t, y[t - 1], y[t], -c);
        }
      }
    }
    add_exact(*scores_.state, sums_state_, gradient);
    o_.edges().to_theta(edges, gradient + o_.first_edge());
    if (scores_.pair) add_exact(*scores_.pair, sums_pair_, gradient + o_.first_pair());
  }

  // gradient [P] += Σ_j coefficients_j · the flip estimate of set j, at the θ of the last decode. Order 1.
  void flip(const double* coefficients, double c, double* gradient) {
    lattices_.resize(static_cast<size_t>(threads()));
    std::vector<Flips> found(lattices_.size());
    for (size_t begin = 0, end; begin < n_spans(); begin = end) {
      const int32_t set = spans_.set[begin];
      for (end = begin; end < n_spans() && spans_.set[end] == set;) ++end;
      if (coefficients[set] == 0) continue;
      for (Flips& f : found) f.reset(scores_);
      over_spans(begin, end, [&](int block, size_t i) {
        SpanLattice& x = lattices_[static_cast<size_t>(block)];
        x.begin(scores_, o_.lengths(), spans_.first[i], spans_.last[i] - spans_.first[i]);
        x.decode(best_.data() + begins_[i]);
        FlipSearch().visit(scores_, x, best_.data() + begins_[i], found[static_cast<size_t>(block)]);
      });
      add_flips(found, coefficients[set], c, gradient);
    }
  }

  // Computes h [V] smoothed at this temperature, and gradient [P] = Σ_j coefficients_j ∂h_j.
  void smooth(const double* theta, double temperature, const double* coefficients, double* h,
              double* gradient) {
    const auto P = static_cast<size_t>(n_parameters());
    scaled_.resize(P);
    for (size_t p = 0; p < P; ++p) scaled_[p] = theta[p] / temperature;
    std::vector<double> weights(2 * n_spans());  // at even places, as the spans are in ends_
    for (size_t i = 0; i < n_spans(); ++i) weights[2 * i] = std::max(coefficients[spans_.set[i]], kNoTrace);
    const std::vector<float> cost(static_cast<size_t>(scores_.dims.labels),
                                  static_cast<float>(scores_.margin / temperature));
    std::vector<double> loss(n_spans());
    o_.evaluate_spans(scaled_.data(), ends_, weights, scores_.margin == 0 ? nullptr : cost.data(),
                      loss.data(), gradient);
    std::fill(h, h + n_sets(), 0.0);
    for (size_t i = 0; i < n_spans(); ++i) h[spans_.set[i]] += temperature * loss[i];
  }

 private:
  // The weight of a set of which only the value is requested: the kernel skips sequences of weight 0.
  static constexpr double kNoTrace = 1e-20;

  size_t n_spans() const { return spans_.first.size(); }

  void load(const double* theta) {
    scores_.state_weights.reset(*scores_.state);
    scores_.state_weights.load(*scores_.state, theta);
    if (scores_.pair) {
      scores_.pair_weights.reset(*scores_.pair);
      scores_.pair_weights.load(*scores_.pair, theta + o_.first_pair());
    }
    scores_.edges = o_.edges().zeros();
    o_.edges().from_theta(theta + o_.first_edge(), scores_.edges);
  }

  int threads() const { return o_.settings().threads; }

  // Calls fn(block, span) for the spans begin .. end - 1: one run of them per thread, with about equally many
  // positions.
  template <class Fn>
  void over_spans(size_t begin, size_t end, Fn&& fn) {
    const std::vector<int64_t> cuts =
        equal_runs(static_cast<int64_t>(end - begin), threads(), [&](int64_t i) {
          return begins_[begin + static_cast<size_t>(i) + 1] - begins_[begin + static_cast<size_t>(i)];
        });
    parallel_for(threads(), threads(), [&](int b, int) {
      for (int64_t i = cuts[static_cast<size_t>(b)]; i < cuts[static_cast<size_t>(b) + 1]; ++i) {
        poll(10'000);
        fn(b, begin + static_cast<size_t>(i));
      }
    });
  }

  void count_state(int64_t t, int32_t label, double c) {
    for_active(*scores_.state, sums_state_, t, label, [&](double& sum, double value) { sum += c * value; });
  }
  void count_pair(int64_t t, int32_t before, int32_t label, double c) {
    for_active(*scores_.pair, sums_pair_, t, int64_t{before} * scores_.dims.padded + label,
               [&](double& sum, double value) { sum += c * value; });
  }

  // Adds the nearest flips of all threads, in their order, as derivatives.
  void add_flips(const std::vector<Flips>& found, double coefficient, double c, double* gradient) {
    auto nearest = [&](auto&& of) {
      Flip best[2];
      for (const Flips& f : found)
        for (int up = 0; up < 2; ++up) {
          const Flip here = of(f, up);
          if (here.move < best[up].move) best[up] = here;
        }
      return coefficient * FlipSearch::quotient(best[0], best[1], c);
    };
    auto group = [&](const LinearLayout& layout, ExactTable(Flips::* move)[2], ExactTable(Flips::* change)[2],
                     ExactTable& out) {
      out.reset(layout);
      for (size_t i = 0; i < layout.scale.size(); ++i) {
        const double unit = layout.unit_of(i);  // moves and quotients are in the user's units
        const double quotient = nearest([&](const Flips& f, int up) {
          return Flip{(f.*move)[up](layout, i) / unit, (f.*change)[up](layout, i)};
        });
        out.at(layout, i) = quotient / unit;
      }
    };
    group(*scores_.state, &Flips::state_move, &Flips::state_change, sums_state_);
    add_exact(*scores_.state, sums_state_, gradient);
    o_.edges().for_each([&](size_t, size_t slot, int64_t p) {
      gradient[o_.first_edge() + p] += nearest([&](const Flips& f, int up) { return f.edges[up][slot]; });
    });
    if (!scores_.pair) return;
    group(*scores_.pair, &Flips::pair_move, &Flips::pair_change, sums_pair_);
    add_exact(*scores_.pair, sums_pair_, gradient + o_.first_pair());
  }

  LinearObjective& o_;
  ValidationSpans spans_;
  SpanScores scores_;
  std::vector<int64_t> begins_;        // [spans + 1] where a span's labels are in best_ and truth_
  std::vector<int64_t> ends_;          // [2 · spans] first and last of each
  std::vector<int32_t> best_, truth_;  // [Σ positions of spans]
  std::vector<SpanLattice> lattices_;  // one per thread
  ExactTable sums_state_, sums_pair_;
  std::vector<double> scaled_;  // [P] θ over the temperature
};

}  // namespace crfkit
