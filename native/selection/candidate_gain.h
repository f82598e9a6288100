// The gain of a candidate feature: how much the objective falls when only its weight λ moves from 0.
//
//   G(λ) = λ observed - Σ_i weight_i log(Z_i(λ) / Z_i(0)) - c2 λ²,     gain = max_λ G(λ)
//
// (Della Pietra, Della Pietra and Lafferty, "Inducing features of random fields", PAMI 19, 1997.) G is
// concave, and Newton's method in one variable, with bisection where it goes astray, finds its maximum.
//
// Exactly: log Z(λ) and its first two derivatives come from one forward pass that carries the derivatives of
// a with it. A pass runs from the first to the last position of a sequence where the candidate is active;
// where it is active once, Z(λ)/Z(0) = 1 + p (e^(λv) - 1) with p = p(y_t = l), and nothing needs to run.
//
// Correctness. A number that underflows is a path that is lost, and a candidate with a large weight can make
// it the best one later. What becomes of a path depends only on the state it is in: as long as the sum of
// every state is far above the smallest number, what is lost is nothing beside the other paths of the same
// state. A pass checks this at every step; where it fails, the pass is repeated in log space.
//
// Approximately (McCallum, "Efficiently inducing features of conditional random fields", UAI 2003): that
// formula at every position, as if positions were independent and their marginals fixed.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "base/poll.h"
#include "selection/candidate_chain.h"

namespace crfkit {

// One candidate: label `to` at the positions of an attribute, or the step from label `from` to label `to`.
struct Candidate {
  int32_t from;  // -1: not a transition
  int32_t to;
  int64_t n;                 // occurrences of the attribute
  const int64_t* positions;  // [n] ascending
  const double* values;      // [n] or null: all ones
};

struct Gain {
  double gain, weight;
};

class CandidateGain {
 public:
  CandidateGain(const CandidateChain& chain, const int32_t* sequence_of, double c2)
      : x_(chain),
        sequence_of_(sequence_of),
        c2_(c2),
        memory_(static_cast<size_t>(6 * chain.labels)),
        changed_(chain.edges.size()) {}

  // Finds the best λ from `start` on, exactly or in McCallum's approximation.
  Gain best(const Candidate& f, double start, bool approximate) {
    double largest = 1;
    if (f.values) {
      largest = 1e-300;
      for (int64_t i = 0; i < f.n; ++i) largest = std::max(largest, std::abs(f.values[i]));
    }
    const double seen = observed(f);
    double low = -kFarthest / largest, high = kFarthest / largest;
    double lambda = std::min(std::max(start, low), high), gain = 0, before = 0, slope_before = 0;
    for (int step = 0; step < kMostSteps; ++step) {
      // between two scalings the candidate changes a pass by e^300 at most
      period_ = static_cast<int64_t>(std::max(1.0, std::min(16.0, 300 / (std::abs(lambda) * largest))));
      const Sum z = approximate ? approximate_log_z(f, lambda) : exact_log_z(f, lambda);
      poll(10 * static_cast<long long>(f.from < 0 ? f.n : static_cast<int64_t>(x_.targets.size())));
      gain = lambda * seen - z.value - c2_ * lambda * lambda;
      const double slope = seen - z.first - 2 * c2_ * lambda;
      const double curvature = std::max(z.second + 2 * c2_, 1e-300);
      (slope > 0 ? low : high) = lambda;
      const double left = slope * slope / (2 * curvature);  // gain of the next Newton step
      const double next = lambda + slope / curvature;
      if (left <= 1e-9 + 1e-7 * std::abs(gain)) return {std::max(0.0, gain + left), next};
      // Where G has kinks, Newton's steps can jump from one side to the other forever: a step across the
      // maximum must be shorter than half the step before it.
      const bool jumps = slope * slope_before < 0 && std::abs(next - lambda) > before / 2;
      const double at = next > low && next < high && !jumps ? next : (low + high) / 2;
      before = std::abs(at - lambda), slope_before = slope;
      lambda = at;
      if (high - low < 1e-12 * high) break;
    }
    return {std::max(0.0, gain), lambda};
  }

 private:
  static constexpr double kFarthest = 50;  // bound on |λ v|: λ of a feature never observed would fall forever
  static constexpr int kMostSteps = 60;

  // log(Z(λ) / Z(0)) and its derivatives, summed over sequences.
  struct Sum {
    double value = 0, first = 0, second = 0;
    void add(double weight, double v, double d1, double d2) {
      value += weight * v;
      first += weight * d1;
      second += weight * d2;
    }
  };

