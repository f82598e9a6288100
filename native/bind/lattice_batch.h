// A batch of lattices as Python hands it over, and the loop over its sequences.
#pragma once

#include <algorithm>
#include <stdexcept>
#include <string>
#include <utility>

#include "base/parallel.h"
#include "bind.h"
#include "simd/kernels.h"

namespace crfkit {

using Doubles = Array<const double>;

// A batch of lattices. Edge tables are passed flat: [L^(k+2)] when shared, [ΣT * L^(k+2)] when per position.
class LatticeBatch {
 public:
  LatticeBatch(Array<const double, 2> node, std::vector<Doubles> edges, std::optional<Doubles> start,
               std::optional<Doubles> end, Array<const int64_t> offsets)
      : node_(node), edges_(std::move(edges)), start_(start), end_(end), offsets_(offsets) {
    const int64_t L = static_cast<int64_t>(node.shape(1));
    require(!edges_.empty() && edges_.size() <= kMaxOrder,
            "between 1 and " + std::to_string(kMaxOrder) + " edge tables");
    require(L >= 1 && L <= 65535, "between 1 and 65535 labels");
    require(offsets.shape(0) >= 1 && offsets(0) == 0, "offsets that begin with 0");
    for (size_t i = 1; i < offsets.shape(0); ++i) require(offsets(i) >= offsets(i - 1), "ascending offsets");
    require(offsets(offsets.shape(0) - 1) == static_cast<int64_t>(node.shape(0)), "offsets that end at ΣT");
    require(!start || start->shape(0) == node.shape(1), "L start scores");
    require(!end || end->shape(0) == node.shape(1), "L end scores");
    dims_ = chain_dims(static_cast<int>(edges_.size()), static_cast<int>(L));
    shared_ = true;
    for (size_t k = 0; k < edges_.size(); ++k) {
      const int64_t table = power(L, static_cast<int>(k) + 2),
                    size = static_cast<int64_t>(edges_[k].shape(0));
      require(size == table || size == table * n_positions(),
              "edge tables of L^(k+2) or ΣT * L^(k+2) scores");
      strides_[k] = size == table ? 0 : table;
      shared_ = shared_ && strides_[k] == 0;
    }
    if (shared_) {
      const double* tables[kMaxOrder] = {};
      for (size_t k = 0; k < edges_.size(); ++k) tables[k] = edges_[k].data();
      log_memory_.resize(static_cast<size_t>(log_tables_size(dims_)));
      log_tables_ = cut_log_tables(dims_, log_memory_.data(), true);
      kernels().fill_shared_tables(dims_, tables, log_tables_);
    }
  }

  // Exponentiates shared edge scores, for the functions that need it.
  void prepare_scaled() {
    if (!shared_ || !exp_memory_.empty()) return;
    const double* tables[kMaxOrder] = {};
    for (size_t k = 0; k < edges_.size(); ++k) tables[k] = edges_[k].data();
    exp_memory_.resize(static_cast<size_t>(shared_edges_size(dims_)));
    kernels().prepare_edges(dims_, tables, start_ ? start_->data() : nullptr, end_ ? end_->data() : nullptr,
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
    for (size_t k = 0; k < edges_.size(); ++k) {
      x.edges[k] = edges_[k].data() + offset(i) * strides_[k];
      x.edge_strides[k] = strides_[k];
    }
    return x;
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
  ChainDims dims_;
  int64_t strides_[kMaxOrder];
  bool shared_;
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
