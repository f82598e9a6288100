// Belief propagation with two labels: a message is one number, the odds m = exp(λ(1) − λ(0)). A kernel
// header.
//
//   R_u = odds of θ_u · Π_w m_{w→u},     m_{u→v} = (f01 + f11 r) / (f00 + f10 r),  r = R_u / m_{v→u}
//
// with f the factors of the edge. For scores of moderate size only, so that no product overflows, and without
// forbidden labels.
#pragma once

#include "base/poll.h"
#include "graphs/message_graph.h"
#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// Sends the messages of the nodes first .. last - 1; odds [V] of the nodes. Tells whether one changed by more
// than the share `tolerance`.
inline bool send_odds(const MessageGraph& g, int64_t first, int64_t last, const double* odds,
                      const double* from, double* to, double tolerance) {
  bool changed = false;
  for (int64_t u = first; u < last; ++u) {
    poll_at(u);
    double R = odds[u];
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s) R *= from[g.back[s]];
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s) {
      const int32_t code = g.code[s];
      const double* f = g.factors + 8 * edge_table(g, code >> 1) + 4 * (code & 1);
      const double m = from[g.back[s]], old = from[s];
      const double sent = (f[1] * m + f[3] * R) / (f[0] * m + f[2] * R);
      const double moved = sent - old, limit = tolerance * old;
      changed |= moved > limit || -moved > limit;
      to[s] = sent;
    }
  }
  return changed;
}

}  // namespace crfkit::CRFKIT_ISA
