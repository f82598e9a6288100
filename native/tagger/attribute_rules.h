// Conjunctions and association rules of a linear model, applied to the attributes of one sequence
// (features/conjunctions.py, mining/associations.py).
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ingest/ingest_rows.h"
#include "mining/rule_matcher.h"
#include "mining/rule_votes.h"
#include "tagger/model_file.h"

namespace crfkit {

// Attributes that are present where several others all are; their value is the product.
class AttributeConjunctions {
 public:
  // record: [[name, [attribute, ...]], ...]
  AttributeConjunctions(const Json& record, const Vocabulary& vocabulary) {
    const auto malformed = [] { return Damage("its conjunctions are malformed"); };
    if (!record.is_array()) throw malformed();
    const auto id_of = [&](const Json& name) {
      if (!name.is_string()) throw malformed();
      const std::string text = name.string();
      return vocabulary.find(text, hash_string(text));
    };
    record.for_each([&](const Json& entry) {
      if (!entry.is_array()) throw malformed();
      std::vector<Json> pair;
      entry.for_each([&](const Json& part) { pair.push_back(part); });
      if (pair.size() != 2 || !pair[1].is_array()) throw malformed();
      Conjunction made{id_of(pair[0]), {}};
      pair[1].for_each([&](const Json& atom) { made.atoms.push_back(id_of(atom)); });
      if (made.atoms.empty()) throw malformed();
      const bool known = made.id >= 0 && *std::min_element(made.atoms.begin(), made.atoms.end()) >= 0;
      if (known) by_first_[made.atoms[0]].push_back(all_.size());
      if (known) all_.push_back(std::move(made));
    });
  }

  // Appends the conjunctions to a position with these distinct attributes.
  void add(const int32_t* ids, const double* values, size_t n, RowBuilder* out) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < n; ++i) {
      if (const auto at = by_first_.find(ids[i]); at != by_first_.end()) {
        found.insert(found.end(), at->second.begin(), at->second.end());
      }
    }
    if (found.empty()) return;
    std::unordered_map<int32_t, double> here;
    for (size_t i = 0; i < n; ++i) here.emplace(ids[i], values == nullptr ? 1.0 : values[i]);
    std::sort(found.begin(), found.end());
    for (const size_t c : found) {
      double product = 1;
      bool holds = true;
      for (const int32_t atom : all_[c].atoms) {
        const auto at = here.find(atom);
        holds &= at != here.end();
        if (holds) product *= at->second;
      }
      if (holds) out->add(all_[c].id, product);
    }
  }

 private:
  struct Conjunction {
    int32_t id;
    std::vector<int32_t> atoms;
  };
  std::vector<Conjunction> all_;
  std::unordered_map<int32_t, std::vector<size_t>> by_first_;  // by their first attribute
};

