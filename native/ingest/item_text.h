// Readers of item files: one position per line, its label and its attributes by name, an empty line after
// every sequence. Text is fed in chunks cut anywhere; whole sequences are returned. The formats define the
// meaning of a line: crfsuite_text.h, mallet_text.h.
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

// optional: lines may have a label or not, if the format can tell.
enum class LabelField { required, optional, absent };

class ItemTextReader {
 public:
  virtual ~ItemTextReader() = default;
  ItemTextReader(const ItemTextReader&) = delete;
  ItemTextReader& operator=(const ItemTextReader&) = delete;

  // Adds more text to the text not read yet.
  void feed(std::string_view chunk) {
    buffer_.erase(0, read_);
    whole_ -= read_;
    read_ = 0;
    if (const size_t last = chunk.rfind('\n'); last != std::string_view::npos) {
      whole_ = buffer_.size() + last + 1;
    }
    buffer_ += chunk;
  }

  // Ends the text, and with it the last line and the last sequence.
  void finish() {
    if (buffer_.size() > whole_) feed("\n");
    finished_ = true;
  }
  bool finished() const { return finished_; }

  // Reads until whole sequences have so many positions (returns true), or until the text is used up (false).
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
        fail("not UTF-8 text, or text with a NUL byte; convert the file to UTF-8");
      }
      if (line_ == 1 && line.starts_with(kByteOrderMark)) p += kByteOrderMark.size();
      read_line(p, line_end);
      if (items_.wants_look_up()) items_.look_up(vocabulary, grow);
      p = line_end + 1;
    }
    items_.look_up(vocabulary, grow);  // names point into the buffer, which is about to move
    read_ = static_cast<size_t>(p - buffer_.data());
    if (finished_ && read_ == buffer_.size()) end_sequence();
    return items_.whole_positions() >= positions;
  }

  size_t whole_sequences() const { return items_.whole_sequences(); }
  std::unique_ptr<ItemCollector::Batch> take() { return items_.take(); }
  const Vocabulary& labels() const { return labels_; }

  // Lines for warnings, 0 if none: the first line that ends in CR LF where the CR is taken for text, and the
  // first whose label is cut at a colon.
  int64_t carriage_return_line() const { return carriage_return_line_; }
  int64_t colon_label_line() const { return colon_label_line_; }

 protected:
  ItemTextReader(LabelField label_field, bool binary) : label_field_(label_field), items_(binary) {}

  // Reads one line, without its end.
  virtual void read_line(const char* p, const char* end) = 0;

  [[noreturn]] void fail(const std::string& problem) const { throw LineProblem(line_, problem); }

  int32_t label_id(std::string_view name) { return labels_.find_or_add(name, hash_string(name)); }

  void end_position(int32_t label) {
    items_.end_position(label, line_);
    open_ = true;
  }

  // Ends the sequence; repeated empty lines make no empty sequences.
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
  size_t whole_ = 0;  // ... and those in complete lines
  bool finished_ = false;
};

}  // namespace crfkit
