// What depends only on which nodes are linked: slots (see message_graph.h), an order of the nodes, spanning
// trees and elimination orders. Made once per batch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "base/parallel.h"
#include "graphs/elimination.h"
#include "graphs/message_graph.h"
#include "graphs/spanning_trees.h"

namespace crfkit {

class GraphPlan {
 public:
  // ends [ΣE, 2]: places of nodes in the batch; each edge links two nodes of its graph.
  GraphPlan(std::vector<int64_t> offsets, std::vector<int64_t> edge_offsets, const int32_t* ends)
      : offsets_(std::move(offsets)), edge_offsets_(std::move(edge_offsets)) {
    const auto V = static_cast<size_t>(offsets_.back()), E = static_cast<size_t>(edge_offsets_.back());
    const auto N = static_cast<size_t>(n_graphs());
    begin_.resize(V + N), order_.resize(V), rank_.resize(V);
    neighbour_.resize(2 * E), back_.resize(2 * E), code_.resize(2 * E), first_slot_.resize(E);
    forest_.resize(N), eliminations_.resize(N);
    for (int64_t i = 0; i < n_graphs(); ++i) lay_out(i, ends);
  }

  int64_t n_graphs() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t n_nodes() const { return offsets_.back(); }
  int64_t n_edges() const { return edge_offsets_.back(); }
  int64_t offset(int64_t i) const { return offsets_[static_cast<size_t>(i)]; }
  int64_t edge_offset(int64_t i) const { return edge_offsets_[static_cast<size_t>(i)]; }
  int64_t nodes(int64_t i) const { return offset(i + 1) - offset(i); }
  int64_t edges(int64_t i) const { return edge_offset(i + 1) - edge_offset(i); }
  bool forest(int64_t i) const { return forest_[static_cast<size_t>(i)] != 0; }

  // The graph's own part of the arrays; numbers of nodes, edges and slots are the graph's own.
  MessageGraph graph(int64_t i, int labels) const {
    const int64_t e = edge_offset(i);
    MessageGraph g = {};
    g.nodes = nodes(i), g.edges = edges(i), g.labels = labels;
    g.begin = begin_.data() + offset(i) + i;
    g.neighbour = neighbour_.data() + 2 * e;
    g.back = back_.data() + 2 * e;
    g.code = code_.data() + 2 * e;
    g.first_slot = first_slot_.data() + e;
    return g;
  }
  // Nodes in breadth-first order, and the place of each node in it.
  const int32_t* order(int64_t i) const { return order_.data() + offset(i); }
  const int32_t* rank(int64_t i) const { return rank_.data() + offset(i); }

  // Appearance probabilities [E] of the edges of graph i.
  std::vector<double> tree_shares(int64_t i) const {
    const MessageGraph g = graph(i, 1);
    return spanning_tree_shares(g.nodes, g.edges, [&](int64_t e) {
      const int32_t s = g.first_slot[e];
      return std::pair<int32_t, int32_t>(g.neighbour[g.back[s]], g.neighbour[s]);
    });
  }

  // Elimination orders of all graphs; computed at the first call.
  void eliminate(int n_threads) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (eliminated_) return;
    parallel_for(static_cast<int>(n_graphs()), n_threads, [&](int i, int) {
      auto made = std::make_unique<Elimination>();
      const MessageGraph g = graph(i, 1);
      if (forest(i))
        eliminate_forest(g, order(i), rank(i), *made);
      else
        eliminate_narrowly(g, order(i), *made);
      eliminations_[static_cast<size_t>(i)] = std::move(made);
    });
    eliminated_ = true;
  }
  const Elimination& elimination(int64_t i) const { return *eliminations_[static_cast<size_t>(i)]; }
  bool eliminated() const { return eliminated_; }

 private:
  void lay_out(int64_t i, const int32_t* ends) {
    const int64_t V = nodes(i), E = edges(i), base = offset(i);
    ends += 2 * edge_offset(i);
    int32_t* begin = begin_.data() + base + i;
    int32_t* neighbour = neighbour_.data() + 2 * edge_offset(i);
    int32_t* back = back_.data() + 2 * edge_offset(i);
    int32_t* code = code_.data() + 2 * edge_offset(i);
    int32_t* first_slot = first_slot_.data() + edge_offset(i);
    for (int64_t k = 0; k < 2 * E; ++k) ++begin[ends[k] - base + 1];
    for (int64_t v = 0; v < V; ++v) begin[v + 1] += begin[v];
    std::vector<int32_t> next(begin, begin + V);
    for (int64_t e = 0; e < E; ++e) {
      const auto a = static_cast<int32_t>(ends[2 * e] - base),
                 b = static_cast<int32_t>(ends[2 * e + 1] - base);
      const int32_t s = next[static_cast<size_t>(a)]++, t = next[static_cast<size_t>(b)]++;
      neighbour[s] = b, neighbour[t] = a, back[s] = t, back[t] = s;
      code[s] = static_cast<int32_t>(2 * e), code[t] = code[s] + 1;
      first_slot[e] = s;
    }
    // Breadth-first from the first node of each component: in a forest, a node's parent is its only
    // neighbour that comes before it.
    int32_t* order = order_.data() + base;
    int32_t* rank = rank_.data() + base;
    std::fill(rank, rank + V, -1);
    int32_t found = 0, components = 0;
    for (int32_t root = 0; root < V; ++root) {
      if (rank[root] >= 0) continue;
      ++components;
      rank[root] = found, order[found++] = root;
      for (int32_t k = rank[root]; k < found; ++k)
        for (int32_t s = begin[order[k]]; s < begin[order[k] + 1]; ++s)
          if (rank[neighbour[s]] < 0) rank[neighbour[s]] = found, order[found++] = neighbour[s];
    }
    forest_[static_cast<size_t>(i)] = E == V - components;
  }

  std::vector<int64_t> offsets_, edge_offsets_;                // [N + 1]
  std::vector<int32_t> begin_, order_, rank_;                  // [ΣV + N], [ΣV], [ΣV]
  std::vector<int32_t> neighbour_, back_, code_, first_slot_;  // [2ΣE] and [ΣE]
  std::vector<char> forest_;                                   // [N]
  std::vector<std::unique_ptr<Elimination>> eliminations_;     // [N]
  std::mutex mutex_;
  bool eliminated_ = false;
};

}  // namespace crfkit
