// The table of hot loops of training, chosen as that of inference is: kernels.h.
#pragma once

#include "chain/lattice.h"
#include "linear/linear_problem.h"

namespace crfkit {

struct TrainingKernels {
  // The linear objective: linear_kernel.h.
  void (*prepare_edges_float)(const ChainDims&, const double* const* edges, const double* start,
                              const double* end, float* memory, SharedEdges<float>*);
  void (*linear_block)(const LinearProblem&, const LinearWeights&, const int32_t* ids, int64_t first,
                       int64_t last, LinearBlock&);

  // Vector work of the optimisers: vector_kernel.h.
  void (*row_dots)(const float* rows, int64_t stride, int n_rows, const float* v, int64_t n, double* out);
  void (*add_rows)(const float* rows, int64_t stride, int n_rows, const float* factors, int64_t n,
                   float* out);

  // Sums over segments: window_kernel.h.
  double (*window_sum)(const double* x, const double* l, int64_t n);
  double (*window_best)(const double* a, const double* l, int64_t n);
  void (*window_add)(const double* x, const double* l, double factor, int64_t n, double* counts);
};

const TrainingKernels& training_kernels();

}  // namespace crfkit
