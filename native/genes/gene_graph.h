// The gene structures of a stretch of DNA as paths of a graph: a semi-Markov chain.
//
// Nodes are places between bases. N[t], t = 0..T, is outside of genes; D(t, p) is a donor site after p bases
// of a codon; A(t, k) is an acceptor site, k says which part of a codon lies before the intron:
//
//   k = 0: nothing   1: a base that is not T   2: T   3: two bases, not TA or TG   4: TA   5: TG
//
// so that no stop codon is read across an intron. Arcs are segments: exons of four kinds (initial N -> D,
// internal A -> D, terminal A -> N, single N -> N), introns D -> A, and one base outside of genes,
// N[t] -> N[t+1], with score 0; all other scores are relative to that. The score of an arc is
//
//   Σ content of its bases + the sites at its ends + the length score of its kind
//
// (a site counts once: donors and acceptors with their intron, starts and stops with their exon). The left
// ends of the exons that are open in each reading frame are kept in a list, which a stop codon empties: the
// arcs that remain are few, and every path is a legal gene structure. Where `partial` is finite, a path may
// also begin and end inside a gene.
//
// The other strand is the same graph of the reverse complement, turned round; the two share N.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/poll.h"

namespace crfkit {

enum SegmentKind : uint8_t { kInitial, kInternal, kTerminal, kSingle, kIntron, kCutExon, kCutIntron };

constexpr int kExonKinds = 4;
constexpr int kContents = 4;  // coding base 0, 1, 2 of a codon; intron
constexpr int kSites = 4;     // start, stop, donor, acceptor
enum Site { kStart, kStop, kDonor, kAcceptor };

// Scores of one strand of one sequence, in its reading direction.
struct StrandScores {
  int64_t length;         // T
  const uint8_t* codes;   // [T] A C G T are 0..3, unknown bases 4
  const double* content;  // [T, kContents]
  const double* sites;    // [T + 1, kSites]; -inf: no such site
};

// Scores shared by all sequences. Lengths above the last entry of a table have that entry's score.
struct SegmentScores {
  const double* exon;  // [kExonKinds, n_exon]
  int64_t n_exon;
  const double* intron;  // [n_intron]; introns are shorter than n_intron
  int64_t n_intron;
  int64_t min_intron;
  double split_stop;  // score of a stop codon that an intron splits, instead of a site's score
  double partial;     // score of a gene cut off by the sequence's end; -inf: not permitted
};

struct Arc {
  int32_t from, to;    // nodes
  int32_t begin, end;  // bases begin..end-1, in the strand's reading direction
  SegmentKind kind;
  uint8_t frame;   // of exons: codons begin where position % 3 = frame
  uint8_t strand;  // 1: the reverse complement
  double score;
};

class GeneGraph {
 public:
  int64_t length = 0;
  std::vector<Arc> arcs;
  std::vector<int32_t> place;  // [nodes] position; nodes 0..T are N

  void build(const StrandScores& forward, const StrandScores* backward, const SegmentScores& s) {
    length = forward.length;
    arcs.clear();
    place.resize(static_cast<size_t>(length) + 1);
    for (int64_t t = 0; t <= length; ++t) place[static_cast<size_t>(t)] = static_cast<int32_t>(t);
    add_strand(forward, s, 0);
    if (backward) {
      const size_t first_arc = arcs.size(), first_node = place.size();
      add_strand(*backward, s, 1);
      const auto T = static_cast<int32_t>(length);
      auto turned = [&](int32_t node) { return node <= T ? T - node : node; };
      for (size_t n = first_node; n < place.size(); ++n) place[n] = T - place[n];
      for (size_t a = first_arc; a < arcs.size(); ++a) {
        const int32_t from = arcs[a].from;
        arcs[a].from = turned(arcs[a].to);
        arcs[a].to = turned(from);
      }
    }
    sort();
  }

  // Arcs into node n are order[heads[n] .. heads[n + 1] - 1]; nodes by place, N first.
  std::vector<int32_t> heads, order, nodes;

 private:
  struct Open {  // the left end of an exon
    int32_t node, begin;
    bool start, cut;
    double score;  // of the start site, minus the content before
  };
  struct Donor {
    int32_t at;
    int32_t node[3];  // by phase; -1: none
    uint8_t kind[3];
  };

  std::vector<double> coding_[3], intron_;  // content before each place, [T + 1]; coding by frame
  std::vector<Open> open_[3];               // by frame
  std::vector<Donor> donors_;

