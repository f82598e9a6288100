// Moves float sums to double when the plan says so: see settle_plan.h. A kernel header.
#pragma once

#include "linear/linear_problem.h"
#include "simd/simd.h"

namespace crfkit::CRFKIT_ISA {

// The moves of one group of features that are due at the positions of a sequence, one after the other.
struct Settling {
  const LinearFeatures& features;
  int64_t* next;  // [2] the next events of the dense rows and of the lists, kept from sequence to sequence
  int64_t due;    // no event before this position

  Settling(const LinearFeatures& f, int64_t first, int64_t* cursors) : features(f), next(cursors) {
    next[0] = next_from(f.row_events, first, next[0]);
    next[1] = next_from(f.sparse_events, first, next[1]);
    find_due();
  }

  // Moves the sums that are due after position t: settled += recent, recent = 0.
  void settle(int64_t t, const LinearSums& sums, const LinearSums& diagonal) {
    move_all(features.row_events, t, next[0], sums.recent.dense, sums.settled.dense);
    move_all(features.sparse_events, t, next[1], sums.recent.sparse, sums.settled.sparse);
    if (diagonal.recent.dense || diagonal.recent.sparse) {
      move_all(features.row_events, t, next[0], diagonal.recent.dense, diagonal.settled.dense);
      move_all(features.sparse_events, t, next[1], diagonal.recent.sparse, diagonal.settled.sparse);
    }
    next[0] = next_from(features.row_events, t + 1, next[0]);
    next[1] = next_from(features.sparse_events, t + 1, next[1]);
    find_due();
  }

 private:
  // Returns the first event at or after a position: `guess` or a few further if the positions go on from
  // there, otherwise by bisection.
  static int64_t next_from(const SettleEvents& e, int64_t position, int64_t guess) {
    if (e.n == 0) return 0;
    for (int i = 0; i < 4 && e.at[guess] < position; ++i) ++guess;
    if (e.at[guess] >= position && (guess == 0 || e.at[guess - 1] < position)) return guess;
    int64_t low = 0, high = e.n;
    while (low < high) {
      const int64_t middle = (low + high) / 2;
      if (e.at[middle] < position)
        low = middle + 1;
      else
        high = middle;
    }
    return low;
  }

  void find_due() {
    due = INT64_MAX;
    if (features.row_events.n) due = features.row_events.at[next[0]];
    if (features.sparse_events.n && features.sparse_events.at[next[1]] < due)
      due = features.sparse_events.at[next[1]];
  }

  static void move_all(const SettleEvents& e, int64_t t, int64_t event, float* recent, double* settled) {
    constexpr int W = Lanes<float>::count;
    if (e.n == 0 || !settled) return;
    for (; e.at[event] <= t; ++event) {
      float* from = recent + static_cast<int64_t>(e.items[event]) * e.width;
      double* to = settled + static_cast<int64_t>(e.settled[event]) * e.width;
      if (e.width == 1) {
        *to += static_cast<double>(*from);
        *from = 0;
      } else {
        for (int i = 0; i < e.width; i += W) {
          for (int k = 0; k < W; ++k) to[i + k] += static_cast<double>(from[i + k]);
          store(from + i, splat(0.0f));
        }
      }
    }
  }
};

}  // namespace crfkit::CRFKIT_ISA
