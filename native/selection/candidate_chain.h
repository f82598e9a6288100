// Forward and backward probabilities of every position of a batch, kept for the gains of candidate features.
//
//   a_t[l] = s_t[l] Σ_j a_{t-1}[j] M[j, l]         s_t = ψ_t / c_t, with c_t such that Σ_l a_t[l] = 1
//   b_{t-1}[j] = Σ_l M[j, l] s_t[l] b_t[l]         so that Σ_l a_t[l] b_t[l] = 1
//
// Then p(y_t = l) = a_t[l] b_t[l], and a change of ψ between two positions affects log Z only through what
// lies between them: a before the first one and b after the last one do not change.
//
// Both come from the recursion in log space (log_chain.h), b from that of the reversed sequence, both in
// pieces, so that a long sequence takes no memory besides its a, b and s. Sequences whose numbers are too
// large or too small keep the logarithms of a, b and s instead (`in_logs`).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "simd/kernels.h"

namespace crfkit {

struct CandidateChain {
  int labels;                            // L
  std::vector<int64_t> offsets;          // [N + 1]
  std::vector<double> weights;           // [N] or empty
  std::vector<int32_t> targets;          // [ΣT] all of them known
  std::vector<double> edges, log_edges;  // M = exp(edge - max), and its logarithm: [L, L]
  std::vector<double> s, a, b;           // [ΣT, L], of some sequences their logarithms
  std::vector<uint8_t> in_logs;          // [N] which

  int64_t n_sequences() const { return static_cast<int64_t>(offsets.size()) - 1; }
  double weight(int64_t i) const { return weights.empty() ? 1.0 : weights[static_cast<size_t>(i)]; }

  // Returns p(y_t = l) of sequence i, or p(y_{t-1} = from, y_t = l).
  double probability(int64_t i, int64_t t, int64_t l) const {
    const auto at = static_cast<size_t>(t * labels + l);
    return in_logs[static_cast<size_t>(i)] ? std::exp(a[at] + b[at]) : a[at] * b[at];
  }
  double probability(int64_t i, int64_t t, int64_t from, int64_t l) const {
    const auto at = static_cast<size_t>(t * labels + l);
    const auto before = static_cast<size_t>((t - 1) * labels + from);
    const auto edge = static_cast<size_t>(from * labels + l);
    return in_logs[static_cast<size_t>(i)] ? std::exp(a[before] + log_edges[edge] + s[at] + b[at])
                                           : a[before] * edges[edge] * s[at] * b[at];
  }
};

// Fills the sequences of a chain. node: [ΣT, L] and edge: [L, L] scores, all finite.
class CandidateChainFiller {
 public:
  CandidateChainFiller(CandidateChain& x, const double* node, const double* edge)
      : x_(x), d_(chain_dims(1, x.labels)), node_(node) {
    const int L = x.labels;
    std::vector<double> transposed(static_cast<size_t>(L * L));
    for (int j = 0; j < L; ++j)
      for (int l = 0; l < L; ++l) transposed[static_cast<size_t>(l * L + j)] = edge[j * L + l];
    edge_max_ = *std::max_element(edge, edge + L * L);
    edge_range_ = edge_max_ - *std::min_element(edge, edge + L * L);
    x.edges.resize(transposed.size());
    x.log_edges.resize(transposed.size());
    for (size_t i = 0; i < x.edges.size(); ++i) {
      x.log_edges[i] = edge[i] - edge_max_;
      x.edges[i] = std::exp(x.log_edges[i]);
    }
    there_ = make_tables(edge, there_memory_);
    back_ = make_tables(transposed.data(), back_memory_);
  }

  // Workspace of one thread.
  struct Worker {
    std::vector<double> alpha;     // [piece + 1, Lp] log α before a piece and in it
    std::vector<double> maxima;    // [piece] what was subtracted from it
    std::vector<double> reversed;  // [piece, L] node scores
    std::vector<double> row;       // [Lp]
  };

  void fill(int64_t i, Worker& w) const {
    const int64_t first = x_.offsets[static_cast<size_t>(i)], last = x_.offsets[static_cast<size_t>(i) + 1];
    const bool moderate = fill_forward(first, last, w) & fill_backward(first, last, w);
    x_.in_logs[static_cast<size_t>(i)] = !moderate;
    if (!moderate) return;
    for (auto* values : {&x_.s, &x_.a, &x_.b})
      for (int64_t at = first * d_.labels; at < last * d_.labels; ++at) {
        double& value = (*values)[static_cast<size_t>(at)];
        value = std::exp(value);
      }
  }

 private:
  // A sequence uses the numbers themselves if all their logarithms are at most this large: products of two of
  // them are then far from the limits of double.
  static constexpr double kLargest = 300;
  static constexpr int64_t kPiece = 1024;  // positions

