// The factors of a model of segments whose states are pairs (label y, positions d of the segment so far), for
// length_kernel.h.
#pragma once

#include <cstdint>

#include "segments/segment_view.h"

namespace crfkit {

// Factors that all sequences share; rows over labels are padded to Lp with 0.
struct LengthFactors {
  SegmentModel model;
  int padded;             // Lp
  const double* out;      // [L, Lp] exp(edge[k, l] - edge_top), by the label before
  const double* into;     // [L, Lp] the same by the label after
  const double* lengths;  // [K, Lp] exp(lengths[y, d] - length_top), by length
  const double* tail;     // [Lp] exp(tail[y]) where lengths beyond K are permitted, or null
  const double* goes_on;  // [Lp] 1 where a segment may be longer than one position
  double edge_top, length_top;
  double tail_top;  // at least 0
};

// States of a label in a sequence: lengths 1, 2, …, K, and all beyond K together.
inline int64_t length_rows(const LengthFactors& f, int64_t T) {
  const int64_t K = f.model.longest;
  return T <= K ? T : K + (f.tail ? 1 : 0);
}

// Doubles that length_posterior works in.
inline int64_t length_workspace_size(const LengthFactors& f, const SegmentView& x) {
  const int64_t T = x.length, R = length_rows(f, T), Lp = f.padded, L = f.model.labels;
  return (T * R + 4 * T + x.n_spans + 2 * R + L + 6) * Lp + T + (x.n_spans ? T * R / 2 + 1 : 0);
}

}  // namespace crfkit
