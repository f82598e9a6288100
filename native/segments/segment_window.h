// A sliding window of places j, and sums over it: log Σ_j exp(a[j] + length score of c - j).
//
// Each recursion over segments is such a sum for every place c: j is where a segment begins, or, backwards,
// where it ends. Places are kept in scaled blocks, so that the sum over a block is a dot product with the
// exponentials of the length scores. A sum that may have lost terms to underflow is computed again in log
// space, so the result is exact for any scores.
#pragma once

#include <algorithm>
#include <cstring>

#include "segments/scaled_blocks.h"

namespace crfkit {

class SegmentWindow {
 public:
  // For sums over at most `longest` places, one label's table of length scores [K].
  void reset(const SegmentTables& tables, int label, int64_t length) {
    K_ = tables.m.longest;
    const auto at = static_cast<size_t>(label) * static_cast<size_t>(K_);
    reversed_ = tables.reversed.data() + at;
    factors_ = tables.factors.data() + at;
    scale_ = tables.scale[static_cast<size_t>(label)];
    reach_ = tables.reach[static_cast<size_t>(label)];
    kept_ = rounded(K_ + 1) + kBlock;  // places that may still be asked for
    const int64_t capacity = std::min(rounded(length) + kBlock, kept_ + std::max<int64_t>(kept_ / 4, 4096));
    places_.resize(static_cast<size_t>(capacity));
    base_ = size_ = 0;
  }

  int64_t size() const { return size_; }  // c: number of places so far

  // Adds the next place.
  void push(double a) {
    if (size_ - base_ == static_cast<int64_t>(places_.a.size())) move_on();
    places_.put(static_cast<size_t>(size_ - base_), a);
    ++size_;
  }

  double value(int64_t j) const { return places_.a[static_cast<size_t>(j - base_)]; }

  // First place that a segment in the table may reach, not before `least`.
  int64_t from(int64_t least) const { return std::max(least, size_ - reach_); }

  // Adds the sum over the places first <= j < stop.
  void add(int64_t first, int64_t stop, ScaledSum& sum) const {
    const TrainingKernels& kernel = training_kernels();
    for (int64_t j = first; j < stop;) {
      const int64_t i = j - base_, block = i / kBlock;
      const int64_t n = std::min(stop - j, (block + 1) * kBlock - i);
      const double exponent = places_.exponent[static_cast<size_t>(block)];
      if (exponent > -HUGE_VAL) {
        const int64_t d = j + K_ - size_;
        const double scaled = kernel.window_sum(places_.x.data() + i, factors_ + d, n);
        if (scaled >= kTinySum)
          sum.add(scaled, exponent + scale_);
        else
          for (int64_t k = 0; k < n; ++k)
            sum.add_log(places_.a[static_cast<size_t>(i + k)] + reversed_[d + k]);
      }
      j += n;
    }
  }

  // The same for the largest term.
  void add(int64_t first, int64_t stop, LargestTerm& largest) const {
    if (first < stop)
      largest.add_log(training_kernels().window_best(places_.a.data() + (first - base_),
                                                     reversed_ + (first + K_ - size_), stop - first));
  }

  // counts[K - (c - j)] += weight exp(log_factor + a[j] + length score) for the places first <= j < stop.
  void add_counts(int64_t first, int64_t stop, double weight, double log_factor, double* counts) const {
    const TrainingKernels& kernel = training_kernels();
    for (int64_t j = first; j < stop;) {
      const int64_t i = j - base_, block = i / kBlock;
      const int64_t n = std::min(stop - j, (block + 1) * kBlock - i), d = j + K_ - size_;
      const double scale = (places_.exponent[static_cast<size_t>(block)] + scale_) * kLn2 + log_factor;
      if (scale > kLargeScale) {
        for (int64_t k = 0; k < n; ++k)
          counts[d + k] +=
              weight * std::exp(log_factor + places_.a[static_cast<size_t>(i + k)] + reversed_[d + k]);
      } else if (scale > kNegligible) {
        kernel.window_add(places_.x.data() + i, factors_ + d, weight * std::exp(scale), n, counts + d);
      }
      j += n;
    }
  }

 private:
  static constexpr int64_t kBlock = ScaledBlocks::kBlock;
  static constexpr double kLargeScale = 600;  // beyond it, products may overflow
  static constexpr double kNegligible = -60;  // 10^-26 of a count

  static int64_t rounded(int64_t n) { return (n + kBlock - 1) / kBlock * kBlock; }

  void move_on() {
    auto& [a, x, exponent] = places_;
    const int64_t shift = static_cast<int64_t>(a.size()) - kept_;
    std::memmove(a.data(), a.data() + shift, static_cast<size_t>(kept_) * sizeof(double));
    std::memmove(x.data(), x.data() + shift, static_cast<size_t>(kept_) * sizeof(double));
    std::memmove(exponent.data(), exponent.data() + shift / kBlock,
                 static_cast<size_t>(kept_ / kBlock) * sizeof(double));
    base_ += shift;
  }

  int64_t K_ = 0, reach_ = 0, kept_ = 0, base_ = 0, size_ = 0;
  const double *reversed_ = nullptr, *factors_ = nullptr;
  double scale_ = 0;
  ScaledBlocks places_;
};

}  // namespace crfkit
