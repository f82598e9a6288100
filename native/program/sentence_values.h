// The texts and numbers that the nodes of a feature program have at the positions of a sentence.
//
// Texts are ids of one memory of all texts met, and the result of a step is worked out once per text.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/shortened.h"
#include "ingest/vocabulary.h"
#include "program/cell_number.h"
#include "program/feature_program.h"

namespace crfkit {

// Says what is wrong with the data, and at which position of the sentence; the caller adds the sentence.
class ProgramFault : public std::runtime_error {
 public:
  ProgramFault(size_t at_position, const std::string& problem)
      : std::runtime_error(problem), position(at_position) {}
  size_t position;
};

class SentenceValues {
 public:
  static constexpr uint32_t kNothing = UINT32_MAX;  // as a text: none
  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  // Texts that are no cells begin with this byte, which UTF-8 never has: a border, written as it is; or a
  // text that ends its attribute.
  static constexpr char kSpecial = '\xff';
  static constexpr char kBorder = 'b';
  static constexpr char kEnds = 'e';

  struct VectorCell {
    const double* numbers = nullptr;
    size_t width = 0;
  };

  explicit SentenceValues(const FeatureProgram& program)
      : program_(program),
        texts_in_(program.inputs().size()),
        numbers_in_(program.inputs().size()),
        vectors_in_(program.inputs().size()),
        series_(program.nodes().size()),
        numbers_(program.nodes().size()) {}

  // Forgets all texts.
  void forget() {
    texts_.truncate(0);
    made_.assign(program_.nodes().size(), {});
    tokens_.assign(program_.nodes().size(), {});
    outside_.clear();
    for (size_t i = 0; i < program_.n_outside(); ++i) {
      std::string text;
      if (!program_.borders_pass()) text = {kSpecial, kBorder};
      outside_.push_back(intern(text + program_.outside(i)));
    }
    mark_ = intern("");
    titles_.assign(program_.nodes().size(), {});
    for (size_t n = 0; n < titles_.size(); ++n) {
      const ProgramNode& node = program_.nodes()[n];
      if (node.kind == NodeKind::kBin) {
        for (const std::string& title : node.titles) titles_[n].push_back(intern(title));
      } else if (node.kind == NodeKind::kPhrases) {
        titles_[n] = {intern("B"), intern("I")};
      }
    }
  }

  // ---- one sentence: begin, put the cells, work out

  void begin(size_t length) {
    length_ = static_cast<int64_t>(length);
    for (size_t i = 0; i < program_.inputs().size(); ++i) {
      switch (program_.inputs()[i].kind) {
        case InputKind::kNumber:
          numbers_in_[i].assign(length, kMissing);
          break;
        case InputKind::kVector:
          vectors_in_[i].assign(length, {});
          break;
        default:
          texts_in_[i].assign(length, kNothing);
      }
    }
  }

  // Returns the id of a text, which is valid until the next begin.
  uint32_t intern(std::string_view text) {
    return static_cast<uint32_t>(texts_.find_or_add(text, hash_string(text)));
  }
  void put_text(size_t input, size_t t, uint32_t text) { texts_in_[input][t] = text; }
  void put_text(size_t input, size_t t, std::string_view text) { texts_in_[input][t] = intern(text); }
  void put_number(size_t input, size_t t, double number) { numbers_in_[input][t] = number; }  // NaN: missing
  // The numbers must stay where they are until finish; the first is NaN if the vector is missing.
  void put_vector(size_t input, size_t t, const double* numbers, size_t width) {
    vectors_in_[input][t] = {numbers, width};
  }
  // Text for a number; optional: it may be missing.
  void put_number_text(size_t input, size_t t, std::string_view text) {
    const ProgramInput& column = program_.inputs()[input];
    numbers_in_[input][t] = number_of(text, column.title, column.optional, t);
  }

  void work_out() {
    for (size_t n = 0; n < series_.size(); ++n) work_out_node(n);
  }

  // ---- what it says

  int64_t length() const { return length_; }
  size_t n_texts() const { return texts_.size(); }
  std::string_view text_of(uint32_t text) const {
    std::string_view found;
    texts_.string(text, &found);
    return found;
  }

  // The number of a node at a row of the sentence; NaN: missing.
  double number_at(uint32_t n, int64_t row) const {
    return row >= 0 && row < length_ ? numbers_[n][static_cast<size_t>(row)] : kMissing;
  }
  const VectorCell& vector_at(size_t input, int64_t row) const {
    return vectors_in_[input][static_cast<size_t>(row)];
  }

