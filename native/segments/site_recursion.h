// One direction of the recursion over segments between sites.
//
//   F[j] = log Σ over segmentations from the first site to site j
//        = log Σ_y exp(into[j, y])
//
//   into[j, y] = close[j, y] + log Σ_i exp(F[i] + open[i, y] + content + length)
//
// Content is a difference of running sums: each term is a number of site i, a[i] = F[i] + open[i, y] - C[b],
// plus a number of site j, plus the score of the length. The other direction is the same recursion over the
// mirrored sequence: places are T - t, sites count from the last, and what closes opens.
#pragma once

#include "base/poll.h"
#include "segments/scaled_blocks.h"
#include "segments/site_scores.h"

namespace crfkit {

class SiteRecursion {
 public:
  enum class Direction { kForward, kMirrored };

  // Sums: [C, T + 1], content before each place.
  void reset(const SiteTables& tables, const SiteView& x, const std::vector<double>& sums,
             Direction direction) {
    t_ = &tables;
    mirrored_ = direction == Direction::kMirrored;
    length_ = x.length;
    const auto S = static_cast<size_t>(x.n_sites);
    place_.resize(S);
    for (size_t s = 0; s < S; ++s) place_[s] = turned_place(x.place[turned(s, S)]);
    read(x, mirrored_ ? x.close : x.open, sums, -1.0, from_);
    read(x, mirrored_ ? x.open : x.close, sums, 1.0, to_);
    into_.resize(to_.site.size());
    windows_.resize(static_cast<size_t>(tables.m.labels));
    find_ranges(x);
  }

  // Computes F and `into`; returns F of the last site. Total: ScaledSum, or LargestTerm for the best score.
  template <class Total>
  double run() {
    const size_t S = place_.size();
    std::vector<Far<Total>> far(windows_.size());
    for (size_t y = 0; y < windows_.size(); ++y) windows_[y].resize(from_.count(y));
    F_.assign(S, -HUGE_VAL);
    reached_ = 0;
    for (size_t first = 0, stop = 0; first < S; first = stop) {
      while (stop < S && place_[stop] == place_[first]) ++stop;  // sites of one place
      for (size_t s = first; s < stop; ++s) {
        Total sum;
        for (size_t k = to_.heads[s]; k < to_.heads[s + 1]; ++k) {
          const auto j = static_cast<size_t>(to_.by_site[k]);
          sum.add_log(into_[j] = sum_into<Total>(j, far));
        }
        F_[s] = s == 0 ? 0.0 : sum.log();
        if (F_[s] > -HUGE_VAL) reached_ = place_[s];
      }
      for (size_t s = first; s < stop; ++s)
        for (size_t k = from_.heads[s]; k < from_.heads[s + 1]; ++k) {
          const auto i = static_cast<size_t>(from_.by_site[k]), y = static_cast<size_t>(from_.label[i]);
          windows_[y].put(i - from_.first[y], F_[s] + from_.score[i]);
        }
    }
    return F_[S - 1];
  }

  // Entries are numbered label by label; `from` open segments, `to` close them.
  struct Entries {
    std::vector<size_t> first;         // [L + 1] by label
    std::vector<int32_t> site, place;  // of each
    std::vector<int32_t> label;
    std::vector<double> score;     // -C + open, or C + close
    std::vector<size_t> heads;     // [S + 1] those of site s are by_site[heads[s] .. heads[s + 1] - 1]
    std::vector<int32_t> by_site;  // numbers of entries

    size_t count(size_t y) const { return first[y + 1] - first[y]; }
    // The entry of label y at a place, or -1.
    int64_t at(size_t y, int64_t where) const {
      const auto begin = place.begin() + static_cast<int64_t>(first[y]);
      const auto end = place.begin() + static_cast<int64_t>(first[y + 1]);
      const auto found = std::lower_bound(begin, end, where);
      return found != end && *found == where ? found - place.begin() : -1;
    }
  };
  const Entries& from() const { return from_; }
  const Entries& to() const { return to_; }

