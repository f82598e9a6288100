// Sums over all segmentations with states (y, d): label y, d positions of the segment so far. A kernel
// header.
//
//   W_1[t, y]     = first_t[y] Σ_k E_{t-1}[k] M[k, y],        W_{d+1}[t, y] = rest_t[y] W_d[t-1, y]
//   E_t[y]        = last_t[y] Σ_d W_d[t, y] length_d[y] span(t, d, y)     the segment ends after t
//
//   V_d[t, y]     = rest_{t+1}[y] V_{d+1}[t+1, y] + last_t[y] length_d[y] span(t, d, y) X_t[y]
//
//   X_t[k]        = Σ_l M[k, l] first_{t+1}[l] V_1[t+1, l],     X_{T-1} = end
//
//   p(state (y, d) at t) = W_d[t, y] V_d[t, y] / q_t,     q_t = Σ W V
//
// in exponentials of scores. With a tail, row K + 1 holds all longer segments: they end with the factor of
// length K, and each position beyond K has the factor tail[y]. Labels lie side by side in registers, so a
// position costs a few instructions per length; logarithms are taken once per sequence.
//
// Scores are shifted so that all factors are at most 1: all but one of the positions have one score of
// either continuing or ending and beginning, and the largest of both kinds is subtracted. W and V are scaled
// by the sums of the step before, and raised by slightly more than they may have lost to underflow. Why the
// result is then exact, or known not to be, is said in chain/scaled_chain.h: this is a chain over (y, d).
#pragma once

#include <limits>

#include "base/poll.h"
#include "chain/scaled_chain.h"
#include "segments/length_states.h"

namespace crfkit::CRFKIT_ISA {

struct LengthWork {
  double* states;    // [T, R, Lp] W
  double* first;     // [T, Lp] factors
  double* rest;      // [T, Lp]
  double* last;      // [T, Lp]
  double* span;      // [S + 1, Lp]; the last row is that of a segment that is no span
  double* end;       // [Lp]
  double* ends;      // [T, Lp] E
  double* onward;    // [R + 1, Lp] V
  double* lengths;   // [R, Lp] counts, without the factors of lengths
  double* edge;      // [L, Lp] counts, without the factors of edges
  double* tail;      // [Lp] counts
  double* start;     // [Lp] counts
  double* row;       // [Lp]
  double* sums;      // [T] Σ W
  int32_t* span_at;  // [T, R] the span of length d that ends after t, or S
};

inline LengthWork cut_length_workspace(const LengthFactors& f, const SegmentView& x, double* memory) {
  const int64_t T = x.length, R = length_rows(f, T), Lp = f.padded;
  auto take = [&memory](int64_t size) {
    double* taken = memory;
    memory += size;
    return taken;
  };
  LengthWork w;
  w.states = take(T * R * Lp);
  w.first = take(T * Lp);
  w.rest = take(T * Lp);
  w.last = take(T * Lp);
  w.span = take((x.n_spans + 1) * Lp);
  w.end = take(Lp);
  w.ends = take(T * Lp);
  w.onward = take((R + 1) * Lp);
  w.lengths = take(R * Lp);
  w.edge = take(f.model.labels * Lp);
  w.tail = take(Lp);
  w.start = take(Lp);
  w.row = take(Lp);
  w.sums = take(T);
  w.span_at = reinterpret_cast<int32_t*>(memory);
  return w;
}

// ---- factors

inline double largest_of(const double* x, int64_t n, double most) {
  for (int64_t i = 0; i < n; ++i) most = x[i] > most ? x[i] : most;
  return most;
}

// out[y] = exp(scores[y] - top), y < L, and 0 in the padding.
inline void exponentials(const double* scores, int64_t L, int64_t Lp, double top, double* out) {
  constexpr int lanes = Lanes<double>::count;
  for (int64_t y = 0; y < L; ++y) out[y] = scores[y] - top;
  for (int64_t y = L; y < Lp; ++y) out[y] = -HUGE_VAL;
  for (int64_t y = 0; y < Lp; y += lanes) store(out + y, exponential<double>(load(out + y)));
}

// Fills the factors of spans.
inline void fill_span_factors(const LengthFactors& f, const SegmentView& x, double top, const LengthWork& w) {
  const int64_t R = length_rows(f, x.length), S = x.n_spans, L = f.model.labels, Lp = f.padded;
  for (int64_t y = 0; y < Lp; ++y) w.span[S * Lp + y] = exp(-top);
  if (S == 0) return;
  for (int64_t i = 0; i < x.length * R; ++i) w.span_at[i] = static_cast<int32_t>(S);
  for (int64_t s = 0; s < S; ++s) {
    w.span_at[(x.end[s] - 1) * R + x.end[s] - x.begin[s] - 1] = static_cast<int32_t>(s);
    exponentials(x.span + s * L, L, Lp, top, w.span + s * Lp);
  }
}

// Fills the factors of a sequence. Returns the sum of what was subtracted; -inf: nothing is permitted.
inline double fill_length_factors(const LengthFactors& f, const SegmentView& x, const LengthWork& w) {
  const SegmentModel& m = f.model;
  const int64_t T = x.length, L = m.labels, Lp = f.padded;
  const double last_top = x.last ? largest_of(x.last, T * L, -HUGE_VAL) : 0.0;
  const double span_top = largest_of(x.span, x.n_spans * L, 0.0);
  const double end_top = m.end ? largest_of(m.end, L, -HUGE_VAL) : 0.0;
  double total = last_top + span_top + end_top + f.length_top;
  if (!(total > -HUGE_VAL)) return -HUGE_VAL;
  for (int64_t y = 0; y < Lp; ++y) w.end[y] = y < L ? exp((m.end ? m.end[y] : 0.0) - end_top) : 0.0;
  fill_span_factors(f, x, span_top, w);
  const double change_top = f.length_top + last_top + span_top + f.edge_top;  // to end one and begin the next
  for (int64_t t = 0; t < T; ++t) {
    const double* node = x.node + t * 2 * L;
    for (int64_t y = 0; y < L; ++y) w.row[y] = node[y] + (t > 0 ? change_top : m.start ? m.start[y] : 0.0);
    double top = largest_of(w.row, L, -HUGE_VAL);
    if (t > 0) top = largest_of(node + L, L, top - f.tail_top) + f.tail_top;
    if (!(top > -HUGE_VAL)) return -HUGE_VAL;
    total += top;
    exponentials(w.row, L, Lp, top, w.first + t * Lp);
    if (t > 0) {
      exponentials(node + L, L, Lp, top, w.rest + t * Lp);
      for (int64_t y = 0; y < Lp; ++y) w.rest[t * Lp + y] *= f.goes_on[y];
    }
    if (x.last)
      exponentials(x.last + t * L, L, Lp, last_top, w.last + t * Lp);
    else
      for (int64_t y = 0; y < Lp; ++y) w.last[t * Lp + y] = y < L ? 1 : 0;
  }
  return total;
}

// The factors of a segment in row r of the states that ends after t.
template <bool kSpans>
struct EndFactors {
  const LengthFactors& f;
  const LengthWork& w;
  int64_t R, S;

