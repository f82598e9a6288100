// The lattice of a span of positions of the training data, in double precision, and its best path.
//
// A span is decoded as a sequence of its own: no edge enters it from the position before it.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "linear/exact_group.h"
#include "linear/linear_edges.h"
#include "simd/kernels.h"

namespace crfkit {

// The parts of a span's scores; shared by all threads.
struct SpanScores {
  ChainDims dims;
  const LinearLayout* state;
  const LinearLayout* pair;  // or null
  ExactTable state_weights, pair_weights;
  EdgeTables edges;
  const int32_t* kinds;      // [ΣT] which table of permitted pairs holds; or null
  const uint8_t* permitted;  // [M, L, L] or null
  const int32_t* labels;     // [ΣT] the true ones, -1 where not known
  const uint8_t* allowed;    // [ΣT, L] or null: every label is known
  double margin;             // what a wrong label gains at a position

  bool own_edges() const { return pair || permitted; }  // the edge scores differ between positions
};

class SpanLattice {
 public:
  // Computes the scores of positions first .. first + T - 1.
  void fill(const SpanScores& s, int64_t first, int64_t T) {
    scores_ = &s;
    first_ = first;
    T_ = T;
    const int L = s.dims.labels;
    node_.assign(static_cast<size_t>(T * L), 0.0);
    for (int64_t t = 0; t < T; ++t) {
      double* row = node_.data() + t * L;
      add_scores(*s.state, s.state_weights, first + t, 1, L, s.dims.padded, L, row);
      const int32_t right = s.labels[first + t];
      if (s.margin != 0 && right >= 0)
        for (int l = 0; l < L; ++l) row[l] += l == right ? 0.0 : s.margin;
    }
    view_ = LatticeView{};
    view_.length = T;
    view_.node = node_.data();
    for (size_t k = 0; k < s.edges.size(); ++k) view_.edges[k] = s.edges[k].data();
    if (s.own_edges()) fill_edges();
    table_memory_.resize(static_cast<size_t>(log_tables_size(s.dims)));
    tables_ = cut_log_tables(s.dims, table_memory_.data(), !s.own_edges());
    if (!s.own_edges()) kernels().fill_shared_tables(s.dims, view_.edges, tables_);
  }

  // Writes the best path into labels [T]. With `keep`, δ and all back-pointers stay (order 1).
  void decode(int32_t* labels, bool keep = false) {
    const ChainDims& d = scores_->dims;
    int64_t dead;
    if (keep) {
      delta_.resize(static_cast<size_t>(T_ * d.states));
      maxima_.resize(static_cast<size_t>(T_));
      back_.resize(static_cast<size_t>(T_ * d.states));
      psi_.resize(static_cast<size_t>(d.padded));
      dead = kernels().best_scores(d, view_, tables_, true, delta_.data(), maxima_.data(), back_.data(),
                                   psi_.data());
      if (dead < 0) {
        int l = 0;
        for (int k = 1; k < d.labels; ++k)
          if (delta(T_ - 1, k) > delta(T_ - 1, l)) l = k;
        for (int64_t t = T_ - 1; t >= 0; --t) {
          labels[t] = l;
          l = back(t, l);
        }
      }
    } else {
      memory_.resize(static_cast<size_t>(viterbi_workspace_size(d, T_)));
      dead = kernels().viterbi(d, view_, tables_, memory_.data(), labels);
    }
    if (dead >= 0)
      throw std::domain_error("no permitted path reaches position " + std::to_string(first_ + dead) +
                              " of the training data");
  }

  // Writes the true path: the labels themselves or, if some are not known, the best path that agrees with the
  // others.
  void decode_truth(int32_t* labels) {
    const SpanScores& s = *scores_;
    const int L = s.dims.labels;
    bool known = true;
    for (int64_t t = 0; t < T_; ++t) {
      labels[t] = s.labels[first_ + t];
      known &= labels[t] >= 0;
    }
    if (known) return;
    const std::vector<double> kept = node_;
    for (int64_t t = 0; t < T_; ++t)
      for (int l = 0; l < L; ++l)
        if (labels[t] >= 0 ? labels[t] != l : !s.allowed[(first_ + t) * L + l])
          node_[static_cast<size_t>(t * L + l)] = -HUGE_VAL;
    decode(labels);
    node_ = kept;
    view_.node = node_.data();
  }

  // Returns by how much labels a score more than labels b; exactly 0 where they agree.
  double difference(const int32_t* a, const int32_t* b) const {
    double sum = 0;
    for (int64_t t = 0; t < T_; ++t) {
      bool same = a[t] == b[t];
      for (int k = 1; k <= scores_->dims.order && t - k >= 0; ++k) same &= a[t - k] == b[t - k];
      if (!same) sum += score(a, t) - score(b, t);
    }
    return sum;
  }

  // Returns what position t adds to the score of a path, with the edges that lead into it.
  double score(const int32_t* y, int64_t t) const {
    const int L = scores_->dims.labels;
    double sum = node_[static_cast<size_t>(t * L + y[t])];
    for_edges_into(scores_->dims, y, t,
                   [&](int k, int64_t slot) { sum += view_.edges[k][t * view_.edge_strides[k] + slot]; });
    return sum;
  }

  int64_t length() const { return T_; }
  int64_t first() const { return first_; }
  double node(int64_t t, int l) const { return node_[static_cast<size_t>(t * scores_->dims.labels + l)]; }
  double edge(int64_t t, int from, int to) const {
    return view_.edges[0][t * view_.edge_strides[0] + from * scores_->dims.labels + to];
  }
  // After decode(…, keep): returns the best score of a path that ends in label l at t, minus a constant of t.
  double delta(int64_t t, int l) const { return delta_[static_cast<size_t>(t * scores_->dims.states + l)]; }
  // Returns the best predecessor of label l at t; 0 at the first position.
  int back(int64_t t, int l) const {
    return t > 0 ? back_[static_cast<size_t>(t * scores_->dims.states + l)] : 0;
  }

 private:
  void fill_edges() {
    const SpanScores& s = *scores_;
    const int L = s.dims.labels;
    const int64_t LL = int64_t{L} * L;
    edges_.resize(static_cast<size_t>(T_ * LL));
    for (int64_t t = 0; t < T_; ++t) {
      double* table = edges_.data() + t * LL;
      std::copy(s.edges[0].begin(), s.edges[0].end(), table);
      if (t == 0) continue;
      if (s.pair) add_scores(*s.pair, s.pair_weights, first_ + t, L, L, s.dims.padded, L, table);
      if (!s.permitted) continue;
      const uint8_t* may = s.permitted + s.kinds[first_ + t] * LL;
      for (int64_t i = 0; i < LL; ++i)
        if (!may[i]) table[i] = -HUGE_VAL;
    }
    view_.edges[0] = edges_.data();
    view_.edge_strides[0] = LL;
  }

  const SpanScores* scores_ = nullptr;
  int64_t first_ = 0, T_ = 0;
  std::vector<double> node_;   // [T, L]
  std::vector<double> edges_;  // [T, L, L] where they differ between positions
  LatticeView view_{};
  LogTables tables_{};
  std::vector<double> table_memory_, memory_, delta_, maxima_, psi_;
  std::vector<uint16_t> back_;
};

}  // namespace crfkit