  size_t n_sites() const { return place_.size(); }
  double F(size_t site) const { return F_[site]; }
  double into(size_t j) const { return into_[j]; }
  int64_t reached() const { return reached_; }
  // F[i] + open - C.
  double a(size_t i) const {
    const auto y = static_cast<size_t>(from_.label[i]);
    return windows_[y].a[i - from_.first[y]];
  }
  // The segments that end at entry j begin at the entries first_from(j) .. stop_from(j) - 1.
  size_t first_from(size_t j) const { return static_cast<size_t>(range_[2 * j]); }
  size_t stop_from(size_t j) const { return static_cast<size_t>(range_[2 * j + 1]); }
  // The score of the length from entry i to entry j.
  double length(size_t i, size_t j) const {
    return t_->length(table(to_.label[j]), to_.place[j] - from_.place[i]);
  }

 private:
  // The entries beyond the table of lengths: Σ exp(a - place · tail).
  template <class Total>
  struct Far {
    size_t first = 0, stop = 0;
    Total sum;
  };

  size_t turned(size_t s, size_t S) const { return mirrored_ ? S - 1 - s : s; }
  int32_t turned_place(int32_t place) const {
    return mirrored_ ? static_cast<int32_t>(length_) - place : place;
  }
  size_t table(int32_t label) const { return static_cast<size_t>(t_->m.table[label]); }

  void read(const SiteView& x, const SiteEntries& e, const std::vector<double>& sums, double sign,
            Entries& out) {
    const auto L = static_cast<size_t>(t_->m.labels), S = static_cast<size_t>(x.n_sites);
    const auto n = static_cast<size_t>(e.bounds[L] - e.bounds[0]);
    out.first.resize(L + 1);
    out.site.resize(n), out.place.resize(n), out.label.resize(n), out.score.resize(n), out.by_site.resize(n);
    out.heads.assign(S + 1, 0);
    size_t k = 0;
    for (size_t y = 0; y < L; ++y) {
      out.first[y] = k;
      const int32_t track = t_->m.track[y];
      const double* C = sums.data() + static_cast<int64_t>(std::max(track, 0)) * (x.length + 1);
      const int64_t count = e.bounds[y + 1] - e.bounds[y];
      for (int64_t i = 0; i < count; ++i, ++k) {
        const int64_t source = mirrored_ ? e.bounds[y + 1] - 1 - i : e.bounds[y] + i;
        const int32_t site = e.site[source];
        // in the mirrored sequence, content before a place is minus what comes before it here
        const double before = track < 0 ? 0.0 : mirrored_ ? -C[x.place[site]] : C[x.place[site]];
        out.site[k] = static_cast<int32_t>(turned(static_cast<size_t>(site), S));
        out.place[k] = turned_place(x.place[site]);
        out.label[k] = static_cast<int32_t>(y);
        out.score[k] = e.score[source] + sign * before;
        ++out.heads[static_cast<size_t>(out.site[k]) + 1];
      }
    }
    out.first[L] = k;
    for (size_t s = 0; s < S; ++s) out.heads[s + 1] += out.heads[s];
    std::vector<size_t> next(out.heads.begin(), out.heads.end() - 1);
    for (size_t i = 0; i < n; ++i)
      out.by_site[next[static_cast<size_t>(out.site[i])]++] = static_cast<int32_t>(i);
  }

