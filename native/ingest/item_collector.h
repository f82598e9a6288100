// Collects the items that a text parser finds (per position a label, and attributes with values) in the
// layout of crfkit.data.Sequences. Names are looked up many at a time, so that waits for memory overlap.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/shortened.h"
#include "ingest/ingest_rows.h"
#include "ingest/vocabulary.h"

namespace crfkit {

// Says what is wrong with a line of a text file; the caller adds the file's name.
class LineProblem : public std::runtime_error {
 public:
  LineProblem(int64_t line, const std::string& what) : std::runtime_error(what), line(line) {}
  int64_t line;  // from 1
};

class ItemCollector {
 public:
  // binary: an attribute is present or absent; repeating it makes no difference.
  explicit ItemCollector(bool binary) : binary_(binary), batch_(std::make_unique<Batch>()) {}

  // Adds an attribute. The name must stay in place until the next call of look_up, unless it is copied.
  void add(std::string_view name, double value) { names_.push_back({name.data(), 0, name.size(), value}); }
  void add_copy(std::string_view name, double value) {
    names_.push_back({nullptr, text_.size(), name.size(), value});
    text_ += name;
  }

  void end_position(int32_t label, int64_t line) {
    ends_.push_back({names_.size(), line});
    batch_->labels.push_back(label);
  }

  bool wants_look_up() const { return names_.size() >= kNamesTogether; }

  void end_sequence(double weight, Vocabulary* vocabulary, bool grow) {
    look_up(vocabulary, grow);
    batch_->rows.end_sequence();
    batch_->weights.push_back(weight);
    batch_->weighted |= weight != 1.0;
  }

  // Turns everything added so far into rows of ids. Each name takes four steps, and each step waits for
  // memory requested by the previous one, so the steps of several names are interleaved.
  void look_up(Vocabulary* vocabulary, bool grow) {
    constexpr size_t kApart = 12;
    const size_t n = names_.size();
    hashes_.resize(n);
    ids_.resize(n);
    for (size_t i = 0; n > 0 && i < n + 3 * kApart; ++i) {
      if (i < n) {
        hashes_[i] = hash_string(name(i));
        vocabulary->prefetch_slot(hashes_[i]);
      }
      if (i >= kApart && i - kApart < n) vocabulary->prefetch_offsets(hashes_[i - kApart]);
      if (i >= 2 * kApart && i - 2 * kApart < n) vocabulary->prefetch_string(hashes_[i - 2 * kApart]);
      if (i >= 3 * kApart) {
        const size_t j = i - 3 * kApart;
        ids_[j] = grow ? vocabulary->find_or_add(name(j), hashes_[j]) : vocabulary->find(name(j), hashes_[j]);
      }
    }
    size_t i = 0;
    for (const End& end : ends_) {
      for (; i < end.names; ++i) {
        if (ids_[i] != Vocabulary::kUnknown) batch_->rows.add(ids_[i], names_[i].value);
      }
      end_row(end.line, *vocabulary);
    }
    names_.clear();
    ends_.clear();
    text_.clear();
  }

  // Whole sequences, and the positions of one that is still open.
  struct Batch {
    RowBuilder rows;
    GrowableArray<int32_t> labels;  // [ΣT]
    GrowableArray<double> weights;  // [N]
    bool weighted = false;          // some weight is not 1
  };

  // Counts positions without those of the open sequence.
  size_t whole_positions() const {
    const auto& offsets = batch_->rows.offsets;
    return static_cast<size_t>(offsets[offsets.size() - 1]);
  }
  size_t whole_sequences() const { return batch_->weights.size(); }

  // Returns the whole sequences; the open one stays. No name may be waiting for look_up.
  std::unique_ptr<Batch> take() {
    auto next = std::make_unique<Batch>();
    RowBuilder& rows = batch_->rows;
    const size_t whole = whole_positions();
    for (size_t t = whole; t + 1 < rows.indptr.size(); ++t) {
      for (auto i = static_cast<size_t>(rows.indptr[t]); i < static_cast<size_t>(rows.indptr[t + 1]); ++i) {
        next->rows.add(rows.indices[i], rows.valued() ? rows.values[i] : 1.0);
      }
      next->rows.end_position();
      next->labels.push_back(batch_->labels[t]);
    }
    const auto used = static_cast<size_t>(rows.indptr[whole]);
    rows.indptr.shrink(whole + 1);
    rows.indices.shrink(used);
    if (rows.valued()) rows.values.shrink(used);
    batch_->labels.shrink(whole);
    std::swap(batch_, next);
    return next;
  }

 private:
  static constexpr size_t kNamesTogether = 512;

  struct Name {
    const char* borrowed;  // where it lies; null: it is text_[start .. start + size)
    size_t start;
    size_t size;
    double value;
  };
  struct End {
    size_t names;  // of all positions up to this one
    int64_t line;
  };

  std::string_view name(size_t i) const {
    const Name& n = names_[i];
    return {n.borrowed != nullptr ? n.borrowed : text_.data() + n.start, n.size};
  }

  void end_row(int64_t line, const Vocabulary& vocabulary) {
    RowBuilder& rows = batch_->rows;
    if (const int32_t overflown = rows.end_position(); overflown >= 0) {
      std::string_view attribute;
      (void)vocabulary.string(static_cast<size_t>(overflown), &attribute);
      throw LineProblem(
          line, "attribute '" + shortened(attribute) + "': its values on this line add up to infinity");
    }
    if (binary_) {  // the values of repeated attributes have been added up
      const auto start = static_cast<size_t>(rows.indptr[rows.indptr.size() - 2]);
      for (size_t i = start; i < rows.values.size(); ++i) rows.values[i] = 1.0;
    }
  }

  bool binary_;
  std::unique_ptr<Batch> batch_;
  std::vector<Name> names_;       // [names waiting]
  std::vector<End> ends_;         // [positions waiting]
  std::string text_;              // of the names that are copies
  std::vector<uint64_t> hashes_;  // [names waiting]
  std::vector<int32_t> ids_;      // [names waiting]
};

}  // namespace crfkit
