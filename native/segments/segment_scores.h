// Shared scores of segmentations in the forms that the recursions read, and sums of any size.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "segments/segment_view.h"
#include "simd/training_kernels.h"

namespace crfkit {

constexpr double kLn2 = 0.693147180559945309417;
// Scaled sums below it may have lost terms to underflow; they are computed again in log space.
constexpr double kTinySum = 1e-270;

// The exponent of 2 by which exponentials of scores up to `largest` are scaled. It is a whole number, so that
// sums of exponents are exact: a fraction would be rounded in the same direction at every position, and the
// errors would add up over a long sequence.
inline double scale_of(double largest) { return largest > -HUGE_VAL ? std::ceil(largest / kLn2) : 0.0; }

inline double log_add(double a, double b) {
  if (a < b) std::swap(a, b);
  return b == -HUGE_VAL ? a : a + std::log1p(std::exp(b - a));
}

// Σ of terms of any size: acc 2^top.
struct ScaledSum {
  double top = -HUGE_VAL, acc = 0;

  void add(double sum, double exponent) {
    if (sum == 0) return;
    if (exponent == top) {
      acc += sum;
    } else if (exponent > top) {
      acc = acc * std::exp2(top - exponent) + sum;
      top = exponent;
    } else {
      acc += sum * std::exp2(exponent - top);
    }
  }
  void add_log(double term) {
    if (term > -HUGE_VAL) add(1.0, term / kLn2);
  }
  double log() const { return acc == 0 ? -HUGE_VAL : top * kLn2 + std::log(acc); }
};

// The same for the largest term instead of the sum.
struct LargestTerm {
  double largest = -HUGE_VAL;

  void add_log(double term) { largest = std::max(largest, term); }
  double log() const { return largest; }
};

// The shared scores in the forms that the recursions read.
class SegmentTables {
 public:
  explicit SegmentTables(const SegmentModel& model)
      : m(model),
        reversed(size(model)),
        factors(size(model)),
        scale(labels(model)),
        reach(labels(model), 0),
        into(labels(model) * labels(model)),
        out(labels(model) * labels(model)) {
    const size_t L = labels(m), K = static_cast<size_t>(m.longest);
    for (size_t y = 0; y < L; ++y) {
      const double* lengths = m.lengths + y * K;
      scale[y] = scale_of(*std::max_element(lengths, lengths + K));
      for (size_t d = 0; d < K; ++d) {
        if (lengths[d] > -HUGE_VAL) reach[y] = static_cast<int64_t>(d) + 1;
        reversed[y * K + K - 1 - d] = lengths[d];
      }
      for (size_t i = 0; i < K; ++i) factors[y * K + i] = std::exp(reversed[y * K + i] - scale[y] * kLn2);
    }
    for (size_t i = 0; i < L * L; ++i) edge_top = std::max(edge_top, m.edge[i]);
    for (size_t k = 0; k < L; ++k)
      for (size_t l = 0; l < L; ++l) {
        const double factor = edge_top > -HUGE_VAL ? std::exp(m.edge[k * L + l] - edge_top) : 0.0;
        out[k * L + l] = factor;
        into[l * L + k] = factor;
      }
  }

  // result[l] = log Σ_k exp(before[k] + edge[k, l]); work has L entries.
  void enter(const double* before, double* result, double* work) const {
    through(before, into.data(), 1, m.labels, result, work);
  }
  // result[l] = max_k before[k] + edge[k, l].
  void enter_best(const double* before, double* result) const {
    std::fill(result, result + m.labels, -HUGE_VAL);
    for (int64_t k = 0; k < m.labels; ++k)
      for (int64_t l = 0; l < m.labels; ++l)
        result[l] = std::max(result[l], before[k] + m.edge[k * m.labels + l]);
  }
  // result[k] = log Σ_l exp(edge[k, l] + after[l]).
  void leave(const double* after, double* result, double* work) const {
    through(after, out.data(), m.labels, 1, result, work);
  }

  const SegmentModel m;
  std::vector<double> reversed;   // [L, K] length scores, the longest first
  std::vector<double> factors;    // [L, K] exp(reversed) / 2^scale
  std::vector<double> scale;      // [L]
  std::vector<int64_t> reach;     // [L] the longest permitted length in the table
  std::vector<double> into, out;  // [L, L] exp(edge - edge_top): by the label after, by the label before
  double edge_top = -HUGE_VAL;

 private:
  static size_t labels(const SegmentModel& m) { return static_cast<size_t>(m.labels); }
  static size_t size(const SegmentModel& m) { return labels(m) * static_cast<size_t>(m.longest); }

  // The edge between label l of the result and label k is at l * here + k * there.
  void through(const double* from, const double* table, int64_t here, int64_t there, double* result,
               double* work) const {
    const int64_t L = m.labels;
    const double top = *std::max_element(from, from + L);
    if (top == -HUGE_VAL || edge_top == -HUGE_VAL) {
      std::fill(result, result + L, -HUGE_VAL);
      return;
    }
    for (int64_t k = 0; k < L; ++k) work[k] = std::exp(from[k] - top);
    for (int64_t l = 0; l < L; ++l) {
      const double sum = training_kernels().window_sum(table + l * L, work, L);
      if (sum >= kTinySum) {
        result[l] = top + (edge_top + std::log(sum));  // top + edge_top is rounded alike at every position
        continue;
      }
      ScaledSum exact;
      for (int64_t k = 0; k < L; ++k) exact.add_log(from[k] + m.edge[l * here + k * there]);
      result[l] = exact.log();
    }
  }
};

}  // namespace crfkit
