// Chooses the kernel table at run time. CRFKIT_ISA=baseline|avx2|avx512 in the environment overrides it, for
// tests and for bisecting numerical differences; a set this machine lacks is ignored.
#include <cstdlib>
#include <cstring>

#include "simd/kernels.h"

namespace crfkit {

extern const Kernels kernels_baseline;
#ifdef CRFKIT_X86_VARIANTS
extern const Kernels kernels_avx2;
extern const Kernels kernels_avx512;
#endif

static const Kernels* choose() {
  const char* asked = std::getenv("CRFKIT_ISA");
  auto permitted = [asked](const char* isa) { return asked == nullptr || std::strcmp(asked, isa) == 0; };
#ifdef CRFKIT_X86_VARIANTS
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (avx512 && permitted("avx512")) return &kernels_avx512;
  if (avx2 && permitted("avx2")) return &kernels_avx2;
#endif
  (void)permitted;
  return &kernels_baseline;
}

const Kernels& kernels() {
  static const Kernels* const chosen = choose();
  return *chosen;
}

}  // namespace crfkit
