// Expands a template over some sequences of a column table, in order: attribute ids, position by position.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/pair_table.h"
#include "base/utf8.h"
#include "ingest/ingest_rows.h"
#include "ingest/vocabulary.h"
#include "templates/template_program.h"

namespace crfkit {

// The rows of a column table; offsets and ids have been checked.
struct CellTable {
  const Vocabulary* cells;
  const int32_t* ids;      // [ΣT, K]
  const int64_t* offsets;  // [N + 1]
  size_t n_sequences;      // N
  size_t n_columns;        // K
};

class TemplateExpander {
 public:
  // Looks attributes up in the vocabulary, or with grow adds them to it.
  TemplateExpander(const TemplateProgram& program, const CellTable& table, Vocabulary* vocabulary, bool grow)
      : program_(program),
        table_(table),
        vocabulary_(vocabulary),
        grow_(grow),
        n_plain_(table.cells->size() + program.n_outside()),
        derived_ids_(program.n_views()),
        grams_(program.grams().size()),
        known_(program.lines().size()) {
    if (n_plain_ > kMostTexts) throw std::length_error("too many different cells for a template");
  }

  void expand(size_t first_sequence, size_t last_sequence) {
    for (size_t i = first_sequence; i < last_sequence; ++i) {
      begin_ = static_cast<size_t>(table_.offsets[i]);
      length_ = table_.offsets[i + 1] - table_.offsets[i];
      if (length_ > 0) expand_sequence();
      rows.end_sequence();
    }
  }

  RowBuilder rows;

 private:
  static constexpr int32_t kNotSeen = -2;  // beside ids and Vocabulary::kUnknown
  static constexpr uint32_t kNotMade = UINT32_MAX;
  static constexpr size_t kMostTexts = size_t{1} << 31;

  void expand_sequence() {
    for (size_t g = 0; g < grams_.size(); ++g) work_out(g);
    const auto& lines = program_.lines();
    // A constant line has one attribute, number 0.
    for (size_t l = 0; l < lines.size(); ++l) {
      const size_t n_ids = lines[l].macros.empty() ? 1 : gram_count(lines[l].gram);
      if (known_[l].size() < n_ids) known_[l].resize(n_ids, kNotSeen);
    }
    for (int64_t t = 0; t < length_; ++t) {
      for (size_t l = 0; l < lines.size(); ++l) {
        const TemplateLine& line = lines[l];
        if (t == 0 && line.from_second) continue;
        uint32_t gram_id = 0;
        if (!line.macros.empty()) {
          const int64_t place = t + line.row - program_.grams()[line.gram].lowest;
          gram_id = grams_[line.gram].series[static_cast<size_t>(place)];
        }
        int32_t attribute = known_[l][gram_id];
        if (attribute == kNotSeen) attribute = known_[l][gram_id] = look_up(line, t);
        if (attribute != Vocabulary::kUnknown) rows.add(attribute, 1.0);
      }
      if (program_.may_repeat()) {
        rows.end_position();
      } else {
        rows.end_distinct_position();
      }
    }
  }

  // Returns the number of different ids of a gram so far.
  size_t gram_count(size_t g) const {
    return program_.grams()[g].macros.size() == 1 ? n_plain_ + derived_.size()
                                                  : grams_[g].steps.back().size();
  }

  // Computes the gram's ids at all rows at which lines use it: the id of a single text, or of the pair (id of
  // all texts but the last, last text).
  void work_out(size_t g) {
    const TemplateGram& gram = program_.grams()[g];
    GramState& state = grams_[g];
    state.steps.resize(gram.macros.size() - 1);
    state.series.resize(static_cast<size_t>(length_ + gram.highest - gram.lowest));
    for (size_t place = 0; place < state.series.size(); ++place) {
      const int64_t position = static_cast<int64_t>(place) + gram.lowest;
      uint32_t id = text_id(gram.macros[0], position);
      for (size_t m = 1; m < gram.macros.size(); ++m) {
        id = state.steps[m - 1].find_or_add(id, text_id(gram.macros[m], position));
      }
      state.series[place] = id;
    }
  }

