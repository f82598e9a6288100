// Nodes by priority: a binary heap in which the priority of every node can change.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace crfkit {

class NodeQueue {
 public:
  explicit NodeQueue(int64_t n)
      : heap_(static_cast<size_t>(n)), place_(heap_.size()), priority_(heap_.size()) {
    for (size_t k = 0; k < heap_.size(); ++k) heap_[k] = static_cast<int32_t>(k), place_[k] = k;
  }
  int32_t top() const { return heap_[0]; }
  double top_priority() const { return heap_.empty() ? 0.0 : priority_[static_cast<size_t>(heap_[0])]; }

  void set(int32_t node, double priority) {
    priority_[static_cast<size_t>(node)] = priority;
    down(up(place_[static_cast<size_t>(node)]));
  }
  void raise(int32_t node, double by) {
    double& own = priority_[static_cast<size_t>(node)];
    if (!(by > own)) return;
    own = by;
    up(place_[static_cast<size_t>(node)]);
  }

 private:
  // Higher priority first, then the smaller node.
  bool before(size_t a, size_t b) const {
    const double x = priority_[static_cast<size_t>(heap_[a])], y = priority_[static_cast<size_t>(heap_[b])];
    return x > y || (x == y && heap_[a] < heap_[b]);
  }
  void exchange(size_t a, size_t b) {
    std::swap(heap_[a], heap_[b]);
    place_[static_cast<size_t>(heap_[a])] = a, place_[static_cast<size_t>(heap_[b])] = b;
  }
  size_t up(size_t k) {
    for (; k > 0 && before(k, (k - 1) / 2); k = (k - 1) / 2) exchange(k, (k - 1) / 2);
    return k;
  }
  void down(size_t k) {
    for (size_t child = 2 * k + 1; child < heap_.size(); k = child, child = 2 * k + 1) {
      if (child + 1 < heap_.size() && before(child + 1, child)) ++child;
      if (!before(child, k)) return;
      exchange(child, k);
    }
  }

  std::vector<int32_t> heap_;     // [V]
  std::vector<size_t> place_;     // [V] of each node in the heap
  std::vector<double> priority_;  // [V]
};

}  // namespace crfkit
