// Compiled once per instruction set (see CMakeLists.txt). Everything a kernel header defines lives in the
// namespace crfkit::CRFKIT_ISA. Kernel headers use no standard-library templates with external linkage: the
// linker could otherwise keep a copy compiled for a newer instruction set and run it on an older machine.
#include "simd/kernels.h"

#include "chain/decode.h"
#include "chain/log_chain.h"
#include "chain/scaled_chain.h"
#include "chain/shared_edges.h"
#include "simd/table_name.h"

namespace crfkit {

extern const Kernels CRFKIT_TABLE(kernels_);
const Kernels CRFKIT_TABLE(kernels_) = {
    CRFKIT_ISA_NAME,
    CRFKIT_ISA::prepare_edges<double>,
    CRFKIT_ISA::scaled_posterior<double>,
    CRFKIT_ISA::fill_shared_tables,
    CRFKIT_ISA::table_at,
    CRFKIT_ISA::log_forward,
    CRFKIT_ISA::log_posterior,
    CRFKIT_ISA::best_scores,
    CRFKIT_ISA::viterbi,
};

}  // namespace crfkit
