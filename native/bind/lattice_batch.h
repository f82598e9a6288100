// A batch of lattices as Python hands it over, and the loop over its sequences.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "bind.h"
#include "orders/ngram_best.h"
#include "orders/ngram_chain.h"
#include "orders/ngram_logs.h"
#include "orders/ngram_sums.h"
#include "simd/kernels.h"

namespace crfkit {

using Doubles = Array<const double>;

// A batch of lattices. Edge tables are passed flat: [L^(k+2)] when shared, [ΣT * L^(k+2)] when per position.
// Label n-grams [M, n+1] with weights [M] make it a lattice of order n, instead of a table of order 2.
class LatticeBatch {
 public:
  LatticeBatch(Array<const double, 2> node, std::vector<Doubles> edges, std::optional<Doubles> start,
               std::optional<Doubles> end, Array<const int64_t> offsets,
               std::optional<Array<const int32_t, 2>> ngrams, std::optional<Doubles> weights)
      : node_(node), edges_(std::move(edges)), start_(start), end_(end), offsets_(offsets), ngrams_(ngrams) {
    const int64_t L = static_cast<int64_t>(node.shape(1));
    require(!edges_.empty() && edges_.size() <= kMaxOrder,
            "between 1 and " + std::to_string(kMaxOrder) + " edge tables");
    require(L >= 1 && L <= 65535, "between 1 and 65535 labels");
    require(offsets.shape(0) >= 1 && offsets(0) == 0, "offsets that begin with 0");
    for (size_t i = 1; i < offsets.shape(0); ++i) require(offsets(i) >= offsets(i - 1), "ascending offsets");
    require(offsets(offsets.shape(0) - 1) == static_cast<int64_t>(node.shape(0)), "offsets that end at ΣT");
    require(!start || start->shape(0) == node.shape(1), "L start scores");
    require(!end || end->shape(0) == node.shape(1), "L end scores");
    for (size_t k = 0; k < edges_.size(); ++k) {
      const int64_t table = power(L, static_cast<int>(k) + 2),
                    size = static_cast<int64_t>(edges_[k].shape(0));
      require(size == table || size == table * n_positions(),
              "edge tables of L^(k+2) or ΣT * L^(k+2) scores");
      strides_[k] = size == table ? 0 : table;
      tables_[k] = edges_[k].data();
    }
    int order = static_cast<int>(edges_.size());
    ChainScores scores{static_cast<int>(L), order, strides_[0] ? nullptr : tables_[0], nullptr, {}, nullptr};
    if (ngrams) {
      require(order == 1 && ngrams->shape(1) >= 3 && weights && weights->shape(0) == ngrams->shape(0),
              "n-grams of three labels or more, a weight for each, and no table of order 2");
      order = scores.order = static_cast<int>(ngrams->shape(1)) - 1;
      scores.rows = rows();
      scores.weights = weights->data();
    } else if (order == 2) {
      scores.edge2 = tables_[1];
    }
    if ((order > 1 || scores.edge) && !(order == 2 && !ngrams && strides_[1]))
      sparse_ = NgramChain::if_cheaper(scores);
    if (ngrams && !sparse_) {
      for (size_t i = 0; i < ngrams->size(); ++i)
        require(ngrams->data()[i] >= 0 && ngrams->data()[i] < L, "labels of n-grams in 0..L-1");
      triples_ = table_of(L, rows(), weights->data());
      tables_[1] = triples_.data();
      strides_[1] = 0;
    }
    dims_ = chain_dims(order, static_cast<int>(L));
    shared_ = strides_[0] == 0 && (order == 1 || strides_[1] == 0);
    if (!sparse_) prepare_tables();
  }

  // Null if tables are cheaper.
  const NgramChain* sparse() const { return sparse_.get(); }
  NgramRows rows() const {
    return {ngrams_->data(), static_cast<int64_t>(ngrams_->shape(0)), static_cast<int>(ngrams_->shape(1))};
  }
  bool has_ngrams() const { return ngrams_.has_value(); }

  // Adds up shared edge scores, for the functions that need tables.
  void prepare_tables() {
    if (!shared_ || !log_memory_.empty()) return;
    log_memory_.resize(static_cast<size_t>(log_tables_size(dims_)));
    log_tables_ = cut_log_tables(dims_, log_memory_.data(), true);
    kernels().fill_shared_tables(dims_, tables_, log_tables_);
  }

  // Exponentiates shared edge scores, for the functions that need it.
  void prepare_scaled() {
    if (!shared_ || !exp_memory_.empty()) return;
    exp_memory_.resize(static_cast<size_t>(shared_edges_size(dims_)));
    kernels().prepare_edges(dims_, tables_, start_ ? start_->data() : nullptr, end_ ? end_->data() : nullptr,
                            exp_memory_.data(), &exp_edges_);
  }

