// A tree CRF from a file: what scores the rows of a table (potentials/tree.py, data/tables.py).
#pragma once

#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/number_text.h"
#include "tagger/chain_tables.h"
#include "tagger/model_file.h"
#include "tagger/scratch.h"
#include "trees/forest.h"

namespace crfkit {

class TreeModel {
 public:
  struct Column {
    std::string name;
    bool is_category = false;
    bool declared = false;     // by the user, so that numbers are accepted too
    bool all_numbers = false;  // so do its categories
    std::unordered_map<std::string, double> categories;
  };

  TreeModel(const ModelFile& file, size_t n_labels) : n_labels_(n_labels) {
    const Json& header = file.header();
    const auto window = header.member("window"), decode = header.member("decode");
    std::vector<int64_t> far;
    if (window && window->is_array()) {
      window->for_each([&](const Json& n) { far.push_back(n.integer().value_or(-1)); });
    }
    const std::string how = decode && decode->is_string() ? decode->string() : "";
    const auto sound = [](int64_t n) { return n >= 0 && n < 1 << 20; };
    if (far.size() != 2 || !sound(far[0]) || !sound(far[1]) || (how != "marginal" && how != "viterbi")) {
      throw Damage("its window or decoding is malformed");
    }
    before_ = far[0];
    width_of_window_ = far[0] + 1 + far[1];
    by_marginals_ = how == "marginal";
    read_columns(header);
    joint_ = !file.has("transitions.edge");
    const auto table = [&](const char* name, const std::vector<uint64_t>& shape) {
      const auto found = file.take<double>(name, shape, true);
      return std::vector<double>(found.begin(), found.end());
    };
    const uint64_t L = n_labels;
    if (joint_) {
      chain_ =
          std::make_unique<ChainTables>(static_cast<int>(L), std::vector<double>(L * L, 0.0),
                                        std::vector<double>(), std::vector<double>(), std::vector<double>());
    } else {
      std::vector<double> start = table("transitions.start", {L}), end = table("transitions.end", {L});
      std::vector<double> edge = table("transitions.edge", {L, L}), edge2;
      if (file.has("transitions.edge2")) edge2 = table("transitions.edge2", {L, L, L});
      chain_ = std::make_unique<ChainTables>(static_cast<int>(L), std::move(edge), std::move(edge2),
                                             std::move(start), std::move(end));
    }
    read_trees(file);
  }

  const ChainTables& chain() const { return *chain_; }
  bool decodes_by_marginals() const { return by_marginals_; }
  const std::vector<Column>& columns() const { return columns_; }
  // How many values a row has if columns go by place; none if they go by name.
  std::optional<size_t> width() const { return width_; }
  size_t place(size_t k) const { return places_[k]; }

  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();

  // Returns the value of a category; missing if training has not seen it.
  static double category(const Column& column, std::string_view text) {
    const auto at = column.categories.find(std::string(text));
    return at == column.categories.end() ? kMissing : at->second;
  }

  // Returns the value of a cell of a text file; none if it should be a number and is not.
  static std::optional<double> cell(const Column& column, std::string_view text) {
    if (column.is_category) return text.empty() ? kMissing : category(column, text);
    for (const std::string_view missing : {"", "?", "NA", "N/A", "NaN", "nan", "None", "null"}) {
      if (text == missing) return kMissing;
    }
    double value = 0;
    if (parse_number(text, &value) != NumberText::number) return std::nullopt;
    return value;
  }

  // Computes the scores of the sequence with the values [T, K] in the scratch.
  void score(size_t T, Scratch* scratch) const {
    SequenceScores& x = scratch->scores;
    x.length = static_cast<int64_t>(T);
    x.node.assign(T * n_labels_, 0.0);
    x.edge.assign(joint_ ? T * n_labels_ * n_labels_ : 0, 0.0);
    const int64_t offsets[] = {0, static_cast<int64_t>(T)};
    const WindowedTable table{
        scratch->values.data(), outside_.data(), offsets, 1, static_cast<int64_t>(columns_.size()), before_,
        width_of_window_};
    if (T > 0) {
      add_tree_scores(trees_, 0, n_trees_, table, static_cast<int>(n_labels_), 1, x.node.data(),
                      joint_ ? x.edge.data() : nullptr);
    }
    chain_->check_scores(x);
  }

