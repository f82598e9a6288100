// The lattice of a span of positions of the training data, in double precision, and its best path.
//
// A span is decoded as a sequence of its own: no edge enters it from the position before it. A long span is
// decoded in pieces, as in linear_pieces.h: δ is kept before every piece, and the scores, δ and back-pointers
// within a piece are computed again when they are needed.
#pragma once

#include <cmath>
#include <stdexcept>
#include <string>
#include <vector>

#include "linear/exact_group.h"
#include "linear/linear_objective.h"
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

// The scores of an objective's data, without weights: those are the caller's.
inline SpanScores span_scores(const LinearObjective& o, double margin) {
  const LinearSettings& s = o.settings();
  SpanScores scores{};
  scores.dims = o.dims();
  scores.state = &o.state_layout();
  scores.pair = o.pair_layout();
  scores.permitted = s.permitted.empty() ? nullptr : s.permitted.data();
  scores.kinds = s.kinds;
  scores.labels = s.targets;
  scores.allowed = s.allowed;
  scores.margin = margin;
  return scores;
}

class SpanLattice {
 public:
  // Begins with positions first .. first + T - 1.
  void begin(const SpanScores& s, const PieceLengths& lengths, int64_t first, int64_t T) {
    scores_ = &s;
    first_ = first;
    T_ = T;
    piece_ = T > lengths.whole ? lengths.piece : T;
    loaded_ = decoded_ = -1;
    table_memory_.resize(static_cast<size_t>(log_tables_size(s.dims)));
    tables_ = cut_log_tables(s.dims, table_memory_.data(), !s.own_edges());
    view_ = LatticeView{};
    for (size_t k = 0; k < s.edges.size(); ++k) view_.edges[k] = s.edges[k].data();
    if (!s.own_edges()) kernels().fill_shared_tables(s.dims, view_.edges, tables_);
  }

  // Writes the best path into labels [T].
  void decode(int32_t* labels) { decode_paths(labels, false); }

  // Writes the true path: the labels themselves or, if some are not known, the best path that agrees with the
  // others.
  void decode_truth(int32_t* labels) {
    bool known = true;
    for (int64_t t = 0; t < T_; ++t) {
      labels[t] = scores_->labels[first_ + t];
      known &= labels[t] >= 0;
    }
    if (!known) decode_paths(labels, true);
  }

  // Returns by how much labels a score more than labels b; exactly 0 where they agree.
  double difference(const int32_t* a, const int32_t* b) {
    double sum = 0;
    for (int64_t i = 0; i < count(); ++i) {
      load(i);
      for (int64_t t = piece(i).first; t < piece(i).last; ++t) {
        bool same = a[t] == b[t];
        for (int k = 1; k <= scores_->dims.order && t - k >= 0; ++k) same &= a[t - k] == b[t - k];
        if (!same) sum += score(a, t) - score(b, t);
      }
    }
    return sum;
  }

  // After decode, of order 1: calls fn(t, δ_t, s_{t+1}) for every position in turn. δ_t [L] holds the best
  // scores of paths that end at t, minus a constant of t; s_{t+1} [L, L] the edge scores, null at the end.
  template <class Fn>
  void for_positions(Fn&& fn) {
    const int64_t states = scores_->dims.states;
    for (int64_t i = 0; i < count(); ++i) {
      best_scores(i, false);
      const Piece x = piece(i);
      for (int64_t t = x.first; t < x.last; ++t) {
        const double* before = delta() + (t - x.first - 1) * states;
        if (t > 0) fn(t - 1, before, view_.edges[0] + (t - x.first) * view_.edge_strides[0]);
        if (t + 1 == T_) fn(t, before + states, nullptr);
      }
    }
  }

  int64_t first() const { return first_; }

 private:
  int64_t count() const { return (T_ + piece_ - 1) / piece_; }
  Piece piece(int64_t i) const { return {i * piece_, std::min((i + 1) * piece_, T_), T_}; }
  double* delta() { return delta_.data() + scores_->dims.states; }  // of the first position of the piece
  double* mark(int64_t i) { return marks_.data() + i * scores_->dims.states; }

  // Computes the scores of piece i.
  void load(int64_t i) {
    if (loaded_ == i) return;
    loaded_ = i;
    const SpanScores& s = *scores_;
    const Piece x = piece(i);
    const int L = s.dims.labels;
    node_.assign(static_cast<size_t>((x.last - x.first) * L), 0.0);
    for (int64_t t = x.first; t < x.last; ++t) {
      double* row = node_.data() + (t - x.first) * L;
      add_scores(*s.state, s.state_weights, first_ + t, 1, L, s.dims.padded, L, row);
      const int32_t right = s.labels[first_ + t];
      if (s.margin != 0 && right >= 0)
        for (int l = 0; l < L; ++l) row[l] += l == right ? 0.0 : s.margin;
    }
    view_.length = x.last - x.first;
    view_.first = x.first;
    if (s.own_edges()) load_edges(x);
  }

