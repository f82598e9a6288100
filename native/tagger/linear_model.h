// A linear-chain CRF from a file of any format: what scores the attributes of a sequence.
//
//   node_t(l) = Σ_a value_a w[a, l]        edge_t(k, l) = w[k, l] + Σ_a value_a w[a, k, l]
//
// Arrays of crfkit's own files are used where they lie, except for those in the compact form.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "foreign/any_model.h"
#include "foreign/names_vocabulary.h"
#include "linear/compact_form.h"
#include "program/feature_program.h"
#include "tagger/attribute_rules.h"
#include "tagger/chain_tables.h"
#include "tagger/model_file.h"
#include "tagger/scratch.h"
#include "templates/template_text.h"

namespace crfkit {

// A label as files have it: a text or an integer.
struct Label {
  std::string text;
  bool is_integer = false;
};

class LinearModel {
 public:
  // Of crfkit's own file.
  LinearModel(const ModelFile& file, size_t n_labels) {
    const auto L = static_cast<int64_t>(n_labels);
    const bool second = file.has("edge2.weights");
    paired_ = file.has("pair.weights");
    const auto compact = file.header().member("compact");
    if (compact) {
      read_compact(file, *compact, L);
    } else {
      read_rows(file, L);
    }
    const auto edge = file.take<double>("edge.weights", {n_labels, n_labels});
    std::vector<double> edge2;
    if (second) {
      const auto found = file.take<double>("edge2.weights", {n_labels, n_labels, n_labels});
      edge2.assign(found.begin(), found.end());
    }
    if (!compact) {
      if (paired_) pair_.weights = file.take<double>("pair.weights", {pair_.columns.size()});
      state_.weights = file.take<double>("state.weights", {state_.columns.size()});
    }
    file.take<bool>("edge.mask", {n_labels, n_labels});
    if (second) file.take<bool>("edge2.mask", {n_labels, n_labels, n_labels});
    paired_ = paired_ && !pair_.columns.empty();
    chain_ = std::make_unique<ChainTables>(static_cast<int>(L), std::vector<double>(edge.begin(), edge.end()),
                                           std::move(edge2), std::vector<double>(), std::vector<double>(),
                                           read_ngrams(file, L));
    if (!compact) {
      read_vocabulary(file);
      file.take<int64_t>("state.indptr", {vocabulary_->size() + 1});
    }
    read_program(file);
    if (const auto record = file.header().member("conjunctions"); record && !record->is_null()) {
      conjunctions_ = std::make_unique<AttributeConjunctions>(*record, *vocabulary_);
    }
    if (const auto record = file.header().member("associations")) {
      rules_ = std::make_unique<AttributeRules>(file, *record, *vocabulary_, n_labels);
    }
  }

  // Of another tool's file.
  explicit LinearModel(ForeignModel&& model) : foreign_(std::move(model)) {
    const size_t L = foreign_.labels.size();
    vocabulary_ = std::make_unique<Vocabulary>();
    add_names(foreign_.attributes, foreign_.cut, vocabulary_.get());
    state_ = {foreign_.state.indptr, foreign_.state.columns, foreign_.state.weights};
    paired_ = foreign_.paired;
    if (paired_) pair_ = {foreign_.pair.indptr, foreign_.pair.columns, foreign_.pair.weights};
    chain_ = std::make_unique<ChainTables>(static_cast<int>(L), foreign_.edge_weights, std::vector<double>(),
                                           std::vector<double>(), std::vector<double>());
    if (foreign_.template_lines.size() > 0) {
      std::string text;
      for (size_t i = 0; i < foreign_.template_lines.size(); ++i) {
        if (!is_utf8(foreign_.template_lines[i])) {
          throw Damage(
              "its template is not utf-8 text; pass encoding='…' if it was made in another encoding");
        }
        (text += foreign_.template_lines[i]) += '\n';
      }
      use_program(TemplateCompiler(foreign_.dialect == std::string_view("wapiti")).compile(text));
    }
  }

