// The lattice of one sequence, and how its states are laid out in memory.
//
// A chain of order n has states that are the last n labels. With C = L^(n-1) contexts, an in-state (j, c) at
// position t-1 goes to an out-state (c, l) at position t: j is the label that is forgotten, l the one that is
// new. Positions t < n have shorter histories: position t has min(C, L^t) contexts. Order 1 is the case C
// = 1.
//
// Rows over the newest label are padded to Lp, a multiple of 8, so that every loop over labels vectorises:
// state (c, l) lives at c * Lp + l, and the history with flat index h = c * L + l is found by state_offset.
//
// This header is seen by the kernels, which are compiled once per instruction set: only plain structs and
// functions with internal linkage may stand here (a member function defined in a class would have external
// linkage, and the linker could keep the copy of the wrong instruction set).
#pragma once

#include <cstdint>

namespace crfkit {

constexpr int kMaxOrder = 2;  // to raise it, bind one more table; nothing else depends on it
constexpr int kPadding = 8;   // rows are padded to a multiple of it

struct ChainDims {
  int order;              // n
  int labels;             // L
  int padded;             // Lp
  int64_t contexts;       // C = L^(n-1)
  int64_t states;         // C * Lp, the size of one position's state array
  int64_t forget_stride;  // distance in memory of in-states (j, c) and (j + 1, c)
};

// A piece of a sequence of T positions: first .. last - 1. Arrays of a piece begin at its first position.
struct Piece {
  int64_t first, last, T;
};

// The scores of one sequence, or of a piece of it; -inf forbids.
struct LatticeView {
  int64_t length;                   // T, or the positions of the piece
  int64_t first;                    // where in the sequence it begins: 0 unless it is a piece
  const double* node;               // [T, L]
  const double* start;              // [L] or null
  const double* end;                // [L] or null
  const double* edges[kMaxOrder];   // edges[k]: [L^(k+2)] or [T, L^(k+2)], scores of the last k+2 labels
  int64_t edge_strides[kMaxOrder];  // 0 when the table is shared by all positions, else L^(k+2)
};

static inline int64_t power(int64_t base, int exponent) {
  int64_t p = 1;
  for (int i = 0; i < exponent; ++i) p *= base;
  return p;
}

static inline ChainDims chain_dims(int order, int labels) {
  ChainDims d;
  d.order = order;
  d.labels = labels;
  d.padded = (labels + kPadding - 1) / kPadding * kPadding;
  d.contexts = power(labels, order - 1);
  d.states = d.contexts * d.padded;
  d.forget_stride = order == 1 ? 1 : d.contexts / labels * d.padded;
  return d;
}

// Contexts at position t: min(C, L^t).
static inline int64_t contexts_at(const ChainDims& d, int64_t t) {
  return t >= d.order - 1 ? d.contexts : power(d.labels, static_cast<int>(t));
}

// Where the state with flat history index h = c * L + l lives.
static inline int64_t state_offset(const ChainDims& d, int64_t h) {
  return h / d.labels * d.padded + h % d.labels;
}

// Where the in-state (0, c) lives; (j, c) follows j * forget_stride further.
static inline int64_t in_offset(const ChainDims& d, int64_t c) {
  return d.order == 1 ? 0 : state_offset(d, c);
}

// Returns the best state at the last position as a flat history index; ties go to the smallest.
static inline int64_t best_last_state(const ChainDims& d, int64_t T, const double* delta) {
  int64_t best = 0;
  for (int64_t h = 0; h < contexts_at(d, T - 1) * d.labels; ++h)
    if (delta[state_offset(d, h)] > delta[state_offset(d, best)]) best = h;
  return best;
}

// Writes the labels of a piece on the way back from state h, by the back-pointers of best_scores [n, states].
// Returns the state before the piece.
static inline int64_t walk_back(const ChainDims& d, const Piece& x, const uint16_t* back, int64_t h,
                                int32_t* labels) {
  for (int64_t t = x.last - 1; t >= x.first; --t) {
    labels[t - x.first] = static_cast<int32_t>(h % d.labels);
    // (c, l) came from (j, c); before position n the state itself holds the whole history
    h = t < d.order ? h / d.labels
                    : back[(t - x.first) * d.states + state_offset(d, h)] * d.contexts + h / d.labels;
  }
  return h;
}

// Size of the tables for the first positions together: Σ_{1 <= t < n} L^t rows.
static inline int64_t expand_size(const ChainDims& d) {
  int64_t size = 0;
  for (int t = 1; t < d.order; ++t) size += power(d.labels, t) * d.padded;
  return size;
}

// Σ over orders of the edge scores for history h (its last labels, n_labels of them) followed by label l.
static inline double history_score(const double* const* edges, int n_labels, int labels, int64_t h, int l) {
  double score = 0;
  int64_t span = 1;
  for (int k = 0; k < n_labels; ++k) {
    span *= labels;  // L^(k+1): table k looks at the last k+1 labels of the history
    score += edges[k][h % span * labels + l];
  }
  return score;
}

// Σ over orders of the edge scores, in rows padded with -inf. `shared` says that they hold for every position
// of every sequence; otherwise they are a thread's own buffer, refilled at each position.
struct LogTables {
  bool shared;
  double* full;               // [C, L(j), Lp(l)]
  double* expand[kMaxOrder];  // expand[t], 1 <= t < n: [L^t, Lp]
};

// How many doubles LogTables' arrays take together.
static inline int64_t log_tables_size(const ChainDims& d) { return d.states * d.labels + expand_size(d); }

// LogTables in `memory`, log_tables_size doubles.
static inline LogTables cut_log_tables(const ChainDims& d, double* memory, bool shared) {
  LogTables tables = {};
  tables.shared = shared;
  tables.full = memory;
  memory += d.states * d.labels;
  for (int t = 1; t < d.order; ++t) {
    tables.expand[t] = memory;
    memory += power(d.labels, t) * d.padded;
  }
  return tables;
}

// The doubles log_posterior needs as workspace for this many positions.
static inline int64_t log_workspace_size(const ChainDims& d, int64_t positions) {
  return positions * (d.states + 1) + 3 * d.states + 2 * d.padded;
}

// The doubles viterbi needs as workspace: δ, ψ, the maxima, and one 16-bit back-pointer per state.
static inline int64_t viterbi_workspace_size(const ChainDims& d, int64_t T) {
  return 2 * d.states + d.padded + T + T * d.states / 4;
}

// The edge scores of a whole batch, exponentiated once; see scaled_chain.h.
template <class Real>
struct SharedEdges {
  ChainDims dims;
  Real* full;               // [C, L(j), Lp(l)] exp(all edge scores of (j, c, l) - full_max)
  Real* full_t;             // [C, L(l), Lp(j)] the same, transposed
  Real* expand[kMaxOrder];  // expand[t], 1 <= t < n: [L^t, Lp] the lower orders, for the first positions
  Real* start;              // [Lp] exp(start - start_max), 0 in the padding
  Real* end;                // [Lp]
  double full_max, start_max, end_max, expand_max[kMaxOrder];
};

// How many Reals SharedEdges' arrays take together.
static inline int64_t shared_edges_size(const ChainDims& d) {
  return 2 * d.states * d.labels + expand_size(d) + 2 * d.padded;
}

// The results requested from the posterior of a sequence. Every pointer except log_z may be null: that result
// is then not computed. Windows and entropy are computed in log space only.
template <class Real>
struct PosteriorOut {
  double* log_z;
  Real* node;                 // marginals: [T, Lp] with 0 in the padding, which may be the array of node
                              // scores itself; in log space [T, L]
  Real* pair;                 // [T, L, pair_row] marginals of (y_{t-1}, y_t); 0 at t = 0
  int64_t pair_row;           // L; Lp with 0 in the padding where there are pair scores; in log space L
  double weight;              // of the sequence, in the counts
  double* counts;             // [C, L(j), Lp(l)] += weight * expected transitions from position n on
  double* expand[kMaxOrder];  // expand[t], 1 <= t < n: [L^t, Lp] += weight * expected histories at position t
  double* window;             // [T, L^(n+1)] marginals of the last n + 1 labels, n > 1; 0 before position n
  double* entropy;            // of p(y | x)
};
using LogOut = PosteriorOut<double>;

constexpr int kCountBlock = 64;  // positions whose expected transitions are summed in registers at once

// Whether expected transitions are summed separately before they join the block's: in several pieces, or
// position by position, because a sequence that turns out unsound must leave no trace.
static inline bool counts_apart(int64_t T, bool pairs) { return pairs || T > kCountBlock; }

// The doubles scaled_posterior needs as workspace for a sequence of T positions, or for pieces of up to n.
template <class Real>
static inline int64_t scaled_workspace_size(const ChainDims& d, int64_t T, int64_t n, bool pairs) {
  const int64_t block = T < kCountBlock ? T : kCountBlock;
  int64_t reals =
      n * (d.padded + d.states + 1) + block * d.states + 3 * d.states + expand_size(d) + d.padded + 1;
  if (pairs) reals += (n + 1) * d.labels * d.padded + d.padded;
  return (counts_apart(T, pairs) ? d.states * d.labels : 0) + reals * sizeof(Real) / sizeof(double) + 1;
}

}  // namespace crfkit
