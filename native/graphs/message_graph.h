// One graph as the loops see it, and the formulas of message passing.
//
//   S(y) = Σ_v θ_v(y_v) + Σ_{uv} θ_uv(y_u, y_v)
//
// A slot is an edge in one direction. The slots of a node u lie side by side; slot s goes from u to
// v = neighbour[s] and holds the log message λ_{u→v} [L]; back[s] is the slot from v to u. With appearance
// probabilities ρ of edges (1: belief propagation; else tree-reweighted: Wainwright, Jaakkola and Willsky,
// "A new class of upper bounds on the log partition function", 2005)
//
//   b_u(x)    = θ_u(x) + Σ_w ρ_uw λ_{w→u}(x)                       the log belief of a node
//   c_u(x)    = b_u(x) − λ_{v→u}(x)                                without what came from v
//   λ_{u→v}(z) = log Σ_x exp(θ_uv(x, z) / ρ_uv + c_u(x)) − constant
//
// For any messages, S(y) = Σ_u (1 − Σ_v ρ_uv) b_u(y_u) + Σ_uv ρ_uv b_uv(y_u, y_v) with
// b_uv = θ_uv / ρ_uv + c_u + c_v. At a fixed point both sides' sums agree, and
//
//   log Z ≈ Σ_u (1 − Σ_v ρ_uv) log Z_u + Σ_uv ρ_uv log Z_uv,     Z_u = Σ exp b_u, Z_uv = Σ exp b_uv
//
// is exact on forests (ρ = 1), and an upper bound if ρ comes from a distribution over spanning trees. The
// forbidden is −inf: a label with b_u = −inf stays forbidden, whatever λ is subtracted from it.
#pragma once

#include <cstdint>

namespace crfkit {

constexpr int kGraphSlack = 64;  // numbers that may be read beyond the end of an array of rows [.., L]

struct MessageGraph {
  int64_t nodes, edges;
  int labels;
  const int32_t* begin;       // [V + 1] first slot of each node
  const int32_t* neighbour;   // [2E]
  const int32_t* back;        // [2E]
  const int32_t* code;        // [2E] 2 · edge, + 1 if the node is its second end
  const int32_t* first_slot;  // [E] the slot of its first end
  const double* node;         // [V, L], with slack
  const double* scores;       // [K, L, L]
  const int32_t* kind;        // [E] row of scores; null: its own
  const double* rho;          // [E]; null: all 1
  const int32_t* table;       // [E] its number among the factors; null: its own
  const double* factors;      // [tables, 2, L, L] exp(θ / ρ − top), and the transposed; with slack
  const double* top;          // [tables] max θ / ρ
  double damping;             // share of the old message
};

// Counterparts of `table` for the scores themselves.
static inline const double* edge_scores(const MessageGraph& g, int64_t e) {
  return g.scores + (g.kind ? g.kind[e] : e) * g.labels * g.labels;
}
static inline double edge_rho(const MessageGraph& g, int64_t e) { return g.rho ? g.rho[e] : 1.0; }
static inline int64_t edge_table(const MessageGraph& g, int64_t e) { return g.table ? g.table[e] : e; }

}  // namespace crfkit