// Association rules over the attributes of a model, and how the model uses them.
class AttributeRules {
 public:
  AttributeRules(const ModelFile& file, const Json& record, const Vocabulary& vocabulary, size_t n_labels)
      : n_labels_(n_labels) {
    const auto malformed = [] { return Damage("its association rules are malformed"); };
    const auto misfit = [] { return Damage("its association rules do not fit together"); };
    if (!record.is_object()) throw malformed();
    const auto use = record.member("use"), loudness = record.member("loudness");
    if (!use || !use->is_string() || !loudness || !loudness->real()) throw malformed();
    loudness_ = *loudness->real();
    const std::string word = use->string();
    const std::string_view uses[] = {"features", "weighted", "constraints", "votes"};
    const auto* found = std::find(std::begin(uses), std::end(uses), word);
    if (found == std::end(uses)) throw malformed();
    use_ = static_cast<Use>(found - std::begin(uses));
    std::vector<std::string> kinds;
    if (const auto listed = record.member("kinds")) {
      if (!listed->is_array()) throw malformed();
      listed->for_each([&](const Json& kind) {
        if (!kind.is_string()) throw malformed();
        kinds.push_back(kind.string());
      });
    }
    if (use_ == Use::kVotes && (kinds.empty() || kinds[0] != "strongest")) throw malformed();

    const auto first = file.take<int64_t>("rules.first", {ModelFile::kAny});
    const auto items = file.take<int32_t>("rules.items", {ModelFile::kAny});
    labels_ = file.take<int32_t>("rules.labels", {ModelFile::kAny});
    const size_t R = labels_.size();
    support_ = file.take<int32_t>("rules.support", {R});
    const auto A = static_cast<int64_t>(vocabulary.size());
    bool sound = first.size() == R + 1 && first[0] == 0 && first[R] == static_cast<int64_t>(items.size());
    for (size_t r = 0; sound && r < R; ++r) {
      sound = first[r] < first[r + 1] && labels_[r] >= 0 && labels_[r] < static_cast<int64_t>(n_labels);
      sound = sound && support_[r] >= 1;
    }
    for (const int32_t item : items) sound &= item >= 0 && item < A;
    if (!sound) throw misfit();
    first_ = first;
    attributes_ = file.take<int32_t>("rules.attributes", {ModelFile::kAny});
    const size_t expected = use_ == Use::kConstraints ? 0 : use_ == Use::kVotes ? kinds.size() * n_labels : R;
    sound = attributes_.size() == expected;
    for (const int32_t id : attributes_) sound &= id >= 0 && id < A;
    if (!sound) throw misfit();
    if (file.has("rules.values")) values_ = file.take<double>("rules.values", {R});
    matcher_ =
        std::make_unique<RuleMatcher>(RuleSets{first.data(), items.data(), static_cast<int64_t>(R)}, A);
    if (use_ == Use::kConstraints) rank_rules();
    if (use_ == Use::kVotes) prepare_votes(items, vocabulary, kinds);
  }

  // Adds the rules' attributes to the rows of a sequence, or writes the labels that are certain to forced [T]
  // (-1: any label).
  void apply(RowBuilder* rows, RowBuilder* out, std::vector<int32_t>* forced) const {
    const auto T = static_cast<int64_t>(rows->indptr.size()) - 1;
    const RuleMatches found = matcher_->match(T, rows->indptr.data(), rows->indices.data(), 1);
    if (use_ == Use::kConstraints) {
      forced->assign(static_cast<size_t>(T), -1);
      for (size_t t = 0; t < static_cast<size_t>(T); ++t) {
        int64_t best = -1;
        for (int64_t i = found.first[t]; i < found.first[t + 1]; ++i) {
          const int32_t r = found.rules[static_cast<size_t>(i)];
          if (best < 0 || rank_[static_cast<size_t>(r)] < rank_[static_cast<size_t>(best)]) best = r;
        }
        if (best >= 0) (*forced)[t] = labels_[static_cast<size_t>(best)];
      }
      return;
    }
    Votes votes;
    if (use_ == Use::kVotes) votes = count_votes(voting_, T, found.first.data(), found.rules.data(), 1);
    for (size_t t = 0; t < static_cast<size_t>(T); ++t) {
      for (auto i = static_cast<size_t>(rows->indptr[t]); i < static_cast<size_t>(rows->indptr[t + 1]); ++i) {
        out->add(rows->indices[i], rows->valued() ? rows->values[i] : 1.0);
      }
      if (use_ == Use::kVotes) {
        for (int64_t i = votes.first[t]; i < votes.first[t + 1]; ++i) {
          const auto at = static_cast<size_t>(i);
          out->add(attributes_[static_cast<size_t>(votes.places[at])], loudness_ * votes.values[at]);
        }
      } else {
        for (int64_t i = found.first[t]; i < found.first[t + 1]; ++i) {
          const auto r = static_cast<size_t>(found.rules[static_cast<size_t>(i)]);
          out->add(attributes_[r], values_.empty() ? 1.0 : values_[r]);
        }
      }
      out->end_distinct_position();
    }
    out->end_sequence();
    std::swap(*rows, *out);
  }

