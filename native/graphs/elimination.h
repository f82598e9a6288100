// Elimination orders and their cliques: nodes are removed one by one, and the neighbours of a removed node
// become neighbours of each other. The node and its neighbours at that moment are a clique; the width of the
// order is the size of the largest clique minus 1, and exact inference needs L^(width + 1) numbers. Each step
// removes the node that adds the fewest edges (min-fill); ties: the smallest degree, then the first node. A
// given order is tried as well, because min-fill is not good at grids.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <queue>
#include <tuple>
#include <vector>

#include "base/poll.h"
#include "graphs/message_graph.h"

namespace crfkit {

struct Elimination {
  static constexpr int32_t kWidest = 63;           // wider graphs are given up: 2 labels need 2^64 numbers
  static constexpr int64_t kLongest = 50'000'000;  // pairs of nodes to look at, then it is given up

  std::vector<int32_t> order;     // [V] in the order of removal
  std::vector<int64_t> begin{0};  // [V + 1] bounds of the cliques' other nodes
  std::vector<int32_t> rest;      // other nodes of the clique, by order of removal
  std::vector<int32_t> place;     // [V] when a node is removed
  int32_t width = 0;
  bool complete = true;  // false: it was given up at the width found so far

  int64_t rest_size(int64_t k) const {
    return begin[static_cast<size_t>(k) + 1] - begin[static_cast<size_t>(k)];
  }
  // The numbers in all cliques' tables, for L labels.
  double table_size(int labels) const {
    if (!complete) return HUGE_VAL;
    double size = 0;
    for (size_t k = 0; k < order.size(); ++k)
      size += std::pow(labels, static_cast<double>(rest_size(static_cast<int64_t>(k)) + 1));
    return size;
  }

  void remove(int32_t node, const std::vector<int32_t>& neighbours) {
    order.push_back(node);
    rest.insert(rest.end(), neighbours.begin(), neighbours.end());
    begin.push_back(static_cast<int64_t>(rest.size()));
    width = std::max(width, static_cast<int32_t>(neighbours.size()));
  }
  // Sorts each clique by order of removal; call it at the end.
  void finish() {
    place.resize(order.size());
    for (size_t k = 0; k < order.size(); ++k) place[static_cast<size_t>(order[k])] = static_cast<int32_t>(k);
    for (size_t k = 0; k < order.size(); ++k)
      std::sort(rest.begin() + begin[k], rest.begin() + begin[k + 1], [&](int32_t a, int32_t b) {
        return place[static_cast<size_t>(a)] < place[static_cast<size_t>(b)];
      });
  }
};

// Leaves first: every node comes before its parent.
inline void eliminate_forest(const MessageGraph& g, const int32_t* order, const int32_t* rank,
                             Elimination& out) {
  std::vector<int32_t> parent;
  for (int64_t k = g.nodes - 1; k >= 0; --k) {
    const int32_t u = order[k];
    parent.clear();
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s)
      if (rank[g.neighbour[s]] < k) parent.push_back(g.neighbour[s]);
    out.remove(u, parent);
  }
  out.finish();
}

class Eliminator {
 public:
  explicit Eliminator(const MessageGraph& g) : linked_(static_cast<size_t>(g.nodes)), gone_(linked_.size()) {
    for (int64_t u = 0; u < g.nodes; ++u) {
      auto& own = linked_[static_cast<size_t>(u)];
      own.assign(g.neighbour + g.begin[u], g.neighbour + g.begin[u + 1]);
      std::sort(own.begin(), own.end());
    }
    cost_.resize(linked_.size());
  }

