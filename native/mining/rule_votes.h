// The combined votes of the rules that hold at a position: a few numbers for every label.
//
//   kind 0        the largest strength of a rule that holds for the label
//   kind k >= 1   log(1 + the number of rules of kind k that hold for the label)
//
// A rule belongs to the kind of its length and to the kinds of its items, once to each.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <vector>

#include "base/parallel.h"

namespace crfkit {

struct VotingRules {
  const int32_t* labels;          // [R]
  const double* strength;         // [R] above 0
  const int64_t* first;           // [R + 1] rule r has the items first[r] .. first[r + 1] - 1
  const int32_t* items;           //
  const int32_t* kind_of_item;    // [A] 1 .. n_kinds - 1; 0: none
  const int32_t* kind_of_length;  // [longest + 1] likewise
  int n_kinds, n_labels;
};

struct Votes {
  std::vector<int64_t> first;   // [n + 1]
  std::vector<int32_t> places;  // kind * L + label, ascending within a position
  std::vector<double> values;
};

// The rules that hold at position t are found[first[t]] .. found[first[t + 1] - 1].
inline Votes count_votes(const VotingRules& rules, int64_t n_positions, const int64_t* first,
                         const int32_t* found, int n_threads) {
  constexpr int64_t kBlock = 1 << 13;
  const auto n_blocks = static_cast<int>((n_positions + kBlock - 1) / kBlock);
  std::vector<Votes> parts(static_cast<size_t>(n_blocks));
  Votes all;
  all.first.assign(static_cast<size_t>(n_positions) + 1, 0);
  parallel_for(n_blocks, n_threads, [&](int b, int) {
    Votes& part = parts[static_cast<size_t>(b)];
    std::vector<double> tally(static_cast<size_t>(rules.n_kinds) * static_cast<size_t>(rules.n_labels), 0);
    std::vector<int32_t> touched, kinds;
    auto touch = [&](int32_t place) -> double& {
      double& value = tally[static_cast<size_t>(place)];
      if (value == 0) touched.push_back(place);
      return value;
    };
    for (int64_t t = b * kBlock; t < std::min(n_positions, (b + 1) * kBlock); ++t) {
      for (int64_t i = first[t]; i < first[t + 1]; ++i) {
        const int32_t r = found[i], label = rules.labels[r];
        double& strongest = touch(label);
        strongest = std::max(strongest, rules.strength[r]);
        kinds.assign(1, rules.kind_of_length[rules.first[r + 1] - rules.first[r]]);
        for (int64_t k = rules.first[r]; k < rules.first[r + 1]; ++k) {
          const int32_t kind = rules.kind_of_item[rules.items[k]];
          if (std::find(kinds.begin(), kinds.end(), kind) == kinds.end()) kinds.push_back(kind);
        }
        for (const int32_t kind : kinds)
          if (kind > 0) touch(kind * rules.n_labels + label) += 1;
      }
      std::sort(touched.begin(), touched.end());
      for (const int32_t place : touched) {
        double& value = tally[static_cast<size_t>(place)];
        part.places.push_back(place);
        part.values.push_back(place < rules.n_labels ? value : std::log1p(value));
        value = 0;
      }
      all.first[static_cast<size_t>(t) + 1] = static_cast<int64_t>(touched.size());
      touched.clear();
    }
  });
  std::partial_sum(all.first.begin(), all.first.end(), all.first.begin());
  all.places.reserve(static_cast<size_t>(all.first.back()));
  all.values.reserve(static_cast<size_t>(all.first.back()));
  for (const Votes& part : parts) {
    all.places.insert(all.places.end(), part.places.begin(), part.places.end());
    all.values.insert(all.values.end(), part.values.begin(), part.values.end());
  }
  return all;
}

}  // namespace crfkit
