// Chooses a table of kernels at run time. CRFKIT_ISA=baseline|avx2|avx512 in the environment overrides it,
// for tests and for bisecting numerical differences; a set this machine lacks is ignored.
#pragma once

#include <cstdlib>
#include <cstring>

namespace crfkit {

// tables: [baseline, avx2, avx512]; the last two are null on other machines than x86-64.
template <typename Table>
const Table* choose_table(const Table* baseline, const Table* avx2_table, const Table* avx512_table) {
  const char* asked = std::getenv("CRFKIT_ISA");
  auto permitted = [asked](const char* isa) { return asked == nullptr || std::strcmp(asked, isa) == 0; };
#ifdef CRFKIT_X86_VARIANTS
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw");
  if (avx512 && permitted("avx512")) return avx512_table;
  if (avx2 && permitted("avx2")) return avx2_table;
#endif
  (void)permitted, (void)avx2_table, (void)avx512_table;
  return baseline;
}

}  // namespace crfkit