  double observed(const Candidate& f) const {
    double sum = 0;
    if (f.from < 0) {
      for (int64_t i = 0; i < f.n; ++i)
        if (x_.targets[static_cast<size_t>(f.positions[i])] == f.to)
          sum += x_.weight(sequence_of_[f.positions[i]]) * value(f, i);
      return sum;
    }
    for (int64_t i = 0; i < x_.n_sequences(); ++i)
      for (int64_t t = x_.offsets[static_cast<size_t>(i)] + 1; t < x_.offsets[static_cast<size_t>(i) + 1];
           ++t)
        if (x_.targets[static_cast<size_t>(t) - 1] == f.from && x_.targets[static_cast<size_t>(t)] == f.to)
          sum += x_.weight(i);
    return sum;
  }

  static double value(const Candidate& f, int64_t i) { return f.values ? f.values[i] : 1.0; }

  // One active position of probability p, and `rest` that of all else: rest + p e^(λv).
  static void add_single(Sum& sum, double weight, double p, double rest, double v, double factor) {
    const double ratio = rest + p * factor, q = p * factor / ratio, others = rest / ratio;
    sum.add(weight, std::log(ratio), v * q, v * v * q * others);
  }
  // 1 - p of label l, or of the step from `from` to l: summed over the others where p is near 1, so that all
  // digits are kept.
  double rest_of(double p, int64_t i, int64_t t, int l) const {
    if (p < 0.5) return 1 - p;
    double rest = 0;
    for (int k = 0; k < x_.labels; ++k)
      if (k != l) rest += x_.probability(i, t, k);
    return rest;
  }
  double rest_of(double p, int64_t i, int64_t t, int from, int l) const {
    if (p < 0.5) return 1 - p;
    double rest = 0;
    for (int j = 0; j < x_.labels; ++j)
      for (int k = 0; k < x_.labels; ++k)
        if (j != from || k != l) rest += x_.probability(i, t, j, k);
    return rest;
  }

  void add_occurrence(Sum& sum, const Candidate& f, int64_t i, double lambda) const {
    const int64_t t = f.positions[i];
    const int32_t sequence = sequence_of_[t];
    const double p = x_.probability(sequence, t, f.to);
    add_single(sum, x_.weight(sequence), p, rest_of(p, sequence, t, f.to), value(f, i),
               std::exp(lambda * value(f, i)));
  }

  Sum approximate_log_z(const Candidate& f, double lambda) const {
    Sum sum;
    if (f.from < 0) {
      for (int64_t i = 0; i < f.n; ++i) add_occurrence(sum, f, i, lambda);
      return sum;
    }
    const double factor = std::exp(lambda);
    for (int64_t i = 0; i < x_.n_sequences(); ++i) {
      // Every position has this candidate: the logarithm is taken of products, not at each position.
      double product = 1, logs = 0, first = 0, second = 0;
      for (int64_t t = x_.offsets[static_cast<size_t>(i)] + 1; t < x_.offsets[static_cast<size_t>(i) + 1];
           ++t) {
        const double p = x_.probability(i, t, f.from, f.to), rest = rest_of(p, i, t, f.from, f.to);
        const double ratio = rest + p * factor, q = p * factor / ratio;
        product *= ratio;
        if (product > 1e200 || product < 1e-200) logs += std::log(product), product = 1;
        first += q;
        second += q * (rest / ratio);
      }
      sum.add(x_.weight(i), logs + std::log(product), first, second);
    }
    return sum;
  }

  Sum exact_log_z(const Candidate& f, double lambda) {
    return x_.labels == 2 ? exact_log_z_of_width<2>(f, lambda) : exact_log_z_of_width<0>(f, lambda);
  }

  // K: the number of labels where it is known, else 0.
  template <int K>
  Sum exact_log_z_of_width(const Candidate& f, double lambda) {
    Sum sum;
    if (f.from >= 0) {
      for (int64_t i = 0; i < x_.n_sequences(); ++i) {
        const int64_t first = x_.offsets[static_cast<size_t>(i)],
                      last = x_.offsets[static_cast<size_t>(i) + 1];
        if (last - first > 1 && !transition_pass<K>(f, lambda, i, first, last, sum))
          log_pass(f, lambda, i, 0, 0, sum);
      }
      return sum;
    }
    for (int64_t i = 0; i < f.n;) {
      const int32_t sequence = sequence_of_[f.positions[i]];
      int64_t end = i + 1;
      while (end < f.n && sequence_of_[f.positions[end]] == sequence) ++end;
      if (end == i + 1)
        add_occurrence(sum, f, i, lambda);
      else if (!state_pass<K>(f, lambda, sequence, i, end, sum))
        log_pass(f, lambda, sequence, i, end, sum);
      i = end;
    }
    return sum;
  }