  const ChainTables& chain() const { return *chain_; }
  const Vocabulary& vocabulary() const { return *vocabulary_; }
  // What makes the attributes of tokens or rows; null if the model takes attributes.
  const FeatureProgram* program() const { return program_.get(); }
  // Throws, with the reason, if there is none.
  void require_program() const {
    if (program_ != nullptr) return;
    throw SequenceProblem(lost_.empty() ? "the model takes attributes, not tokens: it was trained without an "
                                          "extractor or a template; make the attributes and tag items"
                                        : lost_);
  }
  // Whether the attributes of a position must be distinct.
  bool wants_distinct() const { return conjunctions_ != nullptr || rules_ != nullptr; }

  // Returns the runner of the program, ready for the next sentence.
  FeatureRunner* runner(Scratch* scratch) const {
    if (scratch->runner == nullptr) {
      // The vocabulary does not grow, so it is only read.
      scratch->runner = std::make_unique<FeatureRunner>(*program_, vocabulary_.get(), false);
      scratch->runner->limit(kMostTexts);
    }
    scratch->runner->rows.clear();
    return scratch->runner.get();
  }

  // Computes the scores of the sequence whose attributes are rows, which may change.
  void score(RowBuilder* rows, Scratch* scratch) const {
    scratch->forced.clear();
    if (conjunctions_ != nullptr) add_conjunctions(rows, &scratch->more);
    if (rules_ != nullptr) {
      scratch->more.clear();
      rules_->apply(rows, &scratch->more, &scratch->forced);
    }
    const auto L = static_cast<size_t>(chain_->labels());
    const size_t T = rows->indptr.size() - 1;
    SequenceScores& x = scratch->scores;
    x.length = static_cast<int64_t>(T);
    add_up(state_, *rows, T, L, &x.node);
    x.edge.clear();
    if (paired_) {
      add_up(pair_, *rows, T, L * L, &x.edge);
      for (size_t t = 0; t < T; ++t) {
        for (size_t i = 0; i < L * L; ++i) x.edge[t * L * L + i] += chain_->edge()[i];
      }
    }
    chain_->check_scores(x);
    for (size_t t = 0; t < scratch->forced.size(); ++t) {
      if (scratch->forced[t] < 0) continue;
      for (size_t l = 0; l < L; ++l) {
        if (static_cast<int32_t>(l) != scratch->forced[t]) x.node[t * L + l] = -HUGE_VAL;
      }
    }
  }

 private:
  static constexpr size_t kMostTexts = size_t{1} << 15;  // that a runner remembers

  // Row a has the columns columns[indptr[a] .. indptr[a + 1]) and their weights.
  struct Rows {
    std::span<const int64_t> indptr;
    std::span<const int32_t> columns;
    std::span<const double> weights;
  };

  // scores: [T, width] the weighted sums of the rows of the attributes.
  static void add_up(const Rows& features, const RowBuilder& rows, size_t T, size_t width,
                     std::vector<double>* scores) {
    scores->assign(T * width, 0.0);
    const double* values = rows.valued() ? rows.values.data() : nullptr;
    for (size_t t = 0; t < T; ++t) {
      double* out = scores->data() + t * width;
      for (int64_t i = rows.indptr[t]; i < rows.indptr[t + 1]; ++i) {
        const auto a = static_cast<size_t>(rows.indices[static_cast<size_t>(i)]);
        const double value = values == nullptr ? 1.0 : values[i];
        const auto end = static_cast<size_t>(features.indptr[a + 1]);
        for (auto f = static_cast<size_t>(features.indptr[a]); f < end; ++f) {
          out[features.columns[f]] += value * features.weights[f];
        }
      }
    }
  }

