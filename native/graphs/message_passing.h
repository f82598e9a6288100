// Sums over the labellings of one graph by passing messages: belief propagation and tree-reweighted. The
// formulas are in message_graph.h.
//
// Schedules. Sequential: forward and backward over the nodes in breadth-first order; one such iteration, the
// backward half first, is exact on forests. Synchronous: all messages at once, from those of the iteration
// before; threads share the nodes of a large graph. Residual: always the node whose incoming messages have
// changed most since it was visited (Elidan, McGraw and Koller, 2006; the changes instead of the residuals:
// Sutton and McCallum, 2007).
#pragma once

#include <cmath>
#include <cstring>
#include <unordered_map>
#include <vector>

#include "base/parallel.h"
#include "graphs/graph_batch.h"
#include "graphs/node_queue.h"
#include "simd/training_kernels.h"

namespace crfkit {

enum class Schedule : int { kSequential = 0, kSynchronous = 1, kResidual = 2 };

struct PassingRules {
  bool once = false;  // forest: one iteration is exact
  Schedule schedule = Schedule::kSequential;
  double damping = 0;
  int64_t max_iterations = 1;
  double tolerance = 1e-6;
};

// The workspace of one thread.
class MessagePassing {
 public:
  // Sends messages until they change by less than the tolerance. messages [2E, L]: where to begin, and then
  // the last ones; null: begin with none. n_threads: for a large graph.
  GraphReport run(const GraphBatch& batch, int64_t i, const PassingRules& rules, const GraphCounts& out,
                  double* messages, int n_threads) {
    prepare(batch, i, rules, n_threads);
    begin_messages(messages);
    GraphReport report;
    if (rules.once) {
      sweep(batch, i, false), sweep(batch, i, true);
      report.iterations = 1, report.updates = 2 * g_.edges;
    } else if (rules.schedule == Schedule::kSynchronous) {
      synchronous(rules, report, n_threads);
    } else if (rules.schedule == Schedule::kResidual) {
      residual(batch, i, rules, report);
    } else {
      report.converged = false;
      while (!report.converged && report.iterations < rules.max_iterations) {
        const double back = sweep(batch, i, false), forth = sweep(batch, i, true);
        ++report.iterations, report.updates += 2 * g_.edges;
        report.converged = std::max(back, forth) <= limit_;
      }
    }
    if (messages) std::memcpy(messages, at_.data(), sizeof(double) * size(2 * g_.edges * g_.labels));
    summarise(out, report, n_threads);
    return report;
  }

 private:
  static constexpr int64_t kBlock = 4096;  // nodes or edges that one thread does at a time

  static size_t size(int64_t n) { return static_cast<size_t>(n); }

  // Calls fn(first, last, block, work) for blocks of 0 .. n - 1.
  template <class Fn>
  void in_blocks(int64_t n, int n_threads, Fn&& fn) {
    const auto blocks = static_cast<int>((n + kBlock - 1) / kBlock);
    const int64_t room = training_kernels().message_work_size(g_.labels);
    const int threads = std::max(1, std::min(n_threads, blocks));
    if (static_cast<int64_t>(work_.size()) < room * threads) work_.resize(size(room * threads));
    parallel_for(blocks, threads, [&](int b, int worker) {
      fn(b * kBlock, std::min(n, (b + 1) * kBlock), b, work_.data() + worker * room);
    });
  }

  void prepare(const GraphBatch& batch, int64_t i, const PassingRules& rules, int n_threads) {
    g_ = batch.graph(i);
    const int64_t L = g_.labels, E = g_.edges;
    node_.resize(size(g_.nodes * L + kGraphSlack));
    std::copy(g_.node, g_.node + g_.nodes * L, node_.begin());
    g_.node = node_.data();
    g_.damping = rules.damping;
    int64_t tables = E;
    table_.clear();
    source_.clear();
    if (g_.kind) number_tables(), tables = static_cast<int64_t>(source_.size());
    g_.table = g_.kind ? table_.data() : nullptr;
    factors_.resize(size(tables * 2 * L * L + kGraphSlack));
    top_.resize(size(tables));
    in_blocks(g_.kind ? std::min<int64_t>(1, tables) : tables, n_threads,
              [&](int64_t a, int64_t b, int, double*) {
                if (g_.kind) b = tables;
                for (int64_t t = a; t < b; ++t) {
                  const int64_t e = g_.kind ? source_[size(t)] : t;
                  // A table's last registers run into the next one: the last of a block goes through memory
                  // of its own.
                  poll(5 * L * L);
                  fill_table(e, t, t + 1 == b);
                }
              });
    g_.factors = factors_.data();
    g_.top = top_.data();
    double largest = 0;
    auto look = [&](double x) { largest = std::isfinite(x) ? std::max(largest, std::abs(x)) : largest; };
    std::for_each(node_.begin(), node_.begin() + g_.nodes * L, look);
    for (const double x : top_) look(x);
    limit_ = rules.tolerance + 1e-12 * largest;
  }

