// Gibbs sampling: each node in turn is drawn given its neighbours. After enough sweeps, the labelling is
// drawn from p(y), approximately.
#pragma once

#include <vector>

#include "chain/sample.h"
#include "graphs/graph_batch.h"

namespace crfkit {

// labels [V]: a permitted labelling, which is changed. Random numbers depend on key, sweep and node.
inline void gibbs(const MessageGraph& g, uint64_t key, int64_t sweeps, int32_t* labels) {
  std::vector<double> weights;
  for (int64_t sweep = 0; sweep < sweeps; ++sweep)
    for (int64_t u = 0; u < g.nodes; ++u) {
      poll(10 * g.labels * (g.begin[u + 1] - g.begin[u] + 1));
      weights.assign(g.node + u * g.labels, g.node + (u + 1) * g.labels);
      for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s)
        for (int64_t x = 0; x < g.labels; ++x)
          weights[static_cast<size_t>(x)] += slot_score(g, s, x, labels[g.neighbour[s]]);
      labels[u] =
          static_cast<int32_t>(draw(weights, uniform(key, static_cast<uint64_t>(sweep * g.nodes + u))));
    }
}

}  // namespace crfkit
