// The table of hot loops of inference. kernels.cpp is compiled once per instruction set and fills one table
// each; kernels() returns the best one this machine can run. Callers never see an instruction set. Those of
// training are in training_kernels.h: the library for C has only these.
#pragma once

#include "chain/lattice.h"

namespace crfkit {

struct Kernels {
  const char* isa;  // "baseline", "avx2" or "avx512"

  // Inference on one sequence: scaled_chain.h, log_chain.h, decode.h.
  void (*prepare_edges)(const ChainDims&, const double* const* edges, const double* start, const double* end,
                        double* memory, SharedEdges<double>*);
  bool (*scaled_posterior)(const SharedEdges<double>&, int64_t T, const double* node, const double* pairs,
                           double* memory, const PosteriorOut<double>&);
  void (*fill_shared_tables)(const ChainDims&, const double* const* edges, const LogTables&);
  const double* (*table_at)(const ChainDims&, const LatticeView&, const LogTables&, int64_t t);
  int64_t (*log_forward)(const ChainDims&, const LatticeView&, const LogTables&, double* alpha,
                         double* maxima, double* psi);
  int64_t (*log_posterior)(const ChainDims&, const LatticeView&, const LogTables&, double* memory,
                           const LogOut&);
  int64_t (*best_scores)(const ChainDims&, const LatticeView&, const LogTables&, bool keep_all, double* delta,
                         double* maxima, uint16_t* back, double* psi);
  int64_t (*viterbi)(const ChainDims&, const LatticeView&, const LogTables&, double* memory, int32_t* labels);
};

const Kernels& kernels();

}  // namespace crfkit