  static bool is_stop(uint8_t a, uint8_t b, uint8_t c) {
    return a == 3 && ((b == 0 && (c == 0 || c == 2)) || (b == 2 && c == 0));
  }

  int32_t node_at(int64_t t) {
    place.push_back(static_cast<int32_t>(t));
    return static_cast<int32_t>(place.size()) - 1;
  }

  void sum_contents(const StrandScores& x) {
    const auto T = static_cast<size_t>(x.length);
    for (int f = 0; f < 3; ++f) {
      coding_[f].resize(T + 1);
      coding_[f][0] = 0;
      for (size_t t = 0; t < T; ++t)
        coding_[f][t + 1] = coding_[f][t] + x.content[t * kContents + (t + 3 - static_cast<size_t>(f)) % 3];
      open_[f].clear();
    }
    intron_.resize(T + 1);
    intron_[0] = 0;
    for (size_t t = 0; t < T; ++t) intron_[t + 1] = intron_[t] + x.content[t * kContents + 3];
    donors_.clear();
  }

  void add_exon(const Open& left, int f, int64_t end, int32_t to, double right, SegmentKind kind,
                const SegmentScores& s, uint8_t strand) {
    double score = left.score + coding_[f][static_cast<size_t>(end)] + right;
    if (left.cut) kind = kCutExon;
    if (kind != kCutExon) {
      const int64_t n = std::min<int64_t>(end - left.begin, s.n_exon - 1);
      score += s.exon[static_cast<int64_t>(kind) * s.n_exon + n];
    }
    if (score == -HUGE_VAL) return;
    arcs.push_back(
        {left.node, to, left.begin, static_cast<int32_t>(end), kind, static_cast<uint8_t>(f), strand, score});
  }

  void open_exon(int32_t node, int64_t begin, int phase, bool start, bool cut, double site) {
    const auto f = static_cast<size_t>((begin + 3 - phase) % 3);
    open_[f].push_back(
        {node, static_cast<int32_t>(begin), start, cut, site - coding_[f][static_cast<size_t>(begin)]});
  }

  void add_strand(const StrandScores& x, const SegmentScores& s, uint8_t strand) {
    sum_contents(x);
    const int64_t T = x.length;
    const bool partial = s.partial > -HUGE_VAL;
    if (partial)
      for (int phase = 0; phase < 3; ++phase) open_exon(0, 0, phase, false, true, s.partial);
    size_t oldest = 0;  // donor that is near enough
    for (int64_t t = 0; t <= T; ++t) {
      poll_at(t);
      const double* site = x.sites + t * kSites;
      const uint8_t* here = x.codes + t;
      if (t >= 3 && is_stop(here[-3], here[-2], here[-1])) {
        const int f = static_cast<int>(t % 3);
        auto& open = open_[f];
        for (const Open& left : open)
          if (left.begin <= t - 3)
            add_exon(left, f, t, static_cast<int32_t>(t), site[kStop], left.start ? kSingle : kTerminal, s,
                     strand);
        open.erase(
            std::remove_if(open.begin(), open.end(), [&](const Open& left) { return left.begin <= t - 3; }),
            open.end());
      }
      if (site[kDonor] > -HUGE_VAL) add_donor(x, s, t, strand);
      if (site[kAcceptor] > -HUGE_VAL) {
        while (oldest < donors_.size() && t - donors_[oldest].at >= s.n_intron) ++oldest;
        add_acceptor(x, s, t, oldest, strand);
      }
      if (site[kStart] > -HUGE_VAL) open_exon(static_cast<int32_t>(t), t, 0, true, false, site[kStart]);
    }
    if (!partial) return;
    const auto last = static_cast<int32_t>(T);
    for (int f = 0; f < 3; ++f)
      for (const Open& left : open_[f])
        if (left.begin < T && !left.cut) add_exon(left, f, T, last, s.partial, kCutExon, s, strand);
    for (const Donor& d : donors_)
      for (int phase = 0; phase < 3; ++phase)
        if (d.node[phase] >= 0 && T - d.at < s.n_intron)
          arcs.push_back({d.node[phase], last, d.at, last, kCutIntron, 0, strand,
                          x.sites[d.at * kSites + kDonor] + intron_[static_cast<size_t>(T)] -
                              intron_[static_cast<size_t>(d.at)] + s.partial});
  }

