// Exact inference by eliminating nodes (a junction tree with one clique per node: Lauritzen and
// Spiegelhalter, 1988). The clique of node v holds the node and those neighbours that are eliminated later,
// R_v.
//
//   B_v(x_v, x_R) = θ_v(x_v) + Σ θ of edges from v into R_v + Σ_children M_c,   M_v(x_R) = log Σ_{x_v} exp
//   B_v
//
// M_v is added to the clique of the first node of R_v. log Z is the sum of the last messages. With the sums,
// p(x_v | x_R) = exp(B_v − M_v) takes the place of B_v. Downwards, p(x_v, x_R) = p(x_v | x_R) p(x_R), where
// p(x_R) is a sum over the parent's clique. With max instead of log Σ exp, the best labelling is read off in
// reverse order; so are samples.
#pragma once

#include <cmath>
#include <vector>

#include "base/poll.h"
#include "chain/sample.h"
#include "graphs/graph_batch.h"

namespace crfkit {

class CliqueTables {
 public:
  CliqueTables(const MessageGraph& g, const Elimination& plan) : g_(g), plan_(plan), L_(g.labels) {
    const auto V = static_cast<size_t>(g.nodes);
    table_.resize(V + 1), message_.resize(V + 1);
    for (size_t k = 0; k < V; ++k) {
      const int64_t rows = power(plan.rest_size(static_cast<int64_t>(k)));
      table_[k + 1] = table_[k] + rows * L_;
      message_[k + 1] = message_[k] + rows;
    }
    B_.resize(static_cast<size_t>(table_[V]));
    M_.resize(static_cast<size_t>(message_[V]));
    for (int64_t k = 0; k < g.nodes; ++k) add_scores(k);
  }

  // Returns log Z, or with kMax the best score; −inf: nothing is permitted, and `dead` is a node there.
  template <bool kMax>
  double up() {
    double total = 0;
    for (int64_t k = 0; k < g_.nodes; ++k) {
      const int64_t rows = rows_of(k);
      double* B = table(k);
      double* M = message(k);
      double highest = -HUGE_VAL;
      for (int64_t r = 0; r < rows; ++r, B += L_) {
        poll(10 * L_);
        double max = -HUGE_VAL, sum = 0;
        for (int64_t x = 0; x < L_; ++x) max = std::max(max, B[x]);
        if (!kMax) {
          const bool possible = max > -HUGE_VAL;
          for (int64_t x = 0; x < L_; ++x) sum += B[x] = possible ? std::exp(B[x] - max) : 0;
          if (possible) max += std::log(sum);
          for (int64_t x = 0; x < L_ && possible; ++x) B[x] /= sum;
        }
        M[r] = max;
        highest = std::max(highest, max);
      }
      if (highest == -HUGE_VAL) {
        dead = plan_.order[static_cast<size_t>(k)];
        return highest;
      }
      if (plan_.rest_size(k) == 0) {
        total += M[0];
        continue;
      }
      const int64_t p = parent(k);
      double* above = table(p);
      for_rows(k, p, [&](int64_t row, int64_t from) {
        for (int64_t x = 0; x < L_; ++x) above[row * L_ + x] += M[from + x];
      });
    }
    return total;
  }

  // Turns conditional probabilities into those of cliques, and writes marginals; call up<false> first.
  void down(const GraphCounts& out) {
    std::vector<double> known;  // p(x_R)
    for (int64_t k = g_.nodes - 1; k >= 0; --k) {
      if (plan_.rest_size(k) > 0) {
        const int64_t p = parent(k);
        const double* above = table(p);
        known.assign(static_cast<size_t>(rows_of(k)), 0.0);
        for_rows(k, p, [&](int64_t row, int64_t from) {
          for (int64_t x = 0; x < L_; ++x) known[static_cast<size_t>(from + x)] += above[row * L_ + x];
        });
        double all = 0;  // 1 but for rounding errors, which would add up from clique to clique
        for (const double one : known) all += one;
        double* B = table(k);
        for (const double one : known)
          for (int64_t x = 0; x < L_; ++x) *B++ *= one / all;
      }
      write(k, out);
    }
  }

  // The best labelling [V]; call up<true> first.
  void best(int32_t* labels) const {
    trace(labels, [&](const double* row, int64_t) { return std::max_element(row, row + L_) - row; });
  }
  // A labelling drawn from p(y); call up<false> first.
  void sample(uint64_t key, int32_t* labels) const {
    std::vector<double> weights;
    trace(labels, [&](const double* row, int64_t k) {
      weights.assign(row, row + L_);
      for (double& w : weights) w = std::log(w);
      return draw(weights, uniform(key, static_cast<uint64_t>(k)));
    });
  }

  int64_t dead = -1;

