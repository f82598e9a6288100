// A feature program: what makes attributes out of the cells of a sentence. token_features, the builder's
// Features and templates are compiled into it (src/crfkit/features/program_code.py writes the bytes, in the
// layout of docs/model-file.md), and model files hold it.
//
// The inputs are columns of the sentence. A node gives a text, a number or nothing at every row: a cell, a
// step applied to another node, a mark. A line makes at most one attribute per position, of literal text and
// the texts of nodes at some rows around it, with the product of its numbers as value.
//
// An attribute is identified by its line and the texts in it. Lines that use the same nodes from different
// places, such as w[-1]|w and w|w[1], give the same pairs of texts one position apart: they share a gram. A
// gram is computed once per position; its id and the line identify the attribute, and the attribute's string
// is built only when the two meet for the first time.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "program/byte_reader.h"
#include "program/gazetteer.h"
#include "program/step.h"

namespace crfkit {

enum class InputKind : uint8_t { kText, kNumber, kVector, kGap, kCount };

// A column of the sentences, by its place or its name. kGap: a mark where the cell is missing. Computed ones
// are made by Python functions of the user, which files cannot hold.
struct ProgramInput {
  InputKind kind;
  bool optional;
  bool computed;
  bool named;
  int32_t place;
  std::string name;
  std::string title;  // in messages
};

enum class NodeKind : uint8_t {
  kInput,  // texts: an input
  kStep,   // a step applied to a node
  kPhrases,
  kAlways,  // marks
  kFirst,
  kLast,
  kNot,           // a mark where another node, not a step, gives nothing
  kBin,           // the title of the interval that a number lies in
  kNumber,        // numbers: an input
  kParsed,        // the number that a text says
  kPlace,         // rows before this one
  kPlaceFromEnd,  // rows after this one
  kStandardised,  // (x - mean) / deviation
  kCount
};

inline bool gives_numbers(NodeKind kind) { return kind >= NodeKind::kNumber; }

struct ProgramNode {
  NodeKind kind;
  uint32_t of = 0;                  // a node or, of inputs, the input
  uint32_t root = 0;                // the node that its steps begin with; itself for all but steps
  Step step;                        //
  uint32_t gazetteer = 0;           //
  std::vector<double> edges;        // of a bin [n], or mean and deviation
  std::vector<std::string> titles;  // of a bin [n + 1]; of a parsed number, its name in messages [1]
};

// Where a row counts from: the current position, the first row, or the row after the last.
enum class Anchor : uint8_t { kHere, kFirst, kLast, kCount };

struct ProgramPart {
  Anchor anchor = Anchor::kHere;
  int64_t row = 0;
  uint32_t node = 0;
  bool shown = true;  // else it only decides whether there is an attribute

  auto key() const { return std::tuple(anchor, node, shown, row); }
  bool operator==(const ProgramPart&) const = default;
  bool operator<(const ProgramPart& other) const { return key() < other.key(); }
};

// How texts are written: as they are; with a backslash if they look like a border, <s>; in conjunctions,
// which join them by |, also with a backslash before | and a backslash.
enum class Escape : uint8_t { kNone, kBorders, kJoined, kCount };

struct ProgramLine {
  bool from_second = false;           // nothing at the first position of a sequence
  bool is_vector = false;             // one attribute per element of a vector: the name and its index
  Escape escape = Escape::kNone;      //
  uint32_t vector_input = 0;          //
  std::vector<std::string> literals;  // [parts + 1], around the parts
  std::vector<ProgramPart> parts;     // in order
  std::vector<ProgramPart> numbers;   // whose product is the value
  int64_t vector_row = 0;             //
  size_t gram = 0;                    // which gram identifies its attributes; unused without parts
  int64_t row = 0;                    // ... seen from the current position

  bool is_numeric() const { return is_vector || !numbers.empty(); }
  bool has_text() const {
    return is_vector ||
           std::any_of(parts.begin(), parts.end(), [](const ProgramPart& part) { return part.shown; });
  }
};

// Texts at one or more places. With anchor kHere rows count from the gram's own place.
struct ProgramGram {
  std::vector<ProgramPart> parts;   // sorted, each once
  int64_t lowest = 0, highest = 0;  // rows at which lines use it
};

class FeatureProgram {
 public:
  static constexpr uint8_t kVersion = 1;
  // Nodes, lines, and parts of all lines: each takes memory for every position of a sentence.
  static constexpr size_t kMost = 1 << 16;