  void load_edges(const Piece& x) {
    const SpanScores& s = *scores_;
    const int L = s.dims.labels;
    const int64_t LL = int64_t{L} * L;
    edges_.resize(static_cast<size_t>((x.last - x.first) * LL));
    for (int64_t t = x.first; t < x.last; ++t) {
      double* table = edges_.data() + (t - x.first) * LL;
      std::copy(s.edges[0].begin(), s.edges[0].end(), table);
      if (t == 0) continue;
      if (s.pair) add_scores(*s.pair, s.pair_weights, first_ + t, L, L, s.dims.padded, L, table);
      if (!s.permitted) continue;
      const uint8_t* may = s.permitted + s.kinds[first_ + t] * LL;
      for (int64_t k = 0; k < LL; ++k)
        if (!may[k]) table[k] = -HUGE_VAL;
    }
    view_.edges[0] = edges_.data();
    view_.edge_strides[0] = LL;
  }

  // The scores of piece i with -inf for labels that disagree with the known ones: [T, L].
  const double* bound_node(int64_t i) {
    const SpanScores& s = *scores_;
    const int L = s.dims.labels;
    bound_ = node_;
    for (int64_t t = piece(i).first; t < piece(i).last; ++t) {
      const int32_t right = s.labels[first_ + t];
      for (int l = 0; l < L; ++l)
        if (right >= 0 ? right != l : !s.allowed[(first_ + t) * L + l])
          bound_[static_cast<size_t>((t - piece(i).first) * L + l)] = -HUGE_VAL;
    }
    return bound_.data();
  }

  // Computes δ and the back-pointers of piece i from δ before it: of all paths, or of those that agree with
  // the known labels (`bound`).
  void best_scores(int64_t i, bool bound) {
    if (decoded_ == 2 * i + bound) return;
    load(i);
    decoded_ = 2 * i + bound;
    const ChainDims& d = scores_->dims;
    const auto n = static_cast<size_t>(view_.length), states = static_cast<size_t>(d.states);
    delta_.resize((n + 1) * states);
    maxima_.resize(n);
    back_.resize(n * states);
    psi_.resize(static_cast<size_t>(d.padded));
    if (i > 0) std::copy_n(mark(i), states, delta_.data());
    view_.node = bound ? bound_node(i) : node_.data();
    const int64_t dead =
        kernels().best_scores(d, view_, tables_, true, delta(), maxima_.data(), back_.data(), psi_.data());
    if (dead >= 0)
      throw std::domain_error("no permitted path reaches position " +
                              std::to_string(first_ + view_.first + dead) + " of the training data");
  }

  void decode_paths(int32_t* labels, bool bound) {
    const ChainDims& d = scores_->dims;
    marks_.resize(static_cast<size_t>(count() * d.states));
    for (int64_t i = 0; i < count(); ++i) {
      best_scores(i, bound);
      if (i + 1 < count()) std::copy_n(delta() + (view_.length - 1) * d.states, d.states, mark(i + 1));
    }
    int64_t h = best_last_state(d, T_, delta() + (view_.length - 1) * d.states);
    for (int64_t i = count() - 1; i >= 0; --i) {
      best_scores(i, bound);  // the last piece is there still
      h = walk_back(d, piece(i), back_.data(), h, labels + piece(i).first);
    }
  }

  // Returns what position t of the loaded piece adds to the score of a path, with the edges that lead into
  // it.
  double score(const int32_t* y, int64_t t) const {
    const int64_t at = t - view_.first;
    double sum = node_[static_cast<size_t>(at * scores_->dims.labels + y[t])];
    for_edges_into(scores_->dims, y, t,
                   [&](int k, int64_t slot) { sum += view_.edges[k][at * view_.edge_strides[k] + slot]; });
    return sum;
  }

  const SpanScores* scores_ = nullptr;
  int64_t first_ = 0, T_ = 0, piece_ = 0;
  int64_t loaded_ = -1;               // the piece whose scores are here
  int64_t decoded_ = -1;              // 2 · the piece whose δ are here, + 1 if bound
  std::vector<double> node_, bound_;  // [n, L] of a piece of n positions
  std::vector<double> edges_;         // [n, L, L] where they differ between positions
  std::vector<double> marks_;         // [pieces, states] δ before each piece
  std::vector<double> delta_;         // [n + 1, states] δ before the piece and in it
  std::vector<double> maxima_, psi_;  // [n], [Lp]
  std::vector<uint16_t> back_;        // [n, states]
  LatticeView view_{};
  LogTables tables_{};
  std::vector<double> table_memory_;
};

}  // namespace crfkit
