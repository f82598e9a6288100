// Runs a feature program over sentences: attribute ids, position by position.
//
// A runner is filled sentence by sentence: begin, put the cells, finish. It keeps what it has worked out for
// every text it meets: the results of steps, and the attributes of each line. So a runner belongs to one
// thread; the program is shared.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/pair_table.h"
#include "base/shortened.h"
#include "base/utf8.h"
#include "ingest/ingest_rows.h"
#include "ingest/vocabulary.h"
#include "program/escaping.h"
#include "program/feature_program.h"
#include "program/sentence_values.h"

namespace crfkit {

class FeatureRunner {
 public:
  // Looks attributes up in the vocabulary, or with grow adds them to it. With keep_zeros, attributes whose
  // value is 0 are kept.
  FeatureRunner(const FeatureProgram& program, Vocabulary* vocabulary, bool grow, bool keep_zeros = false)
      : rows(keep_zeros),
        values(program),
        program_(program),
        vocabulary_(vocabulary),
        grow_(grow),
        keep_zeros_(keep_zeros) {
    forget();
  }

  RowBuilder rows;
  SentenceValues values;         // takes the cells of a sentence
  std::vector<uint8_t> numeric;  // [A], with grow: whether an attribute has been made with a value

  // ---- one sentence

  void begin(size_t length) {
    if (is_full()) forget();
    values.begin(length);
  }

  // Adds the attributes of all positions to rows.
  void finish() {
    if (values.length() > 0) {
      values.work_out();
      for (size_t g = 0; g < grams_.size(); ++g) work_out_gram(g);
      make_attributes();
    }
    rows.end_sequence();
  }

  // A runner that lives long forgets everything when it has seen this many texts or grams of them.
  void limit(size_t most) { most_ = most; }
  // How often it has done so: texts that were interned before have other ids afterwards.
  size_t times_forgotten() const { return times_forgotten_; }

 private:
  static constexpr int32_t kNotSeen = -2;               // beside ids and Vocabulary::kUnknown
  static constexpr size_t kLongestAttribute = 1 << 20;  // bytes
  static constexpr size_t kMostBytes = 1 << 24;         // of the attributes of one position
  static constexpr uint32_t kNothing = SentenceValues::kNothing;

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

  void forget() {
    ++times_forgotten_;
    values.forget();
    grams_.assign(program_.grams().size(), {});
    known_.assign(program_.lines().size(), {});
  }

  bool is_full() const {
    if (values.n_texts() > most_) return true;
    return std::any_of(grams_.begin(), grams_.end(), [this](const GramState& gram) {
      return !gram.steps.empty() && gram.steps.back().size() > most_;
    });
  }

  // ---- attributes

  // Computes the gram's ids at all rows at which lines use it: the id of a single text, or of the pair (id of
  // all texts but the last, last text).
  void work_out_gram(size_t g) {
    const ProgramGram& gram = program_.grams()[g];
    GramState& state = grams_[g];
    state.steps.resize(gram.parts.size() - 1);
    state.series.resize(static_cast<size_t>(values.length() + gram.highest - gram.lowest));
    values.fill(gram.parts[0], gram.lowest, &state.series);
    for (size_t m = 1; m < gram.parts.size(); ++m) {
      next_.resize(state.series.size());
      values.fill(gram.parts[m], gram.lowest, &next_);
      for (size_t place = 0; place < next_.size(); ++place) {
        uint32_t& id = state.series[place];
        if (id == kNothing) continue;
        id = next_[place] == kNothing ? kNothing : state.steps[m - 1].find_or_add(id, next_[place]);
      }
    }
  }

  // Returns the number of different ids of a gram so far.
  size_t gram_count(size_t g) const {
    return program_.grams()[g].parts.size() == 1 ? values.n_texts() : grams_[g].steps.back().size();
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
    for (int64_t t = 0; t < values.length(); ++t) {
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
    for (const ProgramPart& part : line.numbers) value *= values.number_at(part.node, t + part.row);
    if (std::isnan(value)) {
      // Infinity times 0 is no missing number.
      for (const ProgramPart& part : line.numbers)
        if (std::isnan(values.number_at(part.node, t + part.row))) return;
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
    if (row < 0 || row >= values.length()) return;
    const SentenceValues::VectorCell& cell = values.vector_at(line.vector_input, row);
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
        const std::string_view text = values.text_of(values.part_text(part, t));
        if (text.empty() || text[0] != SentenceValues::kSpecial) {
          append_escaped(text, line.escape, &name);
        } else {
          name += text.substr(2);
          if (text[1] == SentenceValues::kEnds) break;
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

  const FeatureProgram& program_;
  Vocabulary* const vocabulary_;
  const bool grow_;
  const bool keep_zeros_;
  size_t most_ = UINT32_MAX / 2;
  size_t times_forgotten_ = 0;
  size_t made_bytes_ = 0;                    // of the attributes that are new at the position
  std::vector<GramState> grams_;             // [grams]
  std::vector<std::vector<int32_t>> known_;  // [lines][ids of its gram], the attribute
  std::vector<LineUse> uses_;                // [lines]
  std::vector<uint32_t> next_;               // [places], texts of the next part
};

}  // namespace crfkit
