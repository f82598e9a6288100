// The flip gradient: how the best path's score changes when the path moves because one weight moves.
//
// h = S(ŷ) - S(y) has by a weight w_k the derivative Σ_i w_i ∂C_i(ŷ)/∂w_k + C_k(ŷ) - C_k(y). The first part
// is estimated without a new forward pass (Chen, Chen, Brent and Tenney, KDD 2009, equations 12 to 14). Let
//
//   Δ_t(j) = [δ(t, ŷ_t) + s_{t+1}(ŷ_t, ŷ_{t+1})] - [δ(t, j) + s_{t+1}(j, ŷ_{t+1})]
//
// be what label j lacks at t to become the best predecessor of ŷ_{t+1} (at the last position: to become the
// best end). A weight that adds v to the score of j at t, of the transition (j, ŷ_{t+1}), or of an attribute
// of t+1 on that pair, makes the path flip there when it is raised by Δ_t(j) / v; a weight of ŷ_t itself when
// it is lowered by min_j Δ_t(j) / v. Of all positions the one with the least change is taken. With ΔC_i the
// changes of the counts between the old path and the one that has j at t,
//
//   Σ_i w_i ΔC_i / ±(Δ + c)
//
// is the estimate, c > 0 against huge quotients. Both paths are the best ones to their states, so that
// Σ_i w_i ΔC_i = -Δ_t(j). Where both directions flip, the nearer flip counts.
#pragma once

#include <limits>

#include "validation/span_lattice.h"

namespace crfkit {

// The nearest flip of one parameter in one direction.
struct Flip {
  double move = std::numeric_limits<double>::infinity();  // how far the weight has to go, >= 0
  double change = 0;                                      // Σ_i w_i ΔC_i = -Δ
};

// The nearest flips of every parameter, raised and lowered.
struct Flips {
  ExactTable state_move[2], state_change[2], pair_move[2], pair_change[2];
  std::vector<Flip> edges[2];  // [L, L]

  void reset(const SpanScores& s) {
    const double far = std::numeric_limits<double>::infinity();
    for (int up = 0; up < 2; ++up) {
      state_move[up].fill(*s.state, far);
      state_change[up].reset(*s.state);
      if (s.pair) {
        pair_move[up].fill(*s.pair, far);
        pair_change[up].reset(*s.pair);
      }
      edges[up].assign(s.edges[0].size(), Flip{});
    }
  }
};

class FlipSearch {
 public:
  // Searches a span, decoded to `path`, for nearer flips.
  void visit(const SpanScores& s, SpanLattice& x, const int32_t* path, Flips& out) {
    const int L = s.dims.labels;
    std::vector<double> lack(static_cast<size_t>(L));
    x.for_positions([&](int64_t t, const double* delta, const double* edge) {
      auto reach = [&](int j) { return delta[j] + (edge ? edge[int64_t{j} * L + path[t + 1]] : 0.0); };
      const double here = reach(path[t]);
      int second = -1;
      for (int j = 0; j < L; ++j) {
        const auto at = static_cast<size_t>(j);
        lack[at] = here - reach(j);
        if (j != path[t] && (second < 0 || lack[at] < lack[static_cast<size_t>(second)])) second = j;
      }
      for (int j = 0; j < L; ++j) {
        // Another label needs Δ(j) more; the path's own label is replaced when it has Δ(second) less.
        const bool own = j == path[t];
        if (own && second < 0) continue;
        const double need = lack[static_cast<size_t>(own ? second : j)];
        if (std::isinf(need)) continue;
        meet_active(*s.state, out.state_move, out.state_change, x.first() + t, j, need, own);
        if (!edge) continue;
        const int64_t pair = int64_t{j} * L + path[t + 1];
        Flip& flip = out.edges[own ? 0 : 1][static_cast<size_t>(pair)];
        if (need < flip.move) flip = {need, -need};
        if (s.pair)
          meet_active(*s.pair, out.pair_move, out.pair_change, x.first() + t + 1,
                      int64_t{j} * s.dims.padded + path[t + 1], need, own);
      }
    });
  }

  // Returns the estimate from a flip up and a flip down: the quotient of the nearer one.
  static double quotient(const Flip& down, const Flip& up, double c) {
    if (std::isinf(up.move) && std::isinf(down.move)) return 0;
    return up.move <= down.move ? up.change / (up.move + c) : -down.change / (down.move + c);
  }

 private:
  // Checks for every parameter active at position t with this label whether its flip here is nearer. need: Δ,
  // by how much its score must change. The sign of its value decides the direction of the weight.
  static void meet_active(const LinearLayout& layout, ExactTable* move, ExactTable* change, int64_t t,
                          int64_t label, double need, bool own) {
    auto one = [&](double value, auto table, size_t place) {
      if (value == 0) return;
      const double way = need / std::fabs(value);
      const int up = (value > 0) != own ? 1 : 0;
      double& least = (move[up].*table)[place];
      if (way < least) {
        least = way;
        (change[up].*table)[place] = -need;
      }
    };
    for_active_entries(
        layout, t, label, [&](size_t i, double value) { one(value, &ExactTable::dense, i); },
        [&](size_t i, double value) { one(value, &ExactTable::sparse, i); });
  }
};

}  // namespace crfkit
