// Inference on graphs: takes batches, fills arrays. Shapes have been checked in Python
// (data/topology.py, inference/graph_scores.py); only what memory safety needs is checked again here.
#include "base/parallel.h"
#include "bind.h"
#include "graphs/best_labelling.h"
#include "graphs/clique_tables.h"
#include "graphs/gibbs.h"
#include "graphs/mean_field.h"
#include "graphs/message_passing.h"

namespace crfkit {
namespace {

constexpr int64_t kLargeTables = int64_t{1} << 22;  // numbers in all blocks' own sums: 32 MB
constexpr int64_t kLargeGraph = int64_t{1} << 20;   // work of a graph whose nodes threads share
enum How : uint8_t { kForest, kCliques, kMessages, kMeanField, kBounds, kGibbs, kGiven };

using Doubles = Array<const double>;
using Ids = Array<const int32_t>;

GraphPlan make_plan(Array<const int32_t, 2> edges, Array<const int64_t> offsets,
                    Array<const int64_t> edge_offsets) {
  require(edges.shape(1) == 2 && offsets.shape(0) == edge_offsets.shape(0), "edges must be [E, 2]");
  require(edges.shape(0) < (size_t{1} << 30), "too many edges");
  require(offsets.shape(0) >= 1 && offsets(offsets.shape(0) - 1) < INT32_MAX, "too many nodes");
  check_bounds(offsets, static_cast<size_t>(offsets(offsets.shape(0) - 1)), "offsets must ascend from 0");
  check_bounds(edge_offsets, edges.shape(0), "edge_offsets must ascend from 0 to the number of edges");
  for (size_t i = 0; i + 1 < offsets.shape(0); ++i)
    for (int64_t k = 2 * edge_offsets(i); k < 2 * edge_offsets(i + 1); ++k)
      require(edges.data()[k] >= offsets(i) && edges.data()[k] < offsets(i + 1) &&
                  edges.data()[k] != edges.data()[k ^ 1],
              "an edge must link two nodes of its graph");
  return GraphPlan({offsets.data(), offsets.data() + offsets.shape(0)},
                   {edge_offsets.data(), edge_offsets.data() + edge_offsets.shape(0)}, edges.data());
}

// The plan is shared by all scores of the same graphs: it must outlive this.
class BoundScores {
 public:
  BoundScores(GraphPlan& plan, Array<const double, 2> node, Array<const double, 3> edge,
              std::optional<Ids> kinds, std::optional<Doubles> rho)
      : node_(node), edge_(edge), kinds_(kinds), rho_(rho), plan(plan) {
    const size_t L = node.shape(1), E = static_cast<size_t>(plan.n_edges());
    require(L >= 1 && L <= 65535 && static_cast<int64_t>(node.shape(0)) == plan.n_nodes(),
            "node must be [V, L]");
    require(edge.shape(1) == L && edge.shape(2) == L, "edge must be [K, L, L]");
    require(kinds ? kinds->shape(0) == E : edge.shape(0) == E, "one table or kind per edge");
    if (kinds) check_ids(*kinds, 0, static_cast<int64_t>(edge.shape(0)), "kinds must be 0..K-1");
    require(!rho || rho->shape(0) == E, "rho must be [E]");
  }
  GraphBatch batch(bool weighted) const {
    return {plan,
            labels(),
            node_.data(),
            edge_.data(),
            kinds_ ? kinds_->data() : nullptr,
            weighted && rho_ ? rho_->data() : nullptr};
  }
  int labels() const { return static_cast<int>(node_.shape(1)); }
  int64_t tables() const { return static_cast<int64_t>(edge_.shape(0)); }
  int64_t work(int64_t i) const { return plan.nodes(i) + plan.edges(i) + 1; }
  bool large(int64_t i) const { return 2 * plan.edges(i) * labels() * labels() > kLargeGraph; }
  // Exact tables are made for graphs that have an elimination order.
  void check(const Array<const uint8_t>& how) const {
    require(static_cast<int64_t>(how.shape(0)) == plan.n_graphs(), "how must be [N]");
    for (int64_t i = 0; i < plan.n_graphs(); ++i)
      require(how.data()[i] != kCliques || (plan.eliminated() && plan.elimination(i).complete &&
                                            plan.elimination(i).table_size(labels()) < 1e12),
              "no elimination order");
  }

 private:
  Array<const double, 2> node_;
  Array<const double, 3> edge_;
  std::optional<Ids> kinds_;
  std::optional<Doubles> rho_;