  // a and its first and second derivative by λ at one position, the count's mean so far taken out of the
  // derivatives (they grow with the count otherwise), and the logarithm of the scale.
  struct Pass {
    double *now, *next;  // [3, L]
    double mean = 0, log_scale = 0;
    bool sound = true;  // no state has come near the smallest number
  };
  static constexpr double kSmallest = 1e-285;  // of a state: 10²² times what one step can lose

  template <int K>
  Pass start_pass(int64_t t) {
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    Pass p;
    p.now = memory_.data();
    p.next = p.now + 3 * L;
    for (int64_t l = 0; l < L; ++l) {
      p.now[l] = x_.a[static_cast<size_t>(t * L + l)];
      p.now[L + l] = p.now[2 * L + l] = 0;
    }
    return p;
  }

  // The step to position t, without the candidate.
  template <int K>
  void advance(Pass& p, const double* edges, int64_t t) const {
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    const double* s = x_.s.data() + t * L;
    for (int order = 0; order < 3; ++order) {
      const double* from = p.now + order * L;
      double* to = p.next + order * L;
      for (int64_t l = 0; l < L; ++l) to[l] = 0;
      for (int64_t j = 0; j < L; ++j) {
        const double in = from[j];
        const double* row = edges + j * L;
        for (int64_t l = 0; l < L; ++l) to[l] += in * row[l];
      }
      bool sound = true;
      if (order == 0)
        for (int64_t l = 0; l < L; ++l) sound &= to[l] >= kSmallest && to[l] * s[l] >= kSmallest;
      p.sound &= sound;
      for (int64_t l = 0; l < L; ++l) to[l] *= s[l];
    }
    std::swap(p.now, p.next);
  }

  // Multiplies the label's entries by e^(λv).
  template <int K>
  void apply(Pass& p, int label, double v, double factor) const {
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    double &a0 = p.now[label], &a1 = p.now[L + label], &a2 = p.now[2 * L + label];
    a2 = factor * (a2 + v * (2 * a1 + v * a0));
    a1 = factor * (a1 + v * a0);
    a0 *= factor;
    p.sound &= a0 >= kSmallest;
  }

  template <int K>
  void rescale(Pass& p) const {
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    double total = 0, first = 0;
    for (int64_t l = 0; l < L; ++l) total += p.now[l], first += p.now[L + l];
    const double shift = first / total, inverse = 1 / total;
    for (int64_t l = 0; l < L; ++l) {
      double &a0 = p.now[l], &a1 = p.now[L + l], &a2 = p.now[2 * L + l];
      a2 = (a2 - shift * (2 * a1 - shift * a0)) * inverse;
      a1 = (a1 - shift * a0) * inverse;
      a0 *= inverse;
    }
    p.mean += shift;
    p.log_scale += std::log(total);
  }

  // Adds the result; false if the pass was not sound.
  template <int K>
  bool finish(Pass& p, int64_t t, double weight, Sum& sum) const {
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    double z = 0, first = 0, second = 0;
    for (int64_t l = 0; l < L; ++l) {
      const double b = x_.b[static_cast<size_t>(t * L + l)];
      z += p.now[l] * b;
      first += p.now[L + l] * b;
      second += p.now[2 * L + l] * b;
    }
    if (!p.sound || !(z >= kSmallest) || !std::isfinite(z + p.log_scale + second)) return false;
    first /= z;
    sum.add(weight, std::log(z) + p.log_scale, p.mean + first, second / z - first * first);
    return true;
  }

  // Occurrences i .. end-1, two or more, all in one sequence. False: log_pass has to do it.
  template <int K>
  bool state_pass(const Candidate& f, double lambda, int32_t sequence, int64_t i, int64_t end, Sum& sum) {
    if (x_.in_logs[static_cast<size_t>(sequence)]) return false;
    double factor = std::exp(lambda * value(f, i));
    Pass p = start_pass<K>(f.positions[i]);
    apply<K>(p, f.to, value(f, i), factor);
    for (int64_t t = f.positions[i] + 1, stop = f.positions[end - 1]; t <= stop && p.sound; ++t) {
      advance<K>(p, x_.edges.data(), t);
      if (t == f.positions[i + 1]) {
        ++i;
        if (f.values) factor = std::exp(lambda * f.values[i]);
        apply<K>(p, f.to, value(f, i), factor);
      }
      if (t % period_ == 0) rescale<K>(p);
      poll_at(t);
    }
    rescale<K>(p);
    return finish<K>(p, f.positions[end - 1], x_.weight(sequence), sum);
  }