  void add_conjunctions(RowBuilder* rows, RowBuilder* out) const {
    out->clear();
    for (size_t t = 0; t + 1 < rows->indptr.size(); ++t) {
      const auto begin = static_cast<size_t>(rows->indptr[t]), end = static_cast<size_t>(rows->indptr[t + 1]);
      const double* values = rows->valued() ? rows->values.data() : nullptr;
      for (size_t i = begin; i < end; ++i) out->add(rows->indices[i], values == nullptr ? 1.0 : values[i]);
      conjunctions_->add(rows->indices.data() + begin, values == nullptr ? nullptr : values + begin,
                         end - begin, out);
      out->end_distinct_position();
    }
    out->end_sequence();
    std::swap(*rows, *out);
  }

  void read_rows(const ModelFile& file, int64_t L) {
    state_.indptr = file.take<int64_t>("state.indptr", {ModelFile::kAny});
    state_.columns = file.take<int32_t>("state.labels", {ModelFile::kAny});
    if (paired_) {
      pair_.indptr = file.take<int64_t>("pair.indptr", {state_.indptr.size()});
      pair_.columns = file.take<int32_t>("pair.ids", {ModelFile::kAny});
    }
    check_rows(state_.indptr, state_.columns, L, "its feature index");
    if (paired_) check_rows(pair_.indptr, pair_.columns, L * L, "its feature index");
  }

  // scales: the weights that 1 stands for.
  void read_compact(const ModelFile& file, const Json& scales, int64_t L) {
    bool sound = scales.is_object() && scales.member("state") && (scales.member("pair") || !paired_);
    if (sound) {
      scales.for_each_member([&](std::string_view part, const Json& scale) {
        const double value = scale.real().value_or(0);
        sound &= (part == "state" || part == "pair") && value > 0 && value < 1e9;
      });
    }
    if (!sound) throw Damage("its compact form is malformed");
    const auto names = file.take<uint8_t>("vocabulary.names", {ModelFile::kAny});
    vocabulary_ = std::make_unique<Vocabulary>();
    CompactReader(text_of(names)).names(vocabulary_.get());
    scales.for_each_member([&](std::string_view part, const Json& scale) {
      const bool pairs = part == "pair";
      paired_ |= pairs;
      ExpandedRows& own = pairs ? expanded_pair_ : expanded_state_;
      const std::string name(part);
      const auto rows = file.take<uint8_t>(name + ".rows", {ModelFile::kAny});
      CompactReader(text_of(rows)).rows(vocabulary_->size(), pairs ? L * L : L, &own.indptr, &own.columns);
      for (const int16_t weight : file.take<int16_t>(name + ".weights", {own.columns.size()})) {
        own.weights.push_back(weight * *scale.real());
      }
      (pairs ? pair_ : state_) = {own.indptr, own.columns, own.weights};
    });
  }