  CRFKIT_INLINE int64_t span_of(int64_t t, int64_t r) const {
    return r < f.model.longest ? w.span_at[t * R + r] : S;
  }
  CRFKIT_INLINE Pack<double> span(int64_t t, int64_t r, int64_t y) const {
    if constexpr (kSpans)
      return load(w.span + span_of(t, r) * f.padded + y);
    else
      return splat(1.0);
  }
  CRFKIT_INLINE Pack<double> length(int64_t r, int64_t y) const {
    const int64_t K = f.model.longest;
    return load(f.lengths + (r < K ? r : K - 1) * f.padded + y);
  }
};

// The largest loss of a step: of the sums over lengths and over labels, of the factors, and of the result.
CRFKIT_INLINE double length_spare(const LengthFactors& f, int64_t R, double scale) {
  return 2 * static_cast<double>(f.model.labels + R + 8) * std::numeric_limits<double>::min() * (1 + scale);
}

// ---- forward

template <int N, bool kSpans>
void length_forward(const LengthFactors& f, const SegmentView& x, const LengthWork& w) {
  constexpr int lanes = Lanes<double>::count;
  const int64_t Lp = N > 0 ? N * lanes : f.padded, K = f.model.longest;
  const int64_t T = x.length, R = length_rows(f, T);
  const EndFactors<kSpans> factors{f, w, R, x.n_spans};
  double scale = 1;
  for (int64_t t = 0; t < T; ++t) {
    poll_at(t);
    double* now = w.states + t * R * Lp;
    const double* before = now - R * Lp;
    const Pack<double> lift = splat(length_spare(f, R, scale));
    Pack<double> sum = splat(0.0);
    for_tiles<N>(static_cast<int>(Lp / lanes), [&](auto tile, int k0) {
      constexpr int KT = decltype(tile)::value;
      const int64_t at = k0 * lanes;
      Pack<double> in[KT], go[KT], end[KT];
      if (t > 0)
        weighted_rows<double, KT>(w.ends + (t - 1) * Lp, 1, f.out + at, static_cast<int>(Lp), f.model.labels,
                                  in);
      const auto put = [&](int64_t r, int k, Pack<double> a) {
        const int64_t y = at + k * lanes;
        store(now + r * Lp + y, a);
        sum += a;
        end[k] += a * factors.length(r, y) * factors.span(t, r, y);
      };
      CRFKIT_UNROLL
      for (int k = 0; k < KT; ++k) {
        const int64_t y = t * Lp + at + k * lanes;
        go[k] = t > 0 ? load(w.rest + y) * scale : splat(0.0);
        end[k] = splat(0.0);
        const Pack<double> first = load(w.first + y);
        put(0, k, (t > 0 ? first * (in[k] * scale) : first) + lift);
      }
      for (int64_t r = 1; r < K && r <= t; ++r) {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) put(r, k, load(before + (r - 1) * Lp + at + k * lanes) * go[k] + lift);
      }
      if (f.tail && t >= K) {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) {
          const int64_t y = at + k * lanes;
          Pack<double> a = load(before + (K - 1) * Lp + y);
          if (t > K) a += load(before + K * Lp + y);
          put(K, k, a * (go[k] * load(f.tail + y)) + lift);
        }
      }
      CRFKIT_UNROLL
      for (int k = 0; k < KT; ++k) {
        const int64_t y = t * Lp + at + k * lanes;
        store(w.ends + y, end[k] * load(w.last + y));
      }
    });
    w.sums[t] = sum_lanes<double>(sum);
    scale = 1 / w.sums[t];
  }
}

