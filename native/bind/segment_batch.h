// The scores of segmentations of a batch of sequences. Shapes have been checked in Python
// (inference/segment_lattice.py); only what memory safety needs is checked again here.
#pragma once

#include "bind.h"
#include "segments/segment_paths.h"

namespace crfkit {

using Doubles = Array<const double>;
using Ints = Array<const int64_t>;
using Ids = Array<const int32_t>;

// Scores of a batch of sequences.
class SegmentBatch {
 public:
  using Sums = SegmentSums;
  using Paths = SegmentPaths;

  SegmentBatch(Array<const double, 2> node, Array<const double, 2> edge, Array<const double, 2> lengths,
               Ints offsets, std::optional<Array<const double, 2>> last, std::optional<Doubles> tail,
               std::optional<Doubles> start, std::optional<Doubles> end,
               std::optional<Array<const double, 2>> span, std::optional<Ints> begin,
               std::optional<Ints> stop, std::optional<Ints> bounds)
      : node_(node),
        edge_(edge),
        lengths_(lengths),
        offsets_(offsets),
        last_(last),
        span_(span),
        tail_(tail),
        start_(start),
        end_(end),
        begin_(begin),
        stop_(stop),
        bounds_(bounds),
        model_(model()),
        tables(model_) {
    const size_t T = node.shape(0);
    check_bounds(offsets, T, "offsets must ascend from 0 to the number of positions");
    require(!last || (last->shape(0) == T && last->shape(1) == edge.shape(0)), "last must be [T, L]");
    if (!span) return;
    require(begin && stop && bounds && bounds->shape(0) == offsets.shape(0), "spans need places and bounds");
    check_bounds(*bounds, span->shape(0), "span bounds must ascend from 0 to the number of spans");
    require(begin->shape(0) == span->shape(0) && stop->shape(0) == span->shape(0) &&
                span->shape(1) == edge.shape(0),
            "spans must be [S, L], with a begin and an end each");
    for (int64_t i = 0; i < n_sequences(); ++i) {
      const SegmentView x = view(i);
      for (int64_t s = 0; s < x.n_spans; ++s) {
        require(x.begin[s] >= 0 && x.begin[s] < x.end[s] && x.end[s] <= x.length &&
                    x.end[s] - x.begin[s] <= model_.longest,
                "spans must lie within their sequences and the table of lengths");
        require(s == 0 || x.begin[s - 1] < x.begin[s] ||
                    (x.begin[s - 1] == x.begin[s] && x.end[s - 1] < x.end[s]),
                "spans must be sorted, each once");
      }
    }
  }

  int64_t n_sequences() const { return static_cast<int64_t>(offsets_.shape(0)) - 1; }
  int64_t n_positions() const { return static_cast<int64_t>(node_.shape(0)); }
  int64_t n_spans() const { return span_ ? static_cast<int64_t>(span_->shape(0)) : 0; }
  int64_t offset(int64_t i) const { return offsets_.data()[i]; }
  int64_t span_offset(int64_t i) const { return bounds_ ? bounds_->data()[i] : 0; }

  SegmentView view(int64_t i) const {
    const int64_t L = model_.labels, first = span_offset(i);
    SegmentView x = {};
    x.length = offset(i + 1) - offset(i);
    x.node = node_.data() + offset(i) * 2 * L;
    x.last = last_ ? last_->data() + offset(i) * L : nullptr;
    if (span_) {
      x.n_spans = span_offset(i + 1) - first;
      x.begin = begin_->data() + first;
      x.end = stop_->data() + first;
      x.span = span_->data() + first * L;
    }
    return x;
  }

 private:
  SegmentModel model() const {
    const size_t L = edge_.shape(0);
    require(L >= 1 && edge_.shape(1) == L && node_.shape(1) == 2 * L && lengths_.shape(0) == L &&
                lengths_.shape(1) >= 1,
            "node must be [T, 2L], edge [L, L], lengths [L, K]");
    for (const auto* vector : {&tail_, &start_, &end_})
      require(!*vector || (*vector)->shape(0) == L, "tail, start and end must be [L]");
    return {static_cast<int>(L),
            static_cast<int64_t>(lengths_.shape(1)),
            edge_.data(),
            lengths_.data(),
            tail_ ? tail_->data() : nullptr,
            start_ ? start_->data() : nullptr,
            end_ ? end_->data() : nullptr};
  }

  Array<const double, 2> node_, edge_, lengths_;
  Ints offsets_;
  std::optional<Array<const double, 2>> last_, span_;
  std::optional<Doubles> tail_, start_, end_;
  std::optional<Ints> begin_, stop_, bounds_;
  SegmentModel model_;

 public:
  const SegmentTables tables;
};

}  // namespace crfkit
