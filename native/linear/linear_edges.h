// Transitions as parameters: the free entries of the edge tables, table by table. The others stay 0.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "chain/edge_tables.h"

namespace crfkit {

using EdgeTables = std::array<std::vector<double>, kMaxOrder>;  // [L^(k+2)] for each order

class LinearEdges {
 public:
  // free[k]: [L^(k+2)] which transitions are parameters.
  LinearEdges(const ChainDims& d, const std::vector<uint8_t>* free) : d_(d) {
    for (int k = 0; k < d.order; ++k)
      for (size_t slot = 0; slot < free[k].size(); ++slot)
        if (free[k][slot]) slots_[k].push_back(slot);
    weights = zeros();
  }

  int64_t n_parameters() const {
    int64_t n = 0;
    for (const auto& slots : slots_) n += static_cast<int64_t>(slots.size());
    return n;
  }
  EdgeTables zeros() const {
    EdgeTables tables;
    for (size_t k = 0; k < static_cast<size_t>(d_.order); ++k)
      tables[k].assign(static_cast<size_t>(power(d_.labels, static_cast<int>(k) + 2)), 0.0);
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

  // Adds the expected transitions of a chain, or c times the transitions of a path of T labels, to tables.
  void add_expected(const double* counts, const double* const* expand, EdgeTables& tables) const {
    double* to[kMaxOrder];
    for (size_t k = 0; k < kMaxOrder; ++k) to[k] = tables[k].data();
    add_expected_edges(d_, counts, expand, to);
  }
  void add_path(const int32_t* labels, int64_t T, double c, EdgeTables& tables) const {
    for (int64_t t = 1; t < T; ++t) add_step(labels, t, c, tables);
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
    for_each([&](size_t k, size_t slot, int64_t p) {
      // Under partial labels the tables hold differences; negative ones count as 0.
      double into = 0;
      for (size_t i = slot % L; i < expected[k].size(); i += L) into += std::max(0.0, expected[k][i]);
      out[p] = into > 0 ? spread[slot % L] * (std::max(0.0, expected[k][slot]) / into) : 0.0;
    });
  }

  EdgeTables weights;

 private:
  ChainDims d_;
  std::array<std::vector<size_t>, kMaxOrder> slots_;  // of the free entries
};

}  // namespace crfkit
