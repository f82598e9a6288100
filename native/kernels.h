// The table of hot loops. kernels.cpp is compiled once per instruction set and fills one table each;
// kernels() returns the best one this machine can run. Callers never see an instruction set.
#pragma once

namespace crfkit {

struct Kernels {
  const char* isa;  // "baseline", "avx2" or "avx512"
};

const Kernels& kernels();

}  // namespace crfkit