  // Returns the text of a part, seen from a position.
  uint32_t part_text(const ProgramPart& part, int64_t position) {
    const int64_t from = part.anchor == Anchor::kHere    ? position
                         : part.anchor == Anchor::kFirst ? 0
                                                         : length_;
    const int64_t row = from + part.row;
    if (row >= 0 && row < length_) return text_at(part.node, static_cast<size_t>(row));
    if (outside_.empty() || !part.shown) return kNothing;
    const uint32_t text = outside_[program_.outside_index(row, length_)];
    const bool step = program_.nodes()[part.node].kind == NodeKind::kStep;
    return step && program_.borders_pass() ? derive(part.node, text) : text;
  }

  // Writes the texts of a part, seen from the positions lowest, lowest + 1, ...
  void fill(const ProgramPart& part, int64_t lowest, std::vector<uint32_t>* texts) {
    const auto n = static_cast<int64_t>(texts->size());
    int64_t first = 0, last = 0;  // the places whose row is inside, if rows move with the position
    if (part.anchor == Anchor::kHere) {
      const int64_t start = lowest + part.row;  // the row of the first place
      first = std::clamp<int64_t>(-start, 0, n);
      last = std::clamp<int64_t>(length_ - start, first, n);
      const ProgramNode& node = program_.nodes()[part.node];
      for (int64_t place = first; place < last; ++place) {
        const uint32_t text = series_[node.root][static_cast<size_t>(start + place)];
        const bool derived = node.kind == NodeKind::kStep && text != kNothing;
        (*texts)[static_cast<size_t>(place)] = derived ? derive(part.node, text) : text;
      }
    }
    for (int64_t place = 0; place < n; ++place) {
      if (place == first && first < last) place = last;
      if (place < n) (*texts)[static_cast<size_t>(place)] = part_text(part, lowest + place);
    }
  }

 private:
  static constexpr uint32_t kNotMade = UINT32_MAX - 1;

  void work_out_node(size_t n) {
    const ProgramNode& node = program_.nodes()[n];
    const auto length = static_cast<size_t>(length_);
    std::vector<uint32_t>& texts = series_[n];
    std::vector<double>& numbers = numbers_[n];
    switch (node.kind) {
      case NodeKind::kInput:
        texts = texts_in_[node.of];
        break;
      case NodeKind::kStep:
        break;  // worked out where it is used
      case NodeKind::kPhrases:
        find_phrases(n);
        break;
      case NodeKind::kAlways:
        texts.assign(length, mark_);
        break;
      case NodeKind::kFirst:
      case NodeKind::kLast:
        texts.assign(length, kNothing);
        texts[node.kind == NodeKind::kFirst ? 0 : length - 1] = mark_;
        break;
      case NodeKind::kNot:
        texts.resize(length);
        for (size_t t = 0; t < length; ++t) texts[t] = series_[node.of][t] == kNothing ? mark_ : kNothing;
        break;
      case NodeKind::kBin:
        texts.resize(length);
        for (size_t t = 0; t < length; ++t) {
          const double x = numbers_[node.of][t];
          const auto place = std::upper_bound(node.edges.begin(), node.edges.end(), x) - node.edges.begin();
          texts[t] = std::isnan(x) ? kNothing : titles_[n][static_cast<size_t>(place)];
        }
        break;
      case NodeKind::kNumber:
        numbers = numbers_in_[node.of];
        break;
      case NodeKind::kParsed:
        numbers.resize(length);
        for (size_t t = 0; t < length; ++t) {
          const uint32_t text = text_at(node.of, t);
          numbers[t] = text == kNothing ? kMissing : number_of(text_of(text), node.titles[0], true, t);
        }
        break;
      case NodeKind::kPlace:
      case NodeKind::kPlaceFromEnd:
        numbers.resize(length);
        for (size_t t = 0; t < length; ++t) {
          numbers[t] = static_cast<double>(node.kind == NodeKind::kPlace ? t : length - 1 - t);
        }
        break;
      case NodeKind::kStandardised:
        numbers.resize(length);
        for (size_t t = 0; t < length; ++t) {
          numbers[t] = (numbers_[node.of][t] - node.edges[0]) / node.edges[1];
        }
        break;
      case NodeKind::kCount:
        break;
    }
  }

