// The transition scores of a model, prepared once for all sequences; and questions about the scores of one
// sequence: its best labels, their probability, marginals, the n best.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "chain/nbest.h"
#include "chain/path_score.h"
#include "chain/segment_probability.h"
#include "orders/ngram_chain.h"
#include "orders/ngram_paths.h"
#include "simd/kernels.h"

namespace crfkit {

// Says what is wrong with a sequence that was given to a tagger.
class SequenceProblem : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

// No path through a sequence is permitted.
class NoPath : public std::runtime_error {
 public:
  explicit NoPath(int64_t position)
      : std::runtime_error("no permitted path through the sequence: at its position " +
                           std::to_string(position) +
                           " every label is forbidden or cannot be reached from the positions before") {}
};

// Memory of one call, kept for the next one.
struct ChainMemory {
  std::vector<double> tables;  // LogTables, if the edges are per position
  std::vector<double> work;
  std::vector<double> padded;  // [T, Lp] node scores, then marginals

  double* room(int64_t size) {
    if (static_cast<int64_t>(work.size()) < size) work.resize(static_cast<size_t>(size));
    return work.data();
  }
};

// The scores of one sequence. The transition scores are the model's, or, if edge is not empty, per position.
struct SequenceScores {
  int64_t length = 0;        // T
  std::vector<double> node;  // [T, L]
  std::vector<double> edge;  // [T, L, L], the transition scores included; or empty
};

// Label n-grams of a model and their weights.
struct OwnNgrams {
  std::vector<int32_t> labels;  // [rows, width]
  std::vector<double> weights;  // [rows]
  int width = 0;

  NgramRows rows() const { return {labels.data(), static_cast<int64_t>(weights.size()), width}; }
};

class ChainTables {
 public:
  // edge: [L, L]; edge2: [L, L, L] or empty; start, end: [L] or empty. ngrams: instead of edge2, for any
  // order.
  ChainTables(int labels, std::vector<double> edge, std::vector<double> edge2, std::vector<double> start,
              std::vector<double> end, OwnNgrams ngrams = {})
      : edge_(std::move(edge)),
        edge2_(std::move(edge2)),
        start_(std::move(start)),
        end_(std::move(end)),
        ngrams_(std::move(ngrams)) {
    check("edge", edge_);
    check("edge2", edge2_);
    check("start", start_);
    check("end", end_);
    check("n-gram", ngrams_.weights);
    if (ngrams_.width > 2) {
      const ChainScores scores{labels,  ngrams_.width - 1, edge_.data(),
                               nullptr, ngrams_.rows(),    ngrams_.weights.data()};
      sparse_ = NgramChain::if_cheaper(scores);
      if (!sparse_) edge2_ = table_of(labels, ngrams_.rows(), ngrams_.weights.data());
    }
    dims_ = chain_dims(edge2_.empty() ? 1 : 2, labels);
    if (sparse_) return;
    const double* tables[kMaxOrder] = {edge_.data(), edge2_.data()};
    log_memory_.resize(static_cast<size_t>(log_tables_size(dims_)));
    log_tables_ = cut_log_tables(dims_, log_memory_.data(), true);
    kernels().fill_shared_tables(dims_, tables, log_tables_);
    for (const std::vector<double>* table : {&edge_, &edge2_, &start_, &end_}) {
      forbids_ |= std::find(table->begin(), table->end(), -HUGE_VAL) != table->end();
    }
  }
  ChainTables(const ChainTables&) = delete;
  ChainTables& operator=(const ChainTables&) = delete;

  // The same with all scores multiplied by a factor.
  std::unique_ptr<ChainTables> times(double factor) const {
    const auto scaled = [factor](std::vector<double> scores) {
      for (double& s : scores) s *= factor;
      return scores;
    };
    const std::vector<double> triples = ngrams_.width > 2 ? std::vector<double>() : scaled(edge2_);
    return std::make_unique<ChainTables>(dims_.labels, scaled(edge_), triples, scaled(start_), scaled(end_),
                                         OwnNgrams{ngrams_.labels, scaled(ngrams_.weights), ngrams_.width});
  }

