// Forward-backward in log space, in double precision, for any lattice. It is the fallback of scaled_chain.h,
// and the only method for lattices with edge scores per position (which would need as many exponentials
// there). A kernel header.
//
//   α_t[c, l]     = ψ_t[l] + log Σ_j exp(α_{t-1}[j, c] + F_t[c][j, l]) - a_t    a_t: so that max α_t = 0
//   β_{t-1}[j, c] = log Σ_l exp(F_t[c][j, l] + ψ_t[l] + β_t[c, l]) - b_t        b_t: so that max β_{t-1} = 0
//   log Z         = Σ_t a_t + log Σ exp(α_{T-1})
//
// ψ_t holds the node score, and the start or end score where there is one; F_t all edge scores. Subtracting
// the maximum at each position keeps α and β small, so that marginals stay exact when log Z is huge.
//
// Entropy: H = H(first state) + Σ_t Σ_in p(in) H(next label | in), which has no cancellation.
#pragma once

#include "base/poll.h"
#include "chain/lattice.h"
#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

constexpr double kForbidden = -HUGE_VAL;
constexpr double kLowest = -1e308;  // stands in for a maximum of -inf: -inf - kLowest is -inf, not NaN

// row[l] = Σ over the tables of the score of (history h, l); -inf in the padding.
inline void fill_row(const ChainDims& d, const double* const* edges, int n_labels, int64_t h, double* row) {
  const int L = d.labels;
  for (int l = 0; l < L; ++l) row[l] = edges[0][h % L * L + l];
  int64_t span = L;
  for (int k = 1; k < n_labels; ++k) {
    span *= L;
    const double* scores = edges[k] + h % span * L;
    for (int l = 0; l < L; ++l) row[l] += scores[l];
  }
  for (int l = L; l < d.padded; ++l) row[l] = kForbidden;
}

// The rows that lead into position t: [C, L, Lp] for t >= n, [L^t, Lp] before.
inline void fill_table(const ChainDims& d, const double* const* edges, int64_t t, const LogTables& tables) {
  if (t >= d.order) {
    for (int64_t c = 0; c < d.contexts; ++c)
      for (int j = 0; j < d.labels; ++j)
        fill_row(d, edges, d.order, j * d.contexts + c, tables.full + (c * d.labels + j) * d.padded);
  } else {
    const int n = static_cast<int>(t);
    for (int64_t h = 0; h < power(d.labels, n); ++h)
      fill_row(d, edges, n, h, tables.expand[n] + h * d.padded);
  }
}

// All tables of a batch whose edge scores are shared.
inline void fill_shared_tables(const ChainDims& d, const double* const* edges, const LogTables& tables) {
  for (int t = 1; t <= d.order; ++t) fill_table(d, edges, t, tables);
}

// The table that leads into position t of the view.
inline const double* table_at(const ChainDims& d, const LatticeView& x, const LogTables& tables, int64_t t) {
  if (!tables.shared) {
    const double* edges[kMaxOrder];
    for (int k = 0; k < d.order; ++k) edges[k] = x.edges[k] + t * x.edge_strides[k];
    fill_table(d, edges, x.first + t, tables);
  }
  return x.first + t >= d.order ? tables.full : tables.expand[x.first + t];
}

// ψ_t: [Lp], -inf in the padding.
inline void fill_psi(const ChainDims& d, const LatticeView& x, int64_t t, double* psi) {
  const int L = d.labels;
  const double* node = x.node + t * L;
  for (int l = 0; l < L; ++l) psi[l] = node[l];
  if (x.first + t == 0 && x.start)
    for (int l = 0; l < L; ++l) psi[l] += x.start[l];
  if (t == x.length - 1 && x.end)
    for (int l = 0; l < L; ++l) psi[l] += x.end[l];
  for (int l = L; l < d.padded; ++l) psi[l] = kForbidden;
}

// Subtracts the maximum of v[0..n) from v and returns it. n is a multiple of the padding.
inline double subtract_maximum(double* v, int64_t n) {
  constexpr int W = Lanes<double>::count;
  Pack<double> top = splat(kForbidden);
  for (int64_t i = 0; i < n; i += W) top = larger(top, load(v + i));
  const double max = max_lanes<double>(top);
  if (max > kForbidden)
    for (int64_t i = 0; i < n; i += W) store(v + i, load(v + i) - max);
  return max;
}

// A sum with compensation for rounding errors (Neumaier), for log Z of long sequences.
struct CarefulSum {
  double sum = 0, carry = 0;
  void add(double x) {
    const double next = sum + x;
    carry += fabs(sum) >= fabs(x) ? (sum - next) + x : (x - next) + sum;
    sum = next;
  }
};

