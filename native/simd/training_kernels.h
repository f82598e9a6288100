// The table of hot loops of training, chosen as that of inference is: kernels.h.
#pragma once

#include "chain/lattice.h"
#include "graphs/message_graph.h"
#include "linear/linear_problem.h"
#include "segments/length_states.h"

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

  // Sums over segments: length_kernel.h, window_kernel.h.
  bool (*length_posterior)(const LengthFactors&, const SegmentView&, double* memory, double* log_z,
                           const SegmentCounts&);
  double (*window_sum)(const double* x, const double* l, int64_t n);
  double (*window_best)(const double* a, const double* l, int64_t n);
  void (*window_add)(const double* x, const double* l, double factor, int64_t n, double* counts);

  // Messages in graphs: message_kernel.h, binary_kernel.h, belief_kernel.h, best_kernel.h.
  int64_t (*message_work_size)(int labels);
  double (*fill_factors)(const double* scores, int labels, double rho, double* out);
  double (*send_messages)(const MessageGraph&, int64_t first, int64_t last, const double* from, double* to,
                          double* work);
  double (*sweep_messages)(const MessageGraph&, const int32_t* order, const int32_t* rank, bool forward,
                           double* messages, double* work);
  void (*node_messages)(const MessageGraph&, int64_t u, double* messages, double* changes, double* work);
  bool (*send_odds)(const MessageGraph&, int64_t first, int64_t last, const double* odds, const double* from,
                    double* to, double tolerance);
  void (*log_beliefs)(const MessageGraph&, int64_t first, int64_t last, const double* messages,
                      double* beliefs, double* work);
  double (*normalise_row)(const double* row, int64_t L, double weight, double* out);
  double (*edge_marginal)(const MessageGraph&, int64_t e, const double* beliefs, const double* messages,
                          double weight, double* out, double* work);
  double (*best_pass)(const MessageGraph&, const int32_t* order, const int32_t* rank, bool forward,
                      double* messages, int32_t* labels, double* work);
};

const TrainingKernels& training_kernels();

}  // namespace crfkit