  int labels() const { return dims_.labels; }
  const std::vector<double>& edge() const { return edge_; }

  // Throws if a score is too large for probabilities to be right (inference/lattice.py).
  void check_scores(const SequenceScores& x) const {
    constexpr double kLargest = 1e9;
    const auto fits = [](double s) { return std::fabs(s) <= kLargest || s == -HUGE_VAL; };
    bool sound = true;
    for (const double score : x.node) sound &= fits(score);
    for (const double score : x.edge) sound &= fits(score);
    if (sound) return;
    const auto L = static_cast<size_t>(dims_.labels);
    for (size_t i = 0; i < x.node.size(); ++i) {
      if (!fits(x.node[i])) refuse("node", x.node[i], i / L);
    }
    for (size_t i = L * L; i < x.edge.size(); ++i) {
      if (!fits(x.edge[i])) refuse("edge", x.edge[i], i / (L * L));
    }
  }

  // Writes the best labels, [T >= 1].
  void best(const SequenceScores& x, ChainMemory* memory, int32_t* labels) const {
    if (sparse_) {
      const auto chain = chain_of(x);
      const int64_t dead = NgramBest(chain->weights).path(ngram_view(x), labels);
      if (dead >= 0) throw NoPath(dead);
      return;
    }
    const LatticeView view = this->view(x);
    const int64_t dead = kernels().viterbi(dims_, view, tables(x, memory),
                                           memory->room(viterbi_workspace_size(dims_, view.length)), labels);
    if (dead >= 0) throw NoPath(dead);
  }

  // Writes the most probable label of each position [T]; if transitions are forbidden, the permitted path
  // with the largest sum of probabilities. marginals: [T, L].
  void most_probable(const SequenceScores& x, const std::vector<double>& marginals, ChainMemory* memory,
                     int32_t* labels) const {
    const auto L = static_cast<size_t>(dims_.labels);
    if (!forbids_) {
      for (size_t t = 0; t < static_cast<size_t>(x.length); ++t) {
        const double* row = marginals.data() + t * L;
        labels[t] = static_cast<int32_t>(std::max_element(row, row + L) - row);
      }
      return;
    }
    const auto mask = [](const std::vector<double>& scores) {
      std::vector<double> out;
      for (const double s : scores) out.push_back(s > -HUGE_VAL ? 0.0 : -HUGE_VAL);
      return out;
    };
    const ChainTables legal(dims_.labels, mask(edge_), mask(edge2_), mask(start_), mask(end_),
                            OwnNgrams{ngrams_.labels, mask(ngrams_.weights), ngrams_.width});
    SequenceScores gains{x.length, marginals, mask(x.edge)};
    for (size_t i = 0; i < gains.node.size(); ++i) {
      if (x.node[i] == -HUGE_VAL) gains.node[i] = -HUGE_VAL;
    }
    legal.best(gains, memory, labels);
  }

  double path_score(const SequenceScores& x, const int32_t* labels) const {
    if (sparse_) return crfkit::path_score(chain_of(x)->weights, ngram_view(x), labels);
    return crfkit::path_score(dims_, view(x), labels);
  }

