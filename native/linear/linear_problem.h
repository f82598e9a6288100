// The data structures of the linear objective's kernel: plain pointers, one struct each for the data, the
// weights, and a block of sequences with its sums. See linear_kernel.h.
#pragma once

#include "chain/lattice.h"

namespace crfkit {

// Moves of float sums to double, in the order of positions: see settle_plan.h.
struct SettleEvents {
  int width;               // numbers per item
  int64_t n;               // events
  const int64_t* at;       // [n + 1] position after which an item is moved; last, one beyond all positions
  const int32_t* items;    // [n]
  const int32_t* settled;  // [n] where it goes, in units of `width`
};

// Which parameters are active at each position: a LinearLayout. Its rows are over labels (padded = Lp), or
// over pairs of labels, the previous one first (padded = L * Lp).
struct LinearFeatures {
  int padded;              // width of a dense row
  const int64_t* row_ptr;  // [ΣT + 1]; null: there are no such features
  const int32_t* rows;
  const float* row_values;  // or null: all ones
  const int64_t* sparse_ptr;
  const int32_t* sparse_ids;
  const int32_t* sparse_labels;
  const float* sparse_values;  // or null
  const float* row_shares;  // [rows, padded] features that share a parameter, for stochastic steps; 0: none
  const float* sparse_shares;  // [n_sparse]
  SettleEvents row_events, sparse_events;
};

struct LinearProblem {
  ChainDims dims;
  const int64_t* offsets;  // [N + 1]
  LinearFeatures state;    // score a label
  LinearFeatures pair;     // score a label and the one before it; none at the first position of a sequence
  const int32_t* labels;   // [ΣT], -1 where the label is missing or a set
  const uint8_t* allowed;  // [ΣT, L] or null: every label is known
  const uint8_t* likely;   // [ΣT, (L + 7) / 8] bits of the labels that Z sums over; null: all
  const double* weights;   // [N] or null
  const float* log_cost;   // [L] or null: log of the class weights
  const int32_t* kinds;    // [ΣT] which of the masks holds at a position
  const float* masks;      // [M, L, Lp] 0, or -inf where a label pair is forbidden; null: all are permitted
};

// The doubles a block needs as `memory` for n positions at once: scores and marginals, the chain's workspace,
// and in log space the edge scores of each position and a table of them.
static inline int64_t linear_memory_size(const ChainDims& d, int64_t n, bool pairs) {
  const int64_t scaled = scaled_workspace_size<double>(d, kCountBlock + 1, n, pairs);
  const int64_t logs = log_workspace_size(d, n) + (pairs ? log_tables_size(d) : 0);
  const int64_t pair_scores = pairs ? 2 * n * d.labels * d.padded : 0;
  return 2 * n * d.padded + pair_scores + 8 + (scaled > logs ? scaled : logs);
}

// Long sequences are cut into pieces of `length` positions; the first one has those that remain, and at least
// as many as the order, so that histories do not grow beyond it (linear_pieces.h).
static inline int64_t piece_count(const ChainDims& d, int64_t T, int64_t length) {
  return (T - d.order) / length + 1;
}
// The most positions that a piece may have.
static inline int64_t piece_rows(const ChainDims& d, int64_t length) { return length + d.order - 1; }
// The doubles kept per piece: α before it and its sum, β at its end.
static inline int64_t mark_size(const ChainDims& d) { return 2 * d.states + 1; }

// One number per parameter, as the kernel reads or adds it.
template <class Real>
struct LinearTable {
  Real* dense;   // [rows, padded]
  Real* sparse;  // [n_sparse]
};

struct LinearWeights {
  float scale;  // of state and pair: the weights are scale times these
  LinearTable<const float> state, pair;
  const double* edges[kMaxOrder];    // edges[k]: [L^(k+2)]; null if the chain is over label n-grams
  const SharedEdges<float>* shared;  // the same, exponentiated
  const SharedEdges<double>* exact;  // for sequences where float loses too much
  const LogTables* tables;           // for those where double does, too
};

// Sums by parameter: the recent terms in float, and what has been moved to double (null: nothing is moved,
// because `recent` holds the weights of a stochastic step).
struct LinearSums {
  LinearTable<float> recent;
  LinearTable<double> settled;
};

// The chain over label n-grams, which takes the place of tables of transitions (orders/ngram_posterior.h):
// the kernels do not know it.
struct NgramCalls {
  void* worker;  // of the thread
  // Does what linear_posterior.h does.
  double (*posterior)(void* worker, int64_t T, float* node, float* pairs, double weight, double* counts);
  double (*transitions)(void* worker, int64_t T, const int32_t* labels);  // the score of a path's transitions
};

// The sums over a block of sequences; each block has its own, added up in block order.
struct LinearBlock {
  LinearSums state, pair;  // gradient
  // Σ value² p (1 - p), the diagonal of the Hessian within a position
  LinearSums state_diag, pair_diag;
  int64_t next_event[4];      // events of settle.h: those of `state`, then those of `pair`
  double* label_diag;         // [Lp] Σ p (1 - p) by label; null: not requested
  double* counts;             // [C, L, Lp] expected minus (for partial labels) constrained transitions; nodes
  const NgramCalls* ngrams;   // null: transitions are in tables
  double* expand[kMaxOrder];  // [L^t, Lp]
  int64_t whole;              // sequences of more positions are computed in pieces
  int64_t piece;              // positions of a piece
  float* node;                // [n, Lp] workspace: scores, then marginals, of a sequence or a piece
  float* bound;               // [n, Lp] workspace, the same under partial labels
  float* pairs;               // [n, L, Lp] workspace: scores of label pairs, then marginals; or null
  float* bound_pairs;         // [n, L, Lp] workspace, the same under partial labels
  float* row;                 // [L * Lp] workspace
  double* memory;             // workspace of the chain
  double* marks;              // [pieces, 2 states + 1] workspace, twice under partial labels
  float step;                 // 1, or what a stochastic step multiplies the gradient with
  double loss;                // Σ weight (log Z - score)
};

}  // namespace crfkit
