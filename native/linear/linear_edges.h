// Transitions as parameters: the free entries of the edge tables, or label n-grams. The others stay 0.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "chain/edge_tables.h"
#include "orders/label_ngrams.h"

namespace crfkit {

using EdgeTables = std::array<std::vector<double>, kMaxOrder>;  // [L^(k+2)] for each order

class LinearEdges {
 public:
  // free: [L, L] which pairs are parameters; rows: which longer n-grams are. ngrams: the chain's automaton,
  // with which table 1 has an entry per row; null: it is [L^3], and rows have three labels.
  LinearEdges(const ChainDims& d, const std::vector<uint8_t>& free, const NgramRows& rows,
              const LabelNgrams* ngrams)
      : d_(d), ngrams_(ngrams), n_tables_(rows.width > 2 ? 2 : 1) {
    const int64_t L = d.labels;
    for (size_t slot = 0; slot < free.size(); ++slot)
      if (free[slot]) slots_[0].push_back(slot);
    for (int64_t r = 0; r < rows.count; ++r) {
      const int32_t* y = rows.labels + r * rows.width;
      slots_[1].push_back(static_cast<size_t>(ngrams ? r : (y[0] * L + y[1]) * L + y[2]));
    }
    weights = zeros();
  }

  int n_tables() const { return n_tables_; }
  int64_t n_rows() const { return static_cast<int64_t>(slots_[1].size()); }
  int64_t n_parameters() const {
    int64_t n = 0;
    for (const auto& slots : slots_) n += static_cast<int64_t>(slots.size());
    return n;
  }
  EdgeTables zeros() const {
    EdgeTables tables;
    tables[0].assign(static_cast<size_t>(power(d_.labels, 2)), 0.0);
    if (n_tables_ > 1)
      tables[1].assign(ngrams_ ? slots_[1].size() : static_cast<size_t>(power(d_.labels, 3)), 0.0);
    return tables;
  }

  // Calls fn(k, slot, p) for each parameter p: entry `slot` of table k.
  template <class Fn>
  void for_each(Fn&& fn) const {
    int64_t p = 0;
    for (size_t k = 0; k < slots_.size(); ++k)
      for (size_t slot : slots_[k]) fn(k, slot, p++);
  }

  // Converts tables to the edges' part of θ, [n_parameters], and back.
  template <class Tables>
  void to_theta(const Tables& tables, double* theta) const {
    for_each([&](size_t k, size_t slot, int64_t p) { theta[p] = tables[k][slot]; });
  }
  template <class Tables>
  void from_theta(const double* theta, Tables& tables) const {
    for_each([&](size_t k, size_t slot, int64_t p) { tables[k][slot] = theta[p]; });
  }

  // Converts weights per feature, pairs [L, L] and rows, to the edges' part of θ and back.
  void from_features(const double* pairs, const double* rows, double* theta) const {
    for (const size_t slot : slots_[0]) *theta++ = pairs[slot];
    std::copy_n(rows, n_rows(), theta);
  }
  void to_features(const double* theta, double* pairs, double* rows) const {
    for (const size_t slot : slots_[0]) pairs[slot] = *theta++;
    std::copy_n(theta, n_rows(), rows);
  }

  // Adds the expected transitions of a chain, or c times the transitions of a path of T labels, to tables.
  void add_expected(const double* counts, const double* const* expand, EdgeTables& tables) const {
    double* to[kMaxOrder];
    for (size_t k = 0; k < kMaxOrder; ++k) to[k] = tables[k].data();
    add_expected_edges(d_, counts, expand, to);
  }
  // nodes: [nodes] of the automaton, as longest matches; overwritten.
  void add_expected(double* nodes, EdgeTables& tables) const {
    const LabelNgrams& a = *ngrams_;
    a.matched(nodes);
    for (size_t v = 0; v < a.label.size(); ++v)
      if (a.length_two(v))
        tables[0][static_cast<size_t>(int64_t{a.previous[v]} * a.L + a.label[v])] += nodes[v];
    for (size_t r = 0; r < a.node_of_row.size(); ++r) tables[1][r] += nodes[a.node_of_row[r]];
  }
  void add_path(const int32_t* labels, int64_t T, double c, EdgeTables& tables) const {
    if (!ngrams_) {
      for (int64_t t = 1; t < T; ++t) add_step(labels, t, c, tables);
      return;
    }
    const LabelNgrams& a = *ngrams_;
    int32_t s = -1;
    for (int64_t t = 0; t < T; ++t) {
      int32_t v = a.step(s, labels[t]);
      s = a.dest[static_cast<size_t>(v)];
      for (; v >= 0; v = a.fail[static_cast<size_t>(v)]) {
        if (a.length_two(static_cast<size_t>(v)))
          tables[0][static_cast<size_t>(int64_t{labels[t - 1]} * a.L + labels[t])] += c;
        else if (const int32_t r = a.row_of_node[static_cast<size_t>(v)]; r >= 0)
          tables[1][static_cast<size_t>(r)] += c;
      }
    }
  }
  void add_step(const int32_t* labels, int64_t t, double c, EdgeTables& tables) const {
    for_edges_into(d_, labels, t, [&](int k, int64_t slot) {
      tables[static_cast<size_t>(k)][static_cast<size_t>(slot)] += c;
    });
  }

  // Estimates the Hessian's diagonal: Σ p (1 - p) of a label, spread [L], distributed over the transitions
  // into it in proportion to their expected counts.
  void diagonal(const EdgeTables& expected, const std::vector<double>& spread, double* out) const {
    const auto L = static_cast<size_t>(d_.labels);
    // Under partial labels the tables hold differences; negative ones count as 0.
    EdgeTables into;  // [L] expected transitions into each label; n-grams are parts of those of pairs
    for (size_t k = 0; k < (ngrams_ ? 1 : into.size()); ++k) {
      into[k].assign(L, 0.0);
      for (size_t i = 0; i < expected[k].size(); ++i) into[k][i % L] += std::max(0.0, expected[k][i]);
    }
    for_each([&](size_t k, size_t slot, int64_t p) {
      const size_t l = label_of(k, slot);
      const double all = into[ngrams_ ? 0 : k][l];
      out[p] = all > 0 ? spread[l] * std::min(1.0, std::max(0.0, expected[k][slot]) / all) : 0.0;
    });
  }

  EdgeTables weights;

 private:
  size_t label_of(size_t k, size_t slot) const {
    if (k == 1 && ngrams_)
      return static_cast<size_t>(ngrams_->label[static_cast<size_t>(ngrams_->node_of_row[slot])]);
    return slot % static_cast<size_t>(d_.labels);
  }

  ChainDims d_;
  const LabelNgrams* ngrams_;
  int n_tables_;
  std::array<std::vector<size_t>, kMaxOrder> slots_;  // of the free entries
};

}  // namespace crfkit
