// Association rules X -> l between sets of items and a label, found exactly.
//
// Every labelled position is a transaction: a set of items and a label. With supp(X -> l) the number of
// transactions with X and l, and supp(X) the number of those with X, a rule is kept when
//
//   min_support <= supp(X -> l) <= max_support,   supp(X -> l) / supp(X) >= min_confidence
//
// and, if only important rules are requested, when the single items vote for another label:
//
//   max over l' != l of  sum over x in X of supp(x -> l')   >   sum over x in X of supp(x -> l).
//
// The search walks the sets depth first. Items are ranked from rare to frequent, a set grows by items of
// higher rank, and each step delivers the occurrences of the set to its extensions in two passes over them
// (Uno, Kiyomi and Arimura, FIMI 2004: occurrence deliver). A set is grown only while some label occurs
// min_support times with it. Memory besides the rules is one occurrence list per level.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <numeric>
#include <utility>
#include <vector>

#include "base/parallel.h"

namespace crfkit {

struct RuleBounds {
  int64_t min_support, max_support;  // of rules
  double min_confidence;
  int min_length, max_length;  // of X
  bool important;              // only rules whose single items vote for another label
};

// Rules end to end: rule r has the items items[first[r]] .. items[first[r + 1] - 1], ascending.
struct RuleTable {
  std::vector<int64_t> first{0};  // [R + 1]
  std::vector<int32_t> items;
  std::vector<int32_t> labels;    // [R] l
  std::vector<int32_t> support;   // [R] supp(X -> l)
  std::vector<int32_t> coverage;  // [R] supp(X)
  std::vector<int32_t> rivals;    // [R] the other label with the most votes, -1 if no other has any
  std::vector<int64_t> margins;   // [R] its votes less those for l
  std::vector<int32_t> fixes;     // [R] transactions with X and l that are marked; empty if none are marked

  size_t size() const { return labels.size(); }

  void append(const RuleTable& more) {
    const int64_t shift = first.back();
    first.reserve(first.size() + more.size());
    for (size_t r = 1; r < more.first.size(); ++r) first.push_back(more.first[r] + shift);
    auto join = [](auto* all, const auto& part) { all->insert(all->end(), part.begin(), part.end()); };
    join(&items, more.items);
    join(&labels, more.labels);
    join(&support, more.support);
    join(&coverage, more.coverage);
    join(&rivals, more.rivals);
    join(&margins, more.margins);
    join(&fixes, more.fixes);
  }
};

// How often each item occurs with each label, supp(x -> l), without zeros.
struct ItemCounts {
  std::vector<int64_t> first{0};  // [A + 1]
  std::vector<int32_t> labels;    // ascending within an item
  std::vector<int64_t> counts;
};

// indices[indptr[t] .. indptr[t+1]-1] are the items of position t, each once; labels[t] < 0 leaves it out.
inline ItemCounts count_items(int64_t n_positions, int64_t n_items, int n_labels, const int64_t* indptr,
                              const int32_t* indices, const int32_t* labels) {
  // Labels by item through a counting sort, then one tally per item.
  std::vector<int64_t> first(static_cast<size_t>(n_items) + 1, 0);
  for (int64_t t = 0; t < n_positions; ++t)
    if (labels[t] >= 0)
      for (int64_t i = indptr[t]; i < indptr[t + 1]; ++i) ++first[static_cast<size_t>(indices[i]) + 1];
  std::partial_sum(first.begin(), first.end(), first.begin());
  std::vector<int32_t> seen(static_cast<size_t>(first.back()));
  std::vector<int64_t> next(first.begin(), first.end() - 1);
  for (int64_t t = 0; t < n_positions; ++t) {
    poll_at(t);
    if (labels[t] >= 0)
      for (int64_t i = indptr[t]; i < indptr[t + 1]; ++i)
        seen[static_cast<size_t>(next[static_cast<size_t>(indices[i])]++)] = labels[t];
  }
  ItemCounts found;
  std::vector<int64_t> tally(static_cast<size_t>(n_labels), 0);
  std::vector<int32_t> present;  // labels with a tally
  for (size_t item = 0; item < static_cast<size_t>(n_items); ++item) {
    present.clear();
    for (int64_t i = first[item]; i < first[item + 1]; ++i) {
      const int32_t l = seen[static_cast<size_t>(i)];
      if (tally[static_cast<size_t>(l)]++ == 0) present.push_back(l);
    }
    std::sort(present.begin(), present.end());
    for (const int32_t l : present) {
      found.labels.push_back(l);
      found.counts.push_back(tally[static_cast<size_t>(l)]);
      tally[static_cast<size_t>(l)] = 0;
    }
    found.first.push_back(static_cast<int64_t>(found.labels.size()));
  }
  return found;
}

// The items that may be in rules, from rare to frequent, and their votes supp(x -> l), without zeros.
struct RankedItems {
  std::vector<int32_t> items;   // [I] rank to item
  std::vector<int64_t> first;   // [I + 1] votes by rank
  std::vector<int32_t> labels;  //
  std::vector<int64_t> counts;  //
};

class RuleMiner {
 public:
  // ranks[indptr[t] .. indptr[t+1]-1] are the ranks of the items of position t, each once; -1 is no item.
  // labels[t] < 0 leaves the position out. marked [n], if given, are the transactions of interest: rules
  // without any of them are skipped. Only rules whose rarest item has a rank from first_rank to last_rank - 1
  // are found: for these, transactions may be left out that have no such item, and items of lower rank.
  RuleMiner(RankedItems items, int64_t n_positions, int n_labels, const int64_t* indptr, const int32_t* ranks,
            const int32_t* labels, const uint8_t* marked, const RuleBounds& bounds, int32_t first_rank,
            int32_t last_rank)
      : n_labels_(n_labels), bounds_(bounds), items_(std::move(items)) {
    lay_out(n_positions, indptr, ranks, labels, marked);
    cut_into_blocks(first_rank, last_rank);
  }

