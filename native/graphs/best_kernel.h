// One pass of sequential tree-reweighted max-product. A kernel header.
//
// V. Kolmogorov, "Convergent tree-reweighted message passing for energy minimization", 2006 (TRW-S). In order
// of the nodes, with messages μ and n_s = max(neighbours before s, neighbours after s):
//
//   a_s(x) = θ_s(x) + Σ_u μ_{u→s}(x) − δ_s,                                δ_s = its maximum
//   μ_{s→t}(z) = max_x a_s(x) / n_s − μ_{t→s}(x) + θ_st(x, z) − δ_st,      for t after s
//
// The graph is covered by chains that follow the order; each has the share 1 / n_s of the nodes on it. After
// a pass, Σ δ_s + Σ δ_st is the sum of the chains' maxima: an upper bound on the score of every labelling,
// which never rises from pass to pass.
#pragma once

#include "base/poll.h"
#include "graphs/message_graph.h"
#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// g.factors holds the scores themselves, [tables, 2, L, L]. If labels [V] is given, they are chosen on the
// way: each given those before it. work: 2 L numbers. Returns the bound; −inf: nothing is permitted.
inline double best_pass(const MessageGraph& g, const int32_t* order, const int32_t* rank, bool forward,
                        double* messages, int32_t* labels, double* work) {
  const int64_t L = g.labels;
  double *a = work, *row = work + L, bound = 0;
  for (int64_t k = 0; k < g.nodes; ++k) {
    const int32_t u = order[forward ? k : g.nodes - 1 - k];
    poll(2 * (g.begin[u + 1] - g.begin[u] + 1) * L * L);
    for (int64_t x = 0; x < L; ++x) a[x] = row[x] = g.node[u * L + x];
    int64_t onward = 0, before = 0;
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s) {
      const double* in = messages + static_cast<int64_t>(g.back[s]) * L;
      const bool later = (rank[g.neighbour[s]] > rank[u]) == forward;
      ++(later ? onward : before);
      for (int64_t x = 0; x < L; ++x) a[x] += in[x];
      if (!labels) continue;
      const double* scores = g.factors + (2 * edge_table(g, g.code[s] >> 1) + !(g.code[s] & 1)) * L * L;
      const double* given = later ? in : scores + labels[g.neighbour[s]] * L;  // scores from there to here
      for (int64_t x = 0; x < L; ++x) row[x] += given[x];
    }
    if (labels) {
      int32_t chosen = 0;
      for (int32_t x = 1; x < L; ++x)
        if (row[x] > row[chosen] || (row[x] == row[chosen] && a[x] > a[chosen])) chosen = x;
      labels[u] = chosen;
    }
    double top = -HUGE_VAL;
    for (int64_t x = 0; x < L; ++x) top = a[x] > top ? a[x] : top;
    if (top == -HUGE_VAL) return top;
    bound += top;
    const double share = 1.0 / static_cast<double>(onward > before ? onward : before);
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s) {
      if ((rank[g.neighbour[s]] > rank[u]) != forward) continue;
      const double* in = messages + static_cast<int64_t>(g.back[s]) * L;
      const double* scores = g.factors + (2 * edge_table(g, g.code[s] >> 1) + (g.code[s] & 1)) * L * L;
      double* out = messages + static_cast<int64_t>(s) * L;
      for (int64_t z = 0; z < L; ++z) row[z] = -HUGE_VAL;
      for (int64_t x = 0; x < L; ++x) {
        if (!(a[x] > -1e300)) continue;
        const double c = (a[x] - top) * share - in[x];
        for (int64_t z = 0; z < L; ++z) {
          const double y = c + scores[x * L + z];
          row[z] = y > row[z] ? y : row[z];
        }
      }
      double high = -HUGE_VAL;
      for (int64_t z = 0; z < L; ++z) high = row[z] > high ? row[z] : high;
      if (high == -HUGE_VAL) return high;
      bound += high;
      for (int64_t z = 0; z < L; ++z) out[z] = row[z] - high;
    }
  }
  return bound;
}

}  // namespace crfkit::CRFKIT_ISA
