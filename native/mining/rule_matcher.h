// Which rules hold at each position: X is a subset of the items there.
//
// An inverted index: every rule is filed under its rarest item (the one in the fewest rules); its other items
// are the edges of a tree, from rare to frequent. From each of its items, a position follows the edges of its
// other items. The cost is thus that of the prefixes of rules that hold, not of all rules that share an item
// with the position. Rules of any length are walked in a loop: files may hold rules that are longer than a
// stack is deep.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/parallel.h"

namespace crfkit {

// Rules end to end: rule r has the items items[first[r]] .. items[first[r + 1] - 1], at least one.
struct RuleSets {
  const int64_t* first;  // [R + 1]
  const int32_t* items;
  int64_t n_rules;
};

struct RuleMatches {
  std::vector<int64_t> first;  // [n + 1]
  std::vector<int32_t> rules;  // ascending within a position
};

class RuleMatcher {
 public:
  RuleMatcher(const RuleSets& rules, int64_t n_items) {
    rank_items(rules, n_items);
    std::vector<int32_t> lhs;
    const size_t n_edges = static_cast<size_t>(rules.first[rules.n_rules]);
    slots_.resize(std::bit_ceil(2 * n_edges + 1));
    head_.assign(1, -1);
    only_.assign(1, kNoChild);
    next_.assign(static_cast<size_t>(rules.n_rules), -1);
    for (int64_t r = rules.n_rules - 1; r >= 0; --r) {  // backwards, so that chains ascend
      lhs.clear();
      for (int64_t i = rules.first[r]; i < rules.first[r + 1]; ++i)
        lhs.push_back(rank_of_[static_cast<size_t>(rules.items[i])]);
      std::sort(lhs.begin(), lhs.end());
      int32_t node = 0;
      for (const int32_t rank : lhs) node = grow(node, rank);
      next_[static_cast<size_t>(r)] = head_[static_cast<size_t>(node)];
      head_[static_cast<size_t>(node)] = static_cast<int32_t>(r);
    }
  }

  RuleMatches match(int64_t n_positions, const int64_t* indptr, const int32_t* indices, int n_threads) const {
    constexpr int64_t kBlock = 1 << 13;
    const auto n_blocks = static_cast<int>((n_positions + kBlock - 1) / kBlock);
    RuleMatches all;
    all.first.assign(static_cast<size_t>(n_positions) + 1, 0);
    std::vector<std::vector<int32_t>> parts(static_cast<size_t>(n_blocks));
    parallel_for(n_blocks, n_threads, [&](int b, int) {
      auto& part = parts[static_cast<size_t>(b)];
      std::vector<int32_t> ranks;
      std::vector<Branch> path;
      for (int64_t t = b * kBlock; t < std::min(n_positions, (b + 1) * kBlock); ++t) {
        ranks.clear();
        for (int64_t i = indptr[t]; i < indptr[t + 1]; ++i)
          if (rank_of_[static_cast<size_t>(indices[i])] >= 0)
            ranks.push_back(rank_of_[static_cast<size_t>(indices[i])]);
        std::sort(ranks.begin(), ranks.end());
        const auto before = static_cast<int64_t>(part.size());
        walk(ranks, &path, &part);
        std::sort(part.begin() + before, part.end());
        all.first[static_cast<size_t>(t) + 1] = static_cast<int64_t>(part.size()) - before;
      }
    });
    std::partial_sum(all.first.begin(), all.first.end(), all.first.begin());
    all.rules.reserve(static_cast<size_t>(all.first.back()));
    for (auto& part : parts) {
      all.rules.insert(all.rules.end(), part.begin(), part.end());
      std::vector<int32_t>().swap(part);
    }
    return all;
  }

 private:
  struct Slot {
    uint64_t edge = 0;  // node << 32 | rank, + 1; 0: free
    int32_t node = 0;   // where it leads
  };

  static constexpr int32_t kNoChild = -1, kSeveral = -2;

  // A node that a position has reached, and the first of the ranks that have not been tried from there.
  struct Branch {
    int32_t node;
    size_t next;
  };

  std::vector<int32_t> rank_of_;  // [A] item to rank, -1 where no rule has it
  std::vector<Slot> slots_;       // edges of the tree, an open hash table
  std::vector<int32_t> head_;     // [nodes] its first rule, -1: none
  std::vector<int32_t> only_;     // [nodes] the rank of its only edge, or kNoChild or kSeveral
  std::vector<int32_t> next_;     // [R] the next rule of the same node