 private:
  enum class Use : uint8_t { kFeatures, kWeighted, kConstraints, kVotes };

  // By length, then by support, then in the order of the file.
  void rank_rules() {
    std::vector<size_t> order(labels_.size());
    for (size_t r = 0; r < order.size(); ++r) order[r] = r;
    std::stable_sort(order.begin(), order.end(), [this](size_t a, size_t b) {
      const int64_t length_a = first_[a + 1] - first_[a], length_b = first_[b + 1] - first_[b];
      return length_a != length_b ? length_a > length_b : support_[a] > support_[b];
    });
    rank_.resize(order.size());
    for (size_t place = 0; place < order.size(); ++place) rank_[order[place]] = static_cast<int64_t>(place);
  }

  // The part of an item's name before the value (mining/votes.py); empty if there is none.
  static std::string_view family_of(std::string_view item) {
    const auto ends_at = [item](size_t from) {
      const size_t end = item.find_first_of(":=", from);
      return end == std::string_view::npos || end == from ? size_t{0} : end;
    };
    if (!item.empty() && (item[0] == '+' || item[0] == '-')) {
      const size_t digits = std::min(item.find_first_not_of("0123456789", 1), item.size());
      if (digits > 1 && digits < item.size() && item[digits] == ':') {
        if (const size_t end = ends_at(digits + 1); end > 0) return item.substr(0, end);
      }
    }
    return item.substr(0, ends_at(0));
  }

  void prepare_votes(std::span<const int32_t> items, const Vocabulary& vocabulary,
                     const std::vector<std::string>& kinds) {
    std::unordered_map<std::string, int32_t> place;
    for (size_t k = 0; k < kinds.size(); ++k) place[kinds[k]] = static_cast<int32_t>(k);
    const auto kind = [&place](const std::string& name, int32_t otherwise) {
      const auto at = place.find(name);
      return at == place.end() ? otherwise : at->second;
    };
    const int32_t rest = kind("with another item", 0);
    of_item_.assign(vocabulary.size(), 0);
    for (const int32_t item : items) {
      std::string_view name;
      if (!vocabulary.string(static_cast<size_t>(item), &name)) throw Damage("its vocabulary is damaged");
      const std::string_view family = family_of(name);
      of_item_[static_cast<size_t>(item)] =
          kind("with " + (family.empty() ? std::string("None") : std::string(family)), rest);
    }
    int64_t longest = 0;
    for (size_t r = 0; r < labels_.size(); ++r) longest = std::max(longest, first_[r + 1] - first_[r]);
    for (int64_t p = 0; p <= longest; ++p) of_length_.push_back(kind(std::to_string(p) + " items", 0));
    for (const int32_t support : support_) strength_.push_back(std::log2(std::max<double>(support, 1.1)));
    voting_ = {labels_.data(),
               strength_.data(),
               first_.data(),
               items.data(),
               of_item_.data(),
               of_length_.data(),
               static_cast<int>(kinds.size()),
               static_cast<int>(n_labels_)};
  }

  size_t n_labels_;
  Use use_ = Use::kFeatures;
  double loudness_ = 1;
  std::span<const int64_t> first_;       // [R + 1]
  std::span<const int32_t> labels_;      // [R]
  std::span<const int32_t> support_;     // [R]
  std::span<const int32_t> attributes_;  // [R], or of the votes [kinds, L]
  std::span<const double> values_;       // [R] or empty: ones
  std::unique_ptr<RuleMatcher> matcher_;
  std::vector<int64_t> rank_;  // [R] for constraints: the smallest decides
  std::vector<int32_t> of_item_, of_length_;
  std::vector<double> strength_;  // [R]
  VotingRules voting_{};
};

}  // namespace crfkit
