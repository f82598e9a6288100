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
      : o_(objective), spans_(std::move(spans)) {
    scores_.dims = o_.d_;
    scores_.state = &o_.state_.layout();
    scores_.pair = o_.pair_ ? &o_.pair_->layout() : nullptr;
    scores_.permitted = o_.s_.permitted.empty() ? nullptr : o_.s_.permitted.data();
    scores_.kinds = o_.s_.kinds.data();
    scores_.labels = o_.s_.targets.data();
    scores_.allowed = o_.s_.allowed.empty() ? nullptr : o_.s_.allowed.data();
    scores_.margin = margin;
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

  // h [V] at θ, by Viterbi; the paths stay for `envelope` and `flip`.
  void decode(const double* theta, double* h) {
    load(theta);
    std::vector<double> loss(n_spans(), 0.0);
    lattices_.resize(static_cast<size_t>(o_.s_.threads));
    over_spans(0, n_spans(), [&](int worker, size_t i) {
      SpanLattice& x = lattices_[static_cast<size_t>(worker)];
      x.fill(scores_, spans_.first[i], spans_.last[i] - spans_.first[i]);
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
    std::vector<double> edges[kMaxOrder];
    for (int k = 0; k < order(); ++k) edges[k].assign(scores_.edges[k].size(), 0.0);
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
        count_edges(best, t, c, edges);
        count_edges(y, t, -c, edges);
        if (scores_.pair && t > 0 && (best[t] != y[t] || best[t - 1] != y[t - 1])) {
          count_pair(spans_.first[i] + t, best[t - 1], best[t], c);
          count_pair(spans_.first[i] + t, y[t - 1], y[t], -c);
        }
      }
    }
    add_exact(*scores_.state, sums_state_, gradient);
    o_.for_edges([&](int k, int64_t slot, int64_t p) { gradient[p] += edges[k][static_cast<size_t>(slot)]; });
    if (scores_.pair) add_exact(*scores_.pair, sums_pair_, gradient + o_.first_pair());
  }

  // gradient [P] += Σ_j coefficients_j · the flip estimate of set j, at the θ of the last decode. Order 1.
  void flip(const double* coefficients, double c, double* gradient) {
    const auto threads = static_cast<size_t>(o_.s_.threads);
    lattices_.resize(threads);
    std::vector<Flips> found(threads);
    for (size_t begin = 0, end; begin < n_spans(); begin = end) {
      const int32_t set = spans_.set[begin];
      for (end = begin; end < n_spans() && spans_.set[end] == set;) ++end;
      if (coefficients[set] == 0) continue;
      for (Flips& f : found) f.reset(scores_);
      over_spans(begin, end, [&](int block, size_t i) {
        SpanLattice& x = lattices_[static_cast<size_t>(block)];
        x.fill(scores_, spans_.first[i], spans_.last[i] - spans_.first[i]);
        x.decode(best_.data() + begins_[i], true);
        FlipSearch().visit(scores_, x, best_.data() + begins_[i], found[static_cast<size_t>(block)]);
      });
      add_flips(found, coefficients[set], c, gradient);
    }
  }

  // h [V] smoothed at this temperature, and gradient [P] = Σ_j coefficients_j ∂h_j.
  void smooth(const double* theta, double temperature, const double* coefficients, double* h,
              double* gradient) {
    const auto P = static_cast<size_t>(n_parameters());
    scaled_.resize(P);
    for (size_t p = 0; p < P; ++p) scaled_[p] = theta[p] / temperature;
    o_.load(scaled_.data());
    o_.prepare_chain();
    std::vector<double> weights(2 * n_spans());  // at even places, as the spans are in ends_
    for (size_t i = 0; i < n_spans(); ++i) weights[2 * i] = std::max(coefficients[spans_.set[i]], kNoTrace);
    const std::vector<float> cost(static_cast<size_t>(scores_.dims.labels),
                                  static_cast<float>(scores_.margin / temperature));
    LinearProblem problem = o_.problem();
    problem.offsets = ends_.data();
    problem.weights = weights.data();
    problem.log_cost = scores_.margin == 0 ? nullptr : cost.data();
    std::vector<double> loss(n_spans(), 0.0);
    std::vector<LinearBlock> blocks;
    for (auto& block : o_.blocks_) blocks.push_back(o_.sums_of(block, false));
    over_spans(0, n_spans(), [&](int block, size_t i) {
      LinearBlock& sums = blocks[static_cast<size_t>(block)];
      sums.loss = 0;
      const auto id = static_cast<int32_t>(2 * i);
      kernels().linear_block(problem, o_.weights(), &id, 0, 1, sums);
      loss[i] = sums.loss / weights[2 * i];
    });
    std::fill(h, h + n_sets(), 0.0);
    for (size_t i = 0; i < n_spans(); ++i) h[spans_.set[i]] += temperature * loss[i];
    o_.collect(gradient, &LinearObjective::Block::state, &LinearObjective::Block::pair, 1);
    std::vector<double> table[kMaxOrder];
    for (const auto& block : o_.blocks_) o_.expected_transitions(block, table);
    for (size_t i = 0; i < n_spans(); ++i) subtract_transitions(i, weights[2 * i], table);
    o_.for_edges([&](int k, int64_t slot, int64_t p) { gradient[p] = table[k][static_cast<size_t>(slot)]; });
  }

 private:
  // The weight of a set whose gradient is not wanted: its value is, and the kernel leaves out what weighs 0.
  static constexpr double kNoTrace = 1e-20;

  size_t n_spans() const { return spans_.first.size(); }

  void load(const double* theta) {
    load_exact(*scores_.state, theta, scores_.state_weights);
    if (scores_.pair) load_exact(*scores_.pair, theta + o_.first_pair(), scores_.pair_weights);
    for (int k = 0; k < order(); ++k) scores_.edges[k].assign(o_.s_.free[k].size(), 0.0);
    o_.for_edges(
        [&](int k, int64_t slot, int64_t p) { scores_.edges[k][static_cast<size_t>(slot)] = theta[p]; });
  }

  // Calls fn(block, span) for the spans begin .. end - 1: one run of them a thread, with about equally many
  // positions.
  template <class Fn>
  void over_spans(size_t begin, size_t end, Fn&& fn) {
    const int threads = o_.s_.threads;
    const int64_t total = begins_[end] - begins_[begin];
    std::vector<size_t> cuts{begin};
    for (size_t i = begin; i < end && static_cast<int>(cuts.size()) < threads; ++i)
      if ((begins_[i + 1] - begins_[begin]) * threads >= total * static_cast<int64_t>(cuts.size()))
        cuts.push_back(i + 1);
    cuts.resize(static_cast<size_t>(threads) + 1, end);
    parallel_for(threads, threads, [&](int b, int) {
      for (size_t i = cuts[static_cast<size_t>(b)]; i < cuts[static_cast<size_t>(b) + 1]; ++i) fn(b, i);
    });
  }

  void count_state(int64_t t, int32_t label, double c) {
    for_active(*scores_.state, sums_state_, t, label, [&](double& sum, double value) { sum += c * value; });
  }
  void count_pair(int64_t t, int32_t before, int32_t label, double c) {
    for_active(*scores_.pair, sums_pair_, t, int64_t{before} * scores_.dims.padded + label,
               [&](double& sum, double value) { sum += c * value; });
  }
  // The transitions into position t of a path.
  void count_edges(const int32_t* y, int64_t t, double c, std::vector<double>* edges) const {
    int64_t slot = y[t], span = scores_.dims.labels;
    for (int k = 0; k < order() && t - 1 - k >= 0; ++k) {
      slot += y[t - 1 - k] * span;
      span *= scores_.dims.labels;
      edges[k][static_cast<size_t>(slot)] += c;
    }
  }
  void subtract_transitions(size_t i, double weight, std::vector<double>* table) const {
    const int32_t* y = scores_.labels + spans_.first[i];
    const int64_t T = spans_.last[i] - spans_.first[i];
    for (int64_t t = 0; t < T; ++t)
      if (y[t] < 0) return;  // the kernel has subtracted what is expected instead
    for (int64_t t = 1; t < T; ++t) count_edges(y, t, -weight, table);
  }

  // The nearest flips of all threads, in their order, as derivatives.
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
      for (int32_t slot : layout.slots) {
        const auto at = static_cast<size_t>(slot);
        out.dense[at] = nearest(
            [&](const Flips& f, int up) { return Flip{(f.*move)[up].dense[at], (f.*change)[up].dense[at]}; });
      }
      for (size_t at = 0; at < out.sparse.size(); ++at)
        out.sparse[at] = nearest([&](const Flips& f, int up) {
          return Flip{(f.*move)[up].sparse[at], (f.*change)[up].sparse[at]};
        });
    };
    group(*scores_.state, &Flips::state_move, &Flips::state_change, sums_state_);
    add_exact(*scores_.state, sums_state_, gradient);
    o_.for_edges([&](int, int64_t slot, int64_t p) {
      gradient[p] += nearest([&](const Flips& f, int up) { return f.edges[up][static_cast<size_t>(slot)]; });
    });
    if (!scores_.pair) return;
    group(*scores_.pair, &Flips::pair_move, &Flips::pair_change, sums_pair_);
    add_exact(*scores_.pair, sums_pair_, gradient + o_.first_pair());
  }

  LinearObjective& o_;
  ValidationSpans spans_;
  SpanScores scores_{};
  std::vector<int64_t> begins_;        // [spans + 1] where a span's labels are in best_ and truth_
  std::vector<int64_t> ends_;          // [2 · spans] first and last of each
  std::vector<int32_t> best_, truth_;  // [Σ positions of spans]
  std::vector<SpanLattice> lattices_;  // one a thread
  ExactTable sums_state_, sums_pair_;
  std::vector<double> scaled_;  // [P] θ over the temperature
};

}  // namespace crfkit
