// A tagger: a model from a file of any format, ready to label one sequence per call. It never changes after
// it was opened, so any number of threads may share it; what a call needs is in a Scratch.
#pragma once

#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "tagger/calibration.h"
#include "tagger/label_segments.h"
#include "tagger/linear_model.h"
#include "tagger/scratch.h"
#include "tagger/tree_model.h"

namespace crfkit {

// A model that only Python can use.
struct NeedsPython : Damage {
  using Damage::Damage;
};

class Tagger {
 public:
  // file: the bytes of a model file, aligned to 8; they must outlive the tagger. Throws Damage, which says
  // what is wrong with the file.
  explicit Tagger(std::string_view file) {
    if (file.starts_with(kModelMagic)) {
      read_own(file);
      return;
    }
    for (const ForeignFormat& format : foreign_formats()) {
      if (!format.recognises(file.substr(0, kStart))) continue;
      ForeignModel model = format.read(file);
      format_ = format.name;
      for (size_t l = 0; l < model.labels.size(); ++l) {
        if (!is_utf8(model.labels[l])) {
          throw Damage(
              "name " + std::to_string(l) +
              " is not UTF-8; pass encoding='…' if the model was made from text in another encoding");
        }
        labels_.push_back({std::string(model.labels[l]), false});
      }
      check_distinct(model.labels);
      linear_ = std::make_unique<LinearModel>(std::move(model));
      return;
    }
    throw Damage(
        "it is empty, or damaged at its beginning, or not a model of crfkit, CRFsuite, Wapiti or CRF++ (text "
        "or binary)");
  }
  Tagger(const Tagger&) = delete;
  Tagger& operator=(const Tagger&) = delete;

  std::string_view format() const { return format_; }
  const std::vector<Label>& labels() const { return labels_; }
  const LinearModel* linear() const { return linear_.get(); }  // null if it is a tree model
  const TreeModel* trees() const { return trees_.get(); }      // null if it is a linear model
  const ChainTables& chain() const { return linear_ != nullptr ? linear_->chain() : trees_->chain(); }
  ScratchPool* pool() const { return &pool_; }
  const Calibration& calibration() const { return calibration_; }

  // The scores and transitions that probabilities come from: divided by the temperature, if there is one.
  const ChainTables& probability_chain() const { return tempered_ != nullptr ? *tempered_ : chain(); }
  bool has_temperature() const { return tempered_ != nullptr; }
  SequenceScores tempered(SequenceScores x) const {
    for (std::vector<double>* scores : {&x.node, &x.edge}) {
      for (double& s : *scores) s *= 1 / calibration_.temperature;
    }
    return x;
  }

  // How the labels encode segments; worked out when it is first asked for.
  const LabelSegments& segments() const {
    std::call_once(segments_once_, [this] {
      std::vector<std::pair<std::string, bool>> labels;
      for (const Label& label : labels_) labels.emplace_back(label.text, label.is_integer);
      segments_ = std::make_unique<LabelSegments>(labels);
    });
    return *segments_;
  }

  // Whether it makes attributes, or table values, from cells of text.
  bool takes_rows() const { return trees_ != nullptr || linear_->program() != nullptr; }

  // Writes the labels of scored sequences, by the model's decoding.
  void decode(const SequenceScores& x, Scratch* scratch) const {
    scratch->labels.resize(static_cast<size_t>(x.length));
    if (x.length == 0) return;
    if (trees_ == nullptr || !trees_->decodes_by_marginals()) {
      chain().best(x, &scratch->memory, scratch->labels.data());
      return;
    }
    chain().log_z(x, &scratch->memory, &scratch->marginals);
    chain().most_probable(x, scratch->marginals, &scratch->memory, scratch->labels.data());
  }

 private:
  static constexpr size_t kStart = 64;  // bytes used to detect the format

  void read_own(std::string_view file) {
    const ModelFile content(file);
    const auto kind = content.header().member("model");
    const std::string name = kind && kind->is_string() ? kind->string() : "";
    if (name == "kernel CRF") {
      throw NeedsPython("it is a kernel CRF, whose kernels may be Python functions: use it from Python");
    }
    if (name == "semi-Markov CRF") {
      throw NeedsPython("it is a semi-Markov CRF: use it from Python");
    }
    if (name != "linear-chain CRF" && name != "tree CRF") {
      throw Damage("expected a linear-chain CRF or a kernel CRF or a tree CRF, got " +
                   (kind && kind->is_string() ? quoted(name) : "None"));
    }
    read_labels(content.header());
    if (name == "tree CRF") {
      trees_ = std::make_unique<TreeModel>(content, labels_.size());
    } else {
      linear_ = std::make_unique<LinearModel>(content, labels_.size());
    }
    calibration_ = Calibration(content.header());
    if (calibration_.temperature != 1) tempered_ = chain().times(1 / calibration_.temperature);
  }

  void read_labels(const Json& header) {
    const auto classes = header.member("classes");
    bool sound = classes && classes->is_array();
    std::set<std::pair<std::string, bool>> known;
    if (sound) {
      classes->for_each([&](const Json& label) {
        const auto number = label.integer();
        sound &= label.is_string() || number.has_value();
        if (!sound) return;
        labels_.push_back({label.is_string() ? label.string() : std::to_string(*number), !label.is_string()});
        sound &= known.emplace(labels_.back().text, labels_.back().is_integer).second;
      });
    }
    if (!sound || labels_.empty() || labels_.size() > kMostLabels) throw Damage("its labels are malformed");
  }

  static constexpr size_t kMostLabels = 65535;

  std::string format_ = "crfkit";
  std::vector<Label> labels_;  // [L]
  std::unique_ptr<LinearModel> linear_;
  std::unique_ptr<TreeModel> trees_;
  Calibration calibration_;
  std::unique_ptr<ChainTables> tempered_;  // null without a temperature
  mutable std::once_flag segments_once_;
  mutable std::unique_ptr<LabelSegments> segments_;
  mutable ScratchPool pool_;
};

}  // namespace crfkit
