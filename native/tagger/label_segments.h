// How a model's labels encode segments: the rules of metrics/segment_rules.py, for one labelling at a time.
//
// Labels with tags (B-LOC) are read by conlleval's rules, or, if S, L or U are among the tags, by those of
// IOBES and BILOU: neighbours of one type are in one segment if the first is B or I and the second I, E or L.
// If no label has a tag, a segment is a run of one label other than O.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/shortened.h"
#include "chain/segment_probability.h"

namespace crfkit {

class LabelSegments {
 public:
  // labels: [L]; an integer is a plain label.
  explicit LabelSegments(const std::vector<std::pair<std::string, bool>>& labels) : size_(labels.size()) {
    bool tagged = false;
    std::string tags;
    for (const auto& [label, is_integer] : labels) {
      if (!has_tag(label, is_integer)) continue;
      tagged |= std::string_view("BIESLU[].").find(label[0]) != std::string_view::npos;
      tags += label[0];
    }
    const bool iobes = tags.find('S') != std::string::npos;
    const bool bilou = !iobes && tags.find_first_of("LU") != std::string::npos;
    permitted_ = iobes ? "OBIES" : bilou ? "OBILU" : "OBIE[].";
    for (const auto& [label, is_integer] : labels) {
      if (!tagged) {
        units_.push_back({label == "O" && !is_integer ? 'O' : 'B', label, is_integer});
        continue;
      }
      if (!has_tag(label, is_integer) || permitted_.find(label[0]) == std::string_view::npos) {
        if (problem_.empty()) problem_ = label;
        units_.push_back({'O', "", false});
        continue;
      }
      units_.push_back({label[0], label.substr(std::min<size_t>(label.size(), 2)), false});
    }
    style_ = !tagged ? Style::kRuns : iobes || bilou ? Style::kScheme : Style::kConlleval;
    fill();
  }

  // The first label without a tag among labels with tags; else empty. Then there are no segments.
  const std::string& problem() const { return problem_; }
  SegmentRules rules() const { return {kinds_.data(), opens_.data(), joins_.data(), closes_.data()}; }

  // The segments of a labelling.
  std::vector<SegmentPlace> find(const std::vector<int32_t>& labels) const {
    std::vector<SegmentPlace> found;
    const size_t T = labels.size();
    size_t open = T;  // the start of a segment that has not ended; T: none
    for (size_t t = 0; t < T; ++t) {
      const auto here = static_cast<size_t>(labels[t]);
      const size_t before = t > 0 ? static_cast<size_t>(labels[t - 1]) : size_;
      const size_t after = t + 1 < T ? static_cast<size_t>(labels[t + 1]) : size_;
      if (opens_[before * size_ + here]) open = t;
      if (open == T || !closes_[here * (size_ + 1) + after]) continue;
      const int32_t kind = kinds_[static_cast<size_t>(labels[open])];
      found.push_back({static_cast<int64_t>(open), static_cast<int64_t>(t + 1), kind});
      open = T;
    }
    return found;
  }

  // The type of a kind: for runs, the place of its label; else its name.
  bool is_run() const { return style_ == Style::kRuns; }
  size_t label_of(int32_t kind) const { return first_label_[static_cast<size_t>(kind)]; }
  const std::string& name_of(int32_t kind) const { return units_[label_of(kind)].type; }

 private:
  enum class Style { kRuns, kConlleval, kScheme };
  struct Unit {
    char tag;
    std::string type;
    bool is_integer;
    bool same_type(const Unit& other) const { return type == other.type && is_integer == other.is_integer; }
  };

  static bool has_tag(const std::string& label, bool is_integer) {
    return !is_integer && !label.empty() && (label.size() == 1 || label[1] == '-');
  }

  bool starts(const Unit& before, const Unit& here) const {
    return step(before, here, here.tag, {"OB", "OI", "OE", "BB", "IB", "EE", "EI"});
  }
  bool ends(const Unit& before, const Unit& here) const {
    return step(before, here, before.tag, {"BO", "IO", "EO", "BB", "IB", "EE", "EI"});
  }
  // Whether a segment starts with (ends with) the tag `own`, by the pairs of tags of one type that say so.
  bool step(const Unit& before, const Unit& here, char own,
            std::initializer_list<std::string_view> pairs) const {
    const bool same = before.same_type(here);
    if (style_ == Style::kRuns) return own != 'O' && !same;
    if (style_ == Style::kScheme) {
      const bool left = before.tag == 'B' || before.tag == 'I';
      const bool right = here.tag == 'I' || here.tag == (permitted_[3] == 'E' ? 'E' : 'L');
      return own != 'O' && !(left && right && same);
    }
    if (own == '[' || own == ']') return true;
    const char pair[] = {before.tag, here.tag};
    for (const std::string_view known : pairs) {
      if (known == std::string_view(pair, 2)) return true;
    }
    return !same && own != 'O' && own != '.';
  }

  void fill() {
    const size_t L = size_;
    std::vector<Unit> units = units_;
    units.push_back({'O', "", style_ == Style::kRuns});  // before the first and after the last; no label
    opens_.resize((L + 1) * L);
    joins_.resize(L * L);
    closes_.resize(L * (L + 1));
    for (size_t b = 0; b <= L; ++b) {
      for (size_t h = 0; h <= L; ++h) {
        const bool start = starts(units[b], units[h]), end = ends(units[b], units[h]);
        if (h < L) opens_[b * L + h] = start;
        if (b < L) closes_[b * (L + 1) + h] = end;
        if (b < L && h < L) joins_[b * L + h] = !start && !end;
      }
    }
    std::map<std::pair<std::string, bool>, int32_t> known;
    for (size_t l = 0; l < L; ++l) {
      bool begins = false;
      for (size_t b = 0; b <= L; ++b) begins |= opens_[b * L + l] != 0;
      if (!begins) {
        kinds_.push_back(-1);
        continue;
      }
      const auto next = static_cast<int32_t>(known.size());
      const auto [at, is_new] = known.emplace(std::pair(units_[l].type, units_[l].is_integer), next);
      if (is_new) first_label_.push_back(l);
      kinds_.push_back(at->second);
    }
  }

  size_t size_;  // L
  Style style_ = Style::kRuns;
  std::string_view permitted_;
  std::vector<Unit> units_;  // [L]
  std::string problem_;
  std::vector<int32_t> kinds_;       // [L]
  std::vector<uint8_t> opens_;       // [L+1, L]
  std::vector<uint8_t> joins_;       // [L, L]
  std::vector<uint8_t> closes_;      // [L, L+1]
  std::vector<size_t> first_label_;  // of each kind
};

}  // namespace crfkit
