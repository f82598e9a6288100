// The gain of a candidate feature: how much the objective falls when only its weight λ moves from 0.
//
//   G(λ) = λ observed - Σ_i weight_i log(Z_i(λ) / Z_i(0)) - c2 λ²,     gain = max_λ G(λ)
//
// (Della Pietra, Della Pietra and Lafferty, "Inducing features of random fields", PAMI 19, 1997.) G is
// concave, and Newton's method in one variable finds its maximum.
//
// Exactly: log Z(λ) and its first two derivatives come from one forward pass that carries the derivatives of
// a with it. A pass runs from the first to the last position of a sequence where the candidate is active;
// where it is active once, Z(λ)/Z(0) = 1 + p (e^(λv) - 1) with p = p(y_t = l), and nothing needs to run.
//
// Approximately (McCallum, "Efficiently inducing features of conditional random fields", UAI 2003): that
// formula at every position, as if positions were independent and their marginals fixed.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

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
    double lambda = std::min(std::max(start, low), high), gain = 0;
    for (int step = 0; step < kMostSteps; ++step) {
      // between two scalings the candidate changes a pass by e^300 at most
      period_ = static_cast<int64_t>(std::max(1.0, std::min(16.0, 300 / (std::abs(lambda) * largest))));
      const Sum z = approximate ? approximate_log_z(f, lambda) : exact_log_z(f, lambda);
      gain = lambda * seen - z.value - c2_ * lambda * lambda;
      const double slope = seen - z.first - 2 * c2_ * lambda;
      const double curvature = std::max(z.second + 2 * c2_, 1e-300);
      (slope > 0 ? low : high) = lambda;
      const double left = slope * slope / (2 * curvature);  // gain of the next Newton step
      const double next = lambda + slope / curvature;
      if (left <= 1e-9 + 1e-7 * std::abs(gain)) return {std::max(0.0, gain + left), next};
      lambda = next > low && next < high ? next : (low + high) / 2;
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

  // One active position of probability p: 1 + p (e^(λv) - 1), which stays positive where p is 1.
  static double ratio_of(double p, double factor) { return std::max(0.0, 1 - p) + p * factor; }
  static void add_single(Sum& sum, double weight, double p, double v, double factor) {
    const double ratio = ratio_of(p, factor), q = p * factor / ratio;
    sum.add(weight, std::log(ratio), v * q, v * v * q * (1 - q));
  }

  Sum approximate_log_z(const Candidate& f, double lambda) const {
    Sum sum;
    const auto L = static_cast<int64_t>(x_.labels);
    if (f.from < 0) {
      for (int64_t i = 0; i < f.n; ++i) {
        const int64_t at = f.positions[i] * L + f.to;
        const double p = x_.a[static_cast<size_t>(at)] * x_.b[static_cast<size_t>(at)];
        add_single(sum, x_.weight(sequence_of_[f.positions[i]]), p, value(f, i),
                   std::exp(lambda * value(f, i)));
      }
      return sum;
    }
    const double factor = std::exp(lambda);
    for (int64_t i = 0; i < x_.n_sequences(); ++i) {
      const double* edge = x_.edges_into(i, x_.offsets[static_cast<size_t>(i)] + 1) + f.from * L + f.to;
      const int64_t stride = x_.edge_stride(i);
      // Every position has this candidate: the logarithm is taken of products, not at each position.
      double product = 1, logs = 0, first = 0, second = 0;
      for (int64_t t = x_.offsets[static_cast<size_t>(i)] + 1; t < x_.offsets[static_cast<size_t>(i) + 1];
           ++t, edge += stride) {
        const auto at = static_cast<size_t>(t * L + f.to);
        const double p = x_.a[static_cast<size_t>((t - 1) * L + f.from)] * *edge * x_.s[at] * x_.b[at];
        const double ratio = ratio_of(p, factor), q = p * factor / ratio;
        product *= ratio;
        if (product > 1e200 || product < 1e-200) logs += std::log(product), product = 1;
        first += q;
        second += q * (1 - q);
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
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    if (f.from >= 0) {
      for (int64_t i = 0; i < x_.n_sequences(); ++i) {
        const int64_t first = x_.offsets[static_cast<size_t>(i)],
                      last = x_.offsets[static_cast<size_t>(i) + 1];
        if (last - first > 1) transition_pass<K>(f, lambda, i, first, last, sum);
      }
      return sum;
    }
    for (int64_t i = 0; i < f.n;) {
      const int32_t sequence = sequence_of_[f.positions[i]];
      int64_t end = i + 1;
      while (end < f.n && sequence_of_[f.positions[end]] == sequence) ++end;
      if (end == i + 1) {
        const auto at = static_cast<size_t>(f.positions[i] * L + f.to);
        add_single(sum, x_.weight(sequence), x_.a[at] * x_.b[at], value(f, i),
                   std::exp(lambda * value(f, i)));
      } else {
        state_pass<K>(f, lambda, sequence, i, end, sum);
      }
      i = end;
    }
    return sum;
  }

  // a and its first and second derivative by λ at one position, the count's mean so far taken out of the
  // derivatives (they grow with the count otherwise), and the logarithm of the scale.
  struct Pass {
    double *now, *next;  // [3, L]
    double mean = 0, log_scale = 0;
  };

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

  template <int K>
  void finish(Pass& p, int64_t t, double weight, Sum& sum) const {
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    double z = 0, first = 0, second = 0;
    for (int64_t l = 0; l < L; ++l) {
      const double b = x_.b[static_cast<size_t>(t * L + l)];
      z += p.now[l] * b;
      first += p.now[L + l] * b;
      second += p.now[2 * L + l] * b;
    }
    first /= z;
    sum.add(weight, std::log(z) + p.log_scale, p.mean + first, second / z - first * first);
  }

  // Occurrences i .. end-1, two or more, all in one sequence.
  template <int K>
  void state_pass(const Candidate& f, double lambda, int32_t sequence, int64_t i, int64_t end, Sum& sum) {
    double factor = std::exp(lambda * value(f, i));
    Pass p = start_pass<K>(f.positions[i]);
    apply<K>(p, f.to, value(f, i), factor);
    const double* edges = x_.edges_into(sequence, f.positions[i] + 1);
    const int64_t stride = x_.edge_stride(sequence);
    for (int64_t t = f.positions[i] + 1, stop = f.positions[end - 1]; t <= stop; ++t, edges += stride) {
      advance<K>(p, edges, t);
      if (t == f.positions[i + 1]) {
        ++i;
        if (f.values) factor = std::exp(lambda * f.values[i]);
        apply<K>(p, f.to, value(f, i), factor);
      }
      if (t % period_ == 0) rescale<K>(p);
    }
    rescale<K>(p);
    finish<K>(p, f.positions[end - 1], x_.weight(sequence), sum);
  }

  template <int K>
  void transition_pass(const Candidate& f, double lambda, int64_t sequence, int64_t first, int64_t last,
                       Sum& sum) {
    const auto L = static_cast<int64_t>(K > 0 ? K : x_.labels);
    const double factor = std::exp(lambda);
    const double* edges = x_.edges_into(sequence, first + 1);
    const int64_t stride = x_.edge_stride(sequence);
    Pass p = start_pass<K>(first);
    for (int64_t t = first + 1; t < last; ++t, edges += stride) {
      if (stride > 0 || t == first + 1) {
        std::copy_n(edges, L * L, changed_.data());
        changed_[static_cast<size_t>(f.from * L + f.to)] *= factor;
      }
      const double a0 = p.now[f.from], a1 = p.now[L + f.from];
      advance<K>(p, changed_.data(), t);
      // The candidate's own transition counts e^λ times; its derivatives are multiples of the transition.
      const double step =
          changed_[static_cast<size_t>(f.from * L + f.to)] * x_.s[static_cast<size_t>(t * L + f.to)];
      p.now[L + f.to] += step * a0;
      p.now[2 * L + f.to] += step * (2 * a1 + a0);
      if (t % period_ == 0) rescale<K>(p);
    }
    rescale<K>(p);
    finish<K>(p, last - 1, x_.weight(sequence), sum);
  }

  const CandidateChain& x_;
  const int32_t* sequence_of_;  // [ΣT]
  double c2_;
  int64_t period_ = 1;           // steps of a pass between two scalings
  std::vector<double> memory_;   // [2, 3, L]
  std::vector<double> changed_;  // [L, L] the edges, with the candidate
};

}  // namespace crfkit