// The recursion from left to right; sums and maxima over paths are its two cases:
//
//   α_t[c, l] = ψ_t[l] + ⊕_j (α_{t-1}[j, c] + F_t[c][j, l]) - a_t
//
// combine(t, rows, in, psi, place, to) computes the labels of one pack: `rows` holds F, [L, Lp], `in` α_{t-1}
// with stride forget_stride; it writes to[0..W), which is α_t from `place` on. alpha_at(t) points to α_t.
// Returns the first position that no permitted path reaches, or -1. maxima: a, [T]; psi: [Lp] workspace. If
// the view is a piece, alpha_at(-1) is α of the position before it, and its end scores are null unless it is
// the last.
template <class AlphaAt, class Combine>
CRFKIT_INLINE int64_t log_recursion(const ChainDims& d, const LatticeView& x, const LogTables& tables,
                                    double* maxima, double* psi, AlphaAt&& alpha_at, Combine&& combine) {
  constexpr int W = Lanes<double>::count;
  const int L = d.labels, Lp = d.padded;
  for (int64_t t = 0; t < x.length; ++t) {
    poll_at(t);
    const int64_t place = x.first + t;
    double* now = alpha_at(t);
    const double* before = place > 0 ? alpha_at(t - 1) : nullptr;
    const double* table = place > 0 ? table_at(d, x, tables, t) : nullptr;
    const int64_t H = contexts_at(d, place);
    fill_psi(d, x, t, psi);
    if (place == 0) {
      for (int l = 0; l < Lp; ++l) now[l] = psi[l];
    } else if (place < d.order) {  // histories grow by a label: each has one predecessor
      for (int64_t h = 0; h < H; ++h) {
        const double in = before[state_offset(d, h)];
        for (int l = 0; l < Lp; ++l) now[h * Lp + l] = psi[l] + (in + table[h * Lp + l]);
      }
    } else {
      for (int64_t c = 0; c < d.contexts; ++c)
        for (int l = 0; l < Lp; l += W)
          combine(t, table + c * L * Lp + l, before + in_offset(d, c), psi + l, c * Lp + l, now + c * Lp + l);
    }
    maxima[t] = subtract_maximum(now, H * Lp);
    if (maxima[t] == kForbidden) return t;
  }
  return -1;
}

// α [T, states] of sums over paths.
inline int64_t log_forward(const ChainDims& d, const LatticeView& x, const LogTables& tables, double* alpha,
                           double* maxima, double* psi) {
  constexpr int W = Lanes<double>::count;
  const int L = d.labels, Lp = d.padded;
  return log_recursion(
      d, x, tables, maxima, psi, [&](int64_t t) { return alpha + t * d.states; },
      [&](int64_t, const double* rows, const double* in, const double* psi_l, int64_t, double* to) {
        Pack<double> top = splat(kLowest), sum = splat(0.0);
        for (int j = 0; j < L; ++j) top = larger(top, load(rows + j * Lp) + in[j * d.forget_stride]);
        for (int j = 0; j < L; ++j)
          sum += exponential<double>(load(rows + j * Lp) + in[j * d.forget_stride] - top);
        store(to, sum);
        for (int i = 0; i < W; ++i) to[i] = psi_l[i] + (top[i] + log(to[i]));
      });
}

// log Σ exp over n numbers, n a multiple of the padding.
inline double log_sum(const double* v, int64_t n) {
  constexpr int W = Lanes<double>::count;
  Pack<double> top = splat(kLowest), sum = splat(0.0);
  for (int64_t i = 0; i < n; i += W) top = larger(top, load(v + i));
  const double max = max_lanes<double>(top);
  for (int64_t i = 0; i < n; i += W) sum += exponential<double>(load(v + i) - max);
  return max + log(sum_lanes<double>(sum));
}

// The arrays log_posterior works in, for a sequence or a piece of n positions.
struct LogWork {
  double* alpha;   // [n, states], and before it α of the position before a piece
  double* beta;    // [states]
  double* onward;  // [states] ψ_t + β_t
  double* psi;     // [Lp]
  double* row;     // [Lp]
  double* maxima;  // [n]
};

// A workspace in `memory`, log_workspace_size doubles.
inline LogWork cut_log_work(const ChainDims& d, int64_t n, double* memory) {
  LogWork w;
  w.alpha = memory + d.states;
  w.beta = w.alpha + n * d.states;
  w.onward = w.beta + d.states;
  w.psi = w.onward + d.states;
  w.row = w.psi + d.padded;
  w.maxima = w.row + d.padded;
  return w;
}

// β of the last position of a sequence.
inline void begin_backward(const ChainDims& d, double* beta) {
  for (int64_t s = 0; s < d.states; ++s) beta[s] = s % d.padded < d.labels ? 0 : kForbidden;
}

