// The factors of length_states.h, made once per batch, and when they are used.
//
// States (y, d) cost T L K numbers of memory, but no logarithm per position: much faster than windows
// (segment_sums.h) while K, or the sequence, is short.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "simd/training_kernels.h"

namespace crfkit {

class LengthTables {
 public:
  explicit LengthTables(const SegmentModel& m) {
    const auto L = static_cast<size_t>(m.labels), K = static_cast<size_t>(m.longest);
    const size_t Lp = (L + kPadding - 1) / kPadding * kPadding;
    const double edge_top = *std::max_element(m.edge, m.edge + L * L);
    const double length_top = *std::max_element(m.lengths, m.lengths + L * K);
    const double tail_top = m.tail ? std::max(0.0, *std::max_element(m.tail, m.tail + L)) : 0.0;
    edges_.resize(2 * L * Lp), lengths_.resize(K * Lp), tail_.resize(Lp), goes_on_.resize(Lp);
    const auto factor = [](double score, double top) {
      return top > -HUGE_VAL ? std::exp(score - top) : 0.0;
    };
    for (size_t k = 0; k < L; ++k)
      for (size_t l = 0; l < L; ++l)
        edges_[k * Lp + l] = edges_[(L + l) * Lp + k] = factor(m.edge[k * L + l], edge_top);
    bool tails = false;
    for (size_t y = 0; y < L; ++y) {
      for (size_t d = 0; d < K; ++d) {
        lengths_[d * Lp + y] = factor(m.lengths[y * K + d], length_top);
        if (d > 0 && m.lengths[y * K + d] > -HUGE_VAL) goes_on_[y] = 1;
      }
      if (!m.tail || m.lengths[y * K + K - 1] == -HUGE_VAL || m.tail[y] == -HUGE_VAL) continue;
      tail_[y] = std::exp(m.tail[y]);
      goes_on_[y] = 1;
      tails = true;
    }
    factors_ = {m,
                static_cast<int>(Lp),
                edges_.data(),
                edges_.data() + L * Lp,
                lengths_.data(),
                tails ? tail_.data() : nullptr,
                goes_on_.data(),
                edge_top,
                length_top,
                tail_top};
  }

  // Fills log Z and counts; false: the sequence has too many states or scores of too different sizes, and
  // must be done by SegmentSums.
  bool posterior(const SegmentView& x, std::vector<double>& memory, double* log_z,
                 const SegmentCounts& out) const {
    const int64_t rows = length_rows(factors_, x.length);
    if (factors_.tail_top > kSteepestTail || rows > kMostRows ||
        x.length * rows * factors_.padded > kMostStates)
      return false;
    memory.resize(std::max(memory.size(), static_cast<size_t>(length_workspace_size(factors_, x))));
    return training_kernels().length_posterior(factors_, x, memory.data(), log_z, out);
  }

 private:
  static constexpr double kSteepestTail = 30;  // lost with factors of rest: e^30 of the smallest number
  static constexpr int64_t kMostRows = 256, kMostStates = int64_t{1} << 21;  // 16 MB

  std::vector<double> edges_, lengths_, tail_, goes_on_;
  LengthFactors factors_;
};

}  // namespace crfkit
