// Messages between the nodes of a graph, in log space: the formulas are in message_graph.h. A kernel header.
//
// The sum over x is a product with the factors exp(θ / ρ − top), as long as it does not underflow; an entry
// that does is summed again in log space. Rows have L numbers: the last register of a row also reads numbers
// of the next row, which the mask makes −inf.
#pragma once

#include "base/poll.h"
#include "graphs/message_graph.h"
#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

constexpr double kNoScore = -1e300;  // everything below is −inf
constexpr double kTiny = 1e-200;     // sums below it have lost digits

// The rows of one thread: registers if their number P is known, else memory.
template <int P>
struct MessageRows {
  static constexpr int W = Lanes<double>::count;
  typedef Pack<double> V;

  const MessageGraph& g;
  const int L, n;                               // labels, registers per row
  V mask;                                       // 0; −inf in lanes beyond L of a row's last register
  double c[P ? P * W : 1], sum[P ? P * W : 1];  // [n W]
  double *cavity, *sums;                        // these, or memory
  V b_[P ? P : 1];                              // log belief of a node
  double* belief;                               // the same in memory, if P is not known

  MessageRows(const MessageGraph& graph, double* work)
      : g(graph), L(graph.labels), n(P ? P : (graph.labels + W - 1) / W) {
    double lanes[W];
    for (int i = 0; i < W; ++i) lanes[i] = (n - 1) * W + i < L ? 0.0 : -HUGE_VAL;
    mask = load(lanes);
    cavity = P ? c : work, sums = P ? sum : work + n * W, belief = P ? nullptr : work + 2 * n * W;
  }
  static int64_t work_size(int labels) { return 3 * (labels + 2 * W); }

  CRFKIT_INLINE V belief_at(int p) const {
    if constexpr (P > 0)
      return b_[p];
    else
      return load(belief + p * W);
  }
  CRFKIT_INLINE void set_belief(int p, V v) {
    if constexpr (P > 0)
      b_[p] = v;
    else
      store(belief + p * W, v);
  }