  int n_blocks() const { return static_cast<int>(block_first_.size()) - 1; }

  // Returns the rules whose rarest item is in the blocks first .. last - 1. Stops early when more than
  // `most_rules` are found or more than `most_sets` visited; the result is then incomplete, and the rules or
  // `visited` are more than that.
  RuleTable run(int first, int last, int64_t most_rules, int64_t most_sets, int n_threads,
                int64_t* visited) const {
    std::vector<RuleTable> found(static_cast<size_t>(last - first));
    std::vector<std::unique_ptr<Search>> searches(static_cast<size_t>(std::max(1, n_threads)));
    Counts counts{most_rules, most_sets};
    parallel_for(last - first, n_threads, [&](int b, int worker) {
      auto& search = searches[static_cast<size_t>(worker)];
      if (!search) search = std::make_unique<Search>(*this, &counts);
      const auto block = static_cast<size_t>(first + b);
      found[static_cast<size_t>(b)] = search->run(block_first_[block], block_first_[block + 1]);
    });
    RuleTable all;
    for (auto& part : found) {
      all.append(part);
      part = RuleTable();
    }
    *visited = counts.sets;
    return all;
  }

 private:
  static constexpr int64_t kBlockOccurrences = 1 << 12;

  // What all threads have found and visited so far, and how much they may.
  struct Counts {
    int64_t most_rules, most_sets;
    std::atomic<int64_t> rules{0}, sets{0};
  };

  struct Occurrence {
    int32_t transaction;
    int32_t rest;  // place in it of its items of higher rank
  };

  int n_labels_;
  RuleBounds bounds_;
  RankedItems items_;
  std::vector<int64_t> begin_;        // [n + 1] transactions in ranks_
  std::vector<int32_t> ranks_;        // ascending within a transaction
  std::vector<int32_t> labels_;       // [n]
  std::vector<uint8_t> marked_;       // [n] or empty
  std::vector<int64_t> where_first_;  // [I + 1] occurrences by rank
  std::vector<Occurrence> where_;     //
  std::vector<int32_t> block_first_;  // ranks at which blocks begin, and the last one's end

  void lay_out(int64_t n_positions, const int64_t* indptr, const int32_t* ranks, const int32_t* labels,
               const uint8_t* marked) {
    begin_.push_back(0);
    where_first_.assign(items_.items.size() + 1, 0);
    for (int64_t t = 0; t < n_positions; ++t) {
      poll_at(t);
      if (labels[t] < 0) continue;
      for (int64_t i = indptr[t]; i < indptr[t + 1]; ++i) {
        const int32_t rank = ranks[i];
        if (rank < 0) continue;
        ranks_.push_back(rank);
        ++where_first_[static_cast<size_t>(rank) + 1];
      }
      std::sort(ranks_.begin() + begin_.back(), ranks_.end());
      begin_.push_back(static_cast<int64_t>(ranks_.size()));
      labels_.push_back(labels[t]);
      if (marked) marked_.push_back(marked[t]);
    }
    std::partial_sum(where_first_.begin(), where_first_.end(), where_first_.begin());
    where_.resize(ranks_.size());
    std::vector<int64_t> next(where_first_.begin(), where_first_.end() - 1);
    for (size_t t = 0; t + 1 < begin_.size(); ++t)
      for (int64_t i = begin_[t]; i < begin_[t + 1]; ++i)
        where_[static_cast<size_t>(next[static_cast<size_t>(ranks_[static_cast<size_t>(i)])]++)] = {
            static_cast<int32_t>(t), static_cast<int32_t>(i - begin_[t]) + 1};
  }