  // Returns log Z and, if marginals is given, fills it: [T, L]. T >= 1.
  double log_z(const SequenceScores& x, ChainMemory* memory, std::vector<double>* marginals = nullptr) const {
    const LatticeView view = this->view(x);
    double log_z = 0;
    LogOut out = {};
    out.log_z = &log_z;
    out.weight = 1;
    const auto L = static_cast<int64_t>(dims_.labels), Lp = static_cast<int64_t>(dims_.padded);
    if (marginals != nullptr) {
      marginals->resize(static_cast<size_t>(x.length * L));
      out.node = marginals->data();
    }
    if (sparse_) {
      const auto chain = chain_of(x);
      const NgramOut wanted{&log_z, out.node, nullptr, 0, 1, nullptr, nullptr, nullptr, nullptr};
      if (NgramSums(chain->weights).posterior(ngram_view(x), wanted)) return log_z;
      const int64_t dead = NgramLogs(chain->weights).posterior(ngram_view(x), wanted);
      if (dead >= 0) throw NoPath(dead);
      return log_z;
    }
    if (x.edge.empty()) {
      std::call_once(once_, [this] { prepare_scaled(); });
      memory->padded.resize(static_cast<size_t>(x.length * Lp));
      double* padded = memory->padded.data();
      for (int64_t t = 0; t < x.length; ++t) {
        std::copy_n(view.node + t * L, L, padded + t * Lp);
        std::fill(padded + t * Lp + L, padded + (t + 1) * Lp, 0.0);
      }
      PosteriorOut<double> scaled = out;
      scaled.node = marginals != nullptr ? padded : nullptr;
      scaled.pair_row = L;
      double* work = memory->room(scaled_workspace_size<double>(dims_, x.length, x.length, false));
      if (kernels().scaled_posterior(exp_edges_, x.length, padded, nullptr, work, scaled)) {
        for (int64_t t = 0; marginals != nullptr && t < x.length; ++t) {
          std::copy_n(padded + t * Lp, L, out.node + t * L);
        }
        return log_z;
      }
    }
    const int64_t dead = kernels().log_posterior(dims_, view, tables(x, memory),
                                                 memory->room(log_workspace_size(dims_, x.length)), out);
    if (dead >= 0) throw NoPath(dead);
    return log_z;
  }

  // Returns the probabilities of segments. T >= 1.
  std::vector<double> segment_probabilities(const SequenceScores& x, const SegmentRules& rules,
                                            const std::vector<SegmentPlace>& places,
                                            ChainMemory* memory) const {
    if (sparse_) {
      const auto chain = chain_of(x);
      const NgramView view = ngram_view(x);
      NgramAlphas alphas(chain->weights);
      std::vector<double> states(static_cast<size_t>(x.length * chain->ngrams.n_states()));
      const int64_t dead = alphas.fill(view, states.data());
      if (dead >= 0) throw NoPath(dead);
      std::vector<double> found;
      for (const SegmentPlace& place : places)
        found.push_back(segment_probability(chain->weights, view, rules, place, alphas, states.data()));
      return found;
    }
    const LatticeView view = this->view(x);
    const LogTables log_tables = tables(x, memory);
    const auto T = static_cast<size_t>(x.length), L = static_cast<size_t>(dims_.labels);
    std::vector<double> marginals(T * L * (dims_.order == 1 ? 1 : 1 + L));
    double log_z = 0;
    LogOut out = {};
    out.log_z = &log_z;
    out.node = marginals.data();
    out.pair = dims_.order == 1 ? nullptr : out.node + T * L;
    const int64_t dead = kernels().log_posterior(dims_, view, log_tables,
                                                 memory->room(log_workspace_size(dims_, x.length)), out);
    if (dead >= 0) throw NoPath(dead);
    double* alpha = memory->room(x.length * (dims_.states + 1) + dims_.padded);
    double* maxima = alpha + x.length * dims_.states;
    kernels().log_forward(dims_, view, log_tables, alpha, maxima, maxima + x.length);
    const StateSums sums{alpha, maxima, out.node, out.pair};
    std::vector<double> found;
    for (const SegmentPlace& place : places) {
      found.push_back(segment_probability(dims_, view, log_tables, rules, place, sums, memory->padded));
    }
    return found;
  }

