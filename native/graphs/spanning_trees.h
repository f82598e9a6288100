// Appearance probabilities of edges: the share of spanning trees (forests, if the graph is not connected)
// that have the edge. The trees are chosen one after the other; each prefers the edges that the trees before
// it used least (Kruskal's algorithm), so that all shares are positive and about equal. Bridges have 1.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

#include "base/poll.h"
#include "base/splitmix.h"

namespace crfkit {

// ends(e) returns the two nodes of edge e.
template <class Ends>
std::vector<double> spanning_tree_shares(int64_t V, int64_t E, Ends&& ends) {
  constexpr int64_t kMost = 64, kLeast = 8, kWork = int64_t{1} << 25;
  const int64_t wanted = E == 0 ? 0 : std::min(kMost, std::max(kLeast, kWork / E));
  std::vector<int32_t> used(static_cast<size_t>(E)), root(static_cast<size_t>(V));
  std::vector<int64_t> order(static_cast<size_t>(E)), next(order);
  std::iota(order.begin(), order.end(), int64_t{0});
  for (size_t k = order.size(); k > 1; --k) std::swap(order[k - 1], order[splitmix(k) % k]);  // no preference
  auto find = [&](int32_t v) {
    while (root[static_cast<size_t>(v)] != v)
      v = root[static_cast<size_t>(v)] = root[static_cast<size_t>(root[static_cast<size_t>(v)])];
    return v;
  };
  int64_t trees = 0;
  for (bool covered = false; trees < wanted || !covered; ++trees) {
    std::iota(root.begin(), root.end(), 0);
    poll(20 * (E + V));
    // Edges by how often they were used, those not taken this time first: a stable merge keeps them sorted.
    size_t left = 0;
    std::vector<int64_t> taken;
    for (const int64_t e : order) {
      const auto [a, b] = ends(e);
      const int32_t x = find(a), y = find(b);
      if (x == y) {
        next[left++] = e;
        continue;
      }
      root[static_cast<size_t>(x)] = y;
      ++used[static_cast<size_t>(e)];
      taken.push_back(e);
    }
    next.resize(left);
    auto less = [&](int64_t a, int64_t b) {
      return used[static_cast<size_t>(a)] < used[static_cast<size_t>(b)];
    };
    std::merge(next.begin(), next.end(), taken.begin(), taken.end(), order.begin(), less);
    next.resize(order.size());
    covered = order.empty() || used[static_cast<size_t>(order[0])] > 0;
  }
  std::vector<double> shares(static_cast<size_t>(E));
  for (size_t e = 0; e < shares.size(); ++e)
    shares[e] = static_cast<double>(used[e]) / static_cast<double>(trees);
  return shares;
}

}  // namespace crfkit