  void find_ranges(const SiteView& x) {
    range_.resize(2 * to_.site.size());
    for (size_t y = 0; y + 1 < to_.first.size(); ++y) {
      const int32_t set = t_->m.barriers[y];
      const int64_t low = set < 0 ? 0 : x.barrier_bounds[set], high = set < 0 ? 0 : x.barrier_bounds[set + 1];
      const size_t m = table(static_cast<int32_t>(y));
      int64_t passed = 0, bound = -1;  // segments begin after it
      size_t first = from_.first[y], stop = first;
      for (size_t j = to_.first[y]; j < to_.first[y + 1]; ++j) {
        const int64_t end = to_.place[j];
        for (; passed < high - low; ++passed) {
          const int64_t k = mirrored_ ? high - 1 - passed : low + passed;
          const int64_t p = mirrored_ ? length_ - x.first_end[k] : x.last_begin[k];
          const int64_t q = mirrored_ ? length_ - x.last_begin[k] : x.first_end[k];
          if (q > end) break;
          bound = p;
        }
        const int64_t least = t_->has_tail(m) ? bound : std::max(bound, end - t_->reach[m] - 1);
        while (stop < from_.first[y + 1] && from_.place[stop] < end) ++stop;
        while (first < stop && from_.place[first] <= least) ++first;
        range_[2 * j] = static_cast<int32_t>(first), range_[2 * j + 1] = static_cast<int32_t>(stop);
      }
    }
  }

  template <class Total>
  double sum_into(size_t j, std::vector<Far<Total>>& far) {
    const auto y = static_cast<size_t>(to_.label[j]);
    const size_t m = table(to_.label[j]), stop = stop_from(j);
    const int64_t K = t_->m.longest, end = to_.place[j];
    size_t near = first_from(j);
    Total sum;
    if (t_->has_tail(m)) {
      const double tail = t_->m.tail[m];
      Far<Total>& beyond = far[y];
      auto add = [&](size_t i) { beyond.sum.add_log(a(i) - tail * from_.place[i]); };
      if (beyond.first != near) {  // a barrier: those before it are taken out
        beyond = {near, std::max(near, beyond.stop), Total{}};
        for (size_t i = near; i < beyond.stop; ++i) add(i);
      }
      for (; beyond.stop < stop && end - from_.place[beyond.stop] > K; ++beyond.stop) add(beyond.stop);
      near = beyond.stop;
      sum.add_log(beyond.sum.log() + t_->length(m, K) + tail * static_cast<double>(end - K));
    }
    poll(10 + static_cast<int64_t>(stop - near));
    add_near(y, m, near, stop, end, sum);
    return sum.log() + to_.score[j];
  }

  // Adds exp(a[i] + length) of the entries near <= i < stop of label y, whose table is m.
  void add_near(size_t y, size_t m, size_t near, size_t stop, int64_t end, ScaledSum& sum) const {
    const ScaledBlocks& window = windows_[y];
    const double* factors = t_->factors.data() + static_cast<int64_t>(m) * t_->m.longest - 1;
    for (size_t i = near; i < stop;) {
      const size_t k = i - from_.first[y], block = k / ScaledBlocks::kBlock;
      const size_t n = std::min(stop - i, (block + 1) * ScaledBlocks::kBlock - k);
      if (window.exponent[block] > -HUGE_VAL) {
        double scaled = 0;
        const int32_t* place = from_.place.data() + i;
        const double* x = window.x.data() + k;
        for (size_t u = 0; u < n; ++u) scaled += x[u] * factors[end - place[u]];
        if (scaled >= kTinySum)
          sum.add(scaled, window.exponent[block] + t_->scale[m]);
        else
          for (size_t u = 0; u < n; ++u) sum.add_log(window.a[k + u] + t_->length(m, end - place[u]));
      }
      i += n;
    }
  }
  void add_near(size_t y, size_t m, size_t near, size_t stop, int64_t end, LargestTerm& largest) const {
    const double* lengths = t_->m.lengths + static_cast<int64_t>(m) * t_->m.longest - 1;
    for (size_t i = near; i < stop; ++i)
      largest.add_log(windows_[y].a[i - from_.first[y]] + lengths[end - from_.place[i]]);
  }

  const SiteTables* t_ = nullptr;
  bool mirrored_ = false;
  int64_t length_ = 0, reached_ = 0;
  std::vector<int32_t> place_;  // [S]
  Entries from_, to_;
  std::vector<int32_t> range_;         // first and stop of each entry `to`
  std::vector<ScaledBlocks> windows_;  // [L] a of the entries `from`
  std::vector<double> F_;              // [S]
  std::vector<double> into_;           // of each entry `to`
};

}  // namespace crfkit
