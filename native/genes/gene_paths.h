// Sums and best paths over a graph of gene structures.
//
//   F(n) = log Σ over paths into n of exp(score)            F(N[T]) = log Z
//   q(n) = Σ_arcs out of n  p(arc),   q(N[T]) = 1           p(arc) = q(to) exp(F(from) + score - F(to))
//
// so one exp per arc gives every posterior; arcs far below the best of their sum are skipped. Viterbi uses
// max instead of the sum.
#pragma once

#include "base/poll.h"
#include "genes/gene_graph.h"

namespace crfkit {

class GenePaths {
 public:
  std::vector<double> value;      // [nodes] F, or the best score
  std::vector<double> node_p;     // [nodes] q
  std::vector<double> arc_p;      // [arcs]
  std::vector<int32_t> best_arc;  // [nodes] into it, on the best path; -1: from N before, or none

  // Computes F and returns log Z.
  double forward(const GeneGraph& g) {
    value.assign(g.place.size(), -HUGE_VAL);
    for (int32_t n : g.nodes) {
      const auto at = static_cast<size_t>(n);
      const bool outside = n <= g.length;
      poll_at(n);
      double max = n == 0 ? 0.0 : outside ? value[at - 1] : -HUGE_VAL;
      const double before = max;
      for (int32_t i = g.heads[at]; i < g.heads[at + 1]; ++i) max = std::max(max, into(g, i));
      if (max == -HUGE_VAL) continue;
      double sum = before > -HUGE_VAL ? std::exp(before - max) : 0.0;
      for (int32_t i = g.heads[at]; i < g.heads[at + 1]; ++i) {
        const double below = into(g, i) - max;
        if (below > kNegligible) sum += std::exp(below);
      }
      value[at] = max + std::log(sum);
    }
    return value[static_cast<size_t>(g.length)];
  }

  // Computes q and the arcs' posteriors; call forward first.
  void posteriors(const GeneGraph& g) {
    node_p.assign(g.place.size(), 0.0);
    arc_p.assign(g.arcs.size(), 0.0);
    node_p[static_cast<size_t>(g.length)] = 1;
    for (auto it = g.nodes.rbegin(); it != g.nodes.rend(); ++it) {
      const auto at = static_cast<size_t>(*it);
      poll_at(*it);
      if (node_p[at] < kImprobable) continue;
      for (int32_t i = g.heads[at]; i < g.heads[at + 1]; ++i) {
        const auto a = static_cast<size_t>(g.order[static_cast<size_t>(i)]);
        const double below = into(g, i) - value[at];
        if (below < kNegligible) continue;
        arc_p[a] = node_p[at] * std::exp(below);
        node_p[static_cast<size_t>(g.arcs[a].from)] += arc_p[a];
      }
      if (*it > 0 && *it <= g.length) node_p[at - 1] += node_p[at] * std::exp(value[at - 1] - value[at]);
    }
  }

  // Writes the arcs of the best path, first to last; returns its score.
  double best(const GeneGraph& g, std::vector<int32_t>& path) {
    value.assign(g.place.size(), -HUGE_VAL);
    best_arc.assign(g.place.size(), -1);
    for (int32_t n : g.nodes) {
      const auto at = static_cast<size_t>(n);
      poll_at(n);
      if (n == 0) value[at] = 0;
      if (n > 0 && n <= g.length) value[at] = value[at - 1];
      for (int32_t i = g.heads[at]; i < g.heads[at + 1]; ++i) {
        const double score = into(g, i);
        if (score > value[at]) {
          value[at] = score;
          best_arc[at] = g.order[static_cast<size_t>(i)];
        }
      }
    }
    path.clear();
    for (auto n = static_cast<int32_t>(g.length); n > 0;) {
      const int32_t a = best_arc[static_cast<size_t>(n)];
      if (a >= 0) path.push_back(a);
      n = a >= 0 ? g.arcs[static_cast<size_t>(a)].from : n - 1;
    }
    std::reverse(path.begin(), path.end());
    return value[static_cast<size_t>(g.length)];
  }

 private:
  static constexpr double kNegligible = -40;    // of the largest in a sum, as a logarithm
  static constexpr double kImprobable = 1e-14;  // what such a node adds to any sum is lost in rounding

  double into(const GeneGraph& g, int32_t i) const {
    const Arc& a = g.arcs[static_cast<size_t>(g.order[static_cast<size_t>(i)])];
    return value[static_cast<size_t>(a.from)] + a.score;
  }
};

}  // namespace crfkit