  void rank_items(const RuleSets& rules, int64_t n_items) {
    std::vector<int64_t> count(static_cast<size_t>(n_items), 0);
    for (int64_t i = 0; i < rules.first[rules.n_rules]; ++i) ++count[static_cast<size_t>(rules.items[i])];
    std::vector<int32_t> order;
    for (int64_t item = 0; item < n_items; ++item)
      if (count[static_cast<size_t>(item)]) order.push_back(static_cast<int32_t>(item));
    std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
      return count[static_cast<size_t>(a)] < count[static_cast<size_t>(b)];
    });
    rank_of_.assign(static_cast<size_t>(n_items), -1);
    for (size_t rank = 0; rank < order.size(); ++rank)
      rank_of_[static_cast<size_t>(order[rank])] = static_cast<int32_t>(rank);
  }

  static uint64_t edge_key(int32_t node, int32_t rank) {
    return (static_cast<uint64_t>(node) << 32 | static_cast<uint32_t>(rank)) + 1;
  }

  // Returns the slot of an edge, or the free one where it belongs.
  size_t slot_of(uint64_t edge) const {
    const size_t mask = slots_.size() - 1;
    uint64_t hash = edge * 0x9e3779b97f4a7c15ULL;
    size_t place = (hash ^ (hash >> 29)) & mask;
    while (slots_[place].edge && slots_[place].edge != edge) place = (place + 1) & mask;
    return place;
  }

  int32_t grow(int32_t node, int32_t rank) {
    Slot& slot = slots_[slot_of(edge_key(node, rank))];
    if (!slot.edge) {
      slot = {edge_key(node, rank), static_cast<int32_t>(head_.size())};
      int32_t& only = only_[static_cast<size_t>(node)];
      only = only == kNoChild ? rank : kSeveral;
      head_.push_back(-1);
      only_.push_back(kNoChild);
    }
    return slot.node;
  }

  // Appends the rules whose items are all among the ranks, which ascend; path: workspace.
  void walk(const std::vector<int32_t>& ranks, std::vector<Branch>* path, std::vector<int32_t>* found) const {
    path->assign(1, {0, 0});
    while (!path->empty()) {
      const auto [node, next] = path->back();
      const int32_t only = only_[static_cast<size_t>(node)];
      size_t place = next;
      if (only >= 0) {
        const auto at = std::lower_bound(ranks.begin() + static_cast<int64_t>(next), ranks.end(), only);
        place = static_cast<size_t>(at - ranks.begin());
      }
      if (only == kNoChild || place == ranks.size()) {
        path->pop_back();
        continue;
      }
      path->back().next = only >= 0 ? ranks.size() : place + 1;
      const Slot& slot = slots_[slot_of(edge_key(node, ranks[place]))];
      if (!slot.edge) continue;
      for (int32_t r = head_[static_cast<size_t>(slot.node)]; r >= 0; r = next_[static_cast<size_t>(r)])
        found->push_back(r);
      path->push_back({slot.node, place + 1});
    }
  }
};

// Tells whether each rule is minimal [R]: no rule with a proper subset of its items and its label is as
// confident. The table must hold rules of all lengths down to 1; a subset that is not among them is less
// confident than every rule. Items ascend within a rule; at most 20 of them.
inline std::vector<uint8_t> minimal_rules(const RuleSets& rules, const int32_t* labels,
                                          const double* confidence, int n_threads) {
  const auto n = static_cast<size_t>(rules.n_rules);
  std::vector<int32_t> slots(std::bit_ceil(2 * n + 1), -1);
  const size_t mask = slots.size() - 1;
  auto hash_of = [](const int32_t* items, size_t length, int32_t label) {
    uint64_t hash = static_cast<uint64_t>(label) + 1;
    for (size_t i = 0; i < length; ++i) {
      hash = (hash ^ static_cast<uint64_t>(items[i])) * 0x9e3779b97f4a7c15ULL;
      hash ^= hash >> 31;
    }
    return hash;
  };
  auto find = [&](const int32_t* items, size_t length, int32_t label) {
    size_t place = hash_of(items, length, label) & mask;
    for (; slots[place] >= 0; place = (place + 1) & mask) {
      const auto r = static_cast<size_t>(slots[place]);
      const int32_t* other = rules.items + rules.first[r];
      if (labels[r] == label && static_cast<size_t>(rules.first[r + 1] - rules.first[r]) == length &&
          std::equal(items, items + length, other))
        break;
    }
    return place;
  };
  for (size_t r = 0; r < n; ++r)
    slots[find(rules.items + rules.first[r], static_cast<size_t>(rules.first[r + 1] - rules.first[r]),
               labels[r])] = static_cast<int32_t>(r);
  std::vector<uint8_t> minimal(n, 1);
  constexpr size_t kBlock = 1 << 14;
  parallel_for(static_cast<int>((n + kBlock - 1) / kBlock), n_threads, [&](int b, int) {
    std::vector<int32_t> subset;
    for (size_t r = static_cast<size_t>(b) * kBlock; r < std::min(n, (static_cast<size_t>(b) + 1) * kBlock);
         ++r) {
      const int32_t* items = rules.items + rules.first[r];
      const auto length = static_cast<size_t>(rules.first[r + 1] - rules.first[r]);
      for (uint32_t chosen = 1; chosen + 1 < (1U << length) && minimal[r]; ++chosen) {
        subset.clear();
        for (size_t i = 0; i < length; ++i)
          if (chosen >> i & 1) subset.push_back(items[i]);
        const int32_t found = slots[find(subset.data(), subset.size(), labels[r])];
        if (found >= 0 && confidence[found] >= confidence[r]) minimal[r] = 0;
      }
    }
  });
  return minimal;
}

}  // namespace crfkit