// The recursion from right to left, of a sequence or a piece, from w.beta at its last position; w.alpha and
// w.maxima are those of log_forward. Unless the piece is the first, w.beta becomes that of the position
// before.
inline void log_backward(const ChainDims& d, const LatticeView& x, const LogTables& tables, const LogWork& w,
                         const LogOut& out) {
  constexpr int W = Lanes<double>::count;
  const int L = d.labels, Lp = d.padded;
  double *beta = w.beta, *onward = w.onward, *psi = w.psi, *row = w.row;
  const double *alpha = w.alpha, *maxima = w.maxima;
  double entropy = 0;
  for (int64_t t = x.length - 1; t >= 0; --t) {
    poll_at(t);
    const int64_t place = x.first + t, H = contexts_at(d, place);
    const double* alpha_t = alpha + t * d.states;
    for (int64_t s = 0; s < H * Lp; s += W) store(onward + s, load(alpha_t + s) + load(beta + s));
    const double q = log_sum(onward, H * Lp);

    double* node = out.node ? out.node + t * L : nullptr;
    double* pair = out.pair ? out.pair + t * L * L : nullptr;
    if (node)
      for (int l = 0; l < L; ++l) node[l] = 0;
    if (pair)
      for (int i = 0; i < L * L; ++i) pair[i] = 0;
    if (out.window)
      for (int64_t i = 0; i < d.contexts * L * L; ++i) out.window[t * d.contexts * L * L + i] = 0;
    if (node || (pair && d.order > 1 && place > 0) || (out.entropy && place == 0)) {
      for (int64_t h = 0; h < H; ++h) {
        for (int l = 0; l < Lp; l += W) store(row + l, exponential<double>(load(onward + h * Lp + l) - q));
        if (node)
          for (int l = 0; l < L; ++l) node[l] += row[l];
        if (pair && d.order > 1 && place > 0)
          for (int l = 0; l < L; ++l) pair[h % L * L + l] += row[l];
        if (out.entropy && place == 0)
          for (int l = 0; l < L; ++l)
            if (row[l] > 0) entropy -= row[l] * (onward[h * Lp + l] - q);
      }
    }
    if (place == 0) break;

    fill_psi(d, x, t, psi);
    for (int64_t h = 0; h < H; ++h)
      for (int l = 0; l < Lp; l += W) store(onward + h * Lp + l, load(psi + l) + load(beta + h * Lp + l));

    // Computes β of one in-state (row i of the table) and the probabilities of the labels after it.
    const double* table = table_at(d, x, tables, t);
    double* counts = !out.counts ? nullptr : place >= d.order ? out.counts : out.expand[place];
    double* window = d.order == 1 ? pair : nullptr;
    if (out.window && place >= d.order) window = out.window + t * d.contexts * L * L;
    auto leave = [&](int64_t i, double in_alpha, int64_t context) {
      const double* scores = table + i * Lp;
      const double* to = onward + context * Lp;
      Pack<double> top = splat(kLowest), sum = splat(0.0), moment = splat(0.0);
      for (int l = 0; l < Lp; l += W) top = larger(top, load(scores + l) + load(to + l));
      const double max = max_lanes<double>(top);
      for (int l = 0; l < Lp; l += W) {
        const Pack<double> difference = load(scores + l) + load(to + l) - max;
        const Pack<double> e = exponential<double>(difference);
        store(row + l, e);
        sum += e;
        moment += e * larger(difference, splat(kLowest));
      }
      const double total = sum_lanes<double>(sum), log_total = log(total);
      const double share = exp(in_alpha + (max - q - maxima[t]));  // p(in, l) = share * row[l]
      if (share > 0) {
        if (out.entropy) entropy += share * (total * log_total - sum_lanes<double>(moment));
        if (counts)
          for (int l = 0; l < L; ++l) counts[i * Lp + l] += out.weight * (share * row[l]);
        if (window)  // row i is in-state (j, c) = (i % L, i / L)
          for (int l = 0; l < L; ++l) window[(i % L * d.contexts + i / L) * L + l] = share * row[l];
      }
      return max + log_total;
    };
    const double* alpha_in = alpha_t - d.states;
    if (place >= d.order) {
      for (int64_t c = 0; c < d.contexts; ++c)
        for (int j = 0; j < L; ++j) {
          const int64_t in = in_offset(d, c) + j * d.forget_stride;
          beta[in] = leave(c * L + j, alpha_in[in], c);
        }
    } else {
      for (int64_t h = 0; h < H; ++h) beta[state_offset(d, h)] = leave(h, alpha_in[state_offset(d, h)], h);
    }
    subtract_maximum(beta, contexts_at(d, place - 1) * Lp);
  }
  if (out.entropy) *out.entropy = entropy;
}

// Computes what LogOut requests for one sequence of T >= 1 positions. Returns the first position that no
// permitted path reaches (then nothing is added to the counts), or -1. memory: log_workspace_size doubles.
inline int64_t log_posterior(const ChainDims& d, const LatticeView& x, const LogTables& tables,
                             double* memory, const LogOut& out) {
  const int64_t T = x.length;
  const LogWork w = cut_log_work(d, T, memory);
  const int64_t dead = log_forward(d, x, tables, w.alpha, w.maxima, w.psi);
  if (dead >= 0) return dead;
  CarefulSum total;
  for (int64_t t = 0; t < T; ++t) total.add(w.maxima[t]);
  total.add(log_sum(w.alpha + (T - 1) * d.states, contexts_at(d, T - 1) * d.padded));
  *out.log_z = total.sum + total.carry;
  if (!(out.node || out.pair || out.window || out.counts || out.entropy)) return -1;
  begin_backward(d, w.beta);
  log_backward(d, x, tables, w, out);
  return -1;
}

}  // namespace crfkit::CRFKIT_ISA
