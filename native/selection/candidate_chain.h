// Forward and backward probabilities of every position of a batch, kept for the gains of candidate features.
//
//   a_t[l] = s_t[l] Σ_j a_{t-1}[j] M[j, l]         s_t = ψ_t / c_t, with c_t such that Σ_l a_t[l] = 1
//   b_{t-1}[j] = Σ_l M[j, l] s_t[l] b_t[l]         so that Σ_l a_t[l] b_t[l] = 1
//
// Then p(y_t = l) = a_t[l] b_t[l], and a change of ψ between two positions is felt by log Z through what lies
// between them alone: a before the first one and b after the last one stay as they are.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/parallel.h"

namespace crfkit {

struct CandidateChain {
  int labels;                    // L
  std::vector<int64_t> offsets;  // [N + 1]
  std::vector<double> weights;   // [N] or empty
  std::vector<int32_t> targets;  // [ΣT] all of them known
  std::vector<double> edges;     // M = exp(edge - max): [L, L]
  std::vector<double> s, a, b;   // [ΣT, L]

  int64_t n_sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  double weight(int64_t i) const { return weights.empty() ? 1.0 : weights[static_cast<size_t>(i)]; }
};

namespace candidate_detail {

inline void exponentials(const double* scores, int64_t n, double* out) {
  double max = scores[0];
  for (int64_t i = 1; i < n; ++i) max = std::max(max, scores[i]);
  for (int64_t i = 0; i < n; ++i) out[i] = std::exp(scores[i] - max);
}

inline void fill_sequence(CandidateChain& x, int64_t first, int64_t last) {
  const int L = x.labels;
  for (int64_t t = first; t < last; ++t) {
    double* s = x.s.data() + t * L;  // ψ, and then ψ / c
    double* a = x.a.data() + t * L;
    double sum = 0;
    for (int l = 0; l < L; ++l) {
      double in = 1;
      if (t > first) {
        in = 0;
        for (int j = 0; j < L; ++j) in += a[j - L] * x.edges[static_cast<size_t>(j * L + l)];
      }
      a[l] = s[l] * in;
      sum += a[l];
    }
    if (!(sum > 0)) throw std::runtime_error("position " + std::to_string(t) + " has no probable label");
    for (int l = 0; l < L; ++l) a[l] /= sum;
    for (int l = 0; l < L; ++l) s[l] /= sum;
  }
  for (int64_t t = last - 1; t >= first; --t) {
    double* b = x.b.data() + t * L;
    if (t == last - 1) {
      for (int l = 0; l < L; ++l) b[l] = 1;
      continue;
    }
    const double* s = x.s.data() + (t + 1) * L;
    for (int j = 0; j < L; ++j) {
      double sum = 0;
      for (int l = 0; l < L; ++l) sum += x.edges[static_cast<size_t>(j * L + l)] * s[l] * b[L + l];
      b[j] = sum;
    }
  }
}

}  // namespace candidate_detail

// node: [ΣT, L] and edge: [L, L] scores, all finite. offsets, weights and targets are set already.
inline void fill_candidate_chain(CandidateChain& x, const double* node, const double* edge, int n_threads) {
  const auto L = static_cast<size_t>(x.labels);
  const size_t positions = x.targets.size();
  x.edges.resize(L * L);
  candidate_detail::exponentials(edge, static_cast<int64_t>(L * L), x.edges.data());
  x.s.resize(positions * L);
  x.a.resize(positions * L);
  x.b.resize(positions * L);
  const int64_t N = x.n_sequences();
  const int blocks = n_threads > 1 ? static_cast<int>(std::min<int64_t>(N, 16 * n_threads)) : 1;
  parallel_for(blocks, n_threads, [&](int block, int) {
    for (int64_t i = N * block / blocks; i < N * (block + 1) / blocks; ++i) {
      const int64_t first = x.offsets[static_cast<size_t>(i)], last = x.offsets[static_cast<size_t>(i) + 1];
      for (int64_t t = first; t < last; ++t)
        candidate_detail::exponentials(node + t * x.labels, x.labels, x.s.data() + t * x.labels);
      if (last > first) candidate_detail::fill_sequence(x, first, last);
    }
  });
}

}  // namespace crfkit
