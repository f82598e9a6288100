// Compiled once per instruction set, like kernels.cpp, and for the Python module only.
#include "simd/training_kernels.h"

#include "chain/shared_edges.h"
#include "graphs/belief_kernel.h"
#include "graphs/best_kernel.h"
#include "graphs/binary_kernel.h"
#include "graphs/message_kernel.h"
#include "linear/linear_kernel.h"
#include "segments/length_kernel.h"
#include "segments/window_kernel.h"
#include "simd/table_name.h"
#include "simd/vector_kernel.h"

namespace crfkit {

extern const TrainingKernels CRFKIT_TABLE(training_kernels_);
const TrainingKernels CRFKIT_TABLE(training_kernels_) = {
    CRFKIT_ISA::prepare_edges<float>,
    CRFKIT_ISA::linear_block,
    CRFKIT_ISA::row_dots,
    CRFKIT_ISA::add_rows,
    CRFKIT_ISA::length_posterior,
    CRFKIT_ISA::window_sum,
    CRFKIT_ISA::window_best,
    CRFKIT_ISA::window_add,
    CRFKIT_ISA::message_work_size,
    CRFKIT_ISA::fill_factors,
    CRFKIT_ISA::send_messages,
    CRFKIT_ISA::sweep_messages,
    CRFKIT_ISA::node_messages,
    CRFKIT_ISA::send_odds,
    CRFKIT_ISA::log_beliefs,
    CRFKIT_ISA::normalise_row,
    CRFKIT_ISA::edge_marginal,
    CRFKIT_ISA::best_pass,
};

}  // namespace crfkit
