// The k best paths, best first, by recursive enumeration (Jiménez & Marzal, "Computing the K shortest paths:
// a new algorithm and an experimental comparison", 1999).
//
// Viterbi gives the best path into every state. The next best path into a state is computed on demand: its
// candidates are, for each predecessor, the best path not yet used here. Requesting one more path of a state
// thus requests one more of a single predecessor, and so on back, at most once per position. Cost: Viterbi,
// then about O(T + log L) for each path, whatever k is.
//
// Ties: the smaller predecessor state, then the earlier of its paths.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/poll.h"
#include "simd/kernels.h"

namespace crfkit {

// The states of all positions of a chain with the best path into each.
class ChainTrellis {
 public:
  // The lattice must outlive the trellis.
  ChainTrellis(const ChainDims& d, const LatticeView& x, const LogTables& tables)
      : d_(d),
        x_(x),
        delta_(static_cast<size_t>(x.length * d.states)),
        maxima_(static_cast<size_t>(x.length)),
        back_(static_cast<size_t>(x.length * d.states)) {
    std::vector<double> psi(static_cast<size_t>(d.padded));
    dead_ =
        kernels().best_scores(d_, x_, tables, true, delta_.data(), maxima_.data(), back_.data(), psi.data());
  }

  int64_t dead() const { return dead_; }
  int64_t length() const { return x_.length; }
  int64_t states() const { return d_.contexts * d_.labels; }
  int32_t label(int64_t h) const { return static_cast<int32_t>(h % d_.labels); }
  // The score of the best path into a state, and the state before on it.
  double best(int64_t t, int64_t h) const {
    return delta_[static_cast<size_t>(t * d_.states + state_offset(d_, h))];
  }
  int64_t best_before(int64_t t, int64_t h) const {
    if (t < d_.order) return h / d_.labels;
    const int64_t j = back_[static_cast<size_t>(t * d_.states + state_offset(d_, h))];
    return j * d_.contexts + h / d_.labels;
  }
  template <class Fn>
  void for_last(Fn&& fn) const {
    for (int64_t h = 0; h < contexts_at(d_, x_.length - 1) * d_.labels; ++h) fn(h);
  }
  // Calls fn(from) for the states before (t, h).
  template <class Fn>
  void for_before(int64_t t, int64_t h, Fn&& fn) const {
    if (t < d_.order) return fn(h / d_.labels);
    for (int64_t j = 0; j < d_.labels; ++j) fn(j * d_.contexts + h / d_.labels);
  }
  // The score of state h at position t when it is reached from `from` with the given score.
  double arrive(int64_t t, int64_t h, int64_t from, double score) const {
    const int l = static_cast<int>(h % d_.labels);
    const double* edges[kMaxOrder];
    for (int k = 0; k < d_.order; ++k) edges[k] = x_.edges[k] + t * x_.edge_strides[k];
    const int n_labels = static_cast<int>(std::min<int64_t>(t, d_.order));
    const double edge = history_score(edges, n_labels, d_.labels, from, l);
    return psi_at(t, l) + (score + edge) - maxima_[static_cast<size_t>(t)];
  }

 private:
  double psi_at(int64_t t, int l) const {
    double psi = x_.node[t * d_.labels + l];
    if (t == 0 && x_.start) psi += x_.start[l];
    if (t == x_.length - 1 && x_.end) psi += x_.end[l];
    return psi;
  }

  ChainDims d_;
  const LatticeView& x_;
  std::vector<double> delta_;   // [T, states]
  std::vector<double> maxima_;  // [T]
  std::vector<uint16_t> back_;  // [T, states]
  int64_t dead_;
};

// The trellis must outlive the enumerator.
template <class Trellis>
class PathEnumerator {
 public:
  explicit PathEnumerator(const Trellis& trellis) : x_(trellis) {
    if (dead() < 0) {
      // The end is a state of its own, at position T, that every last state leads to.
      Ways& end = ways_[key(x_.length(), 0)];
      x_.for_last([&](int64_t h) { offer(end, Way{x_.best(x_.length() - 1, h), h, 0}); });
      end.opened = true;
      take_best(end);
    }
  }

  // The first position that no permitted path reaches, or -1.
  int64_t dead() const { return x_.dead(); }

