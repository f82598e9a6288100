// The score of a given path.
#pragma once

#include <cmath>
#include <cstdint>

#include "chain/edge_tables.h"

namespace crfkit {

// Returns the score of a path, summed with compensation (Neumaier): -inf if the path is forbidden, 0 if it is
// empty.
static inline double path_score(const ChainDims& d, const LatticeView& x, const int32_t* labels) {
  double sum = 0, carry = 0;
  auto add = [&](double score) {
    const double next = sum + score;
    if (std::isfinite(next))
      carry += std::fabs(sum) >= std::fabs(score) ? (sum - next) + score : (score - next) + sum;
    sum = next;
  };
  for (int64_t t = 0; t < x.length; ++t) {
    add(x.node[t * d.labels + labels[t]]);
    if (t == 0 && x.start) add(x.start[labels[t]]);
    if (t == x.length - 1 && x.end) add(x.end[labels[t]]);
    for_edges_into(d, labels, t, [&](int k, int64_t slot) { add(x.edges[k][t * x.edge_strides[k] + slot]); });
  }
  return sum + carry;
}

}  // namespace crfkit