  void cut_into_blocks(int32_t first_rank, int32_t last_rank) {
    block_first_.push_back(first_rank);
    int64_t size = 0;
    for (int32_t rank = first_rank; rank < last_rank; ++rank) {
      size += where_first_[static_cast<size_t>(rank) + 1] - where_first_[static_cast<size_t>(rank)];
      if (size >= kBlockOccurrences || rank + 1 == last_rank) {
        block_first_.push_back(rank + 1);
        size = 0;
      }
    }
  }

  // The depth-first walk of one thread.
  class Search {
   public:
    Search(const RuleMiner& miner, Counts* counts)
        : miner_(miner),
          bounds_(miner.bounds_),
          counts_(counts),
          count_(miner.items_.items.size(), 0),
          place_(miner.items_.items.size()),
          tally_(static_cast<size_t>(miner.n_labels_), 0),
          tally_marked_(miner.marked_.empty() ? 0 : static_cast<size_t>(miner.n_labels_), 0),
          votes_(static_cast<size_t>(miner.n_labels_), 0) {}

    // Returns the rules whose rarest item is among these.
    RuleTable run(int32_t first_rank, int32_t last_rank) {
      found_ = RuleTable();
      reported_ = 0;
      visited_ = 0;
      for (int32_t rank = first_rank; rank < last_rank && !full(); ++rank) {
        lhs_.assign(1, rank);
        const Occurrence* where = miner_.where_.data();
        visit(where + miner_.where_first_[static_cast<size_t>(rank)],
              where + miner_.where_first_[static_cast<size_t>(rank) + 1]);
      }
      report();
      return std::move(found_);
    }

   private:
    struct Child {
      int32_t rank;
      int64_t first, last;  // occurrences in pool_
    };

    const RuleMiner& miner_;
    const RuleBounds& bounds_;
    RuleTable found_;
    Counts* counts_;
    int64_t reported_ = 0, visited_ = 0;  // rules reported to the counts; sets not reported yet
    std::vector<int32_t> lhs_;            // ranks of X
    std::vector<int32_t> count_;          // [I] occurrences of an extension; zero between uses
    std::vector<int64_t> place_;          // [I] where its next occurrence goes
    std::vector<int32_t> touched_;        // extensions with a count
    std::vector<Occurrence> pool_;        // occurrence lists, a stack
    std::vector<Child> children_;         // extensions, a stack
    std::vector<int32_t> tally_;          // [L] labels of the set at hand; zero between uses
    std::vector<int32_t> tally_marked_;   // [L] those of marked transactions
    std::vector<int32_t> present_;        // labels with a tally
    std::vector<int64_t> votes_;          // [L] of the items of X; zero between uses

    void report() {
      const auto mine = static_cast<int64_t>(found_.size());
      counts_->rules.fetch_add(mine - reported_, std::memory_order_relaxed);
      counts_->sets.fetch_add(visited_, std::memory_order_relaxed);
      reported_ = mine;
      visited_ = 0;
    }

    bool full() {
      if (visited_ + static_cast<int64_t>(found_.size()) - reported_ >= 1024) report();
      return counts_->rules.load(std::memory_order_relaxed) > counts_->most_rules ||
             counts_->sets.load(std::memory_order_relaxed) > counts_->most_sets;
    }

    // Visits X = lhs_ with these occurrences: its rules, then its extensions.
    void visit(const Occurrence* first, const Occurrence* last) {
      ++visited_;
      poll(10 * (last - first));
      if (!keep_rules(first, last)) return;
      if (static_cast<int>(lhs_.size()) < bounds_.max_length) extend(first, last);
    }

    // Adds the rules of X; false if no label has enough transactions with X, a marked one among them.
    bool keep_rules(const Occurrence* first, const Occurrence* last) {
      present_.clear();
      for (const Occurrence* o = first; o != last; ++o) {
        const auto l = static_cast<size_t>(miner_.labels_[static_cast<size_t>(o->transaction)]);
        if (tally_[l]++ == 0) present_.push_back(static_cast<int32_t>(l));
        if (!tally_marked_.empty()) tally_marked_[l] += miner_.marked_[static_cast<size_t>(o->transaction)];
      }
      std::sort(present_.begin(), present_.end());
      bool worth_growing = false;
      const auto coverage = static_cast<int32_t>(last - first);
      for (const int32_t l : present_) {
        const int32_t n = tally_[static_cast<size_t>(l)];
        const int32_t fixes = tally_marked_.empty() ? 1 : tally_marked_[static_cast<size_t>(l)];
        if (n < bounds_.min_support || fixes == 0) continue;
        worth_growing = true;
        if (static_cast<int>(lhs_.size()) >= bounds_.min_length && n <= bounds_.max_support &&
            static_cast<double>(n) / coverage >= bounds_.min_confidence)
          add_rule(l, n, coverage, fixes);
      }
      for (const int32_t l : present_) {
        tally_[static_cast<size_t>(l)] = 0;
        if (!tally_marked_.empty()) tally_marked_[static_cast<size_t>(l)] = 0;
      }
      return worth_growing;
    }