  static double number_of(std::string_view text, const std::string& title, bool optional, size_t t) {
    double value = kMissing;
    switch (read_cell_number(text, &value)) {
      case CellNumber::kNumber:
        return value;
      case CellNumber::kMissing:
        if (optional) return kMissing;
        throw ProgramFault(t, title + ": expected a number, but it is missing, got '" + shortened(text) +
                                  "'; with column(…, optional=True) the attribute is left out there");
      case CellNumber::kInfinite:
        throw ProgramFault(t, title + ": expected a finite number, got '" + shortened(text) + "'");
      case CellNumber::kMalformed:
        break;
    }
    throw ProgramFault(t, title + ": expected a number, got '" + shortened(text) + "'");
  }

  void find_phrases(size_t n) {
    const ProgramNode& node = program_.nodes()[n];
    const Gazetteer& gazetteer = program_.gazetteer(node.gazetteer);
    std::vector<uint32_t>& known = tokens_[n];  // [texts]
    sentence_.resize(static_cast<size_t>(length_));
    for (size_t t = 0; t < sentence_.size(); ++t) {
      const uint32_t text = text_at(node.of, t);
      sentence_[t] = Gazetteer::kNoToken;
      if (text == kNothing) continue;
      if (known.size() <= text) known.resize(texts_.size(), kNotMade);
      if (known[text] == kNotMade) known[text] = gazetteer.token(text_of(text));
      sentence_[t] = known[text];
    }
    series_[n].assign(sentence_.size(), kNothing);
    gazetteer.find(sentence_, [&](size_t t, bool first) { series_[n][t] = titles_[n][first ? 0 : 1]; });
  }

  // Returns the text of a node at a row of the sentence.
  uint32_t text_at(uint32_t n, size_t t) {
    const ProgramNode& node = program_.nodes()[n];
    const uint32_t text = series_[node.root][t];
    return node.kind != NodeKind::kStep || text == kNothing ? text : derive(n, text);
  }

  // Returns the text that the steps up to this node make of a text; worked out once per text. A loop, as
  // files may hold any number of steps: down to the nearest node that knows the text, then up.
  uint32_t derive(uint32_t n, uint32_t text) {
    steps_.clear();
    uint32_t result = text, at = n;
    for (; program_.nodes()[at].kind == NodeKind::kStep; at = program_.nodes()[at].of) {
      if (made_[at].size() <= text) made_[at].resize(texts_.size(), kNotMade);
      if (made_[at][text] != kNotMade) {
        result = made_[at][text];
        break;
      }
      steps_.push_back(at);
    }
    for (; !steps_.empty(); steps_.pop_back()) {
      const uint32_t step = steps_.back();
      if (result != kNothing) result = make(program_.nodes()[step].step, result);
      made_[step][text] = result;
    }
    return result;
  }

  uint32_t make(const Step& step, uint32_t text) {
    buffer_.clear();
    switch (step.apply(text_of(text), &buffer_)) {
      case Step::Result::kNothing:
        return kNothing;
      case Step::Result::kText:
        return intern(buffer_);
      case Step::Result::kLastText:
        buffer_.insert(0, {kSpecial, kEnds});
        return intern(buffer_);
    }
    return kNothing;
  }

  const FeatureProgram& program_;
  int64_t length_ = 0;                               // of the current sentence, T
  std::vector<std::vector<uint32_t>> texts_in_;      // [inputs][T]
  std::vector<std::vector<double>> numbers_in_;      // [inputs][T]
  std::vector<std::vector<VectorCell>> vectors_in_;  // [inputs][T]
  std::vector<std::vector<uint32_t>> series_;        // [nodes][T], texts of all nodes but steps
  std::vector<std::vector<double>> numbers_;         // [nodes][T]
  std::vector<uint32_t> sentence_;                   // [T], tokens of a gazetteer
  Vocabulary texts_;                                 // all texts met
  uint32_t mark_ = 0;                                // the text of marks, which is not shown
  std::vector<uint32_t> outside_;                    // [outside]
  std::vector<std::vector<uint32_t>> titles_;        // [nodes], of bins and phrases
  std::vector<std::vector<uint32_t>> made_;          // [nodes][texts], of steps
  std::vector<std::vector<uint32_t>> tokens_;        // [nodes][texts], of phrases
  std::vector<uint32_t> steps_;                      // to be applied, the last first
  std::string buffer_;
};

}  // namespace crfkit
