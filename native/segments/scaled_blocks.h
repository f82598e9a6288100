// Logarithms in blocks of 64, and their exponentials: x[i] = exp(a[i]) / 2^n with one n per block.
//
// A sum of exponentials over a block is then a sum of products, without an exponential per term.
#pragma once

#include "segments/segment_scores.h"

namespace crfkit {

struct ScaledBlocks {
  static constexpr size_t kBlock = 64;

  std::vector<double> a, x, exponent;  // [n], [n], n of each block

  void resize(size_t n) {
    const size_t blocks = (n + kBlock - 1) / kBlock;
    a.resize(blocks * kBlock);
    x.resize(a.size());
    exponent.assign(blocks, -HUGE_VAL);
  }

  // Sets entry `at`; the entries of a block are set in ascending order.
  void put(size_t at, double value) {
    const size_t block = at / kBlock;
    double& n = exponent[block];
    if (at % kBlock == 0) n = -HUGE_VAL;
    a[at] = value;
    x[at] = 0;
    if (value == -HUGE_VAL) return;
    if (value > n * kLn2) {
      const double raised = (std::floor(value / kLn2 / kStep) + 1) * kStep;
      if (n > -HUGE_VAL) {
        const double factor = std::exp2(n - raised);
        for (size_t i = block * kBlock; i < at; ++i) x[i] *= factor;
      }
      n = raised;
    }
    x[at] = std::exp(value - n * kLn2);
  }

 private:
  static constexpr double kStep = 64;  // exponents are multiples: most blocks share one
};

}  // namespace crfkit
