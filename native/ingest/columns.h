// Column files: one token per line, cells between blanks or tabs, an empty line between sequences.
//
// Cells repeat, so a cell is stored as the id of its text in a vocabulary of distinct cells: four bytes each,
// and anything derived from a cell's text is computed once. The parser takes bytes in pieces cut anywhere and
// returns whole sequences.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "ingest/ingest_array.h"
#include "ingest/vocabulary.h"

namespace crfkit {

// Says what is wrong with a column file, and in which line (from 1).
class ColumnFault : public std::runtime_error {
 public:
  ColumnFault(int64_t at_line, const std::string& problem) : std::runtime_error(problem), line(at_line) {}
  int64_t line;
};

// Sequences of rows of K cells, end to end.
struct ColumnTable {
  ColumnTable() : cells(std::make_unique<Vocabulary>()) { offsets.push_back(0); }

  size_t n_positions() const { return lines.size(); }

  std::unique_ptr<Vocabulary> cells;  // the distinct cells
  GrowableArray<int32_t> ids;         // [ΣT, K]
  GrowableArray<int64_t> offsets;     // [N + 1]
  GrowableArray<int64_t> lines;       // [ΣT], from 1
  size_t n_columns = 0;               // K; 0 while there is no row
};

class ColumnParser {
 public:
  // at_tabs: single tabs separate cells, which may be empty or hold blanks; else runs of blanks and tabs.
  explicit ColumnParser(bool at_tabs) : at_tabs_(at_tabs), table_(std::make_unique<ColumnTable>()) {}

  void feed(const char* data, size_t size) {
    const char* const end = data + size;
    while (data != end) {
      const auto* newline =
          static_cast<const char*>(std::memchr(data, '\n', static_cast<size_t>(end - data)));
      if (newline == nullptr) {
        begun_.append(data, end);
        return;
      }
      if (begun_.empty()) {
        read_line({data, static_cast<size_t>(newline - data)});
      } else {
        begun_.append(data, newline);
        read_line(begun_);
        begun_.clear();
      }
      data = newline + 1;
    }
  }

  // The end of the file ends the last line and the last sequence.
  void finish() {
    if (!begun_.empty()) read_line(begun_);
    begun_.clear();
    end_sequence();
  }

  // Positions of the sequences that are complete.
  size_t ready() const { return static_cast<size_t>(table_->offsets[table_->offsets.size() - 1]); }

  // Returns the complete sequences; the beginning of the next one stays.
  std::unique_ptr<ColumnTable> take() {
    auto next = std::make_unique<ColumnTable>();
    const size_t first = ready(), n = table_->n_positions(), n_columns = table_->n_columns;
    next->n_columns = n_columns;
    for (size_t t = first; t < n; ++t) {
      next->lines.push_back(table_->lines[t]);
      for (size_t k = 0; k < n_columns; ++k) {
        std::string_view cell;
        table_->cells->string(static_cast<size_t>(table_->ids[t * n_columns + k]), &cell);
        next->ids.push_back(next->cells->find_or_add(cell, hash_string(cell)));
      }
    }
    table_->lines.shrink(first);
    table_->ids.shrink(first * n_columns);
    std::swap(table_, next);
    return next;
  }

 private:
  static bool is_blank(char c) { return c == ' ' || c == '\t'; }

  void end_sequence() {
    if (ready() != table_->n_positions()) {
      table_->offsets.push_back(static_cast<int64_t>(table_->n_positions()));
    }
  }

  void read_line(std::string_view line) {
    ++line_number_;
    if (line_number_ == 1 && line.substr(0, 3) == "\xef\xbb\xbf") line.remove_prefix(3);
    while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    split(line);
    if (fields_.empty()) {
      end_sequence();
    } else if (fields_[0] == "-DOCSTART-") {
      check_text(line);
      end_sequence();
    } else {
      add_row(line);
    }
  }

  // Splits a line into fields_: no cells for a line of blanks and tabs only.
  void split(std::string_view line) {
    fields_.clear();
    const char* p = line.data();
    const char* const end = p + line.size();
    if (at_tabs_) {
      const char* text = p;
      while (text != end && is_blank(*text)) ++text;
      if (text == end) return;
      for (const char* start = p;; start = p + 1) {
        p = static_cast<const char*>(std::memchr(start, '\t', static_cast<size_t>(end - start)));
        if (p == nullptr) p = end;
        fields_.emplace_back(start, static_cast<size_t>(p - start));
        if (p == end) return;
      }
    }
    for (;;) {
      while (p != end && is_blank(*p)) ++p;
      if (p == end) return;
      const char* const start = p;
      while (p != end && !is_blank(*p)) ++p;
      fields_.emplace_back(start, static_cast<size_t>(p - start));
    }
  }

  void add_row(std::string_view line) {
    if (table_->n_columns == 0) {
      table_->n_columns = fields_.size();
      first_line_ = line_number_;
    }
    if (fields_.size() != table_->n_columns) {
      throw ColumnFault(line_number_, "expected " + std::to_string(table_->n_columns) +
                                          " columns as in line " + std::to_string(first_line_) + ", got " +
                                          std::to_string(fields_.size()) + ": '" + shortened(line) + "'");
    }
    for (const std::string_view cell : fields_) {
      const size_t n_known = table_->cells->size();
      const int32_t id = table_->cells->find_or_add(cell, hash_string(cell));
      if (static_cast<size_t>(id) == n_known) check_text(cell);  // known cells have been checked
      table_->ids.push_back(id);
    }
    table_->lines.push_back(line_number_);
  }

  void check_text(std::string_view text) const {
    if (text.find('\0') != std::string_view::npos) {
      throw ColumnFault(line_number_,
                        "expected text, got a NUL byte; if the file is UTF-16, convert it to UTF-8");
    }
    if (!is_utf8(text)) {
      throw ColumnFault(line_number_, "not UTF-8 text; convert the file to UTF-8: '" + shortened(text) + "'");
    }
  }

  static std::string shortened(std::string_view text) {
    constexpr size_t kMost = 60;
    if (text.size() <= kMost) return std::string(text);
    size_t n = kMost;
    while (n > 0 && (static_cast<unsigned char>(text[n]) & 0xc0) == 0x80) --n;  // not within a character
    return std::string(text.substr(0, n)) + "…";
  }

  bool at_tabs_;
  std::unique_ptr<ColumnTable> table_;
  std::string begun_;                     // a line whose end has not been read yet
  int64_t line_number_ = 0;               // of the line read last
  int64_t first_line_ = 0;                // of the first row
  std::vector<std::string_view> fields_;  // [cells of a line]
};

}  // namespace crfkit