// ---- backward

// Writes the first n lanes.
CRFKIT_INLINE void write_lanes(Pack<double> from, int64_t n, double* to) {
  double lane[Lanes<double>::count];
  store(lane, from);
  for (int64_t i = 0; i < n; ++i) to[i] = lane[i];
}

// Computes V and the counts; those of shared scores stay in w. q is q_{T-1}. False if probability may have
// been lost.
template <int N, bool kSpans>
bool length_backward(const LengthFactors& f, const SegmentView& x, const LengthWork& w, double q,
                     const SegmentCounts& out) {
  constexpr int lanes = Lanes<double>::count;
  constexpr double floor = Floor<double>::value;
  const int64_t Lp = N > 0 ? N * lanes : f.padded, K = f.model.longest, L = f.model.labels;
  const int64_t T = x.length, R = length_rows(f, T), S = x.n_spans;
  const EndFactors<kSpans> factors{f, w, R, S};
  for (double* p = w.onward; p < w.row; ++p) *p = 0;  // V, and counts of shared scores
  double h = 0;
  bool sound = true;
  for (int64_t t = T - 1; t >= 0; --t) {
    poll_at(t);
    const bool inner = t + 1 < T;
    const double before = t > 0 ? w.sums[t - 1] : 1.0;
    if (inner) q *= h * w.sums[t];
    const double share = out.weight / q;
    if (inner) {
      for (int64_t y = 0; y < Lp; y += lanes)
        store(w.row + y, load(w.first + (t + 1) * Lp + y) * load(w.onward + y));
      for (int64_t k = 0; k < L && out.edge; ++k) {
        const Pack<double> ended = splat(w.ends[t * Lp + k] * h * share);
        double* row = w.edge + k * Lp;
        CRFKIT_UNROLL
        for (int64_t y = 0; y < Lp; y += lanes) store(row + y, load(row + y) + ended * load(w.row + y));
      }
    }
    const Pack<double> lift = splat(length_spare(f, R, h)), lifted = splat(length_spare(f, R, 1 / before));
    Pack<double> all = splat(0.0), sum = splat(0.0);
    for_tiles<N>(static_cast<int>(Lp / lanes), [&](auto tile, int k0) {
      constexpr int KT = decltype(tile)::value;
      const int64_t at = k0 * lanes;
      Pack<double> after[KT], ending[KT], counted[KT], go[KT], first[KT], rest[KT];
      if (inner)
        weighted_rows<double, KT>(w.row, 1, f.into + at, static_cast<int>(Lp), static_cast<int>(L), after);
      CRFKIT_UNROLL
      for (int k = 0; k < KT; ++k) {
        const int64_t y = at + k * lanes;
        after[k] = inner ? after[k] * h : load(w.end + y);
        ending[k] = after[k] * load(w.last + t * Lp + y);
        counted[k] = ending[k] * share;
        go[k] = inner ? load(w.rest + (t + 1) * Lp + y) * h : splat(0.0);
        rest[k] = splat(0.0);
      }
      // V of row r, from row `next` of the position after; returns p(state) q_t
      const auto step = [&](int64_t r, int64_t next, int k, Pack<double> on) {
        const int64_t y = at + k * lanes;
        const Pack<double> a = load(w.states + (t * R + r) * Lp + y);
        const Pack<double> span = factors.span(t, r, y), length = factors.length(r, y);
        const Pack<double> v = load(w.onward + next * Lp + y) * on + length * span * ending[k] + lift;
        store(w.onward + r * Lp + y, v);
        sum += v;
        const Pack<double> ended = a * span * counted[k];
        store(w.lengths + r * Lp + y, load(w.lengths + r * Lp + y) + ended);
        if (kSpans && out.span && factors.span_of(t, r) < S)
          write_lanes(ended * length, L - y < lanes ? L - y : lanes,
                      out.span + factors.span_of(t, r) * L + y);
        return (a - lifted) * v;
      };
      const int64_t inside = t < K - 1 ? t + 1 : K - 1;  // rows that go on to the next one
      CRFKIT_UNROLL
      for (int k = 0; k < KT; ++k) first[k] = inside > 0 ? step(0, 1, k, go[k]) : splat(0.0);
      for (int64_t r = 1; r < inside; ++r) {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) rest[k] += step(r, r + 1, k, go[k]);
      }
      if (t >= K - 1) {
        CRFKIT_UNROLL
        for (int k = 0; k < KT; ++k) {
          const int64_t y = at + k * lanes;
          const Pack<double> on = f.tail ? go[k] * load(f.tail + y) : splat(0.0);
          const Pack<double> p = step(K - 1, K, k, on);
          (K == 1 ? first[k] : rest[k]) += p;
          if (!f.tail || t < K) continue;
          const Pack<double> beyond = step(K, K, k, on);
          rest[k] += beyond;
          store(w.tail + y, load(w.tail + y) + beyond * share);
        }
      }
      CRFKIT_UNROLL
      for (int k = 0; k < KT; ++k) {
        const int64_t y = at + k * lanes, n = L - y < lanes ? L - y : lanes;
        all += first[k] + rest[k];
        if (out.node) {
          write_lanes(first[k] * share, n, out.node + t * 2 * L + y);
          write_lanes(rest[k] * share, n, out.node + t * 2 * L + L + y);
        }
        if (out.last) write_lanes(load(w.ends + t * Lp + y) * after[k] * share, n, out.last + t * L + y);
        if (t == 0) store(w.start + y, first[k] * share);
      }
    });
    q = sum_lanes<double>(all);
    sound &= q >= floor && q * before >= floor && w.sums[t] >= floor;
    h = 1 / sum_lanes<double>(sum);
  }
  return sound;
}

