// Segments between sites: the scores of the sparse form of segmentations.
//
// A site is a place between positions, 0 .. T, where segments may meet; several sites may have one place. A
// segment of label y goes from a site i that opens y to a site j that closes y, from place b to place e:
//
//   open[i, y] + Σ_{b<=t<e} content[t, track of y] + length(y, e - b) + close[j, y]
//
//   length(y, d) = lengths[table of y, d], d <= K;   lengths[.., K] + (d - K) tail[table of y], d > K
//
// A segmentation is a path of segments from the first site of a sequence to its last. Which labels may follow
// each other is thus decided by the sites. A label may have barriers (p, q): it has no segment with b <= p
// and e >= q, which contains the positions p .. q-1. Time goes by the pairs of sites that are left, not by T
// L K.
#pragma once

#include "segments/segment_scores.h"

namespace crfkit {

// What all sequences share.
struct SiteModel {
  int labels, tracks;       // L, C
  int64_t longest;          // K
  size_t n_tables;          // M
  const int32_t* track;     // [L]; -1: no content
  const int32_t* table;     // [L]
  const int32_t* barriers;  // [L] the set of barriers; -1: none
  const double* lengths;    // [M, K]; lengths[m, d - 1] is the score of length d
  const double* tail;       // [M]; -inf: no longer segments
};

// Where labels open, or close. Those of label y are bounds[y] .. bounds[y + 1] - 1, ascending by site, each
// at another place.
struct SiteEntries {
  const int64_t* bounds;  // [L + 1]
  const int32_t* site;
  const double* score;
};

// One sequence.
struct SiteView {
  int64_t length;         // T
  int32_t n_sites;        // S
  const int32_t* place;   // [S] ascending, from 0 to T
  const double* content;  // [T, C]
  SiteEntries open, close;
  const int64_t* barrier_bounds;  // [sets + 1]
  const int32_t* last_begin;      // p of each barrier, ascending within its set
  const int32_t* first_end;       // q, likewise
};

// The scores of lengths in the forms that the recursions read.
class SiteTables {
 public:
  // For sequences of at most `length` positions.
  SiteTables(const SiteModel& model, int64_t length)
      : m(model), factors(model.n_tables * longest()), scale(model.n_tables), reach(model.n_tables, 0) {
    for (size_t k = 0; k < m.n_tables; ++k) {
      const double* lengths = m.lengths + k * longest();
      scale[k] = scale_of(*std::max_element(lengths, lengths + longest()));
      for (size_t d = 0; d < longest(); ++d)
        if (lengths[d] > -HUGE_VAL) reach[k] = static_cast<int64_t>(d) + 1;
      for (size_t d = 0; d < std::min(longest(), static_cast<size_t>(length)); ++d)
        factors[k * longest() + d] = std::exp(lengths[d] - scale[k] * kLn2);
    }
  }

  bool has_tail(size_t table) const { return m.tail[table] > -HUGE_VAL; }

  double length(size_t table, int64_t d) const {
    const double* lengths = m.lengths + static_cast<int64_t>(table) * m.longest;
    return d <= m.longest ? lengths[d - 1]
                          : lengths[m.longest - 1] + static_cast<double>(d - m.longest) * m.tail[table];
  }

  const SiteModel m;
  std::vector<double> factors;  // [M, K] exp(lengths) / 2^scale
  std::vector<double> scale;    // [M]
  std::vector<int64_t> reach;   // [M] the longest permitted length in the table

 private:
  size_t longest() const { return static_cast<size_t>(m.longest); }
};

}  // namespace crfkit