  void fill_table(int64_t e, int64_t t, bool last) {
    const int L = g_.labels;
    double* own = factors_.data() + t * 2 * L * L;
    if (!last) {
      top_[size(t)] = training_kernels().fill_factors(edge_scores(g_, e), L, edge_rho(g_, e), own);
      return;
    }
    std::vector<double> room(size(2 * L * L + kGraphSlack));
    top_[size(t)] = training_kernels().fill_factors(edge_scores(g_, e), L, edge_rho(g_, e), room.data());
    std::copy(room.begin(), room.begin() + 2 * L * L, own);
  }

  // One table of factors per kind and ρ, in order of their first edges.
  void number_tables() {
    struct Hash {
      size_t operator()(const std::pair<int32_t, double>& key) const {
        return std::hash<double>()(key.second) * 31 + static_cast<size_t>(key.first);
      }
    };
    std::unordered_map<std::pair<int32_t, double>, int32_t, Hash> known;
    table_.resize(size(g_.edges));
    for (int64_t e = 0; e < g_.edges; ++e) {
      const auto [at, added] =
          known.try_emplace({g_.kind[e], edge_rho(g_, e)}, static_cast<int32_t>(source_.size()));
      if (added) source_.push_back(e);
      table_[size(e)] = at->second;
    }
  }

  void begin_messages(const double* given) {
    at_.resize(size(2 * g_.edges * g_.labels + kGraphSlack));
    for (size_t k = 0; k < at_.size(); ++k)  // what was forbidden may be permitted now
      at_[k] = given && k + kGraphSlack < at_.size() && given[k] > -HUGE_VAL ? given[k] : 0.0;
  }

  double sweep(const GraphBatch& batch, int64_t i, bool forward) {
    const int64_t room = training_kernels().message_work_size(g_.labels);
    if (static_cast<int64_t>(work_.size()) < room) work_.resize(size(room));
    return training_kernels().sweep_messages(g_, batch.plan.order(i), batch.plan.rank(i), forward, at_.data(),
                                             work_.data());
  }

  void synchronous(const PassingRules& rules, GraphReport& report, int n_threads) {
    const bool odds = fits_odds();
    if (odds) to_odds();
    next_.resize(at_.size());
    std::vector<double> changes(size((g_.nodes + kBlock - 1) / kBlock));
    report.converged = g_.edges == 0;
    while (!report.converged && report.iterations < rules.max_iterations) {
      in_blocks(g_.nodes, n_threads, [&](int64_t first, int64_t last, int b, double* work) {
        changes[size(b)] =
            odds ? training_kernels().send_odds(g_, first, last, odds_.data(), at_.data(), next_.data(),
                                                limit_)
                 : training_kernels().send_messages(g_, first, last, at_.data(), next_.data(), work);
      });
      std::swap(at_, next_);
      ++report.iterations, report.updates += 2 * g_.edges;
      report.converged = *std::max_element(changes.begin(), changes.end()) <= (odds ? 0.0 : limit_);
    }
    if (odds) from_odds();
  }

  // Two labels, no ρ, nothing forbidden, and no product of odds beyond exp(600).
  bool fits_odds() const {
    if (g_.labels != 2 || g_.rho || g_.damping > 0) return false;
    double range = 0;
    for (int64_t e = 0; e < g_.edges; ++e) {
      if (g_.kind && source_[size(table_[size(e)])] != e) continue;
      const double* score = edge_scores(g_, e);
      const auto [low, high] = std::minmax_element(score, score + 4);
      range = std::max(range, *high - *low);
    }
    for (int64_t u = 0; u < g_.nodes; ++u)
      if (!(std::abs(g_.node[2 * u + 1] - g_.node[2 * u]) + range * (g_.begin[u + 1] - g_.begin[u] + 1) <
            600))
        return false;
    return true;
  }
  void to_odds() {
    odds_.resize(size(g_.nodes));
    for (int64_t u = 0; u < g_.nodes; ++u) odds_[size(u)] = std::exp(g_.node[2 * u + 1] - g_.node[2 * u]);
    for (int64_t s = 0; s < 2 * g_.edges; ++s)
      at_[size(s)] = std::exp(at_[size(2 * s + 1)] - at_[size(2 * s)]);
  }
  void from_odds() {
    for (int64_t s = 2 * g_.edges; s-- > 0;) {
      const double log_odds = std::log(at_[size(s)]);
      at_[size(2 * s)] = std::min(0.0, -log_odds), at_[size(2 * s + 1)] = std::min(0.0, log_odds);
    }
  }

