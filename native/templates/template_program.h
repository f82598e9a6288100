// A compiled template: lines of literal text and macros, and how to expand them without building strings.
//
// An attribute is identified by its line and the texts of its macros. Lines that use the same cells from
// different places, such as %x[-1,1]/%x[0,1] and %x[0,1]/%x[1,1], give the same pairs of texts one position
// apart: they share a gram. A gram is computed once per position; its id and the line identify the attribute,
// and the attribute's string is built only when the two meet for the first time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "templates/wapiti_pattern.h"

namespace crfkit {

// Where a macro's row counts from: the current position, the first row, or the row after the last.
enum class Anchor : uint8_t { kHere, kFirst, kLast };

struct TemplateMacro {
  Anchor anchor = Anchor::kHere;
  int64_t row = 0;
  size_t column = 0;
  size_t view = 0;  // how the cell is transformed; 0: its text

  auto key() const { return std::tuple(anchor, column, view, row); }
  bool operator==(const TemplateMacro&) const = default;
  bool operator<(const TemplateMacro& other) const { return key() < other.key(); }
};

// The transformation of a cell by %t, %m and the capital commands.
struct TemplateView {
  char command;  // 'x', 't' or 'm'
  bool fold;     // ASCII capitals become small letters
  std::string expression;
  WapitiPattern pattern;
};

struct TemplateLine {
  bool from_second = false;           // nothing at the first position of a sequence
  std::vector<std::string> literals;  // [macros + 1], around the macros
  std::vector<TemplateMacro> macros;  // in order
  size_t gram = 0;                    // which gram identifies its attributes; unused without macros
  int64_t row = 0;                    // ... seen from the current position
};

// Texts at one or more places. With anchor kHere rows count from the gram's own place.
struct TemplateGram {
  std::vector<TemplateMacro> macros;  // sorted, each once
  int64_t lowest = 0, highest = 0;    // rows at which lines use it
};

class TemplateProgram {
 public:
  // Texts outside the sequence: before[0] just before it, before[1] two before, ...; the last for all beyond.
  TemplateProgram(std::vector<std::string> before, std::vector<std::string> after)
      : before_(std::move(before)), after_(std::move(after)) {}

  size_t add_view(char command, bool fold, std::string expression) {
    if (command == 'x' && !fold) return 0;
    for (size_t v = 0; v < views_.size(); ++v) {
      const TemplateView& view = views_[v];
      if (view.command == command && view.fold == fold && view.expression == expression) return v + 1;
    }
    WapitiPattern pattern(expression);
    views_.push_back({command, fold, std::move(expression), std::move(pattern)});
    return views_.size();
  }

  void add_line(TemplateLine line) {
    if (!line.macros.empty()) choose_gram(&line);
    for (const TemplateLine& other : lines_) may_repeat_ |= may_be_equal(line, other);
    for (const TemplateMacro& macro : line.macros) n_columns_ = std::max(n_columns_, macro.column + 1);
    lines_.push_back(std::move(line));
  }

  const std::vector<TemplateLine>& lines() const { return lines_; }
  const std::vector<TemplateGram>& grams() const { return grams_; }
  const TemplateView& view(size_t v) const { return views_[v - 1]; }
  size_t n_views() const { return views_.size() + 1; }
  size_t n_columns() const { return n_columns_; }

  // Whether an attribute may hold a part of a character.
  bool may_cut_characters() const {
    return std::any_of(views_.begin(), views_.end(), [](const auto& view) { return view.command == 'm'; });
  }

  // Whether two lines can make the same attribute at the same position.
  bool may_repeat() const { return may_repeat_; }

  // The texts outside the sequence, one after the other: those before it, then those after it.
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

  void choose_gram(TemplateLine* line) {
    std::vector<TemplateMacro> macros = line->macros;
    std::sort(macros.begin(), macros.end());
    macros.erase(std::unique(macros.begin(), macros.end()), macros.end());
    // Seen from the first row that moves with the position; those that do not move are sorted behind.
    const int64_t row = macros[0].anchor == Anchor::kHere ? macros[0].row : 0;
    for (TemplateMacro& macro : macros) {
      if (macro.anchor == Anchor::kHere) macro.row -= row;
    }
    line->row = row;
    for (line->gram = 0; line->gram < grams_.size(); ++line->gram) {
      TemplateGram& gram = grams_[line->gram];
      const int64_t lowest = std::min(gram.lowest, row), highest = std::max(gram.highest, row);
      if (gram.macros == macros && highest - lowest <= kFarApart) {
        gram.lowest = lowest;
        gram.highest = highest;
        return;
      }
    }
    grams_.push_back({std::move(macros), row, row});
  }

  // Two lines differ if their beginnings differ, up to the first macro of either.
  static bool may_be_equal(const TemplateLine& a, const TemplateLine& b) {
    const std::string_view x = a.literals[0], y = b.literals[0];
    if (a.macros.empty() && b.macros.empty()) return x == y;
    if (a.macros.empty() && x.size() < y.size()) return false;
    if (b.macros.empty() && y.size() < x.size()) return false;
    const size_t n = std::min(x.size(), y.size());
    return x.substr(0, n) == y.substr(0, n);
  }

  std::vector<std::string> before_, after_;
  std::vector<TemplateView> views_;
  std::vector<TemplateLine> lines_;
  std::vector<TemplateGram> grams_;
  size_t n_columns_ = 0;
  bool may_repeat_ = false;
};

}  // namespace crfkit
