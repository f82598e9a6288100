// Node scores of a linear model, node_t(l) = Σ_a value_a w[a, l], straight from the (possibly memory-mapped)
// feature lists, so that a model can tag without being unpacked first; and the gradient with respect to w
// from that of the scores, d w[a, l] = Σ_t value_a(t) d node_t(l).
#pragma once

#include "base/parallel.h"
#include "linear/linear_layout.h"

namespace crfkit {

// node: [ΣT, L], overwritten.
inline void linear_scores(const AttributeData& x, const double* weights, int labels, int threads,
                          double* node) {
  constexpr int64_t kBlock = 1024;  // positions
  const auto n_blocks = static_cast<int>((x.n_positions + kBlock - 1) / kBlock);
  parallel_for(n_blocks, threads, [&](int b, int) {
    for (int64_t t = b * kBlock; t < std::min(x.n_positions, (b + 1) * kBlock); ++t) {
      double* row = node + t * labels;
      std::fill(row, row + labels, 0.0);
      for (int64_t i = x.indptr[t]; i < x.indptr[t + 1]; ++i) {
        const int64_t a = x.indices[i];
        const double value = x.values ? x.values[i] : 1.0;
        for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f)
          row[x.state_labels[f]] += value * weights[f];
      }
    }
  });
}

// gradient: [F], overwritten. Uses one thread, in the order of positions: always the same bits.
inline void linear_backward(const AttributeData& x, const double* d_node, int labels, double* gradient) {
  std::fill(gradient, gradient + x.state_indptr[x.n_attributes], 0.0);
  for (int64_t t = 0; t < x.n_positions; ++t) {
    poll_at(t);
    const double* row = d_node + t * labels;
    for (int64_t i = x.indptr[t]; i < x.indptr[t + 1]; ++i) {
      const int64_t a = x.indices[i];
      const double value = x.values ? x.values[i] : 1.0;
      for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f)
        gradient[f] += value * row[x.state_labels[f]];
    }
  }
}

}  // namespace crfkit