  void residual(const GraphBatch& batch, int64_t i, const PassingRules& rules, GraphReport& report) {
    const int64_t room = training_kernels().message_work_size(g_.labels);
    if (static_cast<int64_t>(work_.size()) < room) work_.resize(size(room));
    const int32_t* order = batch.plan.order(i);
    const int64_t most = rules.max_iterations * 2 * g_.edges;
    NodeQueue queue(g_.nodes);
    std::vector<double> changes;
    auto visit = [&](int64_t u) {
      const int64_t degree = g_.begin[u + 1] - g_.begin[u];
      poll(60 * (degree + 1));
      changes.resize(size(degree));
      training_kernels().node_messages(g_, u, at_.data(), changes.data(), work_.data());
      queue.set(static_cast<int32_t>(u), 0);
      for (int64_t k = 0; k < degree; ++k) queue.raise(g_.neighbour[g_.begin[u] + k], changes[size(k)]);
      report.updates += degree;
    };
    for (int64_t k = 0; k < g_.nodes; ++k) visit(order[k]);
    while (queue.top_priority() > limit_ && report.updates < most) visit(queue.top());
    report.converged = !(queue.top_priority() > limit_);
    report.iterations = g_.edges ? (report.updates + 2 * g_.edges - 1) / (2 * g_.edges) : 1;
  }

  // log Z and marginals; sums over blocks in a fixed order.
  void summarise(const GraphCounts& out, GraphReport& report, int n_threads) {
    const int64_t L = g_.labels, V = g_.nodes, E = g_.edges;
    beliefs_.resize(size(V * L + kGraphSlack));
    std::vector<double> parts(size((V + kBlock - 1) / kBlock + (E + kBlock - 1) / kBlock));
    std::vector<int64_t> dead(parts.size(), -1);
    in_blocks(V, n_threads, [&](int64_t first, int64_t last, int b, double* work) {
      training_kernels().log_beliefs(g_, first, last, at_.data(), beliefs_.data(), work);
      for (int64_t u = first; u < last; ++u) {
        double share = 1;
        for (int32_t s = g_.begin[u]; s < g_.begin[u + 1]; ++s) share -= edge_rho(g_, g_.code[s] >> 1);
        const double log_z = training_kernels().normalise_row(beliefs_.data() + u * L, L, out.weight,
                                                              out.node ? out.node + u * L : nullptr);
        if (log_z == -HUGE_VAL) {
          if (dead[size(b)] < 0) dead[size(b)] = u;
        } else {
          parts[size(b)] += share * log_z;
        }
      }
    });
    for (const int64_t u : dead)
      if (u >= 0 && report.dead < 0) report.dead = u;
    if (report.dead >= 0) return;
    const size_t base = size((V + kBlock - 1) / kBlock);
    const int edge_threads = out.edge && out.by_kind ? 1 : n_threads;
    in_blocks(E, edge_threads, [&](int64_t first, int64_t last, int b, double* work) {
      for (int64_t e = first; e < last; ++e) {
        poll(10 * L * L);
        const double log_z = training_kernels().edge_marginal(g_, e, beliefs_.data(), at_.data(), out.weight,
                                                              out.edge ? out.edge_row(g_, e) : nullptr, work);
        if (log_z > -HUGE_VAL)
          parts[base + size(b)] += edge_rho(g_, e) * log_z;
        else if (dead[base + size(b)] < 0)
          dead[base + size(b)] = g_.neighbour[g_.first_slot[e]];
      }
    });
    for (const int64_t u : dead)
      if (u >= 0 && report.dead < 0) report.dead = u;
    for (const double part : parts) report.log_z += part;
  }

  MessageGraph g_;
  double limit_ = 0;
  std::vector<double> node_, factors_, top_;        // [V, L], [tables, 2, L, L], [tables]
  std::vector<int32_t> table_;                      // [E]
  std::vector<int64_t> source_;                     // [tables] an edge with this table
  std::vector<double> at_, next_, beliefs_, work_;  // messages [2E, L], beliefs [V, L]
  std::vector<double> odds_;                        // [V]
};

}  // namespace crfkit
