// A* search for the k best segmentations, from the end: parts of segmentations, the most promising first.
//
// Each part stands for all segmentations that end in it, and `whole` is the score of the best one of them. No
// segmentation is in two parts that are open. So only the k best open parts matter: each has a segmentation
// that is at least as good as all those of the others. Of equally good parts, the newest are continued first;
// else ties would be searched in breadth, and there may be exponentially many.
#pragma once

#include <cmath>
#include <cstdint>
#include <iterator>
#include <set>
#include <vector>

namespace crfkit {

// A Part has `after`, the number of the part that it extends by a segment, or -1.
template <class Part>
class OpenParts {
 public:
  explicit OpenParts(int64_t k) : k_(static_cast<uint64_t>(k)) {}

  void add(const Part& part, double whole) {
    if (whole == -HUGE_VAL) return;
    Rank rank{whole, round_, added_++, static_cast<int64_t>(parts_.size())};
    if (open_.size() == k_) {
      const auto worst = std::prev(open_.end());
      if (!(rank < *worst)) return;
      rank.part = worst->part;  // nothing extends it
      open_.erase(worst);
      parts_[static_cast<size_t>(rank.part)] = part;
    } else {
      parts_.push_back(part);
    }
    open_.insert(rank);
  }

  bool empty() const { return open_.empty(); }

  // Closes the most promising part; returns its number, and fills `whole`.
  int64_t next(double* whole) {
    const Rank best = *open_.begin();
    open_.erase(open_.begin());
    ++round_;
    *whole = best.whole;
    return best.part;
  }

  // A copy, because adding parts moves them.
  Part operator[](int64_t number) const { return parts_[static_cast<size_t>(number)]; }

  // Calls visit(part, the part that it extends) for each segment of a whole segmentation, from the beginning.
  template <class Visit>
  void each_segment(int64_t number, Visit&& visit) const {
    for (Part left = (*this)[number]; left.after >= 0;) {
      const Part right = (*this)[left.after];
      visit(left, right);
      left = right;
    }
  }

 private:
  struct Rank {
    double whole;
    int64_t round, added;  // how many parts had been closed and added before
    int64_t part;
    bool operator<(const Rank& other) const {
      if (whole != other.whole) return whole > other.whole;
      return round != other.round ? round > other.round : added < other.added;
    }
  };

  const uint64_t k_;
  std::vector<Part> parts_;
  std::set<Rank> open_;
  int64_t round_ = 0, added_ = 0;
};

}  // namespace crfkit
