// Sums over all segmentations between sites: log Z and expected counts.
//
// With R[i], the log sum of all ways from site i to the last one, and onto[i, y] that of those which go on
// with a segment of label y (the recursion in the mirrored sequence):
//
//   p(a segment of y begins at site i) = exp(F[i] + onto[i, y] - log Z)
//   p(a segment of y ends at site j)   = exp(into[j, y] + R[j] - log Z)
//
// The memory is that of the sites; the segments between them are never listed.
#pragma once

#include "segments/site_recursion.h"

namespace crfkit {

// Expected counts, in the shapes of the scores; null: not wanted. Those of shared scores are added to.
struct SiteCounts {
  double weight = 1;
  double* open = nullptr;
  double* close = nullptr;
  double* content = nullptr;  // [T, C]
  double* lengths = nullptr;  // [M, K]
  double* tail = nullptr;     // [M]
};

class SiteSums {
 public:
  explicit SiteSums(const SiteTables& tables) : t_(tables) {}

  // Computes F and returns log Z: -inf if nothing is permitted; then `reached` is the last place that
  // segments can reach.
  double forward(const SiteView& x) { return forward_of<ScaledSum>(x); }

  // The same with max instead of log Σ exp; returns the score of the best segmentation.
  double forward_best(const SiteView& x) { return forward_of<LargestTerm>(x); }

  // Computes R, which expected counts and probabilities of segments need; call forward first.
  void backward(const SiteView& x) {
    back_.reset(t_, x, sums_, SiteRecursion::Direction::kMirrored);
    back_.run<ScaledSum>();
  }

  void prepare_probabilities(const SiteView& x, double, bool) { backward(x); }

  // Computes expected counts; call forward and backward first.
  void count(const SiteView& x, double log_z, const SiteCounts& out) {
    const auto C = static_cast<size_t>(t_.m.tracks), T = static_cast<size_t>(x.length);
    std::vector<double> cover(out.content ? C * (T + 1)
                                          : 0);  // changes of p(a label of the track) at a place
    auto change = [&](int32_t label, int32_t place, double p) {
      const int32_t track = t_.m.track[label];
      if (out.content && track >= 0)
        cover[static_cast<size_t>(track) * (T + 1) + static_cast<size_t>(place)] += p;
    };
    const auto& opens = forward_.from();
    for (size_t i = 0; i < opens.site.size(); ++i) {
      poll_at(static_cast<int64_t>(i));
      const size_t other = mirrored(opens, i);
      const double p = std::exp(F(opens.site[i]) + back_.into(other) - log_z);
      if (out.open) out.open[i] = out.weight * p;
      change(opens.label[i], opens.place[i], p);
      if (p > kImprobable && (out.lengths || out.tail)) count_lengths(i, other, log_z, out);
    }
    const auto& closes = forward_.to();
    for (size_t j = 0; j < closes.site.size(); ++j) {
      const double p = std::exp(forward_.into(j) + R(closes.site[j]) - log_z);
      if (out.close) out.close[j] = out.weight * p;
      change(closes.label[j], closes.place[j], -p);
    }
    for (size_t c = 0; out.content && c < C; ++c) {
      double sum = 0;
      for (size_t t = 0; t < T; ++t) {
        sum += cover[c * (T + 1) + t];
        out.content[t * C + c] = out.weight * std::max(sum, 0.0);  // rounding must not make it negative
      }
    }
  }

  double F(int32_t site) const { return forward_.F(static_cast<size_t>(site)); }
  double R(int32_t site) const { return back_.F(forward_.n_sites() - 1 - static_cast<size_t>(site)); }
  const SiteRecursion& recursion() const { return forward_; }
  // The number, in the mirrored recursion, of an entry of this one.
  static size_t mirrored(const SiteRecursion::Entries& entries, size_t i) {
    const auto y = static_cast<size_t>(entries.label[i]);
    return entries.first[y] + entries.first[y + 1] - 1 - i;
  }

  int64_t reached = 0;

 private:
  static constexpr double kImprobable = 1e-26;  // what such a segment adds to any count is lost in rounding
  static constexpr double kNegligible = -60;

  template <class Total>
  double forward_of(const SiteView& x) {
    const auto C = static_cast<size_t>(t_.m.tracks), T = static_cast<size_t>(x.length);
    sums_.assign(C * (T + 1), 0.0);
    for (size_t c = 0; c < C; ++c)
      for (size_t t = 0; t < T; ++t)
        sums_[c * (T + 1) + t + 1] = sums_[c * (T + 1) + t] + x.content[t * C + c];
    forward_.reset(t_, x, sums_, SiteRecursion::Direction::kForward);
    const double total = forward_.run<Total>();
    reached = forward_.reached();
    return total;
  }

  // Counts the segments that begin at entry i, which is entry `other` of the mirrored recursion.
  void count_lengths(size_t i, size_t other, double log_z, const SiteCounts& out) {
    const auto table = static_cast<int64_t>(t_.m.table[forward_.from().label[i]]);
    const double here = forward_.a(i) - log_z;
    for (size_t j = back_.first_from(other); j < back_.stop_from(other); ++j) {
      const double log_p = here + back_.a(j) + back_.length(j, other);
      if (log_p < kNegligible) continue;
      const int64_t K = t_.m.longest, d = back_.to().place[other] - back_.from().place[j];
      const double p = out.weight * std::exp(log_p);
      if (out.lengths) out.lengths[table * K + std::min(d, K) - 1] += p;
      if (out.tail && d > K) out.tail[table] += p * static_cast<double>(d - K);
    }
  }

  const SiteTables& t_;
  SiteRecursion forward_, back_;
  std::vector<double> sums_;  // [C, T + 1] content before each place
};

}  // namespace crfkit