  // b_u = θ_u + Σ_w ρ_uw λ_{w→u}
  CRFKIT_INLINE void gather(int64_t u, const double* messages) {
    for (int p = 0; p < n; ++p) set_belief(p, load(g.node + u * L + p * W));
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s) {
      const double* in = messages + static_cast<int64_t>(g.back[s]) * L;
      const double rho = edge_rho(g, g.code[s] >> 1);
      for (int p = 0; p < n; ++p) set_belief(p, belief_at(p) + load(in + p * W) * rho);
    }
    set_belief(n - 1, belief_at(n - 1) + mask);
  }

  // cavity = exp(b − λ − max), and returns the maximum: −inf if all is forbidden.
  CRFKIT_INLINE double leave_out(const double* in) {
    V top = splat(-HUGE_VAL);
    for (int p = 0; p < n; ++p) {
      const V b = belief_at(p),
              x = select_greater(b, splat(kNoScore), b - load(in + p * W), splat(-HUGE_VAL));
      top = larger(top, x);
      store(sums + p * W, x);
    }
    const double max = max_lanes<double>(top);
    if (max == -HUGE_VAL) return max;
    for (int p = 0; p < n; ++p) store(cavity + p * W, exponential<double>(load(sums + p * W) - splat(max)));
    return max;
  }

  // Sums in log space: log Σ_x exp(θ(x, z)/ρ + c(x)), where c is b − λ.
  double log_sum(int32_t s, const double* in, const double* b, int z) const {
    const int64_t e = g.code[s] >> 1, side = g.code[s] & 1;
    const double* score = edge_scores(g, e) + (side ? z * L : z);
    const int64_t step = side ? 1 : L;
    const double rho = edge_rho(g, e);
    double max = -HUGE_VAL, total = 0;
    for (int turn = 0; turn < 2; ++turn) {
      for (int x = 0; x < L; ++x) {
        if (!(b[x] > kNoScore) || !(score[x * step] > kNoScore)) continue;
        const double term = score[x * step] / rho + (b[x] - in[x]);
        if (turn == 0)
          max = term > max ? term : max;
        else
          total += exp(term - max);
      }
      if (max == -HUGE_VAL) return max;
    }
    return max + log(total);
  }

  // λ_{u→v} of slot s from the belief; returns its largest change.
  CRFKIT_INLINE double send(int32_t s, const double* from, double* to) {
    const double* in = from + static_cast<int64_t>(g.back[s]) * L;
    const double* old = from + static_cast<int64_t>(s) * L;
    double* out = to + static_cast<int64_t>(s) * L;
    const double max = leave_out(in);
    if (max == -HUGE_VAL) return forbid(old, out);
    const int64_t t = edge_table(g, g.code[s] >> 1);
    const double* factor = g.factors + (2 * t + (g.code[s] & 1)) * L * L;
    V acc_[P ? P : 1];
    V least = splat(1.0), top = splat(-HUGE_VAL);
    if constexpr (P > 0) {
      for (int p = 0; p < P; ++p) acc_[p] = splat(0.0);
      for (int x = 0; x < L; ++x)
        for (int p = 0; p < P; ++p) acc_[p] += load(factor + x * L + p * W) * splat(cavity[x]);
    } else {
      for (int p = 0; p < n; ++p) {
        V acc = splat(0.0);
        for (int x = 0; x < L; ++x) acc += load(factor + x * L + p * W) * splat(cavity[x]);
        store(sums + p * W, acc);
      }
    }
    for (int p = 0; p < n; ++p) {
      V acc = P ? acc_[P ? p : 0] : load(sums + p * W);
      if (p == n - 1) acc = select_greater(mask, splat(-1.0), acc, splat(1.0));
      least = select_greater(least, acc, acc, least);
      const V row = p == n - 1 ? logarithm(acc) + mask : logarithm(acc);
      top = larger(top, row);
      store(sums + p * W, row);
    }
    double highest = max_lanes<double>(top);
    if (-max_lanes<double>(splat(0.0) - least) < kTiny) highest = repair(s, in, factor, max + g.top[t]);
    if (highest == -HUGE_VAL) return forbid(old, out);
    V change = splat(0.0);
    for (int p = 0; p < n; ++p) {
      V row = load(sums + p * W) - splat(highest);
      const V before = load(old + p * W);
      if (g.damping > 0) row = row * (1 - g.damping) + before * g.damping;
      const V up = row - before, down = before - row;  // NaN: forbidden before and now
      V moved = larger(up, larger(down, splat(0.0)));
      if (p == n - 1) moved = select_greater(mask, splat(-1.0), moved, splat(0.0));
      change = larger(moved, change);
      if (p < n - 1 || L % W == 0) {
        store(out + p * W, row);
      } else {
        store(cavity, row);
        for (int x = p * W; x < L; ++x) out[x] = cavity[x - p * W];
      }
    }
    return max_lanes<double>(change);
  }

  // Replaces the entries that underflowed, relative to `scale`; returns the new maximum.
  double repair(int32_t s, const double* in, const double* factor, double scale) {
    double b[P ? P * W : 1];
    double* beliefs = P ? b : belief;
    if constexpr (P > 0)
      for (int p = 0; p < P; ++p) store(b + p * W, b_[p]);
    double highest = -HUGE_VAL;
    for (int z = 0; z < L; ++z) {
      double total = 0;
      for (int x = 0; x < L; ++x) total += cavity[x] * factor[x * L + z];
      if (total < kTiny) sums[z] = log_sum(s, in, beliefs, z) - scale;
      highest = sums[z] > highest ? sums[z] : highest;
    }
    return highest;
  }

  double forbid(const double* old, double* out) const {
    double change = 0;
    for (int x = 0; x < L; ++x) {
      change = old[x] > kNoScore ? HUGE_VAL : change;
      out[x] = -HUGE_VAL;
    }
    return change;
  }
};

