// A* search for the k best segmentations, from the end: parts of segmentations, the most promising first.
#pragma once

#include <cmath>
#include <cstdint>
#include <queue>
#include <vector>

namespace crfkit {

// The ends of segmentations that were found so far. A Part has `after`, the number of the part that it
// extends by a segment, or -1.
template <class Part>
class OpenParts {
 public:
  // Adds a part; `whole` is the score of the best segmentation that ends in it.
  void add(const Part& part, double whole) {
    if (whole == -HUGE_VAL) return;
    parts_.push_back(part);
    open_.push({whole, static_cast<int64_t>(parts_.size()) - 1});
  }

  bool empty() const { return open_.empty(); }

  // Removes the most promising part; returns its number, and fills `whole`.
  int64_t next(double* whole) {
    const Ranked found = open_.top();
    open_.pop();
    *whole = found.whole;
    return found.part;
  }

  // Copies: adding parts moves them.
  Part operator[](int64_t number) const { return parts_[static_cast<size_t>(number)]; }

  // Calls visit(part, the part that it extends) for the segments of a whole segmentation, the first one
  // first.
  template <class Visit>
  void each_segment(int64_t number, Visit&& visit) const {
    for (Part left = (*this)[number]; left.after >= 0;) {
      const Part right = (*this)[left.after];
      visit(left, right);
      left = right;
    }
  }

 private:
  struct Ranked {
    double whole;
    int64_t part;
    bool operator<(const Ranked& other) const {  // of equal ones, the part that came first
      return whole != other.whole ? whole < other.whole : part > other.part;
    }
  };

  std::vector<Part> parts_;
  std::priority_queue<Ranked> open_;
};

}  // namespace crfkit
