// Inference on lattices: takes batches, fills arrays. Shapes have been checked in Python
// (inference/lattice.py); only what memory safety needs is checked again here.
#include "chain/nbest.h"
#include "chain/path_score.h"
#include "chain/sample.h"
#include "chain/segment_probability.h"
#include "lattice_batch.h"
#include "orders/ngram_paths.h"

namespace crfkit {

constexpr int kBlocks = 64;       // blocks per batch: enough for threads to share the work evenly
constexpr int kCountTables = 16;  // fewer if each block sums in a table of its own,
constexpr int64_t kLargeTable = int64_t{1} << 20;  // and fewer still if such a table is large
constexpr int kLargeCountTables = 4;
constexpr int64_t kMostPairs = int64_t{1} << 24;  // marginals of label pairs of one sequence: 128 MB

// Uses scaled probabilities where they are proven right, else log space; entropy and windows always use log
// space. Returns what log_posterior returns.
int64_t posterior(const LatticeBatch& batch, int64_t i, Worker& worker, const LogOut& wanted) {
  const ChainDims& d = batch.dims();
  const LatticeView x = batch.view(i);
  if (batch.shared() && !wanted.entropy && !wanted.window) {
    worker.padded.resize(static_cast<size_t>(x.length * d.padded));
    double* padded = worker.padded.data();
    for (int64_t t = 0; t < x.length; ++t) {
      for (int l = 0; l < d.labels; ++l) padded[t * d.padded + l] = x.node[t * d.labels + l];
      for (int l = d.labels; l < d.padded; ++l) padded[t * d.padded + l] = 0;
    }
    PosteriorOut<double> out = wanted;
    out.node = wanted.node ? padded : nullptr;
    out.pair_row = d.labels;
    double* memory = worker.room(scaled_workspace_size<double>(d, x.length, x.length, false));
    if (kernels().scaled_posterior(batch.exp_edges(), x.length, padded, nullptr, memory, out)) {
      if (wanted.node)
        for (int64_t t = 0; t < x.length; ++t)
          for (int l = 0; l < d.labels; ++l) wanted.node[t * d.labels + l] = padded[t * d.padded + l];
      return -1;
    }
  }
  return kernels().log_posterior(d, x, batch.tables(worker.tables),
                                 worker.room(log_workspace_size(d, x.length)), wanted);
}

// The same over label n-grams.
int64_t posterior(const NgramChain& chain, const NgramView& x, Worker& worker, const NgramOut& wanted) {
  if (!worker.sums) {
    worker.sums = std::make_unique<NgramSums>(chain.weights);
    worker.logs = std::make_unique<NgramLogs>(chain.weights);
  }
  if (!wanted.entropy && worker.sums->posterior(x, wanted)) return -1;
  return worker.logs->posterior(x, wanted);
}

// All functions below set dead[i] to the position at which sequence i has no permitted path, or -1.
using Dead = Array<int64_t>;

// Expected counts of the sequences of one block.
struct BlockCounts {
  std::vector<double> tables;  // LogTables
  std::vector<double> ends;    // [3, L]
  std::vector<double> nodes;   // of n-grams
};

// Adds the counts of all blocks to ends and tables, in block order: the same bits for any number of threads.
void add_blocks(const ChainDims& d, const std::vector<BlockCounts>& blocks, double* ends,
                const std::vector<double*>& tables) {
  for (const BlockCounts& block : blocks)
    for (size_t s = 0; s < block.ends.size(); ++s) ends[s] += block.ends[s];
  if (tables.empty()) return;
  std::vector<double> total(static_cast<size_t>(log_tables_size(d)));
  for (const BlockCounts& block : blocks)
    for (size_t s = 0; s < block.tables.size(); ++s) total[s] += block.tables[s];
  const LogTables summed = cut_log_tables(d, total.data(), true);
  add_expected_edges(d, summed.full, summed.expand, tables.data());
}

// The same over label n-grams: expected transitions [L, L], and expected n-grams [M]; either may be null.
void add_blocks(const NgramChain& chain, const std::vector<BlockCounts>& blocks, double* ends, double* table,
                double* ngrams) {
  std::vector<double> nodes(static_cast<size_t>(chain.ngrams.n_nodes()));
  for (const BlockCounts& block : blocks) {
    for (size_t s = 0; s < block.ends.size(); ++s) ends[s] += block.ends[s];
    for (size_t s = 0; s < block.tables.size(); ++s) table[s] += block.tables[s];
    for (size_t v = 0; v < block.nodes.size(); ++v) nodes[v] += block.nodes[v];
  }
  if (!ngrams) return;
  chain.ngrams.matched(nodes.data());
  for (size_t r = 0; r < chain.ngrams.node_of_row.size(); ++r)
    ngrams[r] += nodes[static_cast<size_t>(chain.ngrams.node_of_row[r])];
}

// Adds the probabilities of labels [T, L] to ends [3, L].
void add_ends(int64_t T, int64_t L, const double* node, double weight, std::vector<double>& ends) {
  ends.resize(static_cast<size_t>(3 * L));
  double* at = ends.data();
  for (int64_t l = 0; l < L; ++l) {
    double sum = 0;
    for (int64_t t = 0; t < T; ++t) sum += node[t * L + l];
    at[l] += weight * sum;
    at[L + l] += weight * node[l];
    at[2 * L + l] += weight * node[(T - 1) * L + l];
  }
}

void bind_posterior(nb::module_& m) {
  m.def(
      "lattice_posterior",
      [](LatticeBatch& batch, Array<double> log_z, Dead dead, int n_threads, std::optional<Doubles> weights,
         std::optional<Array<double, 2>> node, std::optional<Array<double, 3>> pair,
         std::optional<Array<double>> window, std::optional<Array<double>> entropy,
         std::optional<Array<double, 2>> ends, std::vector<Array<double>> tables,
         std::optional<Array<double>> ngrams) {
        const ChainDims& d = batch.dims();
        const int64_t L = d.labels, W = window ? power(L, d.order + 1) : 0;
        require_size(log_z, batch.n_sequences());
        require_size(dead, batch.n_sequences());
        if (weights) require_size(*weights, batch.n_sequences());
        if (node) require_size(*node, batch.n_positions() * L);
        if (pair) require_size(*pair, batch.n_positions() * L * L);
        if (window) require_size(*window, batch.n_positions() * W);
        LatticeBatch::require(!window || d.order > 1, "order 2 for windows");
        if (entropy) require_size(*entropy, batch.n_sequences());
        if (ends) require_size(*ends, 3 * L);
        LatticeBatch::require(
            tables.empty() || static_cast<int>(tables.size()) == (batch.has_ngrams() ? 1 : d.order),
            "one table of counts per order");
        for (size_t k = 0; k < tables.size(); ++k) require_size(tables[k], power(L, static_cast<int>(k) + 2));
        LatticeBatch::require(!ngrams || batch.has_ngrams(), "n-grams to count");
        if (ngrams) require_size(*ngrams, batch.rows().count);
        const bool counts = !tables.empty() || ngrams;
        // Tables of triples count those that weigh 0 as well.
        const NgramChain* sparse = window || tables.size() > 1 ? nullptr : batch.sparse();
        if (!sparse) batch.prepare_tables();
        if (!sparse && !entropy && !window) batch.prepare_scaled();
        const int64_t size = log_tables_size(d);
        const std::vector<int64_t> cuts = batch.cuts(!counts && !ends     ? kBlocks
                                                     : size < kLargeTable ? kCountTables
                                                                          : kLargeCountTables);
        std::vector<BlockCounts> blocks(cuts.size() - 1);
        for_sequences(batch, cuts, n_threads, [&](int64_t i, Worker& worker, int b) {
          BlockCounts& block = blocks[static_cast<size_t>(b)];
          const int64_t T = batch.offset(i + 1) - batch.offset(i);
          LogOut out = {};
          out.log_z = log_z.data() + i;
          out.weight = weights ? weights->data()[i] : 1.0;
          if (node) {
            out.node = node->data() + batch.offset(i) * L;
          } else if (ends) {
            worker.node.resize(static_cast<size_t>(T * L));
            out.node = worker.node.data();
          }
          if (pair) out.pair = pair->data() + batch.offset(i) * L * L;
          if (window) out.window = window->data() + batch.offset(i) * W;
          if (entropy) out.entropy = entropy->data() + i;
          if (sparse) {
            NgramOut wanted{out.log_z, out.node, out.pair,    L,      out.weight,
                            nullptr,   nullptr,  out.entropy, nullptr};
            if (ngrams) {
              block.nodes.resize(static_cast<size_t>(sparse->ngrams.n_nodes()));
              wanted.nodes = block.nodes.data();
            }
            if (!tables.empty()) {
              block.tables.resize(static_cast<size_t>(L * L));
              wanted.table = block.tables.data();
            }
            dead.data()[i] = posterior(*sparse, batch.ngram_view(i), worker, wanted);
            if (dead.data()[i] < 0 && ends) add_ends(T, L, out.node, out.weight, block.ends);
            return;
          }
          if (counts) {
            block.tables.resize(static_cast<size_t>(size));
            const LogTables into = cut_log_tables(d, block.tables.data(), true);
            out.counts = into.full;
            for (int t = 1; t < d.order; ++t) out.expand[t] = into.expand[t];
          }
          dead.data()[i] = posterior(batch, i, worker, out);
          if (dead.data()[i] >= 0 || !ends) return;
          add_ends(T, L, out.node, out.weight, block.ends);
        });
        double* ends_to = ends ? ends->data() : nullptr;
        if (sparse)
          return add_blocks(*sparse, blocks, ends_to, tables.empty() ? nullptr : tables[0].data(),
                            ngrams ? ngrams->data() : nullptr);
        std::vector<double*> to;
        for (const Array<double>& table : tables) to.push_back(table.data());
        std::vector<double> own[kMaxOrder];  // of n-grams, and of transitions that are not asked for
        for (size_t k = to.size(); ngrams && k < kMaxOrder; ++k) {
          own[k].resize(static_cast<size_t>(power(L, static_cast<int>(k) + 2)));
          to.push_back(own[k].data());
        }
        add_blocks(d, blocks, ends_to, to);
        for (int64_t r = 0; ngrams && r < batch.rows().count; ++r) {
          const int32_t* y = batch.rows().labels + 3 * r;
          ngrams->data()[r] += to[1][(y[0] * L + y[1]) * L + y[2]];
        }
      },
      "batch"_a, "log_z"_array, "dead"_array, "n_threads"_a, "weights"_array = nb::none(),
      "node"_array = nb::none(), "pair"_array = nb::none(), "window"_array = nb::none(),
      "entropy"_array = nb::none(), "ends"_array = nb::none(), "tables"_array = std::vector<Array<double>>(),
      "ngrams"_array = nb::none(),
      "Fill log_z [N] and, where given, the marginals of labels, node [ΣT, L], of label pairs, pair [ΣT, L, "
      "L],"
      " and of order + 1 labels, window [ΣT * L^(n+1)], and entropy [N]. Add expected counts, times weights"
      " [N], to ends [3, L] (labels at all, first and last positions) and to tables, one [L^(k+2)] per"
      " order, or [L, L] and ngrams [M].");
}

void bind_paths(nb::module_& m) {
  m.def(
      "lattice_viterbi",
      [](const LatticeBatch& batch, Array<int32_t> labels, Array<double> score, Dead dead, int n_threads) {
        const ChainDims& d = batch.dims();
        require_size(labels, batch.n_positions());
        require_size(score, batch.n_sequences());
        require_size(dead, batch.n_sequences());
        for_sequences(batch, batch.cuts(kBlocks), n_threads, [&](int64_t i, Worker& worker, int) {
          int32_t* path = labels.data() + batch.offset(i);
          if (const NgramChain* sparse = batch.sparse()) {
            const NgramView x = batch.ngram_view(i);
            if (!worker.best) worker.best = std::make_unique<NgramBest>(sparse->weights);
            dead.data()[i] = worker.best->path(x, path);
            if (dead.data()[i] < 0) score.data()[i] = path_score(sparse->weights, x, path);
            return;
          }
          const LatticeView x = batch.view(i);
          dead.data()[i] = kernels().viterbi(d, x, batch.tables(worker.tables),
                                             worker.room(viterbi_workspace_size(d, x.length)), path);
          if (dead.data()[i] < 0) score.data()[i] = path_score(d, x, path);
        });
      },
      "batch"_a, "labels"_array, "score"_array, "dead"_array, "n_threads"_a,
      "Fill labels [ΣT] and score [N].");

  m.def(
      "lattice_path_score",
      [](const LatticeBatch& batch, Array<const int32_t> labels, Array<double> score, int n_threads) {
        for (size_t t = 0; t < labels.shape(0); ++t)
          LatticeBatch::require(labels(t) >= 0 && labels(t) < batch.dims().labels, "labels in 0..L-1");
        require_size(labels, batch.n_positions());
        require_size(score, batch.n_sequences());
        for_sequences(batch, batch.cuts(kBlocks), n_threads, [&](int64_t i, Worker&, int) {
          const int32_t* path = labels.data() + batch.offset(i);
          score.data()[i] = batch.sparse() ? path_score(batch.sparse()->weights, batch.ngram_view(i), path)
                                           : path_score(batch.dims(), batch.view(i), path);
        });
      },
      "batch"_a, "labels"_array, "score"_array, "n_threads"_a,
      "Fill score [N] with the scores of the paths in labels [ΣT].");

  m.def(
      "lattice_sample",
      [](const LatticeBatch& batch, uint64_t seed, Array<int32_t, 2> labels, Dead dead, int n_threads) {
        require_size(labels, static_cast<int64_t>(labels.shape(0)) * batch.n_positions());
        require_size(dead, batch.n_sequences());
        for_sequences(batch, batch.cuts(kBlocks), n_threads, [&](int64_t i, Worker& worker, int) {
          const uint64_t key = splitmix(seed ^ splitmix(static_cast<uint64_t>(i)));
          if (const NgramChain* sparse = batch.sparse()) {
            dead.data()[i] =
                sample_paths(sparse->weights, batch.ngram_view(i), key, static_cast<int64_t>(labels.shape(0)),
                             labels.data() + batch.offset(i), batch.n_positions());
            return;
          }
          dead.data()[i] = sample_paths(batch.dims(), batch.view(i), batch.tables(worker.tables), key,
                                        static_cast<int64_t>(labels.shape(0)), worker.memory,
                                        labels.data() + batch.offset(i), batch.n_positions());
        });
      },
      "batch"_a, "seed"_a, "labels"_array, "dead"_array, "n_threads"_a,
      "Fill labels [S, ΣT] with S samples.");

  m.def(
      "lattice_nbest",
      [](const LatticeBatch& batch, int64_t k, Dead dead, int n_threads) {
        // The number of paths is not known in advance: collected per sequence, then laid out in order.
        const int64_t N = batch.n_sequences();
        require_size(dead, N);
        std::vector<std::vector<int32_t>> found(static_cast<size_t>(N));
        std::vector<std::vector<double>> found_scores(static_cast<size_t>(N));
        const auto enumerate = [&](int64_t i, const auto& trellis, auto&& score) {
          dead.data()[i] = trellis.dead();
          if (trellis.dead() >= 0) return;
          PathEnumerator paths(trellis);
          std::vector<int32_t> path(static_cast<size_t>(trellis.length()));
          for (int64_t rank = 0; rank < k && paths.path(static_cast<size_t>(rank), path.data()); ++rank) {
            found[static_cast<size_t>(i)].insert(found[static_cast<size_t>(i)].end(), path.begin(),
                                                 path.end());
            found_scores[static_cast<size_t>(i)].push_back(score(path.data()));
          }
        };
        for_sequences(batch, batch.cuts(kBlocks), n_threads, [&](int64_t i, Worker& worker, int) {
          if (const NgramChain* sparse = batch.sparse()) {
            const NgramView x = batch.ngram_view(i);
            return enumerate(i, NgramTrellis(sparse->weights, x),
                             [&](const int32_t* path) { return path_score(sparse->weights, x, path); });
          }
          const LatticeView x = batch.view(i);
          enumerate(i, ChainTrellis(batch.dims(), x, batch.tables(worker.tables)),
                    [&](const int32_t* path) { return path_score(batch.dims(), x, path); });
        });
        std::vector<int64_t> counts;
        for (int64_t i = 0; i < N; ++i) {
          std::vector<double>& scores = found_scores[static_cast<size_t>(i)];
          if (batch.offset(i + 1) == batch.offset(i)) scores = {0};  // one path, the empty one
          counts.push_back(static_cast<int64_t>(scores.size()));
        }
        return std::tuple(to_numpy(joined(found)), to_numpy(joined(found_scores)),
                          to_numpy(std::move(counts)));
      },
      "batch"_a, "k"_a, "dead"_array, "n_threads"_a,
      "Return the labels of all paths end to end, their scores, and the number of paths per sequence [N].");
}

void bind_segments(nb::module_& m) {
  m.def(
      "lattice_segments",
      [](LatticeBatch& batch, Array<const int32_t> kinds, Array<const uint8_t, 2> opens,
         Array<const uint8_t, 2> joins, Array<const uint8_t, 2> closes, Array<const int64_t> starts,
         Array<const int64_t> stops, Array<const int32_t> wanted, Array<const int64_t> bounds,
         Array<double> probability, Dead dead, int n_threads) {
        const ChainDims& d = batch.dims();
        const int64_t L = d.labels;
        require_size(kinds, L);
        require_size(opens, (L + 1) * L);
        require_size(joins, L * L);
        require_size(closes, L * (L + 1));
        for (const size_t n : {stops.size(), wanted.size(), probability.size()})
          require(n == starts.size(), "one stop, kind and probability per segment");
        require_size(bounds, batch.n_sequences() + 1);
        check_bounds(bounds, starts.size(), "segment bounds must ascend from 0 to the number of segments");
        require_size(dead, batch.n_sequences());
        for (int64_t i = 0; i < batch.n_sequences(); ++i)
          for (int64_t k = bounds.data()[i]; k < bounds.data()[i + 1]; ++k)
            require(starts.data()[k] >= 0 && starts.data()[k] < stops.data()[k] &&
                        stops.data()[k] <= batch.offset(i + 1) - batch.offset(i),
                    "segments must lie within their sequences");
        const SegmentRules rules{kinds.data(), opens.data(), joins.data(), closes.data()};
        if (!batch.sparse()) batch.prepare_scaled();
        const auto place = [&](int64_t k) {
          return SegmentPlace{starts.data()[k], stops.data()[k], wanted.data()[k]};
        };
        for_sequences(batch, batch.cuts(kBlocks), n_threads, [&](int64_t i, Worker& worker, int) {
          if (bounds.data()[i] == bounds.data()[i + 1]) return;
          if (const NgramChain* sparse = batch.sparse()) {
            const NgramView x = batch.ngram_view(i);
            NgramAlphas alphas(sparse->weights);
            worker.node.resize(static_cast<size_t>(x.length * sparse->ngrams.n_states()));
            dead.data()[i] = alphas.fill(x, worker.node.data());
            if (dead.data()[i] >= 0) return;
            for (int64_t k = bounds.data()[i]; k < bounds.data()[i + 1]; ++k)
              probability.data()[k] =
                  segment_probability(sparse->weights, x, rules, place(k), alphas, worker.node.data());
            return;
          }
          const LatticeView x = batch.view(i);
          const int64_t T = x.length;
          const bool pairs = d.order > 1 || T * L * L <= kMostPairs;
          worker.node.resize(static_cast<size_t>(T * L * (pairs ? 1 + L : 1)));
          double log_z;
          LogOut out = {};
          out.log_z = &log_z;
          out.node = worker.node.data();
          out.pair = pairs ? out.node + T * L : nullptr;
          dead.data()[i] = posterior(batch, i, worker, out);
          if (dead.data()[i] >= 0) return;
          if (d.order == 1 && pairs) {
            for (int64_t k = bounds.data()[i]; k < bounds.data()[i + 1]; ++k)
              probability.data()[k] =
                  segment_probability(L, T, rules, place(k), out.node, out.pair, worker.padded);
            return;
          }
          const LogTables tables = batch.tables(worker.tables);
          double* alpha = worker.room(T * (d.states + 1) + d.padded);
          double* maxima = alpha + T * d.states;
          kernels().log_forward(d, x, tables, alpha, maxima, maxima + T);
          const StateSums sums{alpha, maxima, out.node, out.pair};
          for (int64_t k = bounds.data()[i]; k < bounds.data()[i + 1]; ++k)
            probability.data()[k] = segment_probability(d, x, tables, rules, place(k), sums, worker.padded);
        });
      },
      "batch"_a, "kinds"_array, "opens"_array, "joins"_array, "closes"_array, "starts"_array, "stops"_array,
      "wanted"_array, "bounds"_array, "probability"_array, "dead"_array, "n_threads"_a,
      "Fill probability [M] of the segments from starts [M] to stops [M] (positions of their sequences) of "
      "the"
      " kinds wanted [M]; sequence i has the segments bounds[i] .. bounds[i+1]-1. The rules are kinds [L],"
      " opens [L+1, L], joins [L, L] and closes [L, L+1].");
}

// Whether every score is -inf or at most `largest` in size.
bool scores_fit(const Doubles& scores, double largest) {
  const double* x = scores.data();
  const size_t n = scores.shape(0);
  bool fit = true;
  for (size_t i = 0; i < n; ++i) fit &= (x[i] <= largest) & ((x[i] >= -largest) | (x[i] == -HUGE_VAL));
  return fit;
}

void bind_chain(nb::module_& m) {
  m.def("scores_fit", &scores_fit, "scores"_array, "largest"_a,
        "Return whether every score is -inf or at most `largest` in size.");
  nb::class_<LatticeBatch>(m, "LatticeBatch", "Scores of a batch of sequences, prepared for inference.")
      .def(nb::init<Array<const double, 2>, std::vector<Doubles>, std::optional<Doubles>,
                    std::optional<Doubles>, Array<const int64_t>, std::optional<Array<const int32_t, 2>>,
                    std::optional<Doubles>>(),
           "node"_array, "edges"_array, "start"_array, "end"_array, "offsets"_array,
           "ngrams"_array = nb::none(), "weights"_array = nb::none());
  bind_posterior(m);
  bind_paths(m);
  bind_segments(m);
}

}  // namespace crfkit
