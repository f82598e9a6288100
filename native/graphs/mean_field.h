// The naive mean field: the best product of distributions of single nodes, q(y) = Π q_u(y_u).
//
//   q_u(x) ∝ exp(θ_u(x) + Σ_v Σ_z q_v(z) θ_uv(x, z)),      log Z >= E_q[S] + H(q)
//
// Node by node, the bound never falls. Forbidden pairs make sense only between labels that both have
// probability: then it begins at one permitted labelling instead of the scores of the nodes.
#pragma once

#include <cmath>
#include <vector>

#include "graphs/graph_batch.h"

namespace crfkit {

// start [V]: a permitted labelling, or null if nothing is forbidden.
inline GraphReport mean_field(const MessageGraph& g, const int32_t* order, int64_t max_iterations,
                              double tolerance, const int32_t* start, const GraphCounts& out) {
  const int64_t L = g.labels;
  std::vector<double> q(static_cast<size_t>(g.nodes * L)), field(static_cast<size_t>(L));
  auto share = [&](int64_t u, int64_t x) -> double& { return q[static_cast<size_t>(u * L + x)]; };
  // The expected score of label x at u, given its neighbours; returns log Σ exp of it.
  auto look = [&](int64_t u, bool alone) {
    for (int64_t x = 0; x < L; ++x) {
      double total = g.node[u * L + x];
      for (int32_t s = alone ? g.begin[u + 1] : g.begin[u]; s < g.begin[u + 1]; ++s)
        for (int64_t z = 0; z < L; ++z)
          if (const double p = share(g.neighbour[s], z); p > 0) total += p * slot_score(g, s, x, z);
      field[static_cast<size_t>(x)] = total;
    }
    double max = -HUGE_VAL, sum = 0;
    for (const double f : field) max = std::max(max, f);
    for (const double f : field) sum += std::exp(f - max);
    return max + std::log(sum);
  };
  for (int64_t u = 0; u < g.nodes; ++u) {
    const double log_z = start ? 0.0 : look(u, true);
    for (int64_t x = 0; x < L; ++x)
      share(u, x) = start ? start[u] == x : std::exp(field[static_cast<size_t>(x)] - log_z);
  }
  GraphReport report;
  report.converged = false;
  while (!report.converged && report.iterations < max_iterations) {
    double change = 0;
    for (int64_t k = 0; k < g.nodes; ++k) {
      const int64_t u = order[report.iterations % 2 ? g.nodes - 1 - k : k];
      poll(5 * (g.begin[u + 1] - g.begin[u] + 1) * L * L);
      const double log_z = look(u, false);
      for (int64_t x = 0; x < L; ++x) {
        const double p = std::exp(field[static_cast<size_t>(x)] - log_z);
        change = std::max(change, std::abs(p - share(u, x)));
        share(u, x) = p;
      }
    }
    ++report.iterations, report.updates += g.nodes;
    report.converged = change <= tolerance;
  }
  double value = 0;
  for (int64_t u = 0; u < g.nodes; ++u)
    for (int64_t x = 0; x < L; ++x) {
      const double p = share(u, x);
      if (p > 0) value += p * (g.node[u * L + x] - std::log(p));
      if (out.node) out.node[u * L + x] = out.weight * p;
    }
  for (int64_t e = 0; e < g.edges; ++e) {
    const int32_t s = g.first_slot[e];
    const int64_t u = g.neighbour[g.back[s]], v = g.neighbour[s];
    double* row = out.edge ? out.edge_row(g, e) : nullptr;
    for (int64_t x = 0; x < L; ++x)
      for (int64_t z = 0; z < L; ++z) {
        const double p = share(u, x) * share(v, z);
        if (p > 0) value += p * edge_scores(g, e)[x * L + z];
        if (row) row[x * L + z] += out.weight * p;
      }
  }
  report.log_z = value;
  return report;
}

}  // namespace crfkit