 private:
  void read_columns(const Json& header) {
    const auto malformed = [] { return Damage("its columns are malformed"); };
    const auto record = header.member("table");
    if (!record || !record->is_object()) throw malformed();
    const auto columns = record->member("columns"), width = record->member("width");
    const auto places = record->member("places");
    if (!columns || !columns->is_array() || !width || !places || !places->is_array()) throw malformed();
    columns->for_each([&](const Json& entry) {
      const auto name = entry.is_object() ? entry.member("name") : std::nullopt;
      const auto categories = entry.is_object() ? entry.member("categories") : std::nullopt;
      if (!name || !name->is_string() || !categories) throw malformed();
      Column column;
      column.name = name->string();
      const auto declared = entry.member("declared");
      column.declared = declared && declared->is_bool() && declared->truth();
      column.is_category = !categories->is_null();
      if (column.is_category) {
        if (!categories->is_array()) throw malformed();
        column.all_numbers = true;
        categories->for_each([&](const Json& text) {
          if (!text.is_string()) throw malformed();
          const std::string category = text.string();
          double number = 0;
          column.all_numbers &= parse_number(category, &number) == NumberText::number;
          column.categories.emplace(category, static_cast<double>(column.categories.size()));
        });
      }
      outside_.push_back(column.is_category ? static_cast<double>(column.categories.size()) : kMissing);
      columns_.push_back(std::move(column));
    });
    if (!width->is_null()) {
      const int64_t n = width->integer().value_or(-1);
      if (n < 0) throw malformed();
      width_ = static_cast<size_t>(n);
    }
    places->for_each([&](const Json& place) {
      const int64_t at = place.integer().value_or(-1);
      if (width_ && (at < 0 || at >= static_cast<int64_t>(*width_))) throw malformed();
      places_.push_back(static_cast<size_t>(at));
    });
    if (width_ && places_.size() != columns_.size()) throw malformed();
  }

  void read_trees(const ModelFile& file) {
    const auto any = std::vector<uint64_t>{ModelFile::kAny};
    const auto feature = file.take<int32_t>("trees.feature", any);
    const auto threshold = file.take<double>("trees.threshold", any, true);
    const auto flags = file.take<uint8_t>("trees.flags", any);
    const auto left = file.take<int32_t>("trees.left", any), right = file.take<int32_t>("trees.right", any);
    const auto gain = file.take<float>("trees.gain", any);
    const auto set_indptr = file.take<int64_t>("trees.set_indptr", any);
    const auto set_words = file.take<uint32_t>("trees.set_words", any);
    const auto leaf = file.take<double>("trees.leaf", any);
    const auto leaf_count = file.take<int64_t>("trees.leaf_count", any);
    const auto root = file.take<int32_t>("trees.root", any), label = file.take<int32_t>("trees.label", any);
    if (gain.size() != feature.size() || leaf_count.size() != leaf.size()) {
      throw Damage("its trees do not fit together");
    }
    trees_ = {feature.data(),    threshold.data(), flags.data(), left.data(), right.data(),
              set_indptr.data(), set_words.data(), leaf.data(),  root.data(), label.data()};
    n_trees_ = static_cast<int64_t>(root.size());
    const auto n_features =
        width_of_window_ * static_cast<int64_t>(columns_.size()) + static_cast<int64_t>(joint_);
    const auto require = [](bool sound, const char* what) {
      if (!sound) throw Damage(std::string("its trees do not fit together: ") + what);
    };
    const size_t nodes = feature.size();
    require(n_labels_ <= 1 << 15, "n_labels must be in 1..32768");
    require(
        threshold.size() == nodes && flags.size() == nodes && left.size() == nodes && right.size() == nodes,
        "the arrays of inner nodes differ in length");
    require(!set_indptr.empty() && set_indptr.front() == 0 &&
                set_indptr.back() == static_cast<int64_t>(set_words.size()) &&
                std::is_sorted(set_indptr.begin(), set_indptr.end()),
            "set_indptr does not fit set_words");
    const auto inside = [&](int32_t child, int64_t above) {
      return child >= 0 ? child > above && static_cast<size_t>(child) < nodes
                        : static_cast<size_t>(~child) < leaf.size();
    };
    for (size_t i = 0; i < nodes; ++i) {
      require(feature[i] >= 0 && feature[i] < n_features, "a tree tests a feature that does not exist");
      const auto at = static_cast<int64_t>(i);
      require(inside(left[i], at) && inside(right[i], at), "a tree points to a node that is not there");
      if (flags[i] & Trees::kCategory) {
        require(threshold[i] >= 0 && threshold[i] < static_cast<double>(set_indptr.size() - 1),
                "a tree tests a set of categories that does not exist");
      } else {
        require(!joint_ || feature[i] != n_features - 1, "labels are categories, not numbers");
      }
    }
    require(root.size() == label.size(), "root does not fit label");
    for (size_t m = 0; m < root.size(); ++m) {
      require(inside(root[m], -1) && label[m] >= 0 && label[m] < static_cast<int64_t>(n_labels_),
              "a tree is out of range");
    }
  }

  size_t n_labels_;
  int64_t before_ = 0, width_of_window_ = 1;
  bool by_marginals_ = false;
  bool joint_ = false;  // trees look at the previous label
  std::vector<Column> columns_;
  std::vector<double> outside_;  // [K]
  std::optional<size_t> width_;
  std::vector<size_t> places_;  // [K]
  std::unique_ptr<ChainTables> chain_;
  Trees trees_{};
  int64_t n_trees_ = 0;
};

}  // namespace crfkit
