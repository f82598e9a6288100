// Single segmentations between sites: the best one, the k best, and samples.
//
// All are read off the recursion (site_recursion.h) from the last site to the first, as in segment_paths.h.
// Segmentations are written as ids: y where a segment of label y begins, L + y where it goes on.
#pragma once

#include "chain/sample.h"
#include "segments/open_parts.h"
#include "segments/site_sums.h"

namespace crfkit {

class SitePaths {
 public:
  SitePaths(const SiteTables& tables, const SiteView& x, const SiteSums& sums)
      : x_(x), sums_(sums), r_(sums.recursion()), L_(tables.m.labels) {}

  // Writes the best segmentation; call `forward_best` first.
  void best(int32_t* ids) const {
    for (size_t s = last(); s > 0;) {
      size_t ending = 0, beginning = 0;
      double top = -HUGE_VAL;
      for (const size_t j : into(s))
        if (r_.into(j) > top) top = r_.into(j), ending = j;
      top = -HUGE_VAL;
      for (size_t i = r_.stop_from(ending); i-- > r_.first_from(ending);)
        if (const double score = r_.a(i) + r_.length(i, ending); score > top) top = score, beginning = i;
      s = write(ids, beginning, ending);
    }
  }

  // Draws one segmentation; call `forward` first. `key` names the stream of random numbers.
  void sample(uint64_t key, int32_t* ids) const {
    uint64_t counter = 0;
    std::vector<double> terms;
    for (size_t s = last(); s > 0;) {
      const auto entries = into(s);
      terms.clear();
      for (const size_t j : entries) terms.push_back(r_.into(j));
      const size_t j = entries[static_cast<size_t>(draw(terms, uniform(key, counter++)))];
      terms.clear();
      for (size_t i = r_.first_from(j); i < r_.stop_from(j); ++i) terms.push_back(r_.a(i) + r_.length(i, j));
      s = write(ids, r_.first_from(j) + static_cast<size_t>(draw(terms, uniform(key, counter++))), j);
    }
  }

  // Calls found(ids, score) for the k best segmentations, best first; call `forward_best` first. A* search
  // from the end: F is the exact score of the best way to complete a part.
  template <class Found>
  void nbest(int64_t k, Found&& found) const {
    OpenParts<Part> open(k);
    auto add = [&](const Part& part) { open.add(part, part.score + r_.F(part.site)); };
    add({last(), 0, 0, -1, 0.0});
    std::vector<int32_t> ids(static_cast<size_t>(x_.length));
    while (k > 0 && !open.empty()) {
      double whole;
      const int64_t number = open.next(&whole);
      const Part part = open[number];
      if (part.site == 0) {
        open.each_segment(
            number, [&](const Part& left, const Part&) { write(ids.data(), left.beginning, left.ending); });
        found(ids, whole);
        --k;
        continue;
      }
      for (const size_t j : into(part.site))
        for (size_t i = r_.first_from(j); i < r_.stop_from(j); ++i) {
          poll(100);
          add({static_cast<size_t>(r_.from().site[i]), i, j, number,
               part.score + r_.from().score[i] + r_.length(i, j) + r_.to().score[j]});
        }
    }
  }

  // log p of the segment b..e-1 of y; call `forward` and `backward` first.
  double log_probability(int64_t b, int64_t e, int64_t y, double log_z) const {
    const auto [i, j] = entries_of(b, e, y);
    if (i < 0) return -HUGE_VAL;
    const auto beginning = static_cast<size_t>(i), ending = static_cast<size_t>(j);
    return r_.a(beginning) + r_.length(beginning, ending) + r_.to().score[ending] +
           sums_.R(r_.to().site[ending]) - log_z;
  }

  // log p of the segment b..e-1 of y given the site where it begins.
  double log_step(int64_t b, int64_t e, int64_t y, double log_z) const {
    const int64_t i = r_.from().at(static_cast<size_t>(y), b);
    if (i < 0) return -HUGE_VAL;
    const int32_t site = r_.from().site[static_cast<size_t>(i)];
    const double here = sums_.F(site) + sums_.R(site) - log_z;  // log p of the site
    return here == -HUGE_VAL ? here : log_probability(b, e, y, log_z) - here;
  }

  // Calls found(b, e, y, p) for all segments with p >= least; call `forward` and `backward` first.
  template <class Found>
  void above(double least, double log_z, Found&& found) const {
    const SiteRecursion::Entries &from = r_.from(), &to = r_.to();
    for (size_t j = 0; j < to.site.size(); ++j) {
      poll_at(static_cast<int64_t>(j));
      const double onward = sums_.R(to.site[j]) - log_z;
      if (std::exp(r_.into(j) + onward) < least) continue;
      for (size_t i = r_.first_from(j); i < r_.stop_from(j); ++i) {
        const double p = std::exp(r_.a(i) + r_.length(i, j) + to.score[j] + onward);
        if (p >= least) found(from.place[i], to.place[j], to.label[j], p);
      }
    }
  }

 private:
  struct Part {                      // the segments from `site` on are chosen
    size_t site, beginning, ending;  // entries of the first of them
    int64_t after;                   // the part that it extends
    double score;
  };

  size_t last() const { return static_cast<size_t>(x_.n_sites) - 1; }

  // The entries that close a segment at a site.
  std::vector<size_t> into(size_t s) const {
    const SiteRecursion::Entries& to = r_.to();
    return {to.by_site.begin() + static_cast<int64_t>(to.heads[s]),
            to.by_site.begin() + static_cast<int64_t>(to.heads[s + 1])};
  }

  // The entries that a segment begins and ends at; -1 if it is not permitted.
  std::pair<int64_t, int64_t> entries_of(int64_t b, int64_t e, int64_t y) const {
    const int64_t i = r_.from().at(static_cast<size_t>(y), b), j = r_.to().at(static_cast<size_t>(y), e);
    if (i < 0 || j < 0) return {-1, -1};
    const auto beginning = static_cast<size_t>(i), ending = static_cast<size_t>(j);
    const bool permitted = r_.first_from(ending) <= beginning && beginning < r_.stop_from(ending);
    return permitted ? std::pair{i, j} : std::pair<int64_t, int64_t>{-1, -1};
  }

  // Writes the segment between two entries; returns the site where it begins.
  size_t write(int32_t* ids, size_t beginning, size_t ending) const {
    const int32_t y = r_.to().label[ending], b = r_.from().place[beginning];
    std::fill(ids + b, ids + r_.to().place[ending], static_cast<int32_t>(L_) + y);
    ids[b] = y;
    return static_cast<size_t>(r_.from().site[beginning]);
  }

  const SiteView& x_;
  const SiteSums& sums_;
  const SiteRecursion& r_;
  const int64_t L_;
};

}  // namespace crfkit
