// Runs a feature program over sentences: attribute ids, position by position.
//
// A runner is filled sentence by sentence: begin, put the cells, finish. It keeps what it has worked out for
// every text it meets: the results of steps, and the attributes of each line. So a runner belongs to one
// thread; the program is shared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/pair_table.h"
#include "base/shortened.h"
#include "base/utf8.h"
#include "ingest/ingest_rows.h"
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

class FeatureRunner {
 public:
  static constexpr uint32_t kNothing = UINT32_MAX;  // as a text: none

  // Looks attributes up in the vocabulary, or with grow adds them to it. With keep_zeros, attributes whose
  // value is 0 are kept.
  FeatureRunner(const FeatureProgram& program, Vocabulary* vocabulary, bool grow, bool keep_zeros = false)
      : rows(keep_zeros),
        program_(program),
        vocabulary_(vocabulary),
        grow_(grow),
        keep_zeros_(keep_zeros),
        texts_in_(program.inputs().size()),
        numbers_in_(program.inputs().size()),
        vectors_in_(program.inputs().size()),
        series_(program.nodes().size()),
        numbers_(program.nodes().size()) {
    forget();
  }

  RowBuilder rows;
  std::vector<uint8_t> numeric;  // [A], with grow: whether an attribute has been made with a value

  // ---- one sentence

