// Inference on segmentations, with scores of all places or of sites: takes batches, fills arrays.
#include "base/parallel.h"
#include "bind/site_batch.h"
#include "segments/length_tables.h"

namespace crfkit {

namespace {

constexpr int kBlocks = 64;
constexpr int64_t kLargeTables = int64_t{1} << 22;  // numbers in all blocks' own sums: 32 MB

// Calls fn(sequence, sums, block) for every non-empty sequence, on n_threads threads, without the GIL.
template <class Batch, class Fn>
void for_sequences(const Batch& batch, int most_blocks, int n_threads, Fn&& fn) {
  const std::vector<int64_t> cuts = filled_runs(
      batch.n_sequences(), most_blocks, [&](int64_t i) { return batch.offset(i + 1) - batch.offset(i) + 1; });
  const Unlocked release;
  parallel_for(static_cast<int>(cuts.size()) - 1, n_threads, [&](int block, int) {
    typename Batch::Sums sums(batch.tables);
    for (int64_t i = cuts[static_cast<size_t>(block)]; i < cuts[static_cast<size_t>(block) + 1]; ++i)
      if (batch.offset(i + 1) > batch.offset(i)) fn(i, sums, block);
  });
}

// Adds up vectors; `to` is null if they are empty.
void add(const std::vector<double>& from, double* to) {
  for (size_t k = 0; k < from.size(); ++k) to[k] += from[k];
}

// Returns room for `size` sums if they are wanted, else null.
double* room(std::vector<double>& table, bool wanted, int64_t size) {
  if (wanted) table.resize(static_cast<size_t>(size));
  return wanted ? table.data() : nullptr;
}

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
  std::vector<double> edge, lengths, tail, start, end, memory;
};

void bind_posterior(nb::module_& m) {
  m.def(
      "segment_posterior",
      [](const SegmentBatch& batch, Array<double> log_z, Array<int64_t> dead, int n_threads,
         std::optional<Doubles> weights, std::optional<Array<double, 2>> node,
         std::optional<Array<double, 2>> last, std::optional<Array<double, 2>> span,
         std::optional<Array<double, 2>> edge, std::optional<Array<double, 2>> lengths,
         std::optional<Array<double>> tail, std::optional<Array<double>> start,
         std::optional<Array<double>> end) {
        const int64_t L = batch.tables.m.labels, K = batch.tables.m.longest, T = batch.n_positions();
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
        const LengthTables by_length(batch.tables.m);
        for_sequences(batch, n_blocks, n_threads, [&](int64_t i, SegmentSums& recursion, int b) {
          const SegmentView x = batch.view(i);
          BlockSums& own = sums[static_cast<size_t>(b)];
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
          if (by_length.posterior(x, own.memory, &log_z.data()[i], out)) return;
          log_z.data()[i] = recursion.forward(x);
          if (log_z.data()[i] == -HUGE_VAL) dead.data()[i] = recursion.reached;
          if (!counts || log_z.data()[i] == -HUGE_VAL) return;
          if (span) std::fill_n(out.span, x.n_spans * L, 0.0);  // only those that count are written
          recursion.backward(x, log_z.data()[i], out);
        });
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
}

// Calls fn(paths, k, log Z) for the given segments k = 0..M-1.
template <class Batch, class Fn>
void for_segments(const Batch& batch, const Ints& begin, const Ints& stop, const Ids& label,
                  const Ints& bounds, const Array<double>& log_p, const Array<int64_t>& dead, int n_threads,
                  Fn&& fn) {
  const int64_t L = batch.tables.m.labels, N = batch.n_sequences();
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
  for_sequences(batch, kBlocks, n_threads, [&](int64_t i, typename Batch::Sums& recursion, int) {
    const auto x = batch.view(i);
    if (bounds.data()[i] == bounds.data()[i + 1]) return;
    const double log_z = recursion.forward(x);
    if (log_z == -HUGE_VAL) {
      dead.data()[i] = recursion.reached;
      return;
    }
    recursion.prepare_probabilities(x, log_z, false);
    const typename Batch::Paths paths(batch.tables, x, recursion);
    for (int64_t k = bounds.data()[i]; k < bounds.data()[i + 1]; ++k) fn(paths, k, log_z);
  });
}

// The sums of one block of sequences over the scores of lengths.
struct BlockLengths {
  std::vector<double> lengths, tail;
};

void bind_sites(nb::module_& m) {
  m.def(
      "segment_posterior",
      [](const SiteBatch& batch, Array<double> log_z, Array<int64_t> dead, int n_threads,
         std::optional<Doubles> weights, std::optional<Array<double>> open,
         std::optional<Array<double>> close, std::optional<Array<double, 2>> content,
         std::optional<Array<double, 2>> lengths, std::optional<Array<double>> tail) {
        const int64_t N = batch.n_sequences(), C = batch.tables.m.tracks;
        const auto M = static_cast<int64_t>(batch.tables.m.n_tables), K = batch.tables.m.longest;
        require(static_cast<int64_t>(log_z.size()) == N && static_cast<int64_t>(dead.size()) == N,
                "log_z and dead must be [N]");
        require(!weights || static_cast<int64_t>(weights->size()) == N, "weights must be [N]");
        require_size(open, static_cast<int64_t>(batch.n_open()));
        require_size(close, static_cast<int64_t>(batch.n_close()));
        require_size(content, batch.n_positions() * C), require_size(lengths, M * K), require_size(tail, M);
        const bool counts = open || close || content || lengths || tail;
        const auto most = std::max<int64_t>(1, kLargeTables / (M * K));
        const int n_blocks = static_cast<int>(counts ? std::min<int64_t>(16, most) : kBlocks);
        std::vector<BlockLengths> sums(static_cast<size_t>(n_blocks));
        for_sequences(batch, n_blocks, n_threads, [&](int64_t i, SiteSums& recursion, int b) {
          const SiteView x = batch.view(i);
          log_z.data()[i] = recursion.forward(x);
          if (log_z.data()[i] == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          if (!counts) return;
          BlockLengths& own = sums[static_cast<size_t>(b)];
          SiteCounts out;
          out.weight = weights ? weights->data()[i] : 1.0;
          out.open = at(open, batch.first_open(i));
          out.close = at(close, batch.first_close(i));
          out.content = at(content, batch.offset(i) * C);
          out.lengths = room(own.lengths, lengths.has_value(), M * K);
          out.tail = room(own.tail, tail.has_value(), M);
          recursion.backward(x);
          recursion.count(x, log_z.data()[i], out);
        });
        for (const BlockLengths& own : sums)  // in block order: the same bits for any number of threads
          add(own.lengths, at(lengths, 0)), add(own.tail, at(tail, 0));
      },
      "batch"_a, "log_z"_array, "dead"_array, "n_threads"_a, "weights"_array = nb::none(),
      "open"_array = nb::none(), "close"_array = nb::none(), "content"_array = nb::none(),
      "lengths"_array = nb::none(), "tail"_array = nb::none(), "The same for segments between sites.");
  m.def(
      "segment_steps",
      [](const SiteBatch& batch, Ints begin, Ints stop, Ids label, Ints bounds, Array<double> log_p,
         Array<int64_t> dead, int n_threads, Array<double> log_step) {
        require(log_step.size() == log_p.size(), "log_step must be [M]");
        for_segments(batch, begin, stop, label, bounds, log_p, dead, n_threads,
                     [&](const SitePaths& paths, int64_t k, double log_z) {
                       const int64_t b = begin.data()[k], e = stop.data()[k], y = label.data()[k];
                       log_p.data()[k] = paths.log_probability(b, e, y, log_z);
                       log_step.data()[k] = paths.log_step(b, e, y, log_z);
                     });
      },
      "batch"_a, "begin"_array, "stop"_array, "label"_array, "bounds"_array, "log_p"_array, "dead"_array,
      "n_threads"_a, "log_step"_array,
      "Fill log_p [M] of given segments, and log_step [M], each given the site where it begins.");
}

// Probabilities of segments, and single segmentations.
template <class Batch>
void bind_answers(nb::module_& m) {
  using Sums = typename Batch::Sums;
  using Paths = typename Batch::Paths;
  m.def(
      "segment_probabilities",
      [](const Batch& batch, Ints begin, Ints stop, Ids label, Ints bounds, Array<double> log_p,
         Array<int64_t> dead, int n_threads) {
        for_segments(batch, begin, stop, label, bounds, log_p, dead, n_threads,
                     [&](const Paths& paths, int64_t k, double log_z) {
                       log_p.data()[k] =
                           paths.log_probability(begin.data()[k], stop.data()[k], label.data()[k], log_z);
                     });
      },
      "batch"_a, "begin"_array, "stop"_array, "label"_array, "bounds"_array, "log_p"_array, "dead"_array,
      "n_threads"_a, "Fill log_p [M] of given segments; sequence i has those of bounds[i] .. bounds[i+1]-1.");

  m.def(
      "segments_above",
      [](const Batch& batch, double least, Array<int64_t> dead, int n_threads) {
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(dead.size()) == N, "dead must be [N]");
        std::vector<std::vector<int64_t>> places(static_cast<size_t>(N));  // sequence, begin, end, label
        std::vector<std::vector<double>> shares(static_cast<size_t>(N));
        for_sequences(batch, kBlocks, n_threads, [&](int64_t i, Sums& recursion, int) {
          const auto x = batch.view(i);
          const double log_z = recursion.forward(x);
          if (log_z == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          recursion.prepare_probabilities(x, log_z, true);
          auto& found = places[static_cast<size_t>(i)];
          Paths(batch.tables, x, recursion)
              .above(least, log_z, [&](int64_t b, int64_t e, int64_t y, double p) {
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

  m.def(
      "segment_best",
      [](const Batch& batch, Array<int32_t> ids, Array<double> score, Array<int64_t> dead, int n_threads) {
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(ids.size()) == batch.n_positions() &&
                    static_cast<int64_t>(score.size()) == N && static_cast<int64_t>(dead.size()) == N,
                "ids must be [T], score and dead [N]");
        for_sequences(batch, kBlocks, n_threads, [&](int64_t i, Sums& recursion, int) {
          const auto x = batch.view(i);
          score.data()[i] = recursion.forward_best(x);
          if (score.data()[i] == -HUGE_VAL)
            dead.data()[i] = recursion.reached;
          else
            Paths(batch.tables, x, recursion).best(ids.data() + batch.offset(i));
        });
      },
      "batch"_a, "ids"_array, "score"_array, "dead"_array, "n_threads"_a,
      "Fill ids [T] and score [N] of the best segmentations.");

  m.def(
      "segment_sample",
      [](const Batch& batch, uint64_t seed, Array<int32_t, 2> ids, Array<int64_t> dead, int n_threads) {
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(ids.shape(1)) == batch.n_positions() &&
                    static_cast<int64_t>(dead.size()) == N,
                "ids must be [S, T], dead [N]");
        for_sequences(batch, kBlocks, n_threads, [&](int64_t i, Sums& recursion, int) {
          const auto x = batch.view(i);
          if (recursion.forward(x) == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          const Paths paths(batch.tables, x, recursion);
          const uint64_t key = splitmix(seed ^ splitmix(static_cast<uint64_t>(i)));
          for (size_t s = 0; s < ids.shape(0); ++s)
            paths.sample(splitmix(key ^ splitmix(s)),
                         ids.data() + static_cast<int64_t>(s) * batch.n_positions() + batch.offset(i));
        });
      },
      "batch"_a, "seed"_a, "ids"_array, "dead"_array, "n_threads"_a, "Fill ids [S, T] with S samples.");

  m.def(
      "segment_nbest",
      [](const Batch& batch, int64_t k, Array<int64_t> dead, int n_threads) {
        const int64_t N = batch.n_sequences();
        require(static_cast<int64_t>(dead.size()) == N, "dead must be [N]");
        std::vector<std::vector<int32_t>> found(static_cast<size_t>(N));
        std::vector<std::vector<double>> scores(static_cast<size_t>(N));
        for_sequences(batch, kBlocks, n_threads, [&](int64_t i, Sums& recursion, int) {
          const auto x = batch.view(i);
          if (recursion.forward_best(x) == -HUGE_VAL) {
            dead.data()[i] = recursion.reached;
            return;
          }
          auto& all = found[static_cast<size_t>(i)];
          Paths(batch.tables, x, recursion).nbest(k, [&](const std::vector<int32_t>& ids, double score) {
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
  nb::class_<SiteBatch>(m, "SiteBatch", "Scores of segments between sites of a batch of sequences.")
      .def(nb::init<Ints, Ids, Ints, Ids, Ints, Doubles, Ids, Ints, Doubles, Ids, Ids, Ids, Ints, Ids, Ids,
                    Array<const double, 2>, Array<const double, 2>, Doubles>(),
           "offsets"_array, "place"_array, "bounds"_array, "open_site"_array, "open_bounds"_array,
           "open"_array, "close_site"_array, "close_bounds"_array, "close"_array, "track"_array,
           "table"_array, "barriers"_array, "barrier_bounds"_array, "last_begin"_array, "first_end"_array,
           "content"_array, "lengths"_array, "tail"_array);
  bind_posterior(m);
  bind_sites(m);
  bind_answers<SegmentBatch>(m);
  bind_answers<SiteBatch>(m);
}

}  // namespace crfkit
