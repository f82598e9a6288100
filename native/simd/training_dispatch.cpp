#include "simd/dispatch.h"
#include "simd/training_kernels.h"

namespace crfkit {

extern const TrainingKernels training_kernels_baseline;
#ifdef CRFKIT_X86_VARIANTS
extern const TrainingKernels training_kernels_avx2;
extern const TrainingKernels training_kernels_avx512;
#endif

const TrainingKernels& training_kernels() {
#ifdef CRFKIT_X86_VARIANTS
  static const TrainingKernels* const chosen =
      choose_table(&training_kernels_baseline, &training_kernels_avx2, &training_kernels_avx512);
#else
  static const TrainingKernels* const chosen = &training_kernels_baseline;
#endif
  return *chosen;
}

}  // namespace crfkit
