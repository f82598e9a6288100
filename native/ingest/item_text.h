// Readers of item files: a position a line, its label and its attributes by name, an empty line after every
// sequence. Text comes in chunks, cut anywhere; whole sequences go out. What a line means is the business of
// the formats: crfsuite_text.h, mallet_text.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "ingest/item_collector.h"
#include "ingest/vocabulary.h"

namespace crfkit {

// optional: lines without a label are told from those with one, where the format can.
enum class LabelField { required, optional, absent };

class ItemTextReader {
 public:
  virtual ~ItemTextReader() = default;
  ItemTextReader(const ItemTextReader&) = delete;
  ItemTextReader& operator=(const ItemTextReader&) = delete;

  // More text. What came before and has not been read yet is kept.
  void feed(std::string_view chunk) {
    buffer_.erase(0, read_);
    whole_ -= read_;
    read_ = 0;
    if (const size_t last = chunk.rfind('\n'); last != std::string_view::npos) {
      whole_ = buffer_.size() + last + 1;
    }
    buffer_ += chunk;
  }

  // There is no more text: the last line and the last sequence end here.
  void finish() {
    if (buffer_.size() > whole_) feed("\n");
    finished_ = true;
  }
  bool finished() const { return finished_; }

  // Reads on until whole sequences have so many positions, or until the text is used up. True in the first
  // case.
  bool read(Vocabulary* vocabulary, bool grow, size_t positions) {
    vocabulary_ = vocabulary;
    grow_ = grow;
    const char* p = buffer_.data() + read_;
    const char* end = buffer_.data() + whole_;
    while (p < end && items_.whole_positions() < positions) {
      const auto* line_end = static_cast<const char*>(std::memchr(p, '\n', static_cast<size_t>(end - p)));
      ++line_;
      const std::string_view line(p, line_end);
      if (!is_utf8(line) || line.find('\0') != std::string_view::npos) {
        fail("not UTF-8 text, or with a NUL byte in it; convert the file to UTF-8");
      }
      if (line_ == 1 && line.starts_with(kByteOrderMark)) p += kByteOrderMark.size();
      read_line(p, line_end);
      if (items_.wants_look_up()) items_.look_up(vocabulary, grow);
      p = line_end + 1;
    }
    items_.look_up(vocabulary, grow);  // the names lie in the buffer, which is going to move
    read_ = static_cast<size_t>(p - buffer_.data());
    if (finished_ && read_ == buffer_.size()) end_sequence();
    return items_.whole_positions() >= positions;
  }

  size_t whole_sequences() const { return items_.whole_sequences(); }
  std::unique_ptr<ItemCollector::Batch> take() { return items_.take(); }
  const Vocabulary& labels() const { return labels_; }

  // What a user should hear of, once: the first line that ends in CR LF where the CR is taken for text, and
  // the first label that is cut at a colon; 0 for none.
  int64_t carriage_return_line() const { return carriage_return_line_; }
  int64_t colon_label_line() const { return colon_label_line_; }

 protected:
  ItemTextReader(LabelField label_field, bool binary) : label_field_(label_field), items_(binary) {}

  // One line, without its end.
  virtual void read_line(const char* p, const char* end) = 0;

  [[noreturn]] void fail(const std::string& problem) const { throw LineProblem(line_, problem); }

  int32_t label_id(std::string_view name) { return labels_.find_or_add(name, hash_string(name)); }

  void end_position(int32_t label) {
    items_.end_position(label, line_);
    open_ = true;
  }

  // Empty lines in a row make no empty sequences.
  void end_sequence() {
    if (open_) items_.end_sequence(weight_, vocabulary_, grow_);
    open_ = false;
    weight_ = 1.0;
  }

  const LabelField label_field_;
  ItemCollector items_;
  double weight_ = 1.0;  // of the open sequence
  int64_t line_ = 0;     // from 1
  int64_t carriage_return_line_ = 0;
  int64_t colon_label_line_ = 0;

 private:
  static constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

  Vocabulary labels_;
  Vocabulary* vocabulary_ = nullptr;
  bool grow_ = false;
  bool open_ = false;  // a sequence has begun
  std::string buffer_;
  size_t read_ = 0;   // bytes of the buffer
  size_t whole_ = 0;  // ... and those in lines that have come to their end
  bool finished_ = false;
};

}  // namespace crfkit