  // Calls visit(labels [T], score) for the k best paths, best first. T >= 1.
  template <class Visit>
  void nbest(const SequenceScores& x, size_t k, ChainMemory* memory, Visit&& visit) const {
    const auto enumerate = [&](const auto& trellis, auto&& score) {
      PathEnumerator paths(trellis);
      if (paths.dead() >= 0) throw NoPath(paths.dead());
      std::vector<int32_t> path(static_cast<size_t>(x.length));
      for (size_t rank = 0; rank < k && paths.path(rank, path.data()); ++rank)
        visit(path, score(path.data()));
    };
    if (sparse_) {
      const auto chain = chain_of(x);
      const NgramView view = ngram_view(x);
      return enumerate(NgramTrellis(chain->weights, view),
                       [&](const int32_t* path) { return crfkit::path_score(chain->weights, view, path); });
    }
    const LatticeView view = this->view(x);
    const LogTables log_tables = tables(x, memory);
    enumerate(ChainTrellis(dims_, view, log_tables),
              [&](const int32_t* path) { return crfkit::path_score(dims_, view, path); });
  }

 private:
  static void check(const char* name, const std::vector<double>& scores) {
    for (const double s : scores) {
      if (!(std::fabs(s) <= 1e9 || s == -HUGE_VAL)) {
        throw SequenceProblem(std::string(name) + " scores must be at most 1e+09 in size, or -inf to forbid");
      }
    }
  }

  [[noreturn]] static void refuse(const char* name, double score, size_t position) {
    throw SequenceProblem("position " + std::to_string(position) + ": " + name +
                          " scores must be at most 1e+09 in size; got " + std::to_string(score) +
                          "; scale the features or the weights they come from");
  }

  void prepare_scaled() const {
    const double* tables[kMaxOrder] = {edge_.data(), edge2_.data()};
    exp_memory_.resize(static_cast<size_t>(shared_edges_size(dims_)));
    kernels().prepare_edges(dims_, tables, start_.empty() ? nullptr : start_.data(),
                            end_.empty() ? nullptr : end_.data(), exp_memory_.data(), &exp_edges_);
  }

  // The n-grams of a sequence: those of the model, or of its pair scores, which may be of any pairs.
  std::shared_ptr<const NgramChain> chain_of(const SequenceScores& x) const {
    if (x.edge.empty()) return sparse_;
    std::call_once(paired_once_, [this] {
      paired_ = NgramChain::if_cheaper({dims_.labels, std::max(3, ngrams_.width - 1), nullptr, nullptr,
                                        ngrams_.rows(), ngrams_.weights.data()});
    });
    return paired_;
  }
  NgramView ngram_view(const SequenceScores& x) const {
    const LatticeView v = view(x);
    return {v.length, v.node, v.start, v.end, x.edge.empty() ? nullptr : x.edge.data(), dims_.labels};
  }

  LatticeView view(const SequenceScores& x) const {
    LatticeView v = {};
    v.length = x.length;
    v.node = x.node.data();
    v.start = start_.empty() ? nullptr : start_.data();
    v.end = end_.empty() ? nullptr : end_.data();
    v.edges[0] = x.edge.empty() ? edge_.data() : x.edge.data();
    v.edge_strides[0] = x.edge.empty() ? 0 : static_cast<int64_t>(edge_.size());
    v.edges[1] = edge2_.data();
    return v;
  }

  LogTables tables(const SequenceScores& x, ChainMemory* memory) const {
    if (x.edge.empty()) return log_tables_;
    memory->tables.resize(static_cast<size_t>(log_tables_size(dims_)));
    return cut_log_tables(dims_, memory->tables.data(), false);
  }

  ChainDims dims_;
  std::vector<double> edge_, edge2_, start_, end_;
  OwnNgrams ngrams_;
  std::shared_ptr<const NgramChain> sparse_;  // null: transitions are in tables
  mutable std::once_flag paired_once_;
  mutable std::shared_ptr<const NgramChain> paired_;  // with all pairs, for pair scores per position
  bool forbids_ = false;
  std::vector<double> log_memory_;
  LogTables log_tables_;
  // Exponentiated when the first probability is asked for.
  mutable std::once_flag once_;
  mutable std::vector<double> exp_memory_;
  mutable SharedEdges<double> exp_edges_;
};

}  // namespace crfkit