  // stored: from a file, where nothing may be computed by Python.
  explicit FeatureProgram(std::string_view bytes, bool stored = true) {
    ByteReader reader(bytes);
    if (const uint8_t version = reader.byte(); version != kVersion) {
      throw ProgramError("it has version " + std::to_string(version) + ", this crfkit reads version " +
                         std::to_string(kVersion) + (version > kVersion ? "; install a newer crfkit" : ""));
    }
    for (size_t n = reader.count(); n > 0; --n) read_input(&reader, stored);
    borders_pass_ = reader.flag();
    for (size_t n = reader.count(); n > 0; --n) before_.push_back(reader.text());
    for (size_t n = reader.count(); n > 0; --n) after_.push_back(reader.text());
    if (before_.empty() != after_.empty()) throw ProgramError("its borders are incomplete");
    for (size_t n = reader.count(); n > 0; --n) gazetteers_.emplace_back(&reader);
    for (size_t n = count_of(&reader, "nodes"); n > 0; --n) read_node(&reader);
    for (size_t n = count_of(&reader, "lines"); n > 0; --n) read_line(&reader);
    if (!reader.empty()) throw ProgramError("bytes follow its end");
    decide_repeats();
  }
  FeatureProgram(FeatureProgram&&) = delete;

  const std::vector<ProgramInput>& inputs() const { return inputs_; }
  const std::vector<ProgramNode>& nodes() const { return nodes_; }
  const std::vector<ProgramLine>& lines() const { return lines_; }
  const std::vector<ProgramGram>& grams() const { return grams_; }
  const Gazetteer& gazetteer(size_t i) const { return gazetteers_[i]; }

  // Whether an attribute may hold a part of a character.
  bool may_cut_characters() const { return may_cut_characters_; }
  // Whether two lines can make the same attribute at the same position.
  bool may_repeat() const { return may_repeat_; }
  // Whether steps are applied to the texts outside the sequence (in templates), or these replace the result.
  bool borders_pass() const { return borders_pass_; }

  // The texts outside the sequence, one after the other: those before it, then those after it. If there are
  // none, nodes give nothing there.
  size_t n_outside() const { return before_.size() + after_.size(); }
  const std::string& outside(size_t i) const {
    return i < before_.size() ? before_[i] : after_[i - before_.size()];
  }
  // Returns the index of the text at a position outside a sequence of length n.
  size_t outside_index(int64_t position, int64_t n) const {
    if (position < 0) return std::min(static_cast<size_t>(-(position + 1)), before_.size() - 1);
    return before_.size() + std::min(static_cast<size_t>(position - n), after_.size() - 1);
  }

 private:
  // Grams are computed for all rows between those requested; farther apart, two grams are cheaper than one.
  static constexpr int64_t kFarApart = 32;

  static size_t count_of(ByteReader* reader, const char* things) {
    const size_t n = reader->count();
    if (n > kMost) too_many(n, things);
    return n;
  }

  [[noreturn]] static void too_many(size_t n, const char* things) {
    throw ProgramError("it has " + std::to_string(n) + " " + things + ", at most " + std::to_string(kMost) +
                       " are possible");
  }

  template <class Choice>
  static Choice read_choice(ByteReader* reader) {
    return static_cast<Choice>(reader->choice(static_cast<uint8_t>(Choice::kCount)));
  }

  void read_input(ByteReader* reader, bool stored) {
    ProgramInput input{};
    input.kind = read_choice<InputKind>(reader);
    input.optional = reader->flag();
    input.computed = reader->flag();
    if (input.computed && stored) throw ProgramError("a Python function makes one of its inputs");
    input.named = reader->flag();
    if (input.named) {
      input.name = reader->text();
    } else {
      input.place = reader->signed_number();
    }
    input.title = reader->text();
    inputs_.push_back(std::move(input));
  }

  uint32_t read_reference(ByteReader* reader, bool to_number) const {
    const uint32_t node = reader->reference(nodes_.size());
    if (gives_numbers(nodes_[node].kind) != to_number) throw ProgramError("a text is used as a number");
    return node;
  }

  uint32_t read_input_reference(ByteReader* reader, InputKind kind, InputKind other) const {
    const uint32_t input = reader->reference(inputs_.size());
    if (inputs_[input].kind != kind && inputs_[input].kind != other) {
      throw ProgramError("an input is of another kind");
    }
    return input;
  }

  static double read_finite(ByteReader* reader) {
    const double value = reader->real();
    if (!std::isfinite(value)) throw ProgramError("a number is not finite");
    return value;
  }

