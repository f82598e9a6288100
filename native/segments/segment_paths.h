// Single segmentations: the best one, the k best, and samples.
//
// All are read off the forward values F[e, y] (segment_sums.h), from the end to the beginning: the segments
// that may end at e are tried from the shortest on, so that a step costs as much as the segment is long.
// Segmentations are written as ids: y where a segment of label y begins, L + y where it goes on.
#pragma once

#include "chain/sample.h"
#include "segments/open_parts.h"
#include "segments/segment_sums.h"

namespace crfkit {

class SegmentPaths {
 public:
  SegmentPaths(const SegmentTables& tables, const SegmentView& x, const SegmentSums& forward)
      : t_(tables), x_(x), f_(forward), L_(tables.m.labels) {}

  // Writes the best segmentation; F must be that of `forward_best`.
  void best(int32_t* ids) const {
    int64_t e = x_.length, y = best_last();
    while (e > 0) {
      double top = -HUGE_VAL;
      int64_t begin = e - 1, before = -1;
      const double known = f_.F(e, y);
      each_begin(e, y, [&](int64_t b, double score) {
        const auto [entering, k] = best_before(b, y);
        if (score + entering > top) top = score + entering, begin = b, before = k;
        // beyond the table of lengths, the first that explains F is taken
        return e - b < t_.m.longest || top < known - 1e-12 * (1 + std::abs(known));
      });
      write(ids, begin, e, y);
      e = begin, y = before;
    }
  }

  // Draws one segmentation; F must be that of `forward`. `key` names the stream of random numbers.
  void sample(uint64_t key, int32_t* ids) const {
    int64_t e = x_.length;
    uint64_t counter = 0;
    std::vector<double> terms(static_cast<size_t>(L_));
    for (int64_t y = 0; y < L_; ++y) terms[static_cast<size_t>(y)] = f_.F(e, y) + end(y);
    int64_t y = draw(terms, uniform(key, counter++));
    while (e > 0) {
      double rest = uniform(key, counter++);
      int64_t begin = e - 1;
      each_begin(e, y, [&](int64_t b, double score) {
        const double p = std::exp(score + sum_before(b, y, terms) - f_.F(e, y));
        if (p <= 0) return true;
        begin = b;  // rounding may leave a rest after the last one: then it is the last that is possible
        rest -= p;
        return rest >= 0;
      });
      write(ids, begin, e, y);
      if (begin > 0) {
        sum_before(begin, y, terms);
        y = draw(terms, uniform(key, counter++));
      }
      e = begin;
    }
  }

  // Calls found(ids, score) for the k best segmentations, best first; F must be that of `forward_best`. A*
  // search from the end: F is the exact score of the best way to complete a part.
  template <class Found>
  void nbest(int64_t k, Found&& found) const {
    OpenParts<Part> open(k);
    auto add = [&](const Part& part, double before) { open.add(part, before + part.score); };
    for (int64_t y = 0; y < L_; ++y) add({x_.length, y, -1, end(y)}, f_.F(x_.length, y));
    std::vector<int32_t> ids(static_cast<size_t>(x_.length));
    while (k > 0 && !open.empty()) {
      double whole;
      const int64_t number = open.next(&whole);
      const Part part = open[number];
      if (part.end == 0) {
        open.each_segment(number, [&](const Part& left, const Part& right) {
          write(ids.data(), left.end, right.end, right.label);
        });
        found(ids, whole);
        --k;
        continue;
      }
      each_begin(part.end, part.label, [&](int64_t b, double score) {
        poll(100 * L_);
        if (b == 0)
          add({0, -1, number, part.score + score + start(part.label)}, 0.0);
        else
          for (int64_t before = 0; before < L_; ++before)
            add({b, before, number, part.score + score + t_.m.edge[before * L_ + part.label]},
                f_.F(b, before));
        return true;
      });
    }
  }

  // log p of the segment b..e-1 of y; call `forward` and `prepare_probabilities` first.
  double log_probability(int64_t b, int64_t e, int64_t y, double log_z) const {
    const double* onward = f_.kept.onward;
    std::vector<double> terms(static_cast<size_t>(L_));
    double found = -HUGE_VAL;
    each_begin(e, y, [&](int64_t at, double score) {
      if (at == b) found = score + sum_before(b, y, terms) + onward[(e - 1) * L_ + y] - log_z;
      return at > b;
    });
    return found;
  }

