// When the float sums of a pass are added to sums in double, so that no float sum grows long.
//
// A float sum of n terms of one sign may be off by n 2^-25 of itself, so a sum over millions of positions
// would be worthless. The plan moves the sum of a dense row, or of one parameter of a list, to double
// whenever it has received kLongest terms. It depends on the data alone and is made once: a pass only
// compares positions, and the moves cost 1 / kLongest of its additions. Parameters with fewer terms than
// that need no sum in double.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/poll.h"
#include "linear/linear_problem.h"

namespace crfkit {

struct SettlePlan {
  static constexpr int kLongest = 128;  // terms of a float sum

  int width = 1;                 // numbers per item: those of a dense row, padded; or 1 of a list
  std::vector<int64_t> at;       // [events + 1] positions, ascending; after all of them a sentinel
  std::vector<int32_t> items;    // [events] the row or parameter to move
  std::vector<int32_t> settled;  // [events] where it goes, in units of `width`
  std::vector<int32_t> slot_of;  // [items] where an item goes; -1: it has too few terms
  int64_t n_settled = 0;         // items that are ever moved

  SettlePlan() = default;

  // ptr: [ΣT + 1]; position t adds to items ids[ptr[t]] .. ids[ptr[t + 1] - 1].
  SettlePlan(const std::vector<int64_t>& ptr, const std::vector<int32_t>& ids, int64_t n_items, int width_)
      : width(width_), slot_of(static_cast<size_t>(n_items), -1) {
    std::vector<uint8_t> terms(static_cast<size_t>(n_items), 0);
    for (size_t t = 0; t + 1 < ptr.size(); ++t) {
      poll_at(static_cast<int64_t>(t));
      for (int64_t i = ptr[t]; i < ptr[t + 1]; ++i) {
        const auto item = static_cast<size_t>(ids[static_cast<size_t>(i)]);
        if (++terms[item] < kLongest) continue;
        terms[item] = 0;
        if (slot_of[item] < 0) slot_of[item] = static_cast<int32_t>(n_settled++);
        at.push_back(static_cast<int64_t>(t));
        items.push_back(static_cast<int32_t>(item));
        settled.push_back(slot_of[item]);
      }
    }
    at.push_back(std::numeric_limits<int64_t>::max());
  }

  SettleEvents events() const {
    return {width, static_cast<int64_t>(items.size()), at.data(), items.data(), settled.data()};
  }
};

}  // namespace crfkit