  void add_donor(const StrandScores& x, const SegmentScores& s, int64_t t, uint8_t strand) {
    Donor d{static_cast<int32_t>(t), {-1, -1, -1}, {0, 0, 0}};
    bool any = false;
    for (int phase = 0; phase < 3; ++phase) {
      const auto f = static_cast<int>((t + 3 - phase) % 3);
      for (const Open& left : open_[f]) {
        if (t - left.begin < 3) continue;
        if (d.node[phase] < 0) d.node[phase] = node_at(t);
        add_exon(left, f, t, d.node[phase], 0.0, left.start ? kInitial : kInternal, s, strand);
      }
      if (d.node[phase] < 0) continue;
      any = true;
      const uint8_t* here = x.codes + t;
      if (phase == 1) d.kind[1] = here[-1] == 3 ? 2 : 1;
      if (phase == 2) d.kind[2] = here[-2] != 3 ? 3 : here[-1] == 0 ? 4 : here[-1] == 2 ? 5 : 3;
    }
    if (any) donors_.push_back(d);
  }

  void add_acceptor(const StrandScores& x, const SegmentScores& s, int64_t t, size_t oldest, uint8_t strand) {
    int32_t node[6] = {-1, -1, -1, -1, -1, -1};
    const double right = x.sites[t * kSites + kAcceptor] + intron_[static_cast<size_t>(t)];
    auto add = [&](int32_t from, int64_t begin, int k, double score, SegmentKind kind) {
      if (node[k] < 0) node[k] = node_at(t);
      arcs.push_back(
          {from, node[k], static_cast<int32_t>(begin), static_cast<int32_t>(t), kind, 0, strand, score});
    };
    for (size_t i = oldest; i < donors_.size(); ++i) {
      const Donor& d = donors_[i];
      if (t - d.at < s.min_intron) break;
      const double score =
          right + x.sites[d.at * kSites + kDonor] - intron_[static_cast<size_t>(d.at)] + s.intron[t - d.at];
      for (int phase = 0; phase < 3; ++phase)
        if (d.node[phase] >= 0) add(d.node[phase], d.at, d.kind[phase], score, kIntron);
    }
    if (s.partial > -HUGE_VAL && t < s.n_intron)
      for (int k : {0, 1, 3}) add(0, 0, k, right + s.partial, kCutIntron);
    static constexpr int kPhase[6] = {0, 1, 1, 2, 2, 2};
    for (int k = 0; k < 6; ++k) {
      if (node[k] < 0) continue;
      const int rest = k == 2 ? 2 : k >= 4 ? 1 : 0;  // bases that may complete a stop codon
      if (rest && t + rest <= x.length) {
        const uint8_t b = x.codes[t], c = rest == 2 ? x.codes[t + 1] : 4;
        const bool stop = k == 2 ? is_stop(3, b, c) : is_stop(3, k == 4 ? 0 : 2, b);
        if (stop) {
          const auto f = static_cast<int>((t + 3 - kPhase[k]) % 3);
          const Open left{node[k], static_cast<int32_t>(t), false, false,
                          -coding_[f][static_cast<size_t>(t)]};
          add_exon(left, f, t + rest, static_cast<int32_t>(t + rest), s.split_stop, kTerminal, s, strand);
          continue;
        }
      }
      open_exon(node[k], t, kPhase[k], false, false, 0.0);
    }
  }

  void sort() {
    heads.assign(place.size() + 1, 0);
    for (const Arc& a : arcs) ++heads[static_cast<size_t>(a.to) + 1];
    for (size_t n = 1; n < heads.size(); ++n) heads[n] += heads[n - 1];
    order.resize(arcs.size());
    std::vector<int32_t> next(heads.begin(), heads.end() - 1);
    for (size_t a = 0; a < arcs.size(); ++a)
      order[static_cast<size_t>(next[static_cast<size_t>(arcs[a].to)]++)] = static_cast<int32_t>(a);
    std::vector<int32_t> first(static_cast<size_t>(length) + 2, 0);
    for (int32_t p : place) ++first[static_cast<size_t>(p) + 1];
    for (size_t t = 1; t < first.size(); ++t) first[t] += first[t - 1];
    nodes.resize(place.size());
    for (size_t n = 0; n < place.size(); ++n)
      nodes[static_cast<size_t>(first[static_cast<size_t>(place[n])]++)] = static_cast<int32_t>(n);
  }
};

}  // namespace crfkit
