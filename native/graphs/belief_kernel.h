// Marginals and log Z from messages: the formulas are in message_graph.h. A kernel header.
#pragma once

#include "graphs/message_kernel.h"

namespace crfkit::CRFKIT_ISA {

// log beliefs [V, L] of the nodes first .. last - 1.
template <int P>
double gather_beliefs(const MessageGraph& g, int64_t first, int64_t last, const double* messages,
                      double* beliefs, double* work) {
  MessageRows<P> rows(g, work);
  constexpr int W = Lanes<double>::count;
  for (int64_t u = first; u < last; ++u) {
    rows.gather(u, messages);
    for (int p = 0; p < rows.n; ++p) store(rows.sums + p * W, rows.belief_at(p));
    for (int x = 0; x < g.labels; ++x) beliefs[u * g.labels + x] = rows.sums[x];
  }
  return 0;
}
inline void log_beliefs(const MessageGraph& g, int64_t first, int64_t last, const double* messages,
                        double* beliefs, double* work) {
  auto gather = [&]() -> double { CRFKIT_BY_ROWS(gather_beliefs, g, first, last, messages, beliefs, work) };
  gather();
}

// log Σ exp of a row [L], which becomes weight · its probabilities if out is given; −inf: nothing permitted.
inline double normalise_row(const double* row, int64_t L, double weight, double* out) {
  double max = -HUGE_VAL, total = 0;
  for (int64_t x = 0; x < L; ++x) max = row[x] > max ? row[x] : max;
  if (max == -HUGE_VAL) return max;
  constexpr int W = Lanes<double>::count;
  double lane[W];
  for (int64_t x = 0; x < L; x += W) {
    for (int i = 0; i < W; ++i) lane[i] = x + i < L ? row[x + i] - max : -HUGE_VAL;
    store(lane, exponential<double>(load(lane)));
    for (int i = 0; i < W && x + i < L; ++i) {
      total += lane[i];
      if (out) out[x + i] = lane[i];
    }
  }
  if (out)
    for (int64_t x = 0; x < L; ++x) out[x] *= weight / total;
  return max + log(total);
}

// log Z_uv of edge e; adds weight · its marginals [L, L] to out, if given. beliefs [V, L] of all nodes.
inline double edge_marginal(const MessageGraph& g, int64_t e, const double* beliefs, const double* messages,
                            double weight, double* out, double* work) {
  const int L = g.labels;
  const int32_t s = g.first_slot[e], t = g.back[s];
  const int64_t u = g.neighbour[t], v = g.neighbour[s];
  const double *b_u = beliefs + u * L, *b_v = beliefs + v * L;
  const double *in_u = messages + static_cast<int64_t>(t) * L, *in_v = messages + static_cast<int64_t>(s) * L;
  constexpr int W = Lanes<double>::count;
  const int n = (L + W - 1) / W * W;
  double *c_u = work, *c_v = work + n, *row = work + 2 * n;
  double top_u = -HUGE_VAL, top_v = -HUGE_VAL;
  for (int x = 0; x < n; ++x) {
    c_u[x] = x < L && b_u[x] > kNoScore ? b_u[x] - in_u[x] : -HUGE_VAL;
    c_v[x] = x < L && b_v[x] > kNoScore ? b_v[x] - in_v[x] : -HUGE_VAL;
    top_u = c_u[x] > top_u ? c_u[x] : top_u;
    top_v = c_v[x] > top_v ? c_v[x] : top_v;
  }
  if (top_u == -HUGE_VAL || top_v == -HUGE_VAL) return -HUGE_VAL;
  const int64_t table = edge_table(g, e);
  const double* factor = g.factors + 2 * table * L * L;
  for (int x = 0; x < n; x += W) {
    store(row + x, exponential<double>(load(c_u + x) - splat(top_u)));
    store(c_v + x, exponential<double>(load(c_v + x) - splat(top_v)));
  }
  Pack<double> all = splat(0.0);
  for (int x = 0; x < L; ++x) {
    Pack<double> own = splat(0.0);
    for (int z = 0; z < n; z += W) own += load(factor + x * L + z) * load(c_v + z);
    all += own * splat(row[x]);
  }
  const double total = sum_lanes<double>(all);
  if (total > kTiny) {
    if (out) {
      const double share = weight / total;
      for (int x = 0; x < L; ++x)
        for (int z = 0; z < L; ++z) out[x * L + z] += share * row[x] * factor[x * L + z] * c_v[z];
    }
    return g.top[table] + top_u + top_v + log(total);
  }
  const double* score = edge_scores(g, e);  // in log space
  const double rho = edge_rho(g, e);
  auto term = [&](int x, int z) {
    const bool none = !(b_u[x] > kNoScore) || !(b_v[z] > kNoScore) || !(score[x * L + z] > kNoScore);
    return none ? -HUGE_VAL : score[x * L + z] / rho + (b_u[x] - in_u[x]) + (b_v[z] - in_v[z]);
  };
  double max = -HUGE_VAL, sum = 0;
  for (int k = 0; k < L * L; ++k) max = term(k / L, k % L) > max ? term(k / L, k % L) : max;
  if (max == -HUGE_VAL) return max;
  for (int k = 0; k < L * L; ++k) sum += exp(term(k / L, k % L) - max);
  if (out)
    for (int k = 0; k < L * L; ++k) out[k] += weight * exp(term(k / L, k % L) - max) / sum;
  return max + log(sum);
}

}  // namespace crfkit::CRFKIT_ISA