  LogTables make_tables(const double* edge, std::vector<double>& memory) const {
    memory.resize(static_cast<size_t>(log_tables_size(d_)));
    const LogTables tables = cut_log_tables(d_, memory.data(), true);
    kernels().fill_shared_tables(d_, &edge, tables);
    return tables;
  }

  // Computes log α of a piece, whose first position is position `at` of its sequence, from that before it.
  // Returns log α [n, Lp].
  const double* run(const LogTables& tables, const double* node, int64_t at, int64_t n, Worker& w) const {
    LatticeView view = {};
    view.length = n;
    view.first = at;
    view.node = node;
    w.alpha.resize(static_cast<size_t>((kPiece + 1) * d_.padded));
    w.maxima.resize(static_cast<size_t>(kPiece));
    w.row.resize(static_cast<size_t>(d_.padded));
    double* alpha = w.alpha.data() + d_.padded;
    if (at > 0) std::copy_n(alpha + (kPiece - 1) * d_.padded, d_.padded, w.alpha.data());
    kernels().log_forward(d_, view, tables, alpha, w.maxima.data(), w.row.data());
    return alpha;
  }

  // log Σ_l exp(of(l)).
  template <class Of>
  double log_sum(Of&& of) const {
    double max = of(0), sum = 0;
    for (int l = 1; l < d_.labels; ++l) max = std::max(max, of(l));
    for (int l = 0; l < d_.labels; ++l) sum += std::exp(of(l) - max);
    return max + std::log(sum);
  }

  // Keeps a logarithm; returns whether it is moderate.
  static bool keep(std::vector<double>& out, int64_t at, double log) {
    out[static_cast<size_t>(at)] = log;
    return std::abs(log) <= kLargest;
  }

  // Computes the logarithms of a and s of positions first .. last - 1, a sequence; returns whether all are
  // moderate.
  bool fill_forward(int64_t first, int64_t last, Worker& w) const {
    const int64_t L = d_.labels;
    double before = -edge_max_;  // log Σ α of the position before; M of the first step does not count
    bool moderate = edge_range_ <= kLargest;
    for (int64_t from = first; from < last; from += kPiece) {
      const int64_t n = std::min(kPiece, last - from);
      const double* alpha = run(there_, node_ + from * L, from - first, n, w);
      for (int64_t t = 0; t < n; ++t, alpha += d_.padded) {
        const double total = log_sum([&](int l) { return alpha[l]; });
        const double step = edge_max_ + before - total - w.maxima[static_cast<size_t>(t)];
        for (int64_t l = 0, at = (from + t) * L; l < L; ++l, ++at) {
          moderate &= keep(x_.a, at, alpha[l] - total);
          moderate &= keep(x_.s, at, node_[at] + step);
        }
        before = total;
      }
    }
    return moderate;
  }

  // The same of b, after log a.
  bool fill_backward(int64_t first, int64_t last, Worker& w) const {
    const int64_t L = d_.labels;
    bool moderate = true;
    for (int64_t to = last; to > first; to -= kPiece) {
      const int64_t n = std::min(kPiece, to - first);
      w.reversed.resize(static_cast<size_t>(kPiece * L));
      for (int64_t t = 0; t < n; ++t) std::copy_n(node_ + (to - 1 - t) * L, L, w.reversed.data() + t * L);
      const double* onward = run(back_, w.reversed.data(), last - to, n, w);  // log ψ β
      for (int64_t t = 0; t < n; ++t, onward += d_.padded) {
        const int64_t at = (to - 1 - t) * L;
        const double both =
            log_sum([&](int l) { return x_.a[static_cast<size_t>(at + l)] + (onward[l] - node_[at + l]); });
        for (int64_t l = 0; l < L; ++l) moderate &= keep(x_.b, at + l, onward[l] - node_[at + l] - both);
      }
    }
    return moderate;
  }

  CandidateChain& x_;
  ChainDims d_;
  const double* node_;
  double edge_max_, edge_range_;
  std::vector<double> there_memory_, back_memory_;
  LogTables there_, back_;  // of the sequences as they are, and reversed
};

// offsets, weights and targets are set already.
inline void fill_candidate_chain(CandidateChain& x, const double* node, const double* edge, int n_threads) {
  const auto L = static_cast<size_t>(x.labels);
  for (auto* values : {&x.s, &x.a, &x.b}) values->resize(x.targets.size() * L);
  const int64_t N = x.n_sequences();
  x.in_logs.resize(static_cast<size_t>(N));
  const CandidateChainFiller filler(x, node, edge);
  const int blocks = n_threads > 1 ? static_cast<int>(std::min<int64_t>(N, 16 * n_threads)) : 1;
  parallel_for(blocks, n_threads, [&](int block, int) {
    CandidateChainFiller::Worker worker;
    for (int64_t i = N * block / blocks; i < N * (block + 1) / blocks; ++i) filler.fill(i, worker);
  });
}

}  // namespace crfkit
