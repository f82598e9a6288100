// Sums over all segmentations of a sequence (Sarawagi and Cohen, "Semi-Markov conditional random fields",
// 2004).
//
//   F[e, y] = log Σ over segmentations of 0..e-1 whose last segment has label y
//           = C[e] + last[e-1, y] + log Σ_b exp(A[b, y] - C[b+1] + length(y, e - b) + span(b, e, y))
//   A[b, y] = first[b, y] + log Σ_k exp(F[b, k] + edge[k, y]),      A[0, y] = first[0, y] + start[y]
//
// with running sums C[t] = Σ_{s<t} rest[s, y]. Backwards, B[b, y] is the log sum of all ways to go on after
// the beginning of a segment at b, and R[e, y] that after its end at e:
//
//   B[b, y] = D[b+1] + log Σ_e exp(R[e, y] + last[e-1, y] - D[e] + length(y, e - b) + span(b, e, y))
//   R[e, y] = log Σ_l exp(edge[y, l] + first[e, l] + B[e, l]),      R[T, y] = end[y]
//
// with D[t] = Σ_{s>=t} rest[s, y]. log Z = log Σ_y exp(F[T, y] + end[y]), and
//
//   p(a segment of y begins at b) = exp(A[b, y] + B[b, y] - log Z)
//   p(a segment of y ends at e)   = exp(F[e, y] + R[e, y] - log Z)
//
// O(T L (L + K)) time. F is kept, and the last K places of everything else: O(T L + K L) memory.
#pragma once

#include <type_traits>

#include "base/poll.h"
#include "segments/segment_window.h"

namespace crfkit {

// Σ over the lengths beyond K, as the place moves on; and the mean number of positions beyond K.
struct TailSum {
  double log = -HUGE_VAL, mean = 0;

  void step(double entering, double tail) {  // `entering`: the place K + 1 before, with the score of length K
    const double sum = log_add(log, entering);
    mean = sum > -HUGE_VAL ? 1 + mean * std::exp(log - sum) : 0;
    log = sum + tail;
  }
};

class SegmentSums {
 public:
  explicit SegmentSums(const SegmentTables& tables) : t_(tables), L_(tables.m.labels) {
    const auto L = static_cast<size_t>(L_);
    windows_.resize(L);
    sum_.resize(L), bound_.resize(L), tails_.resize(L), here_.resize(L), work_.resize(L);
  }

  // Computes F and returns log Z: -inf if nothing is permitted; then `reached` is the last place that
  // segments can reach.
  double forward(const SegmentView& x) { return forward_of<ScaledSum>(x); }

  // The same with max instead of log Σ exp; returns the score of the best segmentation.
  double forward_best(const SegmentView& x) { return forward_of<LargestTerm>(x); }

  // Computes expected counts; call forward first.
  void backward(const SegmentView& x, double log_z, const SegmentCounts& out) {
    const int64_t T = x.length, K = t_.m.longest;
    if (T == 0) return;
    begin(T);
    std::vector<double> R(static_cast<size_t>(L_), 0.0), after(R), enter_log(R), going_on(R), cover(R);
    if (t_.m.end) R.assign(t_.m.end, t_.m.end + L_);
    int64_t next = x.n_spans;  // spans before it are still to come
    for (int64_t b = T - 1; b >= 0; --b) {
      const int64_t e = b + 1;
      poll(20 * L_ * (L_ + std::min(K, T - b) / 4));
      enter_by<ScaledSum>(x, b, enter_log.data());
      const int64_t stop_span = next;
      while (next > 0 && x.begin[next - 1] == b) --next;
      const double* node = x.node + b * 2 * L_;
      double all = 0;  // the probabilities that labels cover b add up to 1; rounding must not add up
      for (int64_t y = 0; y < L_; ++y) {
        const auto at = static_cast<size_t>(y);
        const double end_p = std::exp(F(e, y) + R[at] - log_z);
        if (out.onward) out.onward[b * L_ + y] = R[at];
        if (out.last) out.last[b * L_ + y] = out.weight * end_p;
        if (out.end && e == T) out.end[y] += out.weight * end_p;
        all += cover[at] = end_p + going_on[at];
      }
      for (int64_t y = 0; y < L_; ++y) {
        const auto at = static_cast<size_t>(y);
        SegmentWindow& window = windows_[at];
        if (e < T && x.node[e * 2 * L_ + L_ + y] == -HUGE_VAL) bound_[at] = T - e, tails_[at] = TailSum{};
        window.push(R[at] + (x.last ? x.last[b * L_ + y] : 0.0) - sum_[at]);
        if (t_.m.tail) step_tail<ScaledSum>(window, y);
        const double A = enter_log[at];
        double begin_p = 0;
        after[at] = -HUGE_VAL;
        if (node[y] > -HUGE_VAL) {
          ScaledSum sum;
          int64_t from = window.from(bound_[at]);
          for (int64_t s = stop_span; s-- > next;) {  // by end, the last first
            const int64_t place = T - x.end[s];
            if (place < from) continue;
            window.add(from, place, sum);
            sum.add_log(window.value(place) + length_score(y, x.end[s] - b) + x.span[s * L_ + y]);
            from = place + 1;
          }
          window.add(from, T - b, sum);
          sum.add_log(tails_[at].log);
          const double B = sum.log() + sum_[at];
          after[at] = node[y] + B;
          begin_p = std::exp(A + B - log_z);
          if (begin_p > kImprobable) count_lengths(x, b, y, A + sum_[at] - log_z, next, stop_span, out);
        }
        if (out.start && b == 0) out.start[y] += out.weight * begin_p;
        const bool may_go_on = b > 0 && node[L_ + y] > -HUGE_VAL;
        going_on[at] = may_go_on ? std::max(0.0, cover[at] / all - begin_p) : 0.0;
        if (out.node) {
          out.node[b * 2 * L_ + y] = out.weight * begin_p;
          out.node[b * 2 * L_ + L_ + y] = out.weight * going_on[at];
        }
        if (may_go_on) sum_[at] += node[L_ + y];
      }
      if (b == 0) break;
      t_.leave(after.data(), R.data(), work_.data());
      if (out.edge) count_edges(b, after.data(), log_z, out);
    }
  }

