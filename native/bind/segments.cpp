// Inference on segmentations: takes batches, fills arrays. Shapes have been checked in Python
// (inference/segment_scores.py); only what memory safety needs is checked again here.
#include "base/parallel.h"
#include "bind.h"
#include "segments/segment_paths.h"

namespace crfkit {

using Doubles = Array<const double>;
using Ints = Array<const int64_t>;

// Scores of a batch of sequences.
class SegmentBatch {
 public:
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
  const SegmentModel& shared() const { return model_; }

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

  // Calls fn(sequence, sums, block) for every non-empty sequence, on n_threads threads, without the GIL.
  template <class Fn>
  int for_sequences(int most_blocks, int n_threads, Fn&& fn) const {
    const std::vector<int64_t> cuts =
        filled_runs(n_sequences(), most_blocks, [&](int64_t i) { return offset(i + 1) - offset(i) + 1; });
    const int blocks = static_cast<int>(cuts.size()) - 1;
    const Unlocked release;
    parallel_for(blocks, n_threads, [&](int block, int) {
      SegmentSums sums(tables);
      for (int64_t i = cuts[static_cast<size_t>(block)]; i < cuts[static_cast<size_t>(block) + 1]; ++i)
        if (offset(i + 1) > offset(i)) fn(i, sums, block);
    });
    return blocks;
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

namespace {

constexpr int kBlocks = 64;
constexpr int64_t kLargeTables = int64_t{1} << 22;  // numbers in all blocks' own sums: 32 MB

template <class Any>
double* at(const std::optional<Any>& array, int64_t place) {
  return array ? array->data() + place : nullptr;
}

template <class Any>
void require_size(const std::optional<Any>& array, int64_t size) {
  require(!array || static_cast<int64_t>(array->size()) == size, "an output has another size than expected");
}

// The sums of one block of sequences over scores that all share.
struct BlockSums {
  std::vector<double> edge, lengths, tail, start, end;
};

void bind_sums(nb::module_& m) {
  m.def(
      "segment_posterior",
      [](const SegmentBatch& batch, Array<double> log_z, Array<int64_t> dead, int n_threads,
         std::optional<Doubles> weights, std::optional<Array<double, 2>> node,
         std::optional<Array<double, 2>> last, std::optional<Array<double, 2>> span,
         std::optional<Array<double, 2>> edge, std::optional<Array<double, 2>> lengths,
         std::optional<Array<double>> tail, std::optional<Array<double>> start,
         std::optional<Array<double>> end) {
        const int64_t L = batch.shared().labels, K = batch.shared().longest, T = batch.n_positions();
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(log_z.size()) == N && static_cast<int64_t>(dead.size()) == N,
                "log_z and dead must be [N]");
        require(!weights || static_cast<int64_t>(weights->size()) == N, "weights must be [N]");
        require_size(node, T * 2 * L), require_size(last, T * L), require_size(span, batch.n_spans() * L);
        require_size(edge, L * L), require_size(lengths, L * K);
        require_size(tail, L), require_size(start, L), require_size(end, L);
        const bool counts = node || last || span || edge || lengths || tail || start || end;
        const auto most = std::max<int64_t>(1, kLargeTables / (L * (L + K)));
        const int n_blocks = static_cast<int>(counts ? std::min<int64_t>(16, most) : kBlocks);
        std::vector<BlockSums> sums(static_cast<size_t>(n_blocks));
        batch.for_sequences(n_blocks, n_threads, [&](int64_t i, SegmentSums& recursion, int b) {
          const SegmentView x = batch.view(i);
          log_z.data()[i] = recursion.forward(x);
          if (log_z.data()[i] == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          if (!counts) return;
          BlockSums& own = sums[static_cast<size_t>(b)];
          auto room = [](std::vector<double>& table, bool wanted, int64_t size) {
            if (wanted) table.resize(static_cast<size_t>(size));
            return wanted ? table.data() : nullptr;
          };
          SegmentCounts out;
          out.weight = weights ? weights->data()[i] : 1.0;
          out.node = at(node, batch.offset(i) * 2 * L);
          out.last = at(last, batch.offset(i) * L);
          out.span = at(span, batch.span_offset(i) * L);
          out.edge = room(own.edge, edge.has_value(), L * L);
          out.lengths = room(own.lengths, lengths.has_value(), L * K);
          out.tail = room(own.tail, tail.has_value(), L);
          out.start = room(own.start, start.has_value(), L);
          out.end = room(own.end, end.has_value(), L);
          recursion.backward(x, log_z.data()[i], out);
        });
        auto add = [](const std::vector<double>& from, double* to) {
          for (size_t k = 0; k < from.size(); ++k) to[k] += from[k];
        };
        for (const BlockSums& own : sums) {  // in block order: the same bits for any number of threads
          add(own.edge, at(edge, 0)), add(own.tail, at(tail, 0));
          add(own.start, at(start, 0)), add(own.end, at(end, 0));
          for (size_t k = 0; k < own.lengths.size(); ++k) {  // the longest first
            const auto y = static_cast<int64_t>(k) / K, d = static_cast<int64_t>(k) % K;
            lengths->data()[y * K + K - 1 - d] += own.lengths[k];
          }
        }
      },
      "batch"_a, "log_z"_array, "dead"_array, "n_threads"_a, "weights"_array = nb::none(),
      "node"_array = nb::none(), "last"_array = nb::none(), "span"_array = nb::none(),
      "edge"_array = nb::none(), "lengths"_array = nb::none(), "tail"_array = nb::none(),
      "start"_array = nb::none(), "end"_array = nb::none(),
      "Fill log_z [N] and, where given, the expected counts, times weights [N], of the scores per position "
      "and"
      " per span; add those of shared scores. dead[i] is the last place that the segments of sequence i can"
      " reach, if nothing is permitted.");

  m.def(
      "segment_probabilities",
      [](const SegmentBatch& batch, Ints begin, Ints stop, Array<const int32_t> label, Ints bounds,
         Array<double> log_p, Array<int64_t> dead, int n_threads) {
        const int64_t L = batch.shared().labels, N = batch.n_sequences();
        require(static_cast<int64_t>(bounds.shape(0)) == N + 1 && static_cast<int64_t>(dead.size()) == N,
                "bounds must be [N + 1], dead [N]");
        check_bounds(bounds, begin.shape(0), "bounds must ascend from 0 to the number of segments");
        for (const size_t n : {stop.size(), label.size(), log_p.size()})
          require(n == begin.size(), "one stop, label and probability per segment");
        check_ids(label, 0, L, "labels must be 0..L-1");
        for (int64_t i = 0; i < N; ++i)
          for (int64_t k = bounds.data()[i]; k < bounds.data()[i + 1]; ++k)
            require(begin.data()[k] >= 0 && begin.data()[k] < stop.data()[k] &&
                        stop.data()[k] <= batch.offset(i + 1) - batch.offset(i),
                    "segments must lie within their sequences");
        batch.for_sequences(kBlocks, n_threads, [&](int64_t i, SegmentSums& recursion, int) {
          const SegmentView x = batch.view(i);
          if (bounds.data()[i] == bounds.data()[i + 1]) return;
          const double log_z = recursion.forward(x);
          if (log_z == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          std::vector<double> onward(static_cast<size_t>(x.length * L));
          SegmentCounts out;
          out.onward = onward.data();
          recursion.backward(x, log_z, out);
          const SegmentPaths paths(batch.tables, x, recursion);
          for (int64_t k = bounds.data()[i]; k < bounds.data()[i + 1]; ++k)
            log_p.data()[k] =
                paths.log_probability(begin.data()[k], stop.data()[k], label.data()[k], onward.data(), log_z);
        });
      },
      "batch"_a, "begin"_array, "stop"_array, "label"_array, "bounds"_array, "log_p"_array, "dead"_array,
      "n_threads"_a, "Fill log_p [M] of given segments; sequence i has those of bounds[i] .. bounds[i+1]-1.");

  m.def(
      "segments_above",
      [](const SegmentBatch& batch, double least, Array<int64_t> dead, int n_threads) {
        const int64_t L = batch.shared().labels, N = batch.n_sequences();
        require(static_cast<int64_t>(dead.size()) == N, "dead must be [N]");
        std::vector<std::vector<int64_t>> places(static_cast<size_t>(N));  // sequence, begin, end, label
        std::vector<std::vector<double>> shares(static_cast<size_t>(N));
        batch.for_sequences(kBlocks, n_threads, [&](int64_t i, SegmentSums& recursion, int) {
          const SegmentView x = batch.view(i);
          const double log_z = recursion.forward(x);
          if (log_z == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          std::vector<double> memory(static_cast<size_t>(x.length * L * 4));
          SegmentCounts out;
          out.onward = memory.data();
          out.last = out.onward + x.length * L;
          out.node = out.last + x.length * L;
          recursion.backward(x, log_z, out);
          auto& found = places[static_cast<size_t>(i)];
          SegmentPaths(batch.tables, x, recursion)
              .above(least, out.node, out.last, out.onward, log_z,
                     [&](int64_t b, int64_t e, int64_t y, double p) {
                       found.insert(found.end(), {i, b, e, y});
                       shares[static_cast<size_t>(i)].push_back(p);
                     });
        });
        return std::tuple(to_numpy(joined(places)), to_numpy(joined(shares)));
      },
      "batch"_a, "least"_a, "dead"_array, "n_threads"_a,
      "Return all segments with a probability of at least `least`: sequence, begin, end, label of each, end "
      "to"
      " end, and the probabilities.");
}

void bind_paths(nb::module_& m) {
  m.def(
      "segment_best",
      [](const SegmentBatch& batch, Array<int32_t> ids, Array<double> score, Array<int64_t> dead,
         int n_threads) {
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(ids.size()) == batch.n_positions() &&
                    static_cast<int64_t>(score.size()) == N && static_cast<int64_t>(dead.size()) == N,
                "ids must be [T], score and dead [N]");
        batch.for_sequences(kBlocks, n_threads, [&](int64_t i, SegmentSums& recursion, int) {
          const SegmentView x = batch.view(i);
          score.data()[i] = recursion.forward_best(x);
          if (score.data()[i] == -HUGE_VAL)
            dead.data()[i] = recursion.reached;
          else
            SegmentPaths(batch.tables, x, recursion).best(ids.data() + batch.offset(i));
        });
      },
      "batch"_a, "ids"_array, "score"_array, "dead"_array, "n_threads"_a,
      "Fill ids [T] and score [N] of the best segmentations.");

  m.def(
      "segment_sample",
      [](const SegmentBatch& batch, uint64_t seed, Array<int32_t, 2> ids, Array<int64_t> dead,
         int n_threads) {
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(ids.shape(1)) == batch.n_positions() &&
                    static_cast<int64_t>(dead.size()) == N,
                "ids must be [S, T], dead [N]");
        batch.for_sequences(kBlocks, n_threads, [&](int64_t i, SegmentSums& recursion, int) {
          const SegmentView x = batch.view(i);
          if (recursion.forward(x) == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          const SegmentPaths paths(batch.tables, x, recursion);
          const uint64_t key = splitmix(seed ^ splitmix(static_cast<uint64_t>(i)));
          for (size_t s = 0; s < ids.shape(0); ++s)
            paths.sample(splitmix(key ^ splitmix(s)),
                         ids.data() + static_cast<int64_t>(s) * batch.n_positions() + batch.offset(i));
        });
      },
      "batch"_a, "seed"_a, "ids"_array, "dead"_array, "n_threads"_a, "Fill ids [S, T] with S samples.");

  m.def(
      "segment_nbest",
      [](const SegmentBatch& batch, int64_t k, Array<int64_t> dead, int n_threads) {
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(dead.size()) == N, "dead must be [N]");
        std::vector<std::vector<int32_t>> found(static_cast<size_t>(N));
        std::vector<std::vector<double>> scores(static_cast<size_t>(N));
        batch.for_sequences(kBlocks, n_threads, [&](int64_t i, SegmentSums& recursion, int) {
          const SegmentView x = batch.view(i);
          if (recursion.forward_best(x) == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          auto& all = found[static_cast<size_t>(i)];
          SegmentPaths(batch.tables, x, recursion)
              .nbest(k, [&](const std::vector<int32_t>& ids, double score) {
                all.insert(all.end(), ids.begin(), ids.end());
                scores[static_cast<size_t>(i)].push_back(score);
              });
        });
        std::vector<int64_t> counts;
        for (int64_t i = 0; i < N; ++i) {
          if (batch.offset(i + 1) == batch.offset(i)) scores[static_cast<size_t>(i)] = {0};  // the empty one
          counts.push_back(static_cast<int64_t>(scores[static_cast<size_t>(i)].size()));
        }
        return std::tuple(to_numpy(joined(found)), to_numpy(joined(scores)), to_numpy(std::move(counts)));
      },
      "batch"_a, "k"_a, "dead"_array, "n_threads"_a,
      "Return the ids of all segmentations end to end, their scores, and their number per sequence [N].");
}

}  // namespace

void bind_segmentations(nb::module_& m) {
  nb::class_<SegmentBatch>(m, "SegmentBatch", "Scores of segmentations of a batch of sequences.")
      .def(nb::init<Array<const double, 2>, Array<const double, 2>, Array<const double, 2>, Ints,
                    std::optional<Array<const double, 2>>, std::optional<Doubles>, std::optional<Doubles>,
                    std::optional<Doubles>, std::optional<Array<const double, 2>>, std::optional<Ints>,
                    std::optional<Ints>, std::optional<Ints>>(),
           "node"_array, "edge"_array, "lengths"_array, "offsets"_array, "last"_array, "tail"_array,
           "start"_array, "end"_array, "span"_array, "begin"_array, "stop"_array, "bounds"_array);
  bind_sums(m);
  bind_paths(m);
}

}  // namespace crfkit
