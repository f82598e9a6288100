// A first-order linear-chain CRF read from a model file of another tool, and what its readers share.
//
// Nothing in a file is trusted: counts and offsets are checked against its size before anything is allocated.
// A reader throws Damage, which says what is wrong; the caller adds the name of the file.
#pragma once

#include <cmath>
#include <numeric>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/names.h"

namespace crfkit {

// Features in rows: row r has the columns columns[indptr[r] .. indptr[r + 1]), ascending, and their weights.
struct FeatureRows {
  std::vector<int64_t> indptr;   // [rows + 1]
  std::vector<int32_t> columns;  // [n]
  std::vector<double> weights;   // [n]
};

struct ForeignModel {
  Names labels;                      // [L] in the file's encoding, as all names
  Names attributes;                  // [A]
  bool cut = false;                  // attributes may begin or end within a character
  FeatureRows state;                 // [A] rows of labels
  std::vector<uint8_t> edge_mask;    // [L, L] label pairs that have a weight
  std::vector<double> edge_weights;  // [L, L]
  bool paired = false;               // attributes score label pairs
  FeatureRows pair;                  // [A] rows of previous label * L + label
  Names template_lines;
  const char* dialect = nullptr;  // "crf++" or "wapiti", with template lines
};

// Throws if a table of label pairs would be out of proportion to the file.
inline void check_label_count(uint64_t n_labels, uint64_t file_size) {
  constexpr uint64_t kAlways = uint64_t{1} << 25, kGrowth = 16;  // bytes; per byte of the file
  if (n_labels < 1) throw Damage("it has no labels");
  if (n_labels >= uint64_t{1} << 30 ||
      8 * n_labels * n_labels > std::max(kAlways, kGrowth * std::min(file_size, uint64_t{1} << 59))) {
    const uint64_t taken = n_labels >= uint64_t{1} << 30 ? ~uint64_t{0} : 8 * n_labels * n_labels;
    throw Damage("it has " + std::to_string(n_labels) + " labels, whose pairs would take " +
                 std::to_string(taken >> 20) + " MiB, out of all proportion to a file of " +
                 std::to_string(file_size) + " bytes");
  }
}

// A feature of a row, before the rows are laid out: key = row * width + column.
struct KeyedWeight {
  int64_t key;
  double weight;
};

// Sorts the features into rows.
inline FeatureRows rows_of(std::vector<KeyedWeight> features, int64_t width, size_t n_rows) {
  const auto before = [](const KeyedWeight& a, const KeyedWeight& b) { return a.key < b.key; };
  if (!std::is_sorted(features.begin(), features.end(), before)) {
    std::stable_sort(features.begin(), features.end(), before);
  }
  FeatureRows rows;
  rows.indptr.assign(n_rows + 1, 0);
  rows.columns.reserve(features.size());
  rows.weights.reserve(features.size());
  for (size_t i = 0; i < features.size(); ++i) {
    const auto [key, weight] = features[i];
    if (i > 0 && features[i - 1].key == key) throw Damage("it has a feature twice");
    ++rows.indptr[static_cast<size_t>(key / width) + 1];
    rows.columns.push_back(static_cast<int32_t>(key % width));
    rows.weights.push_back(weight);
  }
  std::partial_sum(rows.indptr.begin(), rows.indptr.end(), rows.indptr.begin());
  return rows;
}

// Where the weights of an attribute begin in the list of all weights; -1: it has none of this kind.
struct WeightBlocks {
  std::vector<int64_t> state;  // [A] a block of L weights
  std::vector<int64_t> pair;   // [A] a block of L * L weights, ordered by the previous label
};

// Throws if a name comes twice.
inline void check_distinct(const Names& names) {
  std::unordered_set<std::string_view> known;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!known.insert(names[i]).second) throw Damage("name " + std::to_string(i) + " comes twice");
  }
}

// Fills in the weights of a model whose attributes have blocks of weights. The first template line for label
// pairs without a macro (a bare B) stands for plain label transitions: the weights of that attribute become
// the transition table. weights: those that are not zero, by their place in the list of all weights.
inline void fill_from_blocks(const WeightBlocks& blocks, std::vector<KeyedWeight> weights,
                             ForeignModel* model) {
  const auto L = static_cast<int64_t>(model->labels.size());
  const size_t A = model->attributes.size();
  for (const KeyedWeight& w : weights) {
    if (!std::isfinite(w.weight)) throw Damage("it has weights that are not finite");
  }
  struct Block {
    int64_t start, end;
    size_t attribute;
    bool paired;
  };
  std::vector<Block> all;
  for (size_t a = 0; a < A; ++a) {
    if (blocks.state[a] >= 0) all.push_back({blocks.state[a], blocks.state[a] + L, a, false});
    if (blocks.pair[a] >= 0) all.push_back({blocks.pair[a], blocks.pair[a] + L * L, a, true});
  }
  std::stable_sort(all.begin(), all.end(), [](const Block& a, const Block& b) { return a.start < b.start; });
  for (size_t b = 1; b < all.size(); ++b) {
    if (all[b].start < all[b - 1].end) throw Damage("the weights of two attributes overlap");
  }
  std::stable_sort(weights.begin(), weights.end(),
                   [](const KeyedWeight& a, const KeyedWeight& b) { return a.key < b.key; });

  // The attribute of plain transitions, and whether another line makes the same attribute.
  const char letter = model->dialect == std::string_view("crf++") ? 'B' : 'b';
  std::string_view plain;
  size_t n_plain = 0;
  for (size_t i = 0; i < model->template_lines.size(); ++i) {
    const std::string_view line = model->template_lines[i];
    if (line.empty() || line[0] != letter || line.find('%') != std::string_view::npos) continue;
    if (n_plain == 0) plain = line;
    n_plain += line == plain;
  }
  size_t plain_attribute = A;
  for (size_t a = 0; n_plain > 0 && a < A; ++a) {
    if (model->attributes[a] == plain) plain_attribute = std::min(plain_attribute, a);
  }
  model->edge_mask.assign(static_cast<size_t>(L * L), n_plain > 0);
  model->edge_weights.assign(static_cast<size_t>(L * L), 0.0);

  std::vector<KeyedWeight> state, pair;
  size_t b = 0;
  for (const auto& [place, weight] : weights) {
    while (b < all.size() && all[b].end <= place) ++b;
    if (b == all.size() || place < all[b].start) throw Damage("it has weights that belong to no attribute");
    const int64_t column = place - all[b].start;
    const auto row = static_cast<int64_t>(all[b].attribute);
    if (!all[b].paired) {
      state.push_back({row * L + column, weight});
      continue;
    }
    if (all[b].attribute == plain_attribute) {
      model->edge_weights[static_cast<size_t>(column)] = weight;
      if (n_plain == 1) continue;  // any further such line is an attribute like others
    }
    pair.push_back({row * L * L + column, weight});
  }
  model->state = rows_of(std::move(state), L, A);
  model->paired = !pair.empty();
  if (model->paired) model->pair = rows_of(std::move(pair), L * L, A);
}

// Reads the weights of a model in blocks. If they do not fit, a repeated name is the likelier cause.
inline void read_blocks(const WeightBlocks& blocks, std::vector<KeyedWeight> weights, ForeignModel* model) {
  try {
    fill_from_blocks(blocks, std::move(weights), model);
  } catch (const Damage&) {
    check_distinct(model->labels);
    check_distinct(model->attributes);
    throw;
  }
}

}  // namespace crfkit