  // Writes path number `rank` (0 is the best) into labels [T]; returns false if there are fewer paths. Ranks
  // must be requested in order.
  bool path(size_t rank, int32_t* labels) {
    while (ways_[key(x_.length(), 0)].found.size() <= rank)
      if (!find_next(x_.length(), 0)) return false;
    int64_t h = 0;
    for (int64_t t = x_.length(); t > 0; --t) {
      poll_at(t);
      const Way way = nth(t, h, rank);
      labels[t - 1] = x_.label(way.from);
      h = way.from;
      rank = static_cast<size_t>(way.rank);
    }
    return true;
  }

 private:
  struct Way {
    double score;
    int64_t from;  // predecessor state, as a flat history index
    int64_t rank;  // which of its paths
  };
  struct Ways {
    std::vector<Way> found;       // best first
    std::vector<Way> candidates;  // a heap
    bool opened = false;          // all predecessors are among the candidates
  };

  static bool worse(const Way& a, const Way& b) {
    if (a.score != b.score) return a.score < b.score;
    return std::make_pair(a.from, a.rank) > std::make_pair(b.from, b.rank);
  }
  static void offer(Ways& ways, const Way& way) {
    if (way.score == -HUGE_VAL) return;
    ways.candidates.push_back(way);
    std::push_heap(ways.candidates.begin(), ways.candidates.end(), worse);
  }
  static bool take_best(Ways& ways) {
    if (ways.candidates.empty()) return false;
    std::pop_heap(ways.candidates.begin(), ways.candidates.end(), worse);
    ways.found.push_back(ways.candidates.back());
    ways.candidates.pop_back();
    return true;
  }

  int64_t key(int64_t t, int64_t h) const { return t * x_.states() + h; }

  // Viterbi's way into state h of position t.
  Way first_way(int64_t t, int64_t h) const {
    return Way{x_.best(t, h), t == 0 ? -1 : x_.best_before(t, h), 0};
  }

  // Returns a path that has already been found.
  Way nth(int64_t t, int64_t h, size_t rank) const {
    const auto at = ways_.find(key(t, h));
    return at == ways_.end() ? first_way(t, h) : at->second.found[rank];
  }

  double arrive(int64_t t, int64_t h, int64_t from, double score) const {
    return t == x_.length() ? score : x_.arrive(t, h, from, score);
  }

  // Adds every predecessor of (t, h), except the one Viterbi chose, to the candidates.
  void open(int64_t t, int64_t h, Ways& ways) {
    const Way first = first_way(t, h);
    ways.found.push_back(first);
    ways.opened = true;
    if (t == 0) return;
    x_.for_before(t, h, [&](int64_t from) {
      if (from != first.from) offer(ways, Way{arrive(t, h, from, x_.best(t - 1, from)), from, 0});
    });
  }

  // Finds one more path into (t, h), if there is one. A loop, not a recursion: sequences are long.
  bool find_next(int64_t t, int64_t h) {
    chain_.clear();
    while (true) {  // go back while the last path's predecessor needs one more path
      Ways& ways = ways_[key(t, h)];
      if (!ways.opened) open(t, h, ways);
      chain_.emplace_back(t, h);
      const Way last = ways.found.back();
      if (t == 0) break;
      const auto at = ways_.find(key(t - 1, last.from));
      if (at != ways_.end() && static_cast<int64_t>(at->second.found.size()) > last.rank + 1) break;
      --t;
      h = last.from;
    }
    bool found = false;
    for (size_t i = chain_.size(); i-- > 0;) {
      std::tie(t, h) = chain_[i];
      Ways& ways = ways_.find(key(t, h))->second;
      const Way last = ways.found.back();
      if (t > 0) {
        const auto& before = ways_.find(key(t - 1, last.from))->second.found;
        if (static_cast<int64_t>(before.size()) > last.rank + 1)
          offer(ways, Way{arrive(t, h, last.from, before[static_cast<size_t>(last.rank) + 1].score),
                          last.from, last.rank + 1});
      }
      found = take_best(ways);
    }
    return found;
  }

  const Trellis& x_;
  std::unordered_map<int64_t, Ways>
      ways_;  // by position and state, if more than Viterbi's path was requested
  std::vector<std::pair<int64_t, int64_t>> chain_;
};

}  // namespace crfkit