 private:
  int64_t power(int64_t k) const {
    int64_t value = 1;
    for (; k > 0; --k) value *= L_;
    return value;
  }
  int64_t rows_of(int64_t k) const {
    return message_[static_cast<size_t>(k) + 1] - message_[static_cast<size_t>(k)];
  }
  double* table(int64_t k) { return B_.data() + table_[static_cast<size_t>(k)]; }
  double* message(int64_t k) { return M_.data() + message_[static_cast<size_t>(k)]; }
  const int32_t* rest(int64_t k) const { return plan_.rest.data() + plan_.begin[static_cast<size_t>(k)]; }
  int64_t parent(int64_t k) const { return plan_.place[static_cast<size_t>(rest(k)[0])]; }

  // Index of a clique: x_v + L (x_R1 + L (x_R2 + …)).
  void add_scores(int64_t k) {
    const int32_t u = plan_.order[static_cast<size_t>(k)];
    double* B = table(k);
    const int64_t rows = rows_of(k), n = plan_.rest_size(k);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t x = 0; x < L_; ++x) B[r * L_ + x] = g_.node[u * L_ + x];
    for (int32_t s = g_.begin[u]; s < g_.begin[u + 1]; ++s) {
      const int32_t* at = std::find(rest(k), rest(k) + n, g_.neighbour[s]);
      if (at == rest(k) + n) continue;  // eliminated before: it is in that clique
      const int64_t stride = power(at - rest(k));
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t z = r / stride % L_;
        for (int64_t x = 0; x < L_; ++x) B[r * L_ + x] += slot_score(g_, s, x, z);
      }
    }
  }

  // Calls fn(row of clique p, place in the message of its child k) for all rows; x of p's node is to be
  // added.
  template <class Fn>
  void for_rows(int64_t k, int64_t p, Fn&& fn) const {
    const int64_t n = plan_.rest_size(p), m = plan_.rest_size(k);
    std::vector<int64_t> stride(static_cast<size_t>(n)), digit(static_cast<size_t>(n));
    for (int64_t j = 0; j < n; ++j) {
      const int32_t* at = std::find(rest(k), rest(k) + m, rest(p)[j]);
      stride[static_cast<size_t>(j)] = at == rest(k) + m ? 0 : power(at - rest(k));
    }
    const int64_t rows = rows_of(p);
    int64_t from = 0;
    for (int64_t r = 0; r < rows; ++r) {
      poll(10 * L_);
      fn(r, from);
      for (size_t j = 0; j < digit.size(); ++j) {
        from += stride[j];
        if (++digit[j] < L_) break;
        from -= stride[j] * L_;
        digit[j] = 0;
      }
    }
  }

  // Marginals of node v and of its edges into R_v.
  void write(int64_t k, const GraphCounts& out) {
    const int32_t u = plan_.order[static_cast<size_t>(k)];
    const double* B = table(k);
    const int64_t rows = rows_of(k), n = plan_.rest_size(k);
    if (!out.node && !out.edge) return;
    std::vector<double*> pair(static_cast<size_t>(n), nullptr);
    std::vector<int64_t> flip(static_cast<size_t>(n));
    if (out.edge)
      for (int32_t s = g_.begin[u]; s < g_.begin[u + 1]; ++s) {
        const int32_t* at = std::find(rest(k), rest(k) + n, g_.neighbour[s]);
        if (at == rest(k) + n) continue;
        pair[static_cast<size_t>(at - rest(k))] = out.edge_row(g_, g_.code[s] >> 1);
        flip[static_cast<size_t>(at - rest(k))] = g_.code[s] & 1;
      }
    double* own = out.node ? out.node + u * L_ : nullptr;
    if (own) std::fill(own, own + L_, 0.0);
    std::vector<double> p(static_cast<size_t>(L_));
    for (int64_t r = 0; r < rows; ++r, B += L_) {
      for (int64_t x = 0; x < L_; ++x) {
        p[static_cast<size_t>(x)] = out.weight * B[x];
        if (own) own[x] += p[static_cast<size_t>(x)];
      }
      for (int64_t j = 0, left = r; j < n; ++j, left /= L_) {
        double* to = pair[static_cast<size_t>(j)];
        if (!to) continue;
        const int64_t z = left % L_;
        for (int64_t x = 0; x < L_; ++x)
          to[flip[static_cast<size_t>(j)] ? z * L_ + x : x * L_ + z] += p[static_cast<size_t>(x)];
      }
    }
  }

  // Labels in reverse order of elimination; choose(row of B, number of the clique).
  template <class Choose>
  void trace(int32_t* labels, Choose&& choose) const {
    for (int64_t k = g_.nodes - 1; k >= 0; --k) {
      int64_t row = 0, stride = 1;
      for (int64_t j = 0; j < plan_.rest_size(k); ++j, stride *= L_) row += labels[rest(k)[j]] * stride;
      const double* B = B_.data() + table_[static_cast<size_t>(k)] + row * L_;
      labels[plan_.order[static_cast<size_t>(k)]] = static_cast<int32_t>(choose(B, k));
    }
  }

  const MessageGraph& g_;
  const Elimination& plan_;
  const int64_t L_;
  std::vector<int64_t> table_, message_;  // [V + 1] where they begin
  std::vector<double> B_, M_;             // scores, later probabilities; messages
};

}  // namespace crfkit
