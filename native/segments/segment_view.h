// The scores of segmentations, and their expected counts. Kernel headers include this file.
//
// A segmentation of T positions is a list of segments (begin b, end e, label y), which cover all positions.
// Its score is
//
//   start[y_1] + end[y_m] + Σ_segments  first[b, y] + Σ_{b<t<e} rest[t, y] + last[e-1, y] + length(y, e - b)
//                                       + span(b, e, y)   +   Σ_{i>1} edge[y_{i-1}, y_i]
//
//   length(y, d) = lengths[y, d], d <= K;   lengths[y, K] + (d - K) tail[y], d > K, if there is a tail
//
// -inf forbids: first[t, y], that a segment of y begins at t; rest[t, y], that one goes on from t - 1 to t;
// last[t, y], that one ends after t.
#pragma once

#include <cstdint>

namespace crfkit {

// What all sequences share.
struct SegmentModel {
  int labels;             // L
  int64_t longest;        // K
  const double* edge;     // [L, L]
  const double* lengths;  // [L, K]; lengths[y, d - 1] is the score of length d
  const double* tail;     // [L], or null
  const double* start;    // [L], or null
  const double* end;      // [L], or null
};

// One sequence. Spans are sorted by begin, then by end; each is at most K long.
struct SegmentView {
  int64_t length;        // T
  const double* node;    // [T, 2L]: first, rest
  const double* last;    // [T, L], or null
  int64_t n_spans;       // S
  const int64_t* begin;  // [S]
  const int64_t* end;    // [S]
  const double* span;    // [S, L]
};

// Expected counts, in the shapes of the scores; null: not wanted. Those of shared scores are added to.
struct SegmentCounts {
  double weight = 1;
  double* node = nullptr;     // [T, 2L]
  double* last = nullptr;     // [T, L]
  double* span = nullptr;     // [S, L]
  double* edge = nullptr;     // [L, L]
  double* lengths = nullptr;  // [L, K], the longest first
  double* tail = nullptr;     // [L]
  double* start = nullptr;    // [L]
  double* end = nullptr;      // [L]
  double* onward = nullptr;   // [T, L] not a count: R[t + 1, y]
};

}  // namespace crfkit