  void begin(size_t length) {
    length_ = static_cast<int64_t>(length);
    if (is_full()) forget();
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

  // Adds the attributes of all positions to rows.
  void finish() {
    if (length_ > 0) {
      for (size_t n = 0; n < series_.size(); ++n) work_out_node(n);
      for (size_t g = 0; g < grams_.size(); ++g) work_out_gram(g);
      make_attributes();
    }
    rows.end_sequence();
  }

  // How many texts have been seen since the memory was last cleared; ids of intern are valid as long as it
  // grows.
  size_t n_texts() const { return texts_.size(); }
  // A runner that lives long forgets everything when it has seen this many texts or grams of them.
  void limit(size_t most) { most_ = most; }

 private:
  static constexpr int32_t kNotSeen = -2;  // beside ids and Vocabulary::kUnknown
  static constexpr uint32_t kNotMade = UINT32_MAX - 1;
  static constexpr size_t kLongestAttribute = 1 << 20;  // bytes
  static constexpr size_t kMostBytes = 1 << 24;         // of the attributes of one position
  static constexpr double kMissing = std::numeric_limits<double>::quiet_NaN();
  // Texts that are no cells begin with this byte, which UTF-8 never has: a border, written as it is; or a
  // text that ends its attribute.
  static constexpr char kSpecial = '\xff';
  static constexpr char kBorder = 'b';
  static constexpr char kEnds = 'e';

  struct GramState {
    std::vector<PairTable> steps;  // [parts - 1]
    std::vector<uint32_t> series;  // [T + highest - lowest], the gram at each row
  };
  // A line's part in the sentence: the grams it uses at each position, and its attributes by gram.
  struct LineUse {
    const uint32_t* grams;  // [T]; null without parts
    int32_t* known;         //
    bool from_second;
    bool is_numeric;
  };
  struct VectorCell {
    const double* numbers = nullptr;
    size_t width = 0;
  };

  void forget() {
    texts_.truncate(0);
    made_.assign(program_.nodes().size(), {});
    tokens_.assign(program_.nodes().size(), {});
    grams_.assign(program_.grams().size(), {});
    known_.assign(program_.lines().size(), {});
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

  bool is_full() const {
    if (texts_.size() > most_) return true;
    return std::any_of(grams_.begin(), grams_.end(), [this](const GramState& gram) {
      return !gram.steps.empty() && gram.steps.back().size() > most_;
    });
  }

  // ---- texts and numbers of the sentence

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

  std::string_view text_of(uint32_t text) const {
    std::string_view found;
    texts_.string(text, &found);
    return found;
  }

  // ---- attributes

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

  // Computes the gram's ids at all rows at which lines use it: the id of a single text, or of the pair (id of
  // all texts but the last, last text).
  void work_out_gram(size_t g) {
    const ProgramGram& gram = program_.grams()[g];
    GramState& state = grams_[g];
    state.steps.resize(gram.parts.size() - 1);
    state.series.resize(static_cast<size_t>(length_ + gram.highest - gram.lowest));
    fill(gram.parts[0], gram.lowest, &state.series);
    for (size_t m = 1; m < gram.parts.size(); ++m) {
      next_.resize(state.series.size());
      fill(gram.parts[m], gram.lowest, &next_);
      for (size_t place = 0; place < next_.size(); ++place) {
        uint32_t& id = state.series[place];
        if (id == kNothing) continue;
        id = next_[place] == kNothing ? kNothing : state.steps[m - 1].find_or_add(id, next_[place]);
      }
    }
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

  // Returns the number of different ids of a gram so far.
  size_t gram_count(size_t g) const {
    return program_.grams()[g].parts.size() == 1 ? texts_.size() : grams_[g].steps.back().size();
  }

  void make_attributes() {
    const auto& lines = program_.lines();
    uses_.resize(lines.size());
    for (size_t l = 0; l < lines.size(); ++l) {
      const ProgramLine& line = lines[l];
      // A line without parts has one attribute, number 0.
      const size_t n_ids = line.parts.empty() ? 1 : gram_count(line.gram);
      if (known_[l].size() < n_ids) known_[l].resize(n_ids, kNotSeen);
      const uint32_t* grams = nullptr;
      if (!line.parts.empty()) {
        grams = grams_[line.gram].series.data() + (line.row - program_.grams()[line.gram].lowest);
      }
      uses_[l] = {grams, known_[l].data(), line.from_second, line.is_numeric()};
    }
    for (int64_t t = 0; t < length_; ++t) {
      made_bytes_ = 0;
      for (size_t l = 0; l < lines.size(); ++l) {
        const LineUse& use = uses_[l];
        if (t == 0 && use.from_second) continue;
        const uint32_t gram_id = use.grams == nullptr ? 0 : use.grams[t];
        if (gram_id == kNothing) continue;
        if (use.is_numeric) {
          add_numeric(l, gram_id, t);
          continue;
        }
        int32_t attribute = use.known[gram_id];
        if (attribute == kNotSeen) attribute = use.known[gram_id] = look_up(lines[l], t);
        if (attribute != Vocabulary::kUnknown) rows.add(attribute, 1.0);
      }
      if (!program_.may_repeat()) {
        rows.end_distinct_position();
      } else if (const int32_t overflown = rows.end_position(); overflown >= 0) {
        throw ProgramFault(static_cast<size_t>(t), "the values of an attribute add up to infinity");
      }
    }
  }

  void add_numeric(size_t l, uint32_t gram_id, int64_t t) {
    const ProgramLine& line = program_.lines()[l];
    if (line.is_vector) {
      add_vector(l, t);
      return;
    }
    double value = 1.0;
    for (const ProgramPart& part : line.numbers) {
      const int64_t row = t + part.row;
      value *= row >= 0 && row < length_ ? numbers_[part.node][static_cast<size_t>(row)] : kMissing;
    }
    if (std::isnan(value)) {
      // Infinity times 0 is no missing number.
      for (const ProgramPart& part : line.numbers) {
        const int64_t row = t + part.row;
        if (row < 0 || row >= length_ || std::isnan(numbers_[part.node][static_cast<size_t>(row)])) return;
      }
    }
    if (!std::isfinite(value)) {
      throw ProgramFault(static_cast<size_t>(t), line.literals[0] +
                                                     ": expected a finite number, got one that "
                                                     "is too large");
    }
    if (value == 0.0 && !keep_zeros_) return;
    int32_t attribute = known_[l][gram_id];
    if (attribute == kNotSeen) attribute = known_[l][gram_id] = look_up(line, t);
    add_value(attribute, value);
  }

  void add_vector(size_t l, int64_t t) {
    const ProgramLine& line = program_.lines()[l];
    const int64_t row = t + line.vector_row;
    if (row < 0 || row >= length_) return;
    const VectorCell& cell = vectors_in_[line.vector_input][static_cast<size_t>(row)];
    if (cell.width == 0 || std::isnan(cell.numbers[0])) return;
    if (known_[l].size() < cell.width) known_[l].resize(cell.width, kNotSeen);
    for (size_t d = 0; d < cell.width; ++d) {
      if (cell.numbers[d] == 0.0 && !keep_zeros_) continue;
      int32_t& attribute = known_[l][d];
      if (attribute == kNotSeen) attribute = find(line.literals[0] + std::to_string(d));
      add_value(attribute, cell.numbers[d]);
    }
  }

  void add_value(int32_t attribute, double value) {
    if (attribute == Vocabulary::kUnknown) return;
    rows.add(attribute, value);
    if (!grow_) return;
    const auto id = static_cast<size_t>(attribute);
    if (numeric.size() <= id) numeric.resize(id + 1);
    numeric[id] = 1;
  }

  // Builds the attribute's string and finds its id. Its length is limited, since a line may repeat a long
  // cell any number of times.
  int32_t look_up(const ProgramLine& line, int64_t t) {
    std::string name = line.literals[0];
    for (size_t m = 0; m < line.parts.size(); ++m) {
      const ProgramPart& part = line.parts[m];
      if (part.shown) {
        const std::string_view text = text_of(part_text(part, t));
        if (text.empty() || text[0] != kSpecial) {
          append_escaped(text, line.escape, &name);
        } else {
          name += text.substr(2);
          if (text[1] == kEnds) break;
        }
      }
      name += line.literals[m + 1];
      if (name.size() > kLongestAttribute) break;
    }
    made_bytes_ += name.size();
    if (name.size() > kLongestAttribute || made_bytes_ > kMostBytes) complain_of_bytes(name, t);
    // Wapiti's patterns match bytes and may cut a character in two; names of attributes are UTF-8.
    if (program_.may_cut_characters() && !is_utf8(name)) name = escape_ill_formed(name);
    return find(name);
  }

  [[noreturn]] static void complain_of_bytes(std::string_view name, int64_t t) {
    const bool one = name.size() > kLongestAttribute;
    throw ProgramFault(
        static_cast<size_t>(t),
        (one ? "the attribute '" + shortened(name) + "' would have more than " +
                   std::to_string(kLongestAttribute)
             : "the attributes of this position would have more than " + std::to_string(kMostBytes)) +
            " bytes; shorten the cells, or use fewer of them in a line of the template");
  }

  int32_t find(std::string_view name) {
    const uint64_t hash = hash_string(name);
    return grow_ ? vocabulary_->find_or_add(name, hash) : vocabulary_->find(name, hash);
  }

  static void append_escaped(std::string_view text, Escape escape, std::string* out) {
    if (escape == Escape::kNone) {
      *out += text;
      return;
    }
    const size_t start = out->size();
    for (const char c : text) {
      if (escape == Escape::kJoined && (c == '\\' || c == '|')) *out += '\\';
      *out += c;
    }
    if (is_like_a_border(std::string_view(*out).substr(start))) out->insert(start, 1, '\\');
  }

  // Whether a text is \…\<s2> or </s>, with any number of backslashes.
  static bool is_like_a_border(std::string_view text) {
    if (!text.ends_with('>')) return false;
    text.remove_suffix(1);
    text.remove_prefix(std::min(text.find_first_not_of('\\'), text.size()));
    if (!text.starts_with('<')) return false;
    text.remove_prefix(text.starts_with("</") ? 2 : 1);
    return text.starts_with('s') && text.find_first_not_of("0123456789", 1) == std::string_view::npos;
  }

  const FeatureProgram& program_;
  Vocabulary* const vocabulary_;
  const bool grow_;
  const bool keep_zeros_;
  size_t most_ = UINT32_MAX / 2;
  int64_t length_ = 0;                               // of the current sentence, T
  size_t made_bytes_ = 0;                            // of the attributes that are new at the position
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
  std::vector<GramState> grams_;                     // [grams]
  std::vector<std::vector<int32_t>> known_;          // [lines][ids of its gram], the attribute
  std::vector<LineUse> uses_;                        // [lines]
  std::vector<uint32_t> steps_;                      // to be applied, the last first
  std::vector<uint32_t> next_;                       // [places], texts of the next part
  std::string buffer_;
};

}  // namespace crfkit