 public:
  GraphPlan& plan;
};

// Calls fn(graph, block, threads) for the graphs that are not empty: first those whose nodes threads share,
// then blocks of the others.
template <class Shared, class Fn>
void for_graphs(const BoundScores& scores, int most_blocks, int n_threads, Shared&& shared, Fn&& fn) {
  const GraphPlan& plan = scores.plan;
  const int64_t N = plan.n_graphs();
  const Unlocked release;
  for (int64_t i = 0; i < N; ++i)
    if (plan.nodes(i) > 0 && shared(i)) fn(i, 0, n_threads);
  const std::vector<int64_t> cuts = filled_runs(N, most_blocks, [&](int64_t i) { return scores.work(i); });
  parallel_for(static_cast<int>(cuts.size()) - 1, n_threads, [&](int b, int) {
    for (int64_t i = cuts[static_cast<size_t>(b)]; i < cuts[static_cast<size_t>(b) + 1]; ++i)
      if (plan.nodes(i) > 0 && !shared(i)) fn(i, b, 1);
  });
}

bool none_shared(int64_t) { return false; }

template <class Any>
double* at(const std::optional<Any>& array, int64_t place) {
  return array ? array->data() + place : nullptr;
}

void require_sizes(const BoundScores& s, std::initializer_list<size_t> per_graph) {
  for (const size_t n : per_graph)
    require(static_cast<int64_t>(n) == s.plan.n_graphs(), "one entry per graph");
}

void bind_sums(nb::module_& m) {
  m.def(
      "graph_sums",
      [](const BoundScores& s, Array<const uint8_t> how, int schedule, double damping, int64_t max_iterations,
         double tolerance, Array<double> log_z, Array<int64_t> dead, Array<uint8_t> converged,
         Array<int64_t> iterations, Array<int64_t> updates, int n_threads, std::optional<Doubles> weights,
         std::optional<Array<double, 2>> node, std::optional<Array<double, 3>> edge, bool by_kind,
         std::optional<Array<double, 2>> messages, std::optional<Ids> start) {
        const GraphPlan& plan = s.plan;
        const int64_t L = s.labels(), V = plan.n_nodes(), E = plan.n_edges(), table = s.tables() * L * L;
        s.check(how);
        require(schedule >= -1 && schedule <= 2, "schedule must be -1, 0, 1 or 2");
        require_sizes(s, {log_z.size(), dead.size(), converged.size(), iterations.size(), updates.size()});
        require(!weights || static_cast<int64_t>(weights->size()) == plan.n_graphs(), "weights must be [N]");
        require(!node || static_cast<int64_t>(node->size()) == V * L, "node must be [V, L]");
        require(!by_kind || s.batch(false).kinds, "sums by kind need kinds");
        require(!edge || static_cast<int64_t>(edge->size()) == (by_kind ? table : E * L * L),
                "edge: [E, L, L]");
        require(!messages || static_cast<int64_t>(messages->size()) == 2 * E * L, "messages must be [2E, L]");
        require(!start || static_cast<int64_t>(start->size()) == V, "start must be [V]");
        if (start) check_ids(*start, 0, L, "labels must be 0..L-1");
        const int64_t fit = kLargeTables / std::max<int64_t>(table, 1);
        const int most = static_cast<int>(by_kind ? std::clamp<int64_t>(fit, 1, 64) : 64);
        std::vector<std::vector<double>> sums(static_cast<size_t>(most));
        std::vector<MessagePassing> passing(static_cast<size_t>(most));
        auto chosen = [&](int64_t i) { return static_cast<Schedule>(schedule >= 0 ? schedule : s.large(i)); };
        auto shared = [&](int64_t i) {
          return how.data()[i] == kMessages && s.large(i) && chosen(i) == Schedule::kSynchronous;
        };
        for_graphs(s, most, n_threads, shared, [&](int64_t i, int b, int threads) {
          const uint8_t way = how.data()[i];
          const GraphBatch batch = s.batch(way == kMessages);
          GraphCounts out;
          out.weight = weights ? weights->data()[i] : 1.0;
          out.node = at(node, plan.offset(i) * L);
          out.by_kind = by_kind;
          if (edge && by_kind) {
            auto& own = sums[static_cast<size_t>(b)];
            own.resize(static_cast<size_t>(table));
            out.edge = own.data();
          } else {
            out.edge = at(edge, plan.edge_offset(i) * L * L);
          }
          GraphReport report;
          if (way == kForest || way == kMessages) {
            const PassingRules rules{way == kForest, chosen(i), damping, max_iterations, tolerance};
            double* kept = way == kMessages ? at(messages, 2 * plan.edge_offset(i) * L) : nullptr;
            report = passing[static_cast<size_t>(b)].run(batch, i, rules, out, kept, threads);
          } else if (way == kCliques) {
            const MessageGraph g = batch.graph(i);
            CliqueTables tables(g, plan.elimination(i));
            report.log_z = tables.up<false>();
            report.dead = tables.dead;
            if (report.dead < 0 && (out.node || out.edge)) tables.down(out);
          } else {
            report = mean_field(batch.graph(i), plan.order(i), max_iterations, tolerance,
                                start ? start->data() + plan.offset(i) : nullptr, out);
          }
          log_z.data()[i] = report.log_z, dead.data()[i] = report.dead;
          converged.data()[i] = report.converged;
          iterations.data()[i] = report.iterations, updates.data()[i] = report.updates;
        });
        for (const auto& own : sums)  // in block order: the same bits for any number of threads
          for (size_t k = 0; k < own.size(); ++k) edge->data()[k] += own[k];
      },
      "scores"_a, "how"_array, "schedule"_a, "damping"_a, "max_iterations"_a, "tolerance"_a, "log_z"_array,
      "dead"_array, "converged"_array, "iterations"_array, "updates"_array, "n_threads"_a,
      "weights"_array = nb::none(), "node"_array = nb::none(), "edge"_array = nb::none(), "by_kind"_a = false,
      "messages"_array = nb::none(), "start"_array = nb::none(),
      "Fill log_z [N] and, where given, marginals of nodes, and add those of edges, times weights [N]. how "
      "[N]:"
      " 0 forest, 1 cliques, 2 messages, 3 mean field. schedule: 0 sequential, 1 synchronous, 2 residual, -1"
      " synchronous for large graphs, else sequential. dead[i] is a node of graph i at which nothing is"
      " permitted. messages [2E, L]: where to begin, and then the last ones. start [V]: for the mean field.");
}

void bind_labellings(nb::module_& m) {
  m.def(
      "graph_best",
      [](const BoundScores& s, Array<const uint8_t> how, int64_t max_iterations, double tolerance,
         Array<int32_t> labels, Array<double> score, Array<double> bound, Array<uint8_t> optimal,
         Array<int64_t> dead, Array<int64_t> iterations, int n_threads) {
        const GraphPlan& plan = s.plan;
        s.check(how);
        require_sizes(s, {score.size(), bound.size(), optimal.size(), dead.size(), iterations.size()});
        require(static_cast<int64_t>(labels.size()) == plan.n_nodes(), "labels must be [V]");
        for (size_t u = 0; u < labels.size(); ++u)
          require(labels.data()[u] >= 0 && labels.data()[u] < s.labels(), "labels must be 0..L-1");
        for_graphs(s, 64, n_threads, none_shared, [&](int64_t i, int, int) {
          int32_t* own = labels.data() + plan.offset(i);
          BestReport report;
          if (how.data()[i] == kCliques) {
            const MessageGraph g = s.batch(false).graph(i);
            CliqueTables tables(g, plan.elimination(i));
            const double found = tables.up<true>();
            dead.data()[i] = tables.dead;
            if (tables.dead >= 0) return;
            tables.best(own);
            report = {labelling_score(g, own), found, true, 1};
          } else if (how.data()[i] == kGiven) {
            const double found = labelling_score(s.batch(false).graph(i), own);
            report = {found, found, true, 1};
            if (found == -HUGE_VAL) dead.data()[i] = 0;
          } else {
            report = best_by_bounds(s.batch(false), i, max_iterations, tolerance, own);
            if (report.score == -HUGE_VAL) dead.data()[i] = report.bound == -HUGE_VAL ? 0 : plan.nodes(i);
          }
          score.data()[i] = report.score, bound.data()[i] = report.bound;
          optimal.data()[i] = report.optimal, iterations.data()[i] = report.iterations;
        });
      },
      "scores"_a, "how"_array, "max_iterations"_a, "tolerance"_a, "labels"_array, "score"_array,
      "bound"_array, "optimal"_array, "dead"_array, "iterations"_array, "n_threads"_a,
      "Fill labels [V] of the best labellings, their scores [N], upper bounds [N], and whether they are "
      "optimal."
      " how [N]: 1 cliques, 4 tree-reweighted bounds, 6 the labels that are given. dead[i] is a node of "
      "graph i"
      " if nothing is permitted, and the number of nodes if nothing permitted was found.");

  m.def(
      "graph_sample",
      [](const BoundScores& s, Array<const uint8_t> how, uint64_t seed, int64_t sweeps, Ids start,
         Array<int32_t, 2> labels, Array<int64_t> dead, int n_threads) {
        const GraphPlan& plan = s.plan;
        s.check(how);
        require_sizes(s, {dead.size()});
        require(static_cast<int64_t>(labels.shape(1)) == plan.n_nodes() &&
                    static_cast<int64_t>(start.size()) == plan.n_nodes(),
                "labels must be [S, V], start [V]");
        check_ids(start, 0, s.labels(), "labels must be 0..L-1");
        const auto S = static_cast<int64_t>(labels.shape(0));
        for_graphs(s, 64, n_threads, none_shared, [&](int64_t i, int, int) {
          const MessageGraph g = s.batch(false).graph(i);
          const uint64_t key = splitmix(seed ^ splitmix(static_cast<uint64_t>(i)));
          auto room = [&](int64_t k) { return labels.data() + k * plan.n_nodes() + plan.offset(i); };
          if (how.data()[i] == kCliques) {
            CliqueTables tables(g, plan.elimination(i));
            tables.up<false>();
            dead.data()[i] = tables.dead;
            for (int64_t k = 0; k < S && tables.dead < 0; ++k)
              tables.sample(splitmix(key ^ splitmix(static_cast<uint64_t>(k))), room(k));
            return;
          }
          for (int64_t k = 0; k < S; ++k) {
            std::copy_n(start.data() + plan.offset(i), g.nodes, room(k));
            gibbs(g, splitmix(key ^ splitmix(static_cast<uint64_t>(k))), sweeps, room(k));
          }
        });
      },
      "scores"_a, "how"_array, "seed"_a, "sweeps"_a, "start"_array, "labels"_array, "dead"_array,
      "n_threads"_a,
      "Fill labels [S, V] with S samples. how [N]: 1 cliques, 5 Gibbs sampling from `start` [V].");
}

}  // namespace

void bind_graphs(nb::module_& m) {
  nb::class_<GraphPlan>(m, "GraphPlan", "What inference prepares for a batch of graphs, whatever the scores.")
      .def(
          "__init__",
          [](GraphPlan* self, Array<const int32_t, 2> edges, Array<const int64_t> offsets,
             Array<const int64_t> edge_offsets) {
            new (self) GraphPlan(make_plan(edges, offsets, edge_offsets));
          },
          "edges"_array, "offsets"_array, "edge_offsets"_array)
      .def(
          "forests",
          [](const GraphPlan& plan) {
            std::vector<uint8_t> found;
            for (int64_t i = 0; i < plan.n_graphs(); ++i) found.push_back(plan.forest(i));
            return to_numpy(std::move(found));
          },
          "Return which graphs have no cycles [N].")
      .def(
          "widths",
          [](GraphPlan& plan, int n_threads) {
            unlocked([&] {
              plan.eliminate(n_threads);
              return 0;
            });
            std::vector<int32_t> widths;
            for (int64_t i = 0; i < plan.n_graphs(); ++i) widths.push_back(plan.elimination(i).width);
            return to_numpy(std::move(widths));
          },
          "n_threads"_a, "Return the widths of elimination orders [N].")
      .def(
          "table_sizes",
          [](const GraphPlan& plan, int labels) {
            require(plan.eliminated(), "call widths first");
            std::vector<double> sizes;
            for (int64_t i = 0; i < plan.n_graphs(); ++i)
              sizes.push_back(plan.elimination(i).table_size(labels));
            return to_numpy(std::move(sizes));
          },
          "labels"_a, "Return how many numbers exact inference needs [N]; inf if a graph is too wide.")
      .def(
          "tree_shares",
          [](const GraphPlan& plan, int n_threads) {
            std::vector<double> shares(static_cast<size_t>(plan.n_edges()));
            unlocked([&] {
              parallel_for(static_cast<int>(plan.n_graphs()), n_threads, [&](int i, int) {
                const std::vector<double> own = plan.tree_shares(i);
                std::copy(own.begin(), own.end(), shares.begin() + plan.edge_offset(i));
              });
              return 0;
            });
            return to_numpy(std::move(shares));
          },
          "n_threads"_a, "Return the share of spanning trees that have each edge [E].");
  nb::class_<BoundScores>(m, "GraphScores", "Scores of a batch of graphs.")
      .def(nb::init<GraphPlan&, Array<const double, 2>, Array<const double, 3>, std::optional<Ids>,
                    std::optional<Doubles>>(),
           nb::keep_alive<1, 2>(), "plan"_a, "node"_array, "edge"_array, "kinds"_array = nb::none(),
           "rho"_array = nb::none());
  bind_sums(m);
  bind_labellings(m);
}

}  // namespace crfkit