  static std::string_view text_of(std::span<const uint8_t> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  static OwnNgrams read_ngrams(const ModelFile& file, int64_t L) {
    OwnNgrams found;
    if (!file.has("ngrams.labels")) return found;
    const auto labels = file.take<int32_t>("ngrams.labels", {ModelFile::kAny, ModelFile::kAny});
    const auto weights = file.take<double>("ngrams.weights", {ModelFile::kAny});
    const size_t width = weights.empty() ? 3 : labels.size() / weights.size();
    bool sound = width >= 3 && labels.size() == width * weights.size();
    for (size_t i = 0; sound && i < labels.size(); ++i) {
      const bool filled = i % width + 3 >= width;  // three labels or more, after -1 where there are fewer
      const bool after_label = i % width > 0 && labels[i - 1] >= 0;
      sound = labels[i] < L && labels[i] >= (filled || after_label ? 0 : -1);
    }
    if (!sound) throw Damage("its label n-grams are malformed");
    found.labels.assign(labels.begin(), labels.end());
    found.weights.assign(weights.begin(), weights.end());
    found.width = static_cast<int>(width);
    return found;
  }

  void read_vocabulary(const ModelFile& file) {
    const auto arena = file.take<uint8_t>("vocabulary.arena", {ModelFile::kAny});
    const auto offsets = file.take<int64_t>("vocabulary.offsets", {ModelFile::kAny});
    const auto slots = file.take<uint32_t>("vocabulary.slots", {ModelFile::kAny});
    const auto version = file.take<uint32_t>("vocabulary.hash_version", {ModelFile::kAny});
    if (offsets.empty()) throw Damage("a vocabulary's offsets must not be empty");
    vocabulary_ =
        std::make_unique<Vocabulary>(reinterpret_cast<const char*>(arena.data()), arena.size(),
                                     offsets.data(), offsets.size() - 1, slots.data(), slots.size());
    if (version.size() == 1 && version[0] == Vocabulary::kHashVersion) return;
    // Hashed by another version of crfkit: the strings can be used, the table cannot.
    auto fresh = std::make_unique<Vocabulary>();
    for (size_t id = 0; id < vocabulary_->size(); ++id) {
      std::string_view name;
      if (!vocabulary_->string(id, &name)) throw Damage("its vocabulary is damaged");
      if (fresh->find_or_add(name, hash_string(name)) != static_cast<int32_t>(id)) {
        throw Damage("the vocabulary holds the same name twice");
      }
    }
    vocabulary_ = std::move(fresh);
  }

  void read_program(const ModelFile& file) {
    const auto made = file.header().member("template"), extractor = file.header().member("extractor");
    const bool is_template = made && !made->is_null(), is_extractor = extractor && !extractor->is_null();
    if (is_template && is_extractor) throw Damage("it has a template and an extractor");
    if (is_template) {
      const auto dialect = made->is_object() ? made->member("dialect") : std::nullopt;
      const auto text = made->is_object() ? made->member("text") : std::nullopt;
      if (!dialect || !dialect->is_string() || !text || !text->is_string()) {
        throw Damage("its template is malformed");
      }
      use_program(TemplateCompiler(dialect->string() == "wapiti").compile(text->string()));
      return;
    }
    if (!is_extractor) return;
    const auto needs = extractor->is_object() ? extractor->member("in_python") : std::nullopt;
    if (!extractor->is_object() || (needs && !needs->is_array())) throw Damage("its extractor is malformed");
    if (needs) {
      std::string names;
      needs->for_each([&](const Json& name) {
        if (!name.is_string()) throw Damage("its extractor is malformed");
        names += (names.empty() ? "" : ", ") + name.string();
      });
      lost_ = "the model's features need Python code that a file cannot hold (" + names +
              "): make the attributes yourself, or use CRF.load(path, extractor=…)";
      return;
    }
    if (!file.has("extractor.program")) throw Damage("its extractor lacks the program");
    const auto code = file.take<uint8_t>("extractor.program", {ModelFile::kAny});
    use_program(std::string(code.begin(), code.end()));
  }

  void use_program(const std::string& code) {
    try {
      program_ = std::make_unique<FeatureProgram>(code);
    } catch (const ProgramError& error) {
      throw Damage(std::string("its feature program is damaged: ") + error.what());
    }
  }

  struct ExpandedRows {
    std::vector<int64_t> indptr;
    std::vector<int32_t> columns;
    std::vector<double> weights;
  };

  ForeignModel foreign_;                         // of another tool's file: owns the arrays
  ExpandedRows expanded_state_, expanded_pair_;  // of a file in the compact form: own the arrays
  Rows state_;                                   // [A] rows of labels
  Rows pair_;                                    // [A] rows of previous label * L + label
  bool paired_ = false;
  std::unique_ptr<ChainTables> chain_;
  std::unique_ptr<Vocabulary> vocabulary_;
  std::unique_ptr<FeatureProgram> program_;
  std::string lost_;  // why there is no program although the model has an extractor
  std::unique_ptr<AttributeConjunctions> conjunctions_;
  std::unique_ptr<AttributeRules> rules_;
};

}  // namespace crfkit
