// What the linear objective's kernel sees: plain pointers, one struct for the data, one for the weights, one
// for a block of sequences and what it adds up. See linear_kernel.h.
#pragma once

#include "lattice.h"

namespace crfkit {

struct LinearProblem {
  ChainDims dims;
  const int64_t* offsets;  // [N + 1]
  const int64_t* row_ptr;  // see LinearLayout
  const int32_t* rows;
  const float* row_values;  // or null
  const int64_t* sparse_ptr;
  const int32_t* sparse_ids;
  const int32_t* sparse_labels;
  const float* sparse_values;  // or null
  const float* row_shares;     // [rows, Lp] features that share a parameter, for stochastic steps; 0: none
  const float* sparse_shares;  // [n_sparse]
  const int32_t* labels;       // [ΣT], -1 where the label is missing or a set
  const uint8_t* allowed;      // [ΣT, L] or null: every label is known
  const double* weights;       // [N] or null
  const float* log_cost;       // [L] or null: log of the class weights
};

// Doubles a block wants as `memory` for sequences of up to T positions.
static inline int64_t linear_memory_size(const ChainDims& d, int64_t T) {
  const int64_t scaled = scaled_workspace_size<double>(d, T), logs = log_workspace_size(d, T);
  return 2 * T * d.padded + 8 + (scaled > logs ? scaled : logs);
}

struct LinearWeights {
  float scale;                       // of dense and sparse: the weights are scale times these
  const float* dense;                // [rows, Lp]
  const float* sparse;               // [n_sparse]
  const double* edges[kMaxOrder];    // edges[k]: [L^(k+2)]
  const SharedEdges<float>* shared;  // the same, exponentiated
  const SharedEdges<double>* exact;  // for sequences where float loses too much
  const LogTables* tables;           // for those where double does, too
};

// The sums over a block of sequences; each block has its own, added up in block order.
struct LinearBlock {
  float* dense;       // [rows, Lp] gradient
  float* sparse;      // [n_sparse]
  float* dense_diag;  // [rows, Lp] Σ value² p (1 - p), the diagonal of the Hessian within a position; or null
  float* sparse_diag;
  double* label_diag;         // [Lp] Σ p (1 - p) by label
  double* counts;             // [C, L, Lp] expected minus (for partial labels) constrained transitions
  double* expand[kMaxOrder];  // [L^t, Lp]
  float* node;                // [longest, Lp] workspace
  float* bound;               // [longest, Lp] workspace, marginals under partial labels
  float* row;                 // [Lp] workspace
  double* memory;             // workspace of the chain
  float step;                 // 1, or what a stochastic step multiplies the gradient with
  double loss;                // Σ weight (log Z - score)
};

}  // namespace crfkit