  // Computes and keeps what SegmentPaths needs for probabilities of segments: R and, for those of `all`
  // segments, expected counts. Call forward first.
  void prepare_probabilities(const SegmentView& x, double log_z, bool all) {
    const auto n = static_cast<size_t>(x.length * L_);
    kept_.resize(all ? 4 * n : n);
    SegmentCounts out;
    out.onward = kept_.data();
    if (all) out.last = kept_.data() + n, out.node = kept_.data() + 2 * n;
    backward(x, log_z, out);
    kept = out;
  }

  double F(int64_t e, int64_t y) const { return F_[static_cast<size_t>(e * L_ + y)]; }

  int64_t reached = 0;
  SegmentCounts kept;  // by prepare_probabilities: onward, last and node

 private:
  static constexpr double kImprobable = 1e-26;  // what such a segment adds to any count is lost in rounding

  template <class Total>
  double forward_of(const SegmentView& x) {
    const int64_t T = x.length;
    order_spans(x);
    begin(T);
    F_.assign(static_cast<size_t>((T + 1) * L_), -HUGE_VAL);
    reached = 0;
    size_t next = 0;
    for (int64_t t = 0; t < T; ++t) {
      poll(10 * L_ * (L_ + std::min(t_.m.longest, t) / 4));
      enter_by<Total>(x, t, here_.data());
      const size_t first_span = next;
      while (next < by_end_.size() && x.end[by_end_[next]] == t + 1) ++next;
      const double* node = x.node + t * 2 * L_;
      for (int64_t y = 0; y < L_; ++y) {
        const auto at = static_cast<size_t>(y);
        const double rest = node[L_ + y];
        if (t > 0 && rest > -HUGE_VAL) sum_[at] += rest;
        if (t > 0 && rest == -HUGE_VAL) bound_[at] = t, tails_[at] = TailSum{};
        SegmentWindow& window = windows_[at];
        window.push(here_[at] - sum_[at]);
        if (t_.m.tail) step_tail<Total>(window, y);
        const double last = x.last ? x.last[t * L_ + y] : 0.0;
        if (last == -HUGE_VAL) continue;
        Total sum;
        int64_t from = window.from(bound_[at]);
        for (size_t s = first_span; s < next; ++s) {  // by begin: their places are left out of the window
          const int64_t begin = x.begin[by_end_[s]];
          if (begin < from) continue;
          window.add(from, begin, sum);
          sum.add_log(window.value(begin) + length_score(y, t + 1 - begin) + x.span[by_end_[s] * L_ + y]);
          from = begin + 1;
        }
        window.add(from, t + 1, sum);
        sum.add_log(tails_[at].log);
        const double total = sum.log() + sum_[at] + last;
        F_[static_cast<size_t>((t + 1) * L_ + y)] = total;
        if (total > -HUGE_VAL) reached = t + 1;
      }
    }
    Total all;
    for (int64_t y = 0; y < L_; ++y) all.add_log(F(T, y) + (t_.m.end ? t_.m.end[y] : 0.0));
    return T == 0 ? 0.0 : all.log();
  }

  // A[b, y] of all labels.
  template <class Total>
  void enter_by(const SegmentView& x, int64_t b, double* A) {
    const double* before = F_.data() + b * L_;
    if (b == 0)
      for (int64_t y = 0; y < L_; ++y) A[y] = t_.m.start ? t_.m.start[y] : 0.0;
    else if constexpr (std::is_same_v<Total, ScaledSum>)
      t_.enter(before, A, work_.data());
    else
      t_.enter_best(before, A);
    for (int64_t y = 0; y < L_; ++y) A[y] += x.node[b * 2 * L_ + y];
  }

