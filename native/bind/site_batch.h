// The scores of segments between sites of a batch of sequences. All has been checked in Python
// (inference/site_lattice.py); only what memory safety needs is checked again here.
#pragma once

#include "bind/segment_batch.h"
#include "segments/site_paths.h"

namespace crfkit {

class SiteBatch {
 public:
  using Sums = SiteSums;
  using Paths = SitePaths;

  // Where labels open or close: entries of sequence i and label y are bounds[i * L + y] .. bounds[i * L + y +
  // 1] - 1.
  struct Entries {
    Ints bounds;     // [N L + 1]
    Ids site;        // [n] numbers of the sequence's sites
    Doubles scores;  // [n]
  };

  SiteBatch(Ints offsets, Ids place, Ints bounds, Ids open_site, Ints open_bounds, Doubles open,
            Ids close_site, Ints close_bounds, Doubles close, Ids track, Ids table, Ids barriers,
            Ints barrier_bounds, Ids last_begin, Ids first_end, Array<const double, 2> content,
            Array<const double, 2> lengths, Doubles tail)
      : offsets_(offsets),
        bounds_(bounds),
        barrier_bounds_(barrier_bounds),
        place_(place),
        last_begin_(last_begin),
        first_end_(first_end),
        track_(track),
        table_(table),
        barriers_(barriers),
        open_{open_bounds, open_site, open},
        close_{close_bounds, close_site, close},
        content_(content),
        lengths_(lengths),
        tail_(tail),
        sets_(n_sequences() > 0 ? (static_cast<int64_t>(barrier_bounds.size()) - 1) / n_sequences() : 0),
        tables(model(), longest_sequence()) {
    check_bounds(offsets, content.shape(0), "offsets must ascend from 0 to the number of positions");
    require(bounds.size() == offsets.size(), "one bound of sites per sequence, and one more");
    check_bounds(bounds, place.size(), "bounds must ascend from 0 to the number of sites");
    require(static_cast<int64_t>(barrier_bounds.size()) == n_sequences() * sets_ + 1,
            "barrier_bounds must be [N, sets]");
    check_bounds(barrier_bounds, last_begin.size(),
                 "barrier_bounds must ascend from 0 to the number of barriers");
    require(first_end.size() == last_begin.size(), "barriers need two places each");
    check_ids(track, -1, static_cast<int64_t>(content.shape(1)), "track must name columns of content");
    check_ids(table, 0, static_cast<int64_t>(lengths.shape(0)), "table must name rows of lengths");
    if (n_sequences() > 0) check_ids(barriers, -1, sets_, "barriers must name sets");
    for (int64_t i = 0; i < n_sequences(); ++i) {
      const SiteView x = view(i);
      check_sites(x);
      check_entries(x, x.open), check_entries(x, x.close);
    }
  }

  int64_t n_sequences() const { return static_cast<int64_t>(offsets_.size()) - 1; }
  int64_t n_positions() const { return static_cast<int64_t>(content_.shape(0)); }
  int64_t n_labels() const { return static_cast<int64_t>(track_.size()); }
  int64_t offset(int64_t i) const { return offsets_.data()[i]; }
  int64_t first_open(int64_t i) const { return open_.bounds.data()[i * n_labels()]; }
  int64_t first_close(int64_t i) const { return close_.bounds.data()[i * n_labels()]; }
  size_t n_open() const { return open_.site.size(); }
  size_t n_close() const { return close_.site.size(); }

  SiteView view(int64_t i) const {
    const int64_t first = bounds_.data()[i], L = n_labels();
    SiteView x = {};
    x.length = offset(i + 1) - offset(i);
    x.n_sites = static_cast<int32_t>(bounds_.data()[i + 1] - first);
    x.place = place_.data() + first;
    x.content = content_.data() + offset(i) * static_cast<int64_t>(content_.shape(1));
    x.open = {open_.bounds.data() + i * L, open_.site.data(), open_.scores.data()};
    x.close = {close_.bounds.data() + i * L, close_.site.data(), close_.scores.data()};
    x.barrier_bounds = barrier_bounds_.data() + i * sets_;
    x.last_begin = last_begin_.data();
    x.first_end = first_end_.data();
    return x;
  }

 private:
  int64_t longest_sequence() const {
    int64_t longest = 0;
    for (int64_t i = 0; i < n_sequences(); ++i) longest = std::max(longest, offset(i + 1) - offset(i));
    return longest;
  }

  SiteModel model() const {
    const size_t L = track_.size();
    require(L >= 1 && table_.size() == L && barriers_.size() == L,
            "one track, table and set of barriers per label");
    require(lengths_.shape(1) >= 1 && tail_.size() == lengths_.shape(0), "lengths must be [M, K], tail [M]");
    for (const Entries* e : {&open_, &close_}) {
      require(static_cast<int64_t>(e->bounds.size()) == n_sequences() * static_cast<int64_t>(L) + 1 &&
                  e->scores.size() == e->site.size(),
              "entries need bounds [N, L] and scores");
      check_bounds(e->bounds, e->site.size(), "bounds must ascend from 0 to the number of entries");
    }
    return {static_cast<int>(L),
            static_cast<int>(content_.shape(1)),
            static_cast<int64_t>(lengths_.shape(1)),
            lengths_.shape(0),
            track_.data(),
            table_.data(),
            barriers_.data(),
            lengths_.data(),
            tail_.data()};
  }

  static void check_sites(const SiteView& x) {
    require(x.length < (int64_t{1} << 31) - 1, "a sequence is too long");
    if (x.length == 0) return;
    require(x.n_sites > 1 && x.place[0] == 0 && x.place[x.n_sites - 1] == x.length &&
                std::is_sorted(x.place, x.place + x.n_sites),
            "the places of sites must ascend from 0 to the sequence's length");
  }
  void check_entries(const SiteView& x, const SiteEntries& e) const {
    for (int64_t y = 0; y < n_labels(); ++y) {
      int32_t before = -1;  // a place
      for (int64_t k = e.bounds[y]; k < e.bounds[y + 1]; ++k) {
        require(e.site[k] >= 0 && e.site[k] < x.n_sites && x.place[e.site[k]] > before,
                "a label's entries must be sites of the sequence, each at a later place");
        before = x.place[e.site[k]];
      }
    }
  }

  Ints offsets_, bounds_, barrier_bounds_;
  Ids place_, last_begin_, first_end_, track_, table_, barriers_;
  Entries open_, close_;
  Array<const double, 2> content_, lengths_;
  Doubles tail_;
  int64_t sets_;

 public:
  const SiteTables tables;
};

}  // namespace crfkit