    void add_rule(int32_t label, int32_t support, int32_t coverage, int32_t fixes) {
      const RankedItems& singles = miner_.items_;
      for (const int32_t rank : lhs_)
        for (int64_t i = singles.first[static_cast<size_t>(rank)];
             i < singles.first[static_cast<size_t>(rank) + 1]; ++i)
          votes_[static_cast<size_t>(singles.labels[static_cast<size_t>(i)])] +=
              singles.counts[static_cast<size_t>(i)];
      const int64_t own = votes_[static_cast<size_t>(label)];
      votes_[static_cast<size_t>(label)] = 0;
      const auto rival = std::max_element(votes_.begin(), votes_.end());
      const int64_t most = *rival;
      const auto rival_label = static_cast<int32_t>(rival - votes_.begin());
      for (const int32_t rank : lhs_)
        for (int64_t i = singles.first[static_cast<size_t>(rank)];
             i < singles.first[static_cast<size_t>(rank) + 1]; ++i)
          votes_[static_cast<size_t>(singles.labels[static_cast<size_t>(i)])] = 0;
      if (bounds_.important && most <= own) return;
      const size_t begin = found_.items.size();
      for (const int32_t rank : lhs_) found_.items.push_back(miner_.items_.items[static_cast<size_t>(rank)]);
      std::sort(found_.items.begin() + static_cast<int64_t>(begin), found_.items.end());
      found_.first.push_back(static_cast<int64_t>(found_.items.size()));
      found_.labels.push_back(label);
      found_.support.push_back(support);
      found_.coverage.push_back(coverage);
      found_.rivals.push_back(most > 0 ? rival_label : -1);
      found_.margins.push_back(most - own);
      if (!tally_marked_.empty()) found_.fixes.push_back(fixes);
    }

    void extend(const Occurrence* first, const Occurrence* last) {
      const int64_t* begin = miner_.begin_.data();
      const int32_t* ranks = miner_.ranks_.data();
      touched_.clear();
      for (const Occurrence* o = first; o != last; ++o)
        for (int64_t i = begin[o->transaction] + o->rest; i < begin[o->transaction + 1]; ++i)
          if (count_[static_cast<size_t>(ranks[i])]++ == 0) touched_.push_back(ranks[i]);
      const size_t pool_size = pool_.size(), n_children = children_.size();
      auto end = static_cast<int64_t>(pool_size);
      for (const int32_t rank : touched_) {
        const int32_t n = count_[static_cast<size_t>(rank)];
        count_[static_cast<size_t>(rank)] = 0;
        place_[static_cast<size_t>(rank)] = n >= bounds_.min_support ? end : -1;
        if (n < bounds_.min_support) continue;
        children_.push_back({rank, end, end + n});
        end += n;
      }
      // The lists of X itself may lie in the pool, which is about to move.
      const bool inside = !pool_.empty() && first >= pool_.data() && first < pool_.data() + pool_.size();
      const auto from = inside ? first - pool_.data() : 0, to = inside ? last - pool_.data() : 0;
      pool_.resize(static_cast<size_t>(end));
      if (inside) {
        first = pool_.data() + from;
        last = pool_.data() + to;
      }
      if (children_.size() > n_children)
        for (const Occurrence* o = first; o != last; ++o)
          for (int64_t at = begin[o->transaction], i = at + o->rest; i < begin[o->transaction + 1]; ++i) {
            int64_t& place = place_[static_cast<size_t>(ranks[i])];
            if (place >= 0)
              pool_[static_cast<size_t>(place++)] = {o->transaction, static_cast<int32_t>(i - at) + 1};
          }
      for (size_t c = n_children; c < children_.size() && !full(); ++c) {
        const Child child = children_[c];
        lhs_.push_back(child.rank);
        visit(pool_.data() + child.first, pool_.data() + child.last);
        lhs_.pop_back();
      }
      children_.resize(n_children);
      pool_.resize(pool_size);
    }
  };
};

}  // namespace crfkit