  double length_score(int64_t y, int64_t d) const { return t_.m.lengths[y * t_.m.longest + d - 1]; }

  void begin(int64_t T) {
    for (int64_t y = 0; y < L_; ++y) {
      const auto at = static_cast<size_t>(y);
      windows_[at].reset(t_, static_cast<int>(y), T);
      sum_[at] = 0, bound_[at] = 0, tails_[at] = TailSum{};
    }
  }

  template <class Total>
  void step_tail(const SegmentWindow& window, int64_t y) {
    const auto at = static_cast<size_t>(y);
    const int64_t place = window.size() - 1 - t_.m.longest;
    const double entering =
        place >= bound_[at] ? window.value(place) + length_score(y, t_.m.longest) : -HUGE_VAL;
    if constexpr (std::is_same_v<Total, ScaledSum>)
      tails_[at].step(entering, t_.m.tail[y]);
    else
      tails_[at].log = std::max(tails_[at].log, entering) + t_.m.tail[y];
  }

  // Spans by end, then by begin.
  void order_spans(const SegmentView& x) {
    by_end_.resize(static_cast<size_t>(x.n_spans));
    for (size_t s = 0; s < by_end_.size(); ++s) by_end_[s] = static_cast<int64_t>(s);
    std::stable_sort(by_end_.begin(), by_end_.end(),
                     [&](int64_t a, int64_t b) { return x.end[a] < x.end[b]; });
  }

  // Counts the segments of y that begin at b; p = exp(log_factor + a[place] + length score).
  void count_lengths(const SegmentView& x, int64_t b, int64_t y, double log_factor, int64_t first_span,
                     int64_t stop_span, const SegmentCounts& out) {
    if (!out.lengths && !out.span && !out.tail) return;
    const auto at = static_cast<size_t>(y);
    const SegmentWindow& window = windows_[at];
    const int64_t T = x.length, K = t_.m.longest;
    int64_t from = window.from(bound_[at]);
    double* lengths = out.lengths ? out.lengths + y * K : nullptr;
    for (int64_t s = stop_span; s-- > first_span;) {
      const int64_t place = T - x.end[s], d = x.end[s] - b;
      if (place < from) continue;
      if (lengths) window.add_counts(from, place, out.weight, log_factor, lengths);
      const double p =
          out.weight * std::exp(log_factor + window.value(place) + length_score(y, d) + x.span[s * L_ + y]);
      if (out.span) out.span[s * L_ + y] = p;
      if (lengths) lengths[K - d] += p;
      from = place + 1;
    }
    if (lengths) window.add_counts(from, T - b, out.weight, log_factor, lengths);
    if (t_.m.tail) {
      const double p = out.weight * std::exp(log_factor + tails_[at].log);
      if (lengths) lengths[0] += p;
      if (out.tail) out.tail[y] += p * tails_[at].mean;
    }
  }

  // p(y' ends and y begins at b) = exp(F[b, y'] + edge[y', y] + after[y] - log Z), after = first + B.
  void count_edges(int64_t b, const double* after, double log_z, const SegmentCounts& out) {
    const double* before = F_.data() + b * L_;
    const double top = *std::max_element(before, before + L_), last = *std::max_element(after, after + L_);
    if (top == -HUGE_VAL || last == -HUGE_VAL) return;
    const double scale = top + last + t_.edge_top - log_z;
    for (int64_t l = 0; l < L_; ++l) work_[static_cast<size_t>(l)] = std::exp(after[l] - last);
    for (int64_t k = 0; k < L_; ++k) {
      if (before[k] == -HUGE_VAL) continue;
      double* row = out.edge + k * L_;
      if (scale < kLargeScale) {
        training_kernels().window_add(work_.data(), t_.out.data() + k * L_,
                                      out.weight * std::exp(scale + before[k] - top), L_, row);
      } else {
        for (int64_t l = 0; l < L_; ++l)
          row[l] += out.weight * std::exp(before[k] + t_.m.edge[k * L_ + l] + after[l] - log_z);
      }
    }
  }
  static constexpr double kLargeScale = 600;

  const SegmentTables& t_;
  const int64_t L_;
  std::vector<double> F_;               // [T + 1, L]
  std::vector<SegmentWindow> windows_;  // [L]
  std::vector<double> sum_;             // [L] C or D
  std::vector<int64_t> bound_;          // [L] the first place of the window before which nothing may begin
  std::vector<TailSum> tails_;          // [L]
  std::vector<double> here_, work_;     // [L]
  std::vector<int64_t> by_end_;         // [S]
  std::vector<double> kept_;
};

}  // namespace crfkit
