// The format of MALLET's SimpleTagger: words between blanks or TABs, the label last, all others attributes.
// No values and no escapes; a repeated word counts once; a line of blanks ends a sequence; CR LF ends a line.
#pragma once

#include <string_view>

#include "ingest/item_text.h"

namespace crfkit {

class MalletText final : public ItemTextReader {
 public:
  explicit MalletText(LabelField label_field) : ItemTextReader(label_field, true) {}

 private:
  void read_line(const char* p, const char* end) override {
    while (p < end && end[-1] == '\r') --end;
    if (std::string_view(p, end).find_first_not_of(" \t\r\f\v") == std::string_view::npos) {
      return end_sequence();
    }
    std::string_view word;  // the last one: a label if no word follows
    for (;;) {
      while (p < end && is_blank(*p)) ++p;
      if (p == end) break;
      if (!word.empty()) items_.add(word, 1.0);
      const char* begin = p;
      while (p < end && !is_blank(*p)) ++p;
      word = {begin, p};
    }
    if (label_field_ == LabelField::absent) {
      items_.add(word, 1.0);
      end_position(-1);
    } else {
      end_position(label_id(word));
    }
  }

  static bool is_blank(char c) { return c == ' ' || c == '\t'; }
};

}  // namespace crfkit
