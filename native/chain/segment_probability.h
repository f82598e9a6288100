// The probability that a labelling has a given segment: these positions, this kind, and a real start and end.
//
// Whether a segment starts, goes on or ends between two positions depends on the two labels there, in every
// label scheme. So the labellings with the segment are the paths whose steps from `start` to `stop` are
// permitted by three masks. Let r_t(s) be the probability of permitted steps up to position t, given that the
// path is in state s at t and given the observations up to t:
//
//   r_t[c, l] = Σ_j permitted(last label, l) · r_{t-1}[j, c] · p(j | c, l)
//   p(j | c, l) = exp(α_{t-1}[j, c] + F_t[c][j, l] + ψ_t[l] - a_t - α_t[c, l])      α, F, ψ, a: log_chain.h
//   p(segment) = Σ_s p(state s at `stop`) · r_stop(s)
//
// Nothing cancels, and it costs the length of the segment, not that of the sequence. In order 1 the marginals
// of label pairs do as well, and are found faster: given all observations, the labels are a Markov chain with
//
//   p(y_t = l | y_{t-1} = k) = p(y_{t-1} = k, y_t = l) / p(y_{t-1} = k)
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/poll.h"
#include "simd/kernels.h"

namespace crfkit {

struct SegmentRules {
  const int32_t* kinds;   // [L] the kind of a segment that starts with this label
  const uint8_t* opens;   // [L+1, L] label before (L: none), label here: a segment starts here
  const uint8_t* joins;   // [L, L] a segment goes on
  const uint8_t* closes;  // [L, L+1] label before, label here (L: none): a segment ended before here
};

struct SegmentPlace {
  int64_t start, stop;  // positions of the sequence, start < stop <= T
  int32_t kind;
};

// The α of one sequence and the probabilities of its states.
struct StateSums {
  const double* alpha;   // [T, states]
  const double* maxima;  // [T]
  const double* node;    // [T, L]
  const double* pair;    // [T, L, L], in order 2

  double of_state(const ChainDims& d, int64_t t, int64_t context, int l) const {
    const int64_t L = d.labels;
    return d.order == 1 || t == 0 ? node[t * L + l] : pair[(t * L + context) * L + l];
  }
};

// memory grows to 2 * states + Lp doubles.
inline double segment_probability(const ChainDims& d, const LatticeView& x, const LogTables& tables,
                                  const SegmentRules& rules, const SegmentPlace& segment,
                                  const StateSums& sums, std::vector<double>& memory) {
  const int L = d.labels, Lp = d.padded;
  memory.resize(static_cast<size_t>(2 * d.states));
  double* before = memory.data();   // [states] r_{t-1}
  double* now = before + d.states;  // [states] r_t
  for (int64_t s = 0; s < d.states; ++s) before[s] = 1;
  const int64_t last_step = segment.stop < x.length ? segment.stop : x.length - 1;
  for (int64_t t = segment.start; t <= last_step; ++t) {
    poll_at(t);
    const auto permitted = [&](int64_t last, int l) -> bool {
      if (t == segment.start) return rules.kinds[l] == segment.kind && rules.opens[last * L + l];
      return t < segment.stop ? rules.joins[last * L + l] : rules.closes[last * (L + 1) + l];
    };
    const double* table = t > 0 ? kernels().table_at(d, x, tables, t) : nullptr;
    const double* alpha = sums.alpha + t * d.states;
    for (int64_t c = 0; c < contexts_at(d, t); ++c)
      for (int l = 0; l < L; ++l) {
        double& r = now[c * Lp + l];
        r = 0;
        if (alpha[c * Lp + l] == -HUGE_VAL) continue;
        if (t == 0) {
          r = permitted(L, l);
        } else if (t < d.order) {  // histories grow by a label: each has one predecessor
          if (permitted(c % L, l)) r = before[state_offset(d, c)];
        } else if (d.order == 1 || permitted(c % L, l)) {
          double psi = x.node[t * L + l];
          if (t == x.length - 1 && x.end) psi += x.end[l];
          const double* in = alpha - d.states + in_offset(d, c);
          for (int j = 0; j < L; ++j) {
            const double so_far = before[in_offset(d, c) + j * d.forget_stride];
            if (so_far == 0 || (d.order == 1 && !permitted(j, l))) continue;
            const double score = psi + (in[j * d.forget_stride] + table[(c * L + j) * Lp + l]);
            r += so_far * std::exp(score - sums.maxima[t] - alpha[c * Lp + l]);
          }
        }
      }
    std::swap(before, now);
  }
  double total = 0;
  for (int64_t c = 0; c < contexts_at(d, last_step); ++c)
    for (int l = 0; l < L; ++l) {
      const double r = before[c * Lp + l];
      const bool ends = segment.stop < x.length || rules.closes[l * (L + 1) + L];
      if (r > 0 && ends) total += sums.of_state(d, last_step, c, l) * r;
    }
  return total < 1 ? total : 1;  // rounding must not make it more than 1
}

// The same in order 1, from marginals: node [T, L] and pair [T, L, L]. memory grows to 2 L doubles.
inline double segment_probability(int64_t L, int64_t T, const SegmentRules& rules,
                                  const SegmentPlace& segment, const double* node, const double* pair,
                                  std::vector<double>& memory) {
  memory.resize(static_cast<size_t>(2 * L));
  double* before = memory.data();  // [L] of permitted steps up to t-1 and this label there
  double* now = before + L;        // [L] the same at t
  const int64_t last_step = segment.stop < T ? segment.stop : T - 1;
  for (int64_t t = segment.start; t <= last_step; ++t) {
    poll_at(t);
    for (int64_t l = 0; l < L; ++l) now[l] = 0;
    if (t == 0) {
      for (int64_t l = 0; l < L; ++l)
        if (rules.kinds[l] == segment.kind && rules.opens[L * L + l]) now[l] = node[l];
    } else {
      const bool first = t == segment.start;
      const uint8_t* mask = first ? rules.opens : t < segment.stop ? rules.joins : rules.closes;
      const int64_t row = !first && t == segment.stop ? L + 1 : L;
      for (int64_t k = 0; k < L; ++k) {
        if (!first && !(before[k] > 0 && node[(t - 1) * L + k] > 0)) continue;
        const double share = first ? 1 : before[k] / node[(t - 1) * L + k];
        for (int64_t l = 0; l < L; ++l)
          if (mask[k * row + l] && (!first || rules.kinds[l] == segment.kind))
            now[l] += share * pair[(t * L + k) * L + l];
      }
    }
    std::swap(before, now);
  }
  double total = 0;
  for (int64_t l = 0; l < L; ++l)
    if (segment.stop < T || rules.closes[l * (L + 1) + L]) total += before[l];
  return total < 1 ? total : 1;
}

}  // namespace crfkit
