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
#include <string>
#include <vector>

#include "base/flat_array.h"
#include "linear/linear_problem.h"

namespace crfkit {

struct SettlePlan {
  static constexpr int kLongest = 128;  // terms of a float sum

  int width = 1;                 // numbers per item: those of a dense row, padded; or 1 of a list
  int64_t n = 0;                 // events
  FlatArray<int64_t> at;         // [events + 1] positions, ascending; after all of them a sentinel
  FlatArray<int32_t> items;      // [events] the row or parameter to move
  FlatArray<int32_t> settled;    // [events] where it goes, in units of `width`
  std::vector<int32_t> slot_of;  // [items] where an item goes; -1: it has too few terms
  int64_t n_settled = 0;         // items that are ever moved

  // An item with this many terms in all is moved so often.
  static int64_t moves(int64_t n_terms) { return n_terms / kLongest; }

  // Makes room for the events of n_items; then every term is noted, position by position.
  void begin(int64_t n_items, int width_, int64_t n_events, const std::string& directory) {
    width = width_;
    slot_of.assign(static_cast<size_t>(n_items), -1);
    terms_.assign(static_cast<size_t>(n_items), 0);
    at.resize(static_cast<size_t>(n_events) + 1, directory);
    items.resize(static_cast<size_t>(n_events), directory);
    settled.resize(static_cast<size_t>(n_events), directory);
  }
  void note(int64_t t, int32_t item) {
    const auto i = static_cast<size_t>(item);
    if (++terms_[i] < kLongest) return;
    terms_[i] = 0;
    if (slot_of[i] < 0) slot_of[i] = static_cast<int32_t>(n_settled++);
    const auto event = static_cast<size_t>(n++);
    at[event] = t;
    items[event] = item;
    settled[event] = slot_of[i];
  }
  void end() {
    at[static_cast<size_t>(n)] = std::numeric_limits<int64_t>::max();
    terms_ = {};
  }

  void let_go_of_events(int64_t from, int64_t to) const {
    let_go(at.data() + from, to - from);
    let_go(items.data() + from, to - from);
    let_go(settled.data() + from, to - from);
  }

  SettleEvents events() const { return {width, n, at.data(), items.data(), settled.data()}; }

 private:
  std::vector<uint8_t> terms_;  // [items] since the last move
};

}  // namespace crfkit