  // Calls found(b, e, y, p) for all segments with p >= least; call `forward` and `prepare_probabilities`
  // first.
  template <class Found>
  void above(double least, double log_z, Found&& found) const {
    const double *node = f_.kept.node, *last = f_.kept.last, *onward = f_.kept.onward;
    std::vector<double> terms(static_cast<size_t>(L_));
    for (int64_t e = 1; e <= x_.length; ++e)
      for (int64_t y = 0; y < L_; ++y) {
        double rest = last[(e - 1) * L_ + y];  // of p(a segment of y ends at e)
        if (rest < least) continue;
        each_begin(e, y, [&](int64_t b, double score) {
          if (node[b * 2 * L_ + y] < least) return true;
          const double p = std::exp(score + sum_before(b, y, terms) + onward[(e - 1) * L_ + y] - log_z);
          if (p >= least) found(b, e, y, p);
          rest -= p;
          return rest > least * 0.5;
        });
      }
  }

 private:
  struct Part {  // the segments from `end` on are chosen; the one before it has `label`
    int64_t end, label;
    int64_t after;  // the part that it extends
    double score;   // of the segments from `end` on
  };

  double start(int64_t y) const { return t_.m.start ? t_.m.start[y] : 0.0; }
  double end(int64_t y) const { return t_.m.end ? t_.m.end[y] : 0.0; }

  int64_t best_last() const {
    int64_t best = 0;
    for (int64_t y = 1; y < L_; ++y)
      if (f_.F(x_.length, y) + end(y) > f_.F(x_.length, best) + end(best)) best = y;
    return best;
  }

  std::pair<double, int64_t> best_before(int64_t b, int64_t y) const {
    if (b == 0) return {start(y), -1};
    std::pair<double, int64_t> best{-HUGE_VAL, 0};
    for (int64_t k = 0; k < L_; ++k)
      if (const double score = f_.F(b, k) + t_.m.edge[k * L_ + y]; score > best.first) best = {score, k};
    return best;
  }

  // Fills terms [L] and returns log Σ exp of them.
  double sum_before(int64_t b, int64_t y, std::vector<double>& terms) const {
    if (b == 0) return start(y);
    ScaledSum sum;
    for (int64_t k = 0; k < L_; ++k) {
      terms[static_cast<size_t>(k)] = f_.F(b, k) + t_.m.edge[k * L_ + y];
      sum.add_log(terms[static_cast<size_t>(k)]);
    }
    return sum.log();
  }

  // Calls visit(b, score of the segment b..e-1 of y) for b = e-1, e-2, … as far as permitted and as it
  // returns true.
  template <class Visit>
  void each_begin(int64_t e, int64_t y, Visit&& visit) const {
    const int64_t K = t_.m.longest;
    const double* lengths = t_.m.lengths + y * K;
    double inside = x_.last ? x_.last[(e - 1) * L_ + y] : 0.0;
    if (inside == -HUGE_VAL) return;
    for (int64_t b = e - 1; b >= 0; --b) {
      poll_at(e - b);
      const int64_t d = e - b;
      if (d > K && !t_.m.tail) return;
      const double length =
          d <= K ? lengths[d - 1] : lengths[K - 1] + static_cast<double>(d - K) * t_.m.tail[y];
      const double* node = x_.node + b * 2 * L_;
      const double score = inside + length + node[y] + span_score(b, e, y);
      if (score > -HUGE_VAL && !visit(b, score)) return;
      if (node[L_ + y] == -HUGE_VAL) return;
      inside += node[L_ + y];
    }
  }

  double span_score(int64_t b, int64_t e, int64_t y) const {
    if (x_.n_spans == 0) return 0;
    int64_t low = 0, high = x_.n_spans;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      const bool before = x_.begin[middle] != b ? x_.begin[middle] < b : x_.end[middle] < e;
      (before ? low : high) = before ? middle + 1 : middle;
    }
    return low < x_.n_spans && x_.begin[low] == b && x_.end[low] == e ? x_.span[low * L_ + y] : 0.0;
  }

  void write(int32_t* ids, int64_t b, int64_t e, int64_t y) const {
    std::fill(ids + b, ids + e, static_cast<int32_t>(L_ + y));
    ids[b] = static_cast<int32_t>(y);
  }

  const SegmentTables& t_;
  const SegmentView& x_;
  const SegmentSums& f_;
  const int64_t L_;
};

}  // namespace crfkit
