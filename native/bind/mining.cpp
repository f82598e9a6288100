// Association rules: mining, minimal rules, matching. All bounds are checked here; the core trusts them.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind.h"
#include "mining/rule_matcher.h"
#include "mining/rule_miner.h"
#include "mining/rule_votes.h"

namespace crfkit {

namespace {

void require(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

// Rows of items below n_items.
void check_rows(const Array<const int64_t>& first, const Array<const int32_t>& items, int64_t n_items) {
  const size_t n = first.shape(0);
  require(n >= 1 && first(0) == 0 && first(n - 1) == static_cast<int64_t>(items.shape(0)) &&
              std::is_sorted(first.data(), first.data() + n),
          "the bounds of the rows do not fit their items");
  for (size_t i = 0; i < items.shape(0); ++i)
    require(items(i) >= 0 && items(i) < n_items, "an item is out of range");
}

void make_miner(RuleMiner* self, Array<const int64_t> indptr, Array<const int32_t> indices,
                Array<const int32_t> labels, std::optional<Array<const uint8_t>> marked, int64_t n_items,
                int n_labels, int64_t min_support, int64_t max_support, double min_confidence, int min_length,
                int max_length, bool important) {
  check_rows(indptr, indices, n_items);
  const size_t n = indptr.shape(0) - 1;
  require(labels.shape(0) == n && n < (size_t{1} << 31), "one label a position, and at most 2^31 of them");
  require(!marked || marked->shape(0) == n, "one mark a position");
  require(n_labels >= 1 && min_support >= 1 && min_length >= 1 && max_length >= min_length,
          "bounds of rules");
  for (size_t t = 0; t < n; ++t) require(labels(t) >= -1 && labels(t) < n_labels, "a label is out of range");
  const nb::gil_scoped_release release;
  new (self) RuleMiner(static_cast<int64_t>(n), n_items, n_labels, indptr.data(), indices.data(),
                       labels.data(), marked ? marked->data() : nullptr,
                       {min_support, max_support, min_confidence, min_length, max_length, important});
}

nb::tuple run(const RuleMiner& self, int first, int last, int64_t limit, int n_threads) {
  require(first >= 0 && first <= last && last <= self.n_blocks(), "there are no such blocks");
  RuleTable found;
  {
    const nb::gil_scoped_release release;
    found = self.run(first, last, limit, n_threads);
  }
  return nb::make_tuple(to_numpy(std::move(found.first)), to_numpy(std::move(found.items)),
                        to_numpy(std::move(found.labels)), to_numpy(std::move(found.support)),
                        to_numpy(std::move(found.coverage)), to_numpy(std::move(found.rivals)),
                        to_numpy(std::move(found.margins)), to_numpy(std::move(found.fixes)));
}

RuleSets sets(const Array<const int64_t>& first, const Array<const int32_t>& items) {
  require(first.shape(0) <= (size_t{1} << 31), "at most 2^31 rules");
  for (size_t r = 1; r < first.shape(0); ++r) require(first(r) > first(r - 1), "a rule without items");
  return {first.data(), items.data(), static_cast<int64_t>(first.shape(0)) - 1};
}

nb::object minimal(Array<const int64_t> first, Array<const int32_t> items, Array<const int32_t> labels,
                   Array<const double> confidence, int n_threads) {
  check_rows(first, items, INT32_MAX);
  const RuleSets rules = sets(first, items);
  require(labels.shape(0) == first.shape(0) - 1 && confidence.shape(0) == labels.shape(0),
          "one label and one confidence a rule");
  for (size_t r = 1; r < first.shape(0); ++r)
    require(first(r) - first(r - 1) <= 20, "at most 20 items a rule");
  std::vector<uint8_t> kept;
  {
    const nb::gil_scoped_release release;
    kept = minimal_rules(rules, labels.data(), confidence.data(), n_threads);
  }
  return to_numpy(std::move(kept));
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
  const nb::gil_scoped_release release;
  new (self) BoundMatcher{n_items, RuleMatcher(rules, n_items)};
}

nb::tuple match(const BoundMatcher& self, Array<const int64_t> indptr, Array<const int32_t> indices,
                int n_threads) {
  check_rows(indptr, indices, self.n_items);
  RuleMatches found;
  {
    const nb::gil_scoped_release release;
    found =
        self.core.match(static_cast<int64_t>(indptr.shape(0)) - 1, indptr.data(), indices.data(), n_threads);
  }
  return nb::make_tuple(to_numpy(std::move(found.first)), to_numpy(std::move(found.rules)));
}

// What votes are counted with, checked once; the arrays stay alive as long as it does.
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
  require(first.shape(0) == n_rules + 1 && strength.shape(0) == n_rules, "one of each a rule");
  for (size_t r = 0; r < n_rules; ++r) {
    require(labels(r) >= 0 && labels(r) < n_labels && strength(r) > 0, "a label or strength is out of range");
    require(first(r + 1) - first(r) < static_cast<int64_t>(kind_of_length.shape(0)), "a rule is too long");
  }
  for (const auto& kinds : {kind_of_item, kind_of_length})
    for (size_t k = 0; k < kinds.shape(0); ++k)
      require(kinds(k) >= 0 && kinds(k) < n_kinds, "a kind is out of range");
  new (self) BoundVoter{labels, strength, first, items, kind_of_item, kind_of_length, n_kinds, n_labels};
}

nb::tuple votes(const BoundVoter& self, Array<const int64_t> first, Array<const int32_t> found,
                int n_threads) {
  check_rows(first, found, static_cast<int64_t>(self.labels.shape(0)));
  const VotingRules rules{
      self.labels.data(),       self.strength.data(),       self.first.data(), self.items.data(),
      self.kind_of_item.data(), self.kind_of_length.data(), self.n_kinds,      self.n_labels};
  Votes counted;
  {
    const nb::gil_scoped_release release;
    counted =
        count_votes(rules, static_cast<int64_t>(first.shape(0)) - 1, first.data(), found.data(), n_threads);
  }
  return nb::make_tuple(to_numpy(std::move(counted.first)), to_numpy(std::move(counted.places)),
                        to_numpy(std::move(counted.values)));
}

}  // namespace

void bind_mining(nb::module_& m) {
  nb::class_<RuleMiner>(m, "RuleMiner")
      .def("__init__", &make_miner, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("labels").noconvert(), nb::arg("marked").noconvert().none(), nb::arg("n_items"),
           nb::arg("n_labels"), nb::arg("min_support"), nb::arg("max_support"), nb::arg("min_confidence"),
           nb::arg("min_length"), nb::arg("max_length"), nb::arg("important"))
      .def_prop_ro("n_blocks", &RuleMiner::n_blocks)
      .def("run", &run, nb::arg("first"), nb::arg("last"), nb::arg("limit"), nb::arg("n_threads"));
  m.def("minimal_rules", &minimal, nb::arg("first").noconvert(), nb::arg("items").noconvert(),
        nb::arg("labels").noconvert(), nb::arg("confidence").noconvert(), nb::arg("n_threads"));
  nb::class_<BoundVoter>(m, "VoteCounter")
      .def("__init__", &make_voter, nb::arg("labels").noconvert(), nb::arg("strength").noconvert(),
           nb::arg("first").noconvert(), nb::arg("items").noconvert(), nb::arg("kind_of_item").noconvert(),
           nb::arg("kind_of_length").noconvert(), nb::arg("n_kinds"), nb::arg("n_labels"))
      .def("count", &votes, nb::arg("first").noconvert(), nb::arg("found").noconvert(), nb::arg("n_threads"));
  nb::class_<BoundMatcher>(m, "RuleMatcher")
      .def("__init__", &make_matcher, nb::arg("first").noconvert(), nb::arg("items").noconvert(),
           nb::arg("n_items"))
      .def("match", &match, nb::arg("indptr").noconvert(), nb::arg("indices").noconvert(),
           nb::arg("n_threads"));
}

}  // namespace crfkit