// Adds the counts of shared scores.
inline void add_shared_counts(const LengthFactors& f, int64_t T, double q, const LengthWork& w,
                              const SegmentCounts& out) {
  const int64_t L = f.model.labels, K = f.model.longest, R = length_rows(f, T), Lp = f.padded;
  for (int64_t r = 0; r < R && out.lengths; ++r) {
    const int64_t d = r < K ? r : K - 1;
    for (int64_t y = 0; y < L; ++y)
      out.lengths[y * K + K - 1 - d] += w.lengths[r * Lp + y] * f.lengths[d * Lp + y];
  }
  for (int64_t k = 0; k < L && out.edge; ++k)
    for (int64_t l = 0; l < L; ++l) out.edge[k * L + l] += w.edge[k * Lp + l] * f.out[k * Lp + l];
  for (int64_t y = 0; y < L; ++y) {
    if (out.tail) out.tail[y] += w.tail[y];
    if (out.start) out.start[y] += w.start[y];
    if (out.end) out.end[y] += w.ends[(T - 1) * Lp + y] * w.end[y] * (out.weight / q);
  }
}

// Computes log Z and the counts of a sequence of T >= 1 positions. Returns false if it must be done in log
// space instead; then counts of shared scores are unchanged and the other outputs undefined. memory:
// length_workspace_size doubles.
inline bool length_posterior(const LengthFactors& f, const SegmentView& x, double* memory, double* log_z,
                             const SegmentCounts& out) {
  const FlushTiny guard;
  const LengthWork w = cut_length_workspace(f, x, memory);
  const int64_t T = x.length;
  const double subtracted = fill_length_factors(f, x, w);
  if (!(subtracted > -HUGE_VAL)) return false;
  double q = 0;
  const auto run = [&](auto width, auto spans) {
    constexpr int N = decltype(width)::value;
    constexpr bool kSpans = decltype(spans)::value > 0;
    length_forward<N, kSpans>(f, x, w);
    for (int64_t y = 0; y < f.model.labels; ++y) q += w.ends[(T - 1) * f.padded + y] * w.end[y];
    return length_backward<N, kSpans>(f, x, w, q, out);
  };
  const bool sound = with_width(f.padded / Lanes<double>::count, [&](auto width) {
    return x.n_spans ? run(width, Tile<1>{}) : run(width, Tile<0>{});
  });
  if (!sound) return false;
  add_shared_counts(f, T, q, w, out);
  double logs = log(q), product = 1;
  for (int64_t t = 0; t + 1 < T; ++t) {
    product *= w.sums[t];
    if (product < 1e-30 || product > 1e200) logs += log(product), product = 1;
  }
  *log_z = subtracted + logs + log(product);
  return true;
}

}  // namespace crfkit::CRFKIT_ISA
