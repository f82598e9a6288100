// The best labelling of a graph by tree-reweighted max-product (best_kernel.h): labellings are read off every
// forward pass, and those of passes 1, 2, 4, … are improved node by node. The best one is optimal if its
// score reaches the upper bound.
#pragma once

#include <cmath>
#include <vector>

#include "graphs/graph_batch.h"
#include "simd/training_kernels.h"

namespace crfkit {

struct BestReport {
  double score = -HUGE_VAL, bound = HUGE_VAL;
  bool optimal = false;
  int64_t iterations = 0;
};

// Raises the label of one node at a time as long as that raises the score.
inline void improve(const MessageGraph& g, int32_t* labels) {
  const int64_t L = g.labels;
  std::vector<double> total(static_cast<size_t>(L));
  bool changed = true;
  for (int turn = 0; changed && turn < 100; ++turn) {
    changed = false;
    for (int64_t u = 0; u < g.nodes; ++u) {
      poll(5 * L * (g.begin[u + 1] - g.begin[u] + 1));
      for (int64_t x = 0; x < L; ++x) {
        double score = g.node[u * L + x];
        for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s)
          score += slot_score(g, s, x, labels[g.neighbour[s]]);
        total[static_cast<size_t>(x)] = score;
      }
      const auto best = std::max_element(total.begin(), total.end());
      if (*best > total[static_cast<size_t>(labels[u])])
        labels[u] = static_cast<int32_t>(best - total.begin()), changed = true;
    }
  }
}

// labels [V]: the best one found.
inline BestReport best_by_bounds(const GraphBatch& batch, int64_t i, int64_t max_iterations, double tolerance,
                                 int32_t* labels) {
  MessageGraph g = batch.graph(i);
  const int64_t L = g.labels, tables = g.kind ? 0 : g.edges;
  std::vector<double> both;  // [tables, 2, L, L] scores and the transposed
  int64_t kinds = tables;
  if (g.kind)
    for (int64_t e = 0; e < g.edges; ++e) kinds = std::max<int64_t>(kinds, g.kind[e] + 1);
  both.resize(static_cast<size_t>(kinds * 2 * L * L));
  for (int64_t t = 0; t < kinds; ++t)
    for (int64_t x = 0; x < L; ++x)
      for (int64_t z = 0; z < L; ++z) {
        const double score = g.scores[(t * L + x) * L + z];
        both[static_cast<size_t>((2 * t * L + x) * L + z)] = score;
        both[static_cast<size_t>(((2 * t + 1) * L + z) * L + x)] = score;
      }
  g.factors = both.data(), g.table = g.kind;
  std::vector<double> messages(static_cast<size_t>(2 * g.edges * L)), work(static_cast<size_t>(2 * L));
  std::vector<int32_t> found(static_cast<size_t>(g.nodes));
  std::fill(labels, labels + g.nodes, 0);
  BestReport report;
  double size = 0;  // of the scores: rounding errors of the bound grow with it
  auto look = [&](double x) { size += std::isfinite(x) ? std::abs(x) : 0.0; };
  std::for_each(g.node, g.node + g.nodes * L, look);
  for (int64_t e = 0; e < g.edges; ++e) std::for_each(edge_scores(g, e), edge_scores(g, e) + L * L, look);
  int64_t still = 0;
  while (report.iterations < max_iterations && !report.optimal && still < 10) {
    ++report.iterations;
    auto pass = [&](bool forward) {
      return training_kernels().best_pass(g, batch.plan.order(i), batch.plan.rank(i), forward,
                                          messages.data(), forward ? found.data() : nullptr, work.data());
    };
    const double forth = pass(true), back = forth == -HUGE_VAL ? forth : pass(false);
    if (back == -HUGE_VAL) {
      report.bound = back;
      return report;
    }
    if ((report.iterations & (report.iterations - 1)) == 0) improve(g, found.data());
    const double score = labelling_score(g, found.data()), before = report.bound;
    if (score > report.score) report.score = score, std::copy(found.begin(), found.end(), labels);
    report.bound = std::min({report.bound, forth, back});
    const double slack = 1e-9 * (1 + std::abs(report.bound)) + 1e-14 * size;
    report.optimal = report.bound - report.score <= slack;
    still = before - report.bound <= std::max(slack, tolerance) ? still + 1 : 0;
  }
  return report;
}

}  // namespace crfkit