  // Returns the text of a macro: a cell, a text outside the sequence, or one derived from them.
  uint32_t text_id(const TemplateMacro& macro, int64_t position) {
    const int64_t from = macro.anchor == Anchor::kHere    ? position
                         : macro.anchor == Anchor::kFirst ? 0
                                                          : length_;
    const int64_t row = from + macro.row;
    uint32_t plain;
    if (row < 0 || row >= length_) {
      plain = static_cast<uint32_t>(table_.cells->size() + program_.outside_index(row, length_));
    } else {
      const size_t cell = (begin_ + static_cast<size_t>(row)) * table_.n_columns + macro.column;
      plain = static_cast<uint32_t>(table_.ids[cell]);
    }
    return macro.view == 0 ? plain : derive(macro.view, plain);
  }

  // Returns the text a view derives from a cell; computed once per cell.
  uint32_t derive(size_t v, uint32_t plain) {
    std::vector<uint32_t>& made = derived_ids_[v];
    if (made.empty()) made.resize(n_plain_, kNotMade);
    if (made[plain] == kNotMade) made[plain] = make(program_.view(v), text(plain));
    return made[plain];
  }

  // Derived texts are stored behind a mark that says whether the attribute ends here. A match that is counted
  // longer than the text includes the text's end (in C, its zero byte), which ends Wapiti's whole string.
  uint32_t make(const TemplateView& view, std::string_view cell) {
    buffer_.assign(1, kGoesOn);
    if (view.command == 'x') {
      buffer_ += cell;
    } else {
      const WapitiPattern::Match match = view.pattern.match(cell);
      if (view.command == 't') {
        buffer_ += match.found ? "true" : "false";
      } else if (match.found) {
        buffer_ += cell.substr(match.start, match.length);
        if (match.length > cell.size() - match.start) buffer_[0] = kEnds;
      }
    }
    if (view.fold) {
      for (size_t i = 1; i < buffer_.size(); ++i) {
        if (buffer_[i] >= 'A' && buffer_[i] <= 'Z') buffer_[i] += 'a' - 'A';
      }
    }
    return static_cast<uint32_t>(n_plain_) +
           static_cast<uint32_t>(derived_.find_or_add(buffer_, hash_string(buffer_)));
  }

  std::string_view text(uint32_t id) const {
    const size_t n_cells = table_.cells->size();
    std::string_view found;
    if (id >= n_cells) return program_.outside(id - n_cells);
    if (!table_.cells->string(id, &found)) throw std::invalid_argument("a cell lies outside its arena");
    return found;
  }

  // Builds the attribute's string and finds its id.
  int32_t look_up(const TemplateLine& line, int64_t t) {
    buffer_.assign(line.literals[0]);
    for (size_t m = 0; m < line.macros.size(); ++m) {
      const uint32_t id = text_id(line.macros[m], t);
      if (id < n_plain_) {
        buffer_ += text(id);
      } else {
        std::string_view marked;
        derived_.string(id - n_plain_, &marked);
        buffer_ += marked.substr(1);
        if (marked[0] == kEnds) break;
      }
      buffer_ += line.literals[m + 1];
    }
    // Patterns match bytes and may cut a character in two; names of attributes are UTF-8.
    if (program_.may_cut_characters() && !is_utf8(buffer_)) buffer_ = escape_ill_formed(buffer_);
    const uint64_t hash = hash_string(buffer_);
    return grow_ ? vocabulary_->find_or_add(buffer_, hash) : vocabulary_->find(buffer_, hash);
  }

  static constexpr char kGoesOn = ' ';
  static constexpr char kEnds = '$';

  struct GramState {
    std::vector<PairTable> steps;  // [macros - 1]
    std::vector<uint32_t> series;  // [T + highest - lowest], the gram at each row
  };

  const TemplateProgram& program_;
  const CellTable table_;
  Vocabulary* const vocabulary_;
  const bool grow_;
  const size_t n_plain_;                            // cells and texts outside; ids of derived ones follow
  Vocabulary derived_;                              // derived texts, each behind its mark
  std::vector<std::vector<uint32_t>> derived_ids_;  // [views][n_plain], or empty
  std::vector<GramState> grams_;                    // [grams]
  std::vector<std::vector<int32_t>> known_;         // [lines][ids of its gram], the attribute
  size_t begin_ = 0;                                // of the current sequence
  int64_t length_ = 0;                              // of the current sequence, T
  std::string buffer_;
};

}  // namespace crfkit