// Sends all messages of the nodes first .. last - 1.
template <int P>
double send_all(const MessageGraph& g, int64_t first, int64_t last, const double* from, double* to,
                double* work) {
  MessageRows<P> rows(g, work);
  double change = 0;
  for (int64_t u = first; u < last; ++u) {
    poll(60 * (g.begin[u + 1] - g.begin[u]));
    rows.gather(u, from);
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s) {
      const double moved = rows.send(s, from, to);
      change = moved > change ? moved : change;
    }
  }
  return change;
}

// Sends, in order of the nodes, the messages to nodes later in the order; backwards, those to earlier ones.
template <int P>
double send_onward(const MessageGraph& g, const int32_t* order, const int32_t* rank, bool forward,
                   double* messages, double* work) {
  MessageRows<P> rows(g, work);
  double change = 0;
  for (int64_t k = 0; k < g.nodes; ++k) {
    const int32_t u = order[forward ? k : g.nodes - 1 - k];
    poll(60 * (g.begin[u + 1] - g.begin[u]));
    rows.gather(u, messages);
    for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s) {
      if ((rank[g.neighbour[s]] > rank[u]) != forward) continue;
      const double moved = rows.send(s, messages, messages);
      change = moved > change ? moved : change;
    }
  }
  return change;
}

// Sends the messages of node u, and returns how much each changed, [its slots].
template <int P>
double send_from(const MessageGraph& g, int64_t u, double* messages, double* changes, double* work) {
  MessageRows<P> rows(g, work);
  rows.gather(u, messages);
  for (int32_t s = g.begin[u]; s < g.begin[u + 1]; ++s)
    changes[s - g.begin[u]] = rows.send(s, messages, messages);
  return 0;
}

// Calls fn<P>(...) with the number of registers per row.
#define CRFKIT_BY_ROWS(fn, g, ...)                     \
  switch ((g.labels - 1) / Lanes<double>::count + 1) { \
    case 1:                                            \
      return fn<1>(g, __VA_ARGS__);                    \
    case 2:                                            \
      return fn<2>(g, __VA_ARGS__);                    \
    case 3:                                            \
      return fn<3>(g, __VA_ARGS__);                    \
    default:                                           \
      return fn<0>(g, __VA_ARGS__);                    \
  }

inline int64_t message_work_size(int labels) { return MessageRows<0>::work_size(labels); }
inline double send_messages(const MessageGraph& g, int64_t first, int64_t last, const double* from,
                            double* to, double* work) {
  CRFKIT_BY_ROWS(send_all, g, first, last, from, to, work)
}
inline double sweep_messages(const MessageGraph& g, const int32_t* order, const int32_t* rank, bool forward,
                             double* messages, double* work) {
  CRFKIT_BY_ROWS(send_onward, g, order, rank, forward, messages, work)
}
inline void node_messages(const MessageGraph& g, int64_t u, double* messages, double* changes, double* work) {
  auto send = [&]() -> double { CRFKIT_BY_ROWS(send_from, g, u, messages, changes, work) };
  send();
}

// exp(θ / ρ − top) of one table, and the transposed, [2, L, L] with slack; returns top.
inline double fill_factors(const double* scores, int L, double rho, double* out) {
  constexpr int W = Lanes<double>::count;
  double top = -HUGE_VAL;
  for (int k = 0; k < L * L; ++k) top = scores[k] > top ? scores[k] : top;
  top = top > -HUGE_VAL ? top / rho : 0.0;
  for (int k = 0; k < L * L; ++k) out[k] = scores[k] / rho - top;
  for (int k = L * L; k % W; ++k) out[k] = 0;
  for (int k = 0; k < L * L; k += W) store(out + k, exponential<double>(load(out + k)));
  for (int x = 0; x < L; ++x)
    for (int z = 0; z < L; ++z) out[L * L + z * L + x] = out[x * L + z];
  return top;
}

}  // namespace crfkit::CRFKIT_ISA
