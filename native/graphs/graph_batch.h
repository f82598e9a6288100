// A batch of graphs with scores, and what inference reports of one graph.
#pragma once

#include <cstdint>

#include "graphs/graph_plan.h"

namespace crfkit {

struct GraphBatch {
  const GraphPlan& plan;
  int labels;
  const double* node;    // [ΣV, L]
  const double* edge;    // [K, L, L]
  const int32_t* kinds;  // [ΣE] rows of edge; null: each edge has its own
  const double* rho;     // [ΣE]; null: all 1

  const double* node_scores(int64_t i) const { return node + plan.offset(i) * labels; }
  // The graph with its scores, as they are: node has no slack, and there are no factors.
  MessageGraph graph(int64_t i) const {
    MessageGraph g = plan.graph(i, labels);
    const int64_t e = plan.edge_offset(i);
    g.node = node_scores(i);
    g.scores = kinds ? edge : edge + e * labels * labels;
    g.kind = kinds ? kinds + e : nullptr;
    g.rho = rho ? rho + e : nullptr;
    return g;
  }
};

// Where the marginals of one graph go, times the weight; null: not wanted.
struct GraphCounts {
  double weight = 1;
  double* node = nullptr;  // [V, L]
  double* edge = nullptr;  // [E, L, L], or the sums by kind [K, L, L]
  bool by_kind = false;

  double* edge_row(const MessageGraph& g, int64_t e) const {
    return edge + (by_kind ? g.kind[e] : e) * g.labels * g.labels;
  }
};

struct GraphReport {
  double log_z = 0;
  bool converged = true;
  int64_t iterations = 0;
  int64_t updates = 0;  // messages sent
  int64_t dead = -1;    // a node at which nothing is permitted
};

// The score of a labelling; labels [V].
static inline double labelling_score(const MessageGraph& g, const int32_t* labels) {
  double score = 0;
  for (int64_t u = 0; u < g.nodes; ++u) score += g.node[u * g.labels + labels[u]];
  for (int64_t e = 0; e < g.edges; ++e) {
    const int32_t s = g.first_slot[e];
    score += edge_scores(g, e)[labels[g.neighbour[g.back[s]]] * g.labels + labels[g.neighbour[s]]];
  }
  return score;
}

// The score of label x at u and z at the other end of slot s.
static inline double slot_score(const MessageGraph& g, int32_t s, int64_t x, int64_t z) {
  const double* table = edge_scores(g, g.code[s] >> 1);
  return g.code[s] & 1 ? table[z * g.labels + x] : table[x * g.labels + z];
}

}  // namespace crfkit