  template <int K>
  bool transition_pass(const Candidate& f, double lambda, int64_t sequence, int64_t first, int64_t last,
                       Sum& sum) {
    if (x_.in_logs[static_cast<size_t>(sequence)]) return false;
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    std::copy_n(x_.edges.data(), L * L, changed_.data());
    double& own = changed_[static_cast<size_t>(f.from * L + f.to)];
    own *= std::exp(lambda);
    Pass p = start_pass<K>(first);
    for (int64_t t = first + 1; t < last && p.sound; ++t) {
      const double a0 = p.now[f.from], a1 = p.now[L + f.from];
      advance<K>(p, changed_.data(), t);
      // The candidate's own transition counts e^λ times; its derivatives are multiples of the transition.
      const double step = own * x_.s[static_cast<size_t>(t * L + f.to)];
      p.now[L + f.to] += step * a0;
      p.now[2 * L + f.to] += step * (2 * a1 + a0);
      if (t % period_ == 0) rescale<K>(p);
      poll_at(t);
    }
    rescale<K>(p);
    return finish<K>(p, last - 1, x_.weight(sequence), sum);
  }

  // The same pass in log space, for any numbers: log a of each label, and mean and variance of the count on
  // the paths to it. Occurrences i .. end-1 of a sequence; of a transition all its steps.
  void log_pass(const Candidate& f, double lambda, int64_t sequence, int64_t i, int64_t end, Sum& sum) {
    const int L = x_.labels;
    const bool step = f.from >= 0, logs = x_.in_logs[static_cast<size_t>(sequence)] != 0;
    auto log_of = [&](const std::vector<double>& values, int64_t t, int l) {
      const double value = values[static_cast<size_t>(t * L + l)];
      return logs ? value : std::log(value);
    };
    double *a = memory_.data(), *mean = a + L, *variance = mean + L, *next = variance + L;  // [L], [3, L]
    int64_t t = step ? x_.offsets[static_cast<size_t>(sequence)] : f.positions[i];
    const int64_t last = step ? x_.offsets[static_cast<size_t>(sequence) + 1] - 1 : f.positions[end - 1];
    auto apply = [&] {
      a[f.to] += lambda * value(f, i);
      mean[f.to] += value(f, i++);
    };
    for (int l = 0; l < L; ++l) a[l] = log_of(x_.a, t, l), mean[l] = variance[l] = 0;
    if (!step) apply();
    // Joins terms log_of_term(j) whose counts have moments mean_of(j), variance[j]: sets *log, *m and *v.
    auto join = [&](auto&& log_of_term, auto&& mean_of, double* log, double* m, double* v) {
      double top = log_of_term(0), total = 0, first = 0, second = 0;
      for (int j = 1; j < L; ++j) top = std::max(top, log_of_term(j));
      for (int j = 0; j < L; ++j) {
        const double w = std::exp(log_of_term(j) - top);
        total += w;
        first += w * mean_of(j);
      }
      first /= total;
      for (int j = 0; j < L; ++j) {
        const double off = mean_of(j) - first;
        second += std::exp(log_of_term(j) - top) * (variance[j] + off * off);
      }
      *log = top + std::log(total), *m = first, *v = second / total;
    };
    while (++t <= last) {
      poll_at(t);
      for (int l = 0; l < L; ++l) {
        auto own = [&](int j) { return step && j == f.from && l == f.to; };
        join(
            [&](int j) {
              return a[j] + x_.log_edges[static_cast<size_t>(j * L + l)] + (own(j) ? lambda : 0);
            },
            [&](int j) { return mean[j] + (own(j) ? 1 : 0); }, next + l, next + L + l, next + 2 * L + l);
        next[l] += log_of(x_.s, t, l);
      }
      std::copy_n(next, 3 * L, a);
      if (!step && t == f.positions[i]) apply();
    }
    double log_z, first, second;
    join([&](int l) { return a[l] + log_of(x_.b, last, l); }, [&](int l) { return mean[l]; }, &log_z, &first,
         &second);
    sum.add(x_.weight(sequence), log_z, first, second);
  }

  const CandidateChain& x_;
  const int32_t* sequence_of_;  // [ΣT]
  double c2_;
  int64_t period_ = 1;           // steps of a pass between two scalings
  std::vector<double> memory_;   // [2, 3, L]
  std::vector<double> changed_;  // [L, L] the edges, with the candidate
};

}  // namespace crfkit
