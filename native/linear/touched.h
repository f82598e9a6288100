// Which parts of a table of sums each run of a pass touches. Every thread has a run of the sequences. With
// millions of features it touches only some of them: the rest of its table is neither cleared nor added up,
// and takes no memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace crfkit {

using Ranges = std::vector<std::pair<int64_t, int64_t>>;  // from .. to - 1, ascending

class Touched {
 public:
  Touched() = default;

  // A table of n items; neighbouring ones are noted together.
  Touched(int64_t n, int64_t together)
      : n_(n), together_(together), marks_(static_cast<size_t>((n + together - 1) / together), 0) {}

  void note(int64_t item) { marks_[static_cast<size_t>(item / together_)] = 1; }

  // Ends a run: the next notes are of the next one.
  void end_run() {
    Ranges found;
    for (int64_t i = 0; i < static_cast<int64_t>(marks_.size()); ++i) {
      if (!marks_[static_cast<size_t>(i)]) continue;
      const int64_t from = i * together_, to = std::min(from + together_, n_);
      if (!found.empty() && found.back().second == from)
        found.back().second = to;
      else
        found.emplace_back(from, to);
    }
    runs_.push_back(std::move(found));
    std::fill(marks_.begin(), marks_.end(), uint8_t{0});
  }

  const Ranges& of(size_t run) const { return runs_[run]; }

 private:
  int64_t n_ = 0, together_ = 1;
  std::vector<uint8_t> marks_;
  std::vector<Ranges> runs_;
};

}  // namespace crfkit