  static void require(bool holds, const std::string& expected) {
    if (!holds) throw std::invalid_argument("a lattice needs " + expected);
  }

  const ChainDims& dims() const { return dims_; }
  bool shared() const { return shared_; }
  const SharedEdges<double>& exp_edges() const { return exp_edges_; }
  int64_t n_sequences() const { return static_cast<int64_t>(offsets_.shape(0)) - 1; }
  int64_t n_positions() const { return static_cast<int64_t>(node_.shape(0)); }
  int64_t offset(int64_t i) const { return offsets_.data()[i]; }

  LatticeView view(int64_t i) const {
    LatticeView x = {};
    x.length = offset(i + 1) - offset(i);
    x.node = node_.data() + offset(i) * dims_.labels;
    x.start = start_ ? start_->data() : nullptr;
    x.end = end_ ? end_->data() : nullptr;
    for (size_t k = 0; k < static_cast<size_t>(std::min(dims_.order, kMaxOrder)); ++k) {
      x.edges[k] = tables_[k] + offset(i) * strides_[k];
      x.edge_strides[k] = strides_[k];
    }
    return x;
  }

  NgramView ngram_view(int64_t i) const {
    const LatticeView x = view(i);
    return {x.length, x.node, x.start, x.end, strides_[0] ? x.edges[0] : nullptr, dims_.labels};
  }

  // The tables a worker uses: the shared ones, or its own buffer.
  LogTables tables(std::vector<double>& own) const {
    if (shared_) return log_tables_;
    own.resize(static_cast<size_t>(log_tables_size(dims_)));
    return cut_log_tables(dims_, own.data(), false);
  }

  // Cuts the batch into at most max_blocks runs of sequences of about equal numbers of positions; the cuts
  // depend on the data alone. Block b holds sequences cuts[b] .. cuts[b + 1] - 1.
  std::vector<int64_t> cuts(int max_blocks) const {
    const int64_t target = n_positions() / max_blocks + 1;
    std::vector<int64_t> cuts = {0};
    for (int64_t i = 0; i < n_sequences(); ++i)
      if (offset(i + 1) - offset(cuts.back()) >= target) cuts.push_back(i + 1);
    if (cuts.back() != n_sequences()) cuts.push_back(n_sequences());
    return cuts;
  }

 private:
  Array<const double, 2> node_;
  std::vector<Doubles> edges_;
  std::optional<Doubles> start_, end_;
  Array<const int64_t> offsets_;
  std::optional<Array<const int32_t, 2>> ngrams_;  // [M, n+1]
  ChainDims dims_;
  const double* tables_[kMaxOrder] = {};
  int64_t strides_[kMaxOrder] = {};
  bool shared_;
  std::unique_ptr<NgramChain> sparse_;
  std::vector<double> triples_;  // [L, L, L] of n-grams
  std::vector<double> log_memory_, exp_memory_;
  LogTables log_tables_;
  SharedEdges<double> exp_edges_;
};

template <class AnyArray>
void require_size(const AnyArray& array, int64_t size) {
  if (static_cast<int64_t>(array.size()) != size)
    throw std::invalid_argument("expected an array of " + std::to_string(size) + " entries, got " +
                                std::to_string(array.size()));
}

// Workspace of one thread; grows to the longest sequence it meets.
struct Worker {
  std::vector<double> tables;  // LogTables, when the edges are per position
  std::vector<double> memory;
  std::vector<double> padded;  // [T, Lp] node scores, then marginals
  std::vector<double> node;    // [T, L] marginals that only the worker needs
  std::unique_ptr<NgramSums> sums;
  std::unique_ptr<NgramLogs> logs;
  std::unique_ptr<NgramBest> best;

  double* room(int64_t size) {
    if (static_cast<int64_t>(memory.size()) < size) memory.resize(static_cast<size_t>(size));
    return memory.data();
  }
};

// Calls fn(sequence, worker, block) for every non-empty sequence, on n_threads threads, without the GIL.
template <class Fn>
void for_sequences(const LatticeBatch& batch, const std::vector<int64_t>& cuts, int n_threads, Fn&& fn) {
  const Unlocked release;
  const int blocks = static_cast<int>(cuts.size()) - 1;
  std::vector<Worker> workers(static_cast<size_t>(std::max(1, std::min(n_threads, blocks))));
  parallel_for(blocks, n_threads, [&](int block, int worker) {
    for (int64_t i = cuts[static_cast<size_t>(block)]; i < cuts[static_cast<size_t>(block) + 1]; ++i)
      if (const int64_t T = batch.offset(i + 1) - batch.offset(i); T > 0) {
        poll(100 * T);
        fn(i, workers[static_cast<size_t>(worker)], block);
      }
  });
}

}  // namespace crfkit
