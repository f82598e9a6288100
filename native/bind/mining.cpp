// Association rules: mining, minimal rules, matching. All bounds are checked here; the core trusts them.
#include "bind.h"
#include "mining/rule_matcher.h"
#include "mining/rule_miner.h"
#include "mining/rule_votes.h"

namespace crfkit {

namespace {

// Checks that rows hold items below n_items.
void check_rows(const Array<const int64_t>& first, const Array<const int32_t>& items, int64_t n_items) {
  check_bounds(first, items.shape(0), "the row bounds do not fit the items");
  check_ids(items, 0, n_items, "an item is out of range");
}

// Checks positions with their items and labels.
void check_transactions(const Array<const int64_t>& indptr, const Array<const int32_t>& labels,
                        int n_labels) {
  const size_t n = indptr.shape(0) - 1;
  require(labels.shape(0) == n && n < (size_t{1} << 31), "expected one label per position, at most 2^31");
  require(n_labels >= 1, "expected labels");
  check_ids(labels, -1, n_labels, "a label is out of range");
}

auto item_counts(Array<const int64_t> indptr, Array<const int32_t> indices, Array<const int32_t> labels,
                 int64_t n_items, int n_labels) {
  check_rows(indptr, indices, n_items);
  check_transactions(indptr, labels, n_labels);
  ItemCounts found = unlocked([&] {
    return count_items(static_cast<int64_t>(labels.shape(0)), n_items, n_labels, indptr.data(),
                       indices.data(), labels.data());
  });
  return std::tuple(to_numpy(std::move(found.first)), to_numpy(std::move(found.labels)),
                    to_numpy(std::move(found.counts)));
}

template <class T>
std::vector<T> copied(const Array<const T>& array) {
  return {array.data(), array.data() + array.shape(0)};
}

void make_miner(RuleMiner* self, Array<const int32_t> items, Array<const int64_t> vote_first,
                Array<const int32_t> vote_labels, Array<const int64_t> votes, Array<const int64_t> indptr,
                Array<const int32_t> ranks, Array<const int32_t> labels,
                std::optional<Array<const uint8_t>> marked, int n_labels, int64_t min_support,
                int64_t max_support, double min_confidence, int min_length, int max_length, bool important,
                int first_rank, int last_rank) {
  const auto n_items = static_cast<int64_t>(items.shape(0));
  check_bounds(indptr, ranks.shape(0), "the row bounds do not fit the items");
  check_ids(ranks, -1, n_items, "a rank is out of range");
  check_transactions(indptr, labels, n_labels);
  check_rows(vote_first, vote_labels, n_labels);
  require(vote_first.shape(0) == items.shape(0) + 1 && votes.shape(0) == vote_labels.shape(0),
          "the votes do not fit the items");
  require(!marked || marked->shape(0) == labels.shape(0), "expected one mark per position");
  require(min_support >= 1 && min_length >= 1 && max_length >= min_length, "bounds of rules");
  require(first_rank >= 0 && first_rank <= last_rank && last_rank <= n_items, "a rank is out of range");
  const Unlocked release;
  new (self) RuleMiner({copied(items), copied(vote_first), copied(vote_labels), copied(votes)},
                       static_cast<int64_t>(labels.shape(0)), n_labels, indptr.data(), ranks.data(),
                       labels.data(), marked ? marked->data() : nullptr,
                       {min_support, max_support, min_confidence, min_length, max_length, important},
                       first_rank, last_rank);
}

auto run(const RuleMiner& self, int first, int last, int64_t most_rules, int64_t most_sets, int n_threads) {
  require(first >= 0 && first <= last && last <= self.n_blocks(), "first or last is out of range");
  int64_t visited = 0;
  RuleTable found =
      unlocked([&] { return self.run(first, last, most_rules, most_sets, n_threads, &visited); });
  return std::tuple(to_numpy(std::move(found.first)), to_numpy(std::move(found.items)),
                    to_numpy(std::move(found.labels)), to_numpy(std::move(found.support)),
                    to_numpy(std::move(found.coverage)), to_numpy(std::move(found.rivals)),
                    to_numpy(std::move(found.margins)), to_numpy(std::move(found.fixes)), visited);
}

RuleSets sets(const Array<const int64_t>& first, const Array<const int32_t>& items) {
  require(first.shape(0) <= (size_t{1} << 31), "at most 2^31 rules");
  for (size_t r = 1; r < first.shape(0); ++r) require(first(r) > first(r - 1), "every rule must have items");
  return {first.data(), items.data(), static_cast<int64_t>(first.shape(0)) - 1};
}

Numpy<uint8_t> minimal(Array<const int64_t> first, Array<const int32_t> items, Array<const int32_t> labels,
                       Array<const double> confidence, int n_threads) {
  check_rows(first, items, INT32_MAX);
  const RuleSets rules = sets(first, items);
  require(labels.shape(0) == first.shape(0) - 1 && confidence.shape(0) == labels.shape(0),
          "expected one label and one confidence per rule");
  for (size_t r = 1; r < first.shape(0); ++r)
    require(first(r) - first(r - 1) <= 20, "at most 20 items per rule");
  return to_numpy(
      unlocked([&] { return minimal_rules(rules, labels.data(), confidence.data(), n_threads); }));
}

// A matcher knows how many items there are, to check the rows it is given.
struct BoundMatcher {
  int64_t n_items;
  RuleMatcher core;
};

void make_matcher(BoundMatcher* self, Array<const int64_t> first, Array<const int32_t> items,
                  int64_t n_items) {
  check_rows(first, items, n_items);
  const RuleSets rules = sets(first, items);
  const Unlocked release;
  new (self) BoundMatcher{n_items, RuleMatcher(rules, n_items)};
}

auto match(const BoundMatcher& self, Array<const int64_t> indptr, Array<const int32_t> indices,
           int n_threads) {
  check_rows(indptr, indices, self.n_items);
  RuleMatches found = unlocked([&] {
    return self.core.match(static_cast<int64_t>(indptr.shape(0)) - 1, indptr.data(), indices.data(),
                           n_threads);
  });
  return std::tuple(to_numpy(std::move(found.first)), to_numpy(std::move(found.rules)));
}

// The rules that vote, checked once; the arrays stay alive as long as it does.
struct BoundVoter {
  Array<const int32_t> labels;
  Array<const double> strength;
  Array<const int64_t> first;
  Array<const int32_t> items, kind_of_item, kind_of_length;
  int n_kinds, n_labels;
};

void make_voter(BoundVoter* self, Array<const int32_t> labels, Array<const double> strength,
                Array<const int64_t> first, Array<const int32_t> items, Array<const int32_t> kind_of_item,
                Array<const int32_t> kind_of_length, int n_kinds, int n_labels) {
  const size_t n_rules = labels.shape(0);
  check_rows(first, items, static_cast<int64_t>(kind_of_item.shape(0)));
  require(first.shape(0) == n_rules + 1 && strength.shape(0) == n_rules, "expected one entry per rule");
  for (size_t r = 0; r < n_rules; ++r) {
    require(labels(r) >= 0 && labels(r) < n_labels && strength(r) > 0, "a label or strength is out of range");
    require(first(r + 1) - first(r) < static_cast<int64_t>(kind_of_length.shape(0)), "a rule is too long");
  }
  for (const auto& kinds : {kind_of_item, kind_of_length})
    check_ids(kinds, 0, n_kinds, "a kind is out of range");
  new (self) BoundVoter{labels, strength, first, items, kind_of_item, kind_of_length, n_kinds, n_labels};
}

auto votes(const BoundVoter& self, Array<const int64_t> first, Array<const int32_t> found, int n_threads) {
  check_rows(first, found, static_cast<int64_t>(self.labels.shape(0)));
  const VotingRules rules{
      self.labels.data(),       self.strength.data(),       self.first.data(), self.items.data(),
      self.kind_of_item.data(), self.kind_of_length.data(), self.n_kinds,      self.n_labels};
  Votes counted = unlocked([&] {
    return count_votes(rules, static_cast<int64_t>(first.shape(0)) - 1, first.data(), found.data(),
                       n_threads);
  });
  return std::tuple(to_numpy(std::move(counted.first)), to_numpy(std::move(counted.places)),
                    to_numpy(std::move(counted.values)));
}

}  // namespace

void bind_mining(nb::module_& m) {
  m.def("item_counts", &item_counts, "indptr"_array, "indices"_array, "labels"_array, "n_items"_a,
        "n_labels"_a);
  nb::class_<RuleMiner>(m, "RuleMiner")
      .def("__init__", &make_miner, "items"_array, "vote_first"_array, "vote_labels"_array, "votes"_array,
           "indptr"_array, "ranks"_array, "labels"_array, "marked"_array, "n_labels"_a, "min_support"_a,
           "max_support"_a, "min_confidence"_a, "min_length"_a, "max_length"_a, "important"_a, "first_rank"_a,
           "last_rank"_a)
      .def_prop_ro("n_blocks", &RuleMiner::n_blocks)
      .def("run", &run, "first"_a, "last"_a, "most_rules"_a, "most_sets"_a, "n_threads"_a);
  m.def("minimal_rules", &minimal, "first"_array, "items"_array, "labels"_array, "confidence"_array,
        "n_threads"_a);
  nb::class_<BoundVoter>(m, "VoteCounter")
      .def("__init__", &make_voter, "labels"_array, "strength"_array, "first"_array, "items"_array,
           "kind_of_item"_array, "kind_of_length"_array, "n_kinds"_a, "n_labels"_a)
      .def("count", &votes, "first"_array, "found"_array, "n_threads"_a);
  nb::class_<BoundMatcher>(m, "RuleMatcher")
      .def("__init__", &make_matcher, "first"_array, "items"_array, "n_items"_a)
      .def("match", &match, "indptr"_array, "indices"_array, "n_threads"_a);
}

}  // namespace crfkit