  // order [V]: removes the nodes in this order; null: by their costs.
  void run(const int32_t* order, Elimination& out) {
    std::vector<int32_t> around, touched;
    if (!order)
      for (size_t u = 0; u < linked_.size(); ++u) weigh(static_cast<int32_t>(u));
    for (int32_t u; (u = next(order, out)) >= 0;) {
      around = linked_[static_cast<size_t>(u)];
      poll(100 * static_cast<int64_t>(around.size() + 1));
      if (static_cast<int32_t>(around.size()) > Elimination::kWidest || looked_ > Elimination::kLongest) {
        out.width = std::max(out.width, static_cast<int32_t>(around.size()));
        out.complete = false;
        return;
      }
      out.remove(u, around);
      gone_[static_cast<size_t>(u)] = 1;
      touched = around;
      for (const int32_t v : around) cut(v, u);
      for (size_t i = 0; i < around.size(); ++i)
        for (size_t j = i + 1; j < around.size(); ++j) link(around[i], around[j], touched);
      std::sort(touched.begin(), touched.end());
      touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
      for (const int32_t v : touched)
        if (!order) weigh(v);
    }
    out.finish();
  }

 private:
  using Cost = std::tuple<int64_t, int64_t, int32_t>;  // edges to add, degree, node

  // The node to remove next; -1 at the end.
  int32_t next(const int32_t* order, const Elimination& out) {
    if (order) return out.order.size() < linked_.size() ? order[out.order.size()] : -1;
    while (!queue_.empty()) {
      const Cost top = queue_.top();
      queue_.pop();
      const int32_t u = std::get<2>(top);
      if (!gone_[static_cast<size_t>(u)] && top == cost_[static_cast<size_t>(u)]) return u;
    }
    return -1;
  }
  bool adjacent(int32_t a, int32_t b) {
    ++looked_;
    const auto &x = linked_[static_cast<size_t>(a)], &y = linked_[static_cast<size_t>(b)];
    return x.size() < y.size() ? std::binary_search(x.begin(), x.end(), b)
                               : std::binary_search(y.begin(), y.end(), a);
  }
  void cut(int32_t from, int32_t node) {
    auto& own = linked_[static_cast<size_t>(from)];
    own.erase(std::lower_bound(own.begin(), own.end(), node));
  }
  // Links two nodes, if they are not yet; the nodes linked to both then have one edge less to add.
  void link(int32_t a, int32_t b, std::vector<int32_t>& touched) {
    if (adjacent(a, b)) return;
    auto &x = linked_[static_cast<size_t>(a)], &y = linked_[static_cast<size_t>(b)];
    std::set_intersection(x.begin(), x.end(), y.begin(), y.end(), std::back_inserter(touched));
    x.insert(std::lower_bound(x.begin(), x.end(), b), b);
    y.insert(std::lower_bound(y.begin(), y.end(), a), a);
  }
  void weigh(int32_t u) {
    const auto& own = linked_[static_cast<size_t>(u)];
    const auto degree = static_cast<int64_t>(own.size());
    int64_t missing = 0;
    if (degree > Elimination::kWidest) {
      missing = degree * degree;  // too wide to be removed; an upper bound is enough
    } else {
      for (size_t i = 0; i < own.size(); ++i)
        for (size_t j = i + 1; j < own.size(); ++j) missing += !adjacent(own[i], own[j]);
    }
    cost_[static_cast<size_t>(u)] = {missing, degree, u};
    queue_.push(cost_[static_cast<size_t>(u)]);
  }

  std::vector<std::vector<int32_t>> linked_;  // [V] sorted; of nodes that are not removed
  std::vector<char> gone_;                    // [V]
  int64_t looked_ = 0;                        // pairs of nodes
  std::vector<Cost> cost_;                    // [V]
  std::priority_queue<Cost, std::vector<Cost>, std::greater<Cost>> queue_;  // also outdated costs
};

inline void eliminate_narrowly(const MessageGraph& g, const int32_t* order, Elimination& out) {
  Elimination other;
  Eliminator(g).run(order, out);
  Eliminator(g).run(nullptr, other);
  const bool better = other.complete != out.complete ? other.complete : other.width <= out.width;
  if (better) std::swap(out, other);
}

}  // namespace crfkit
