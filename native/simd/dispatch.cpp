#include "simd/dispatch.h"

#include "simd/kernels.h"

namespace crfkit {

extern const Kernels kernels_baseline;
#ifdef CRFKIT_X86_VARIANTS
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

const Kernels& kernels() {
#ifdef CRFKIT_X86_VARIANTS
  static const Kernels* const chosen = choose_table(&kernels_baseline, &kernels_avx2, &kernels_avx512);
#else
  static const Kernels* const chosen = &kernels_baseline;
#endif
  return *chosen;
}

}  // namespace crfkit