  void read_node(ByteReader* reader) {
    ProgramNode node{};
    node.kind = read_choice<NodeKind>(reader);
    node.root = static_cast<uint32_t>(nodes_.size());
    switch (node.kind) {
      case NodeKind::kInput:
        node.of = read_input_reference(reader, InputKind::kText, InputKind::kGap);
        break;
      case NodeKind::kStep:
        node.of = read_reference(reader, false);
        node.step = Step(reader);
        node.root = nodes_[node.of].root;
        may_cut_characters_ |= node.step.kind() == StepKind::kFind;
        break;
      case NodeKind::kPhrases:
        node.of = read_reference(reader, false);
        node.gazetteer = reader->reference(gazetteers_.size());
        break;
      case NodeKind::kNot:
        node.of = read_reference(reader, false);
        if (nodes_[node.of].kind == NodeKind::kStep) throw ProgramError("a step is negated");
        break;
      case NodeKind::kBin:
        node.of = read_reference(reader, true);
        for (size_t n = reader->count(); n > 0; --n) {
          const double edge = read_finite(reader);
          if (!node.edges.empty() && !(node.edges.back() < edge)) throw ProgramError("edges do not ascend");
          node.edges.push_back(edge);
        }
        for (size_t i = 0; i <= node.edges.size(); ++i) node.titles.push_back(reader->text());
        break;
      case NodeKind::kNumber:
        node.of = read_input_reference(reader, InputKind::kNumber, InputKind::kNumber);
        break;
      case NodeKind::kParsed:
        node.of = read_reference(reader, false);
        node.titles.push_back(reader->text());
        break;
      case NodeKind::kStandardised:
        node.of = read_reference(reader, true);
        node.edges = {read_finite(reader), read_finite(reader)};
        if (node.edges[1] == 0.0) throw ProgramError("a deviation is 0");
        break;
      default:
        break;
    }
    nodes_.push_back(std::move(node));
  }

  ProgramPart read_part(ByteReader* reader, bool number) const {
    ProgramPart part;
    part.anchor = read_choice<Anchor>(reader);
    part.row = reader->signed_number();
    part.node = read_reference(reader, number);
    part.shown = reader->flag();
    return part;
  }

  void read_line(ByteReader* reader) {
    ProgramLine line;
    line.from_second = reader->flag();
    line.escape = read_choice<Escape>(reader);
    line.is_vector = reader->flag();
    line.literals.push_back(reader->text());
    if (line.is_vector) {
      line.vector_input = read_input_reference(reader, InputKind::kVector, InputKind::kVector);
      line.vector_row = reader->signed_number();
    } else {
      for (size_t n = reader->count(); n > 0; --n) {
        line.parts.push_back(read_part(reader, false));
        line.literals.push_back(reader->text());
      }
      for (size_t n = reader->count(); n > 0; --n) line.numbers.push_back(read_part(reader, true));
    }
    n_parts_ += line.parts.size() + line.numbers.size();
    if (n_parts_ > kMost) too_many(n_parts_, "cells in its lines");
    if (!line.parts.empty()) choose_gram(&line);
    lines_.push_back(std::move(line));
  }

  void choose_gram(ProgramLine* line) {
    std::vector<ProgramPart> parts = line->parts;
    std::sort(parts.begin(), parts.end());
    parts.erase(std::unique(parts.begin(), parts.end()), parts.end());
    // Seen from the first row that moves with the position; those that do not move are sorted behind.
    const int64_t row = parts[0].anchor == Anchor::kHere ? parts[0].row : 0;
    for (ProgramPart& part : parts) {
      if (part.anchor == Anchor::kHere) part.row -= row;
    }
    line->row = row;
    std::vector<size_t>& alike = grams_of_[parts];
    for (const size_t g : alike) {
      ProgramGram& gram = grams_[g];
      const int64_t lowest = std::min(gram.lowest, row), highest = std::max(gram.highest, row);
      if (highest - lowest <= kFarApart) {
        gram.lowest = lowest;
        gram.highest = highest;
        line->gram = g;
        return;
      }
    }
    line->gram = grams_.size();
    alike.push_back(line->gram);
    grams_.push_back({std::move(parts), row, row});
  }

  // Lines may make the same attribute if one's beginning, up to its first text, begins another line. In
  // alphabetical order, the line after such a one then begins with it too.
  void decide_repeats() {
    std::vector<std::pair<std::string_view, bool>> starts;  // beginning, and whether that is all
    for (const ProgramLine& line : lines_) {
      size_t shown = 0;  // the literals up to the first text are one text; parts that are not shown add none
      while (shown < line.parts.size() && !line.parts[shown].shown && line.literals[shown + 1].empty())
        ++shown;
      starts.emplace_back(line.literals[0], shown == line.parts.size() && !line.is_vector);
    }
    std::sort(starts.begin(), starts.end());
    for (size_t i = 1; i < starts.size(); ++i) {
      const auto& [text, whole] = starts[i - 1];
      const auto& [next, next_whole] = starts[i];
      may_repeat_ |= whole ? text == next : next.starts_with(text);
    }
  }

  std::vector<ProgramInput> inputs_;
  std::vector<std::string> before_, after_;
  std::deque<Gazetteer> gazetteers_;
  std::vector<ProgramNode> nodes_;
  std::vector<ProgramLine> lines_;
  std::vector<ProgramGram> grams_;
  std::map<std::vector<ProgramPart>, std::vector<size_t>> grams_of_;
  size_t n_parts_ = 0;  // of all lines
  bool borders_pass_ = false;
  bool may_repeat_ = false;
  bool may_cut_characters_ = false;
};

}  // namespace crfkit
