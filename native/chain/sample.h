// Paths drawn from p(y | x).
//
// Forward in log space, then backward: the last state from α_{T-1}, each earlier one given the one after it,
//   p(j | c, l) ∝ exp(α_{t-1}[j, c] + F_t[c][j, l]).
// The random number of (seed, sequence, sample, position) is a hash of these, so that samples depend neither
// on threads nor on the order of the work.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/poll.h"
#include "base/splitmix.h"
#include "simd/kernels.h"

namespace crfkit {

// Returns random number `counter` of the stream `key`, in [0, 1).
static inline double uniform(uint64_t key, uint64_t counter) {
  return static_cast<double>(splitmix(key + splitmix(counter)) >> 11) * 0x1p-53;
}

// Draws index i with probability exp(log_weights[i]) / Σ; u in [0, 1). At least one weight must not be -inf.
// Overwrites the weights.
static inline int64_t draw(std::vector<double>& log_weights, double u) {
  double max = -HUGE_VAL, total = 0;
  for (const double w : log_weights) max = w > max ? w : max;
  for (double& w : log_weights) total += w = std::exp(w - max);
  double rest = u * total;
  int64_t chosen = 0;  // rounding may leave a rest after the last weight: then the last possible index
  for (size_t i = 0; i < log_weights.size(); ++i) {
    if (log_weights[i] <= 0) continue;
    chosen = static_cast<int64_t>(i);
    rest -= log_weights[i];
    if (rest < 0) break;
  }
  return chosen;
}

// Draws n_samples paths; path s goes to labels + s * stride. Returns the first unreachable position, or -1.
static inline int64_t sample_paths(const ChainDims& d, const LatticeView& x, const LogTables& tables,
                                   uint64_t key, int64_t n_samples, std::vector<double>& memory,
                                   int32_t* labels, int64_t stride) {
  const int64_t T = x.length;
  memory.resize(static_cast<size_t>(T * (d.states + 1) + d.padded));
  double* alpha = memory.data();          // [T, states]
  double* maxima = alpha + T * d.states;  // [T]
  const int64_t dead = kernels().log_forward(d, x, tables, alpha, maxima, maxima + T);
  if (dead >= 0) return dead;

  std::vector<int64_t> state(static_cast<size_t>(n_samples));  // of each sample, at the current position
  std::vector<double> weights;
  for (int64_t t = T - 1; t >= 0; --t) {
    const double* table = t + 1 < T ? kernels().table_at(d, x, tables, t + 1) : nullptr;  // into position t+1
    const double* here = alpha + t * d.states;
    poll(100 * n_samples);
    for (int64_t s = 0; s < n_samples; ++s) {
      int64_t& h = state[static_cast<size_t>(s)];
      const double u = uniform(key, static_cast<uint64_t>(s * T + t));
      if (!table) {
        weights.resize(static_cast<size_t>(contexts_at(d, t) * d.labels));
        for (size_t i = 0; i < weights.size(); ++i)
          weights[i] = here[state_offset(d, static_cast<int64_t>(i))];
        h = draw(weights, u);
      } else if (t + 1 < d.order) {
        h /= d.labels;  // the history before is part of the one after
      } else {
        const int64_t c = h / d.labels, l = h % d.labels;
        weights.resize(static_cast<size_t>(d.labels));
        for (int64_t j = 0; j < d.labels; ++j)
          weights[static_cast<size_t>(j)] =
              here[in_offset(d, c) + j * d.forget_stride] + table[(c * d.labels + j) * d.padded + l];
        h = draw(weights, u) * d.contexts + c;
      }
      labels[s * stride + t] = static_cast<int32_t>(h % d.labels);
    }
  }
  return -1;
}

}  // namespace crfkit
