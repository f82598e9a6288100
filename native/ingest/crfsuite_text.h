// CRFsuite's data format: fields between TABs, the label first. A field is `name` or `name:value`; an empty
// value is 1. `\:` and `\\` are escapes, in labels too; a backslash before anything else is itself. Fields
// that begin with @ before the label are declarations, and @weight:w, the sequence's weight, is the only one.
// As in CRFsuite's own reader, TABs in a row are one, and a label's value is ignored. Unlike that reader,
// which makes any text a number (atof) and a second colon a new attribute, this one raises an error.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "base/number_text.h"
#include "base/shortened.h"
#include "ingest/item_text.h"

namespace crfkit {

class CrfsuiteText final : public ItemTextReader {
 public:
  explicit CrfsuiteText(LabelField label_field) : ItemTextReader(label_field, false) {}

 private:
  struct Field {
    std::string_view name;  // unescaped
    bool copied;            // the name lies in unescaped_, not in the line
    bool colon;             // a colon follows the name
    std::string_view value;
    std::string_view text;  // all of it, as it stands in the line
  };

  void read_line(const char* p, const char* end) override {
    if (p == end) return end_sequence();
    if (end[-1] == '\r' && carriage_return_line_ == 0) carriage_return_line_ = line_;
    bool labelled = label_field_ == LabelField::absent;
    if (*p == '\t' && !labelled) {
      if (label_field_ == LabelField::required) {
        fail(
            "expected a label, but the line begins with a TAB (CRFsuite would take the first attribute for "
            "the label); read data without labels with labels=\"optional\"");
      }
      labelled = true;
    }
    int32_t label = -1;
    for (;;) {
      while (p < end && *p == '\t') ++p;
      if (p == end) break;
      const Field field = read_field(&p, end);
      if (labelled) {
        add_attribute(field);
      } else if (field.name.starts_with('@')) {
        declare(field);
      } else {
        if (field.value.find(':') != std::string_view::npos) refuse_colon(field);
        if (field.colon && colon_label_line_ == 0) colon_label_line_ = line_;
        label = label_id(field.name);
        labelled = true;
      }
    }
    if (labelled) end_position(label);  // else the line only declares something
  }

  // Reads the field at *p and moves *p to its end.
  Field read_field(const char** p, const char* end) {
    const char* begin = *p;
    const char* q = begin;
    while (q < end && !ends_name(*q)) ++q;
    Field field{{begin, q}, false, false, {}, {}};
    if (q < end && *q == '\\') {
      field.name = unescape(begin, &q, end);
      field.copied = true;
    }
    if (q < end && *q == ':') {
      field.colon = true;
      const char* value = ++q;
      while (q < end && *q != '\t') ++q;
      field.value = {value, q};
    }
    field.text = {begin, q};
    *p = q;
    return field;
  }

  std::string_view unescape(const char* begin, const char** q, const char* end) {
    unescaped_.assign(begin, *q);
    const char* c = *q;
    for (; c < end && *c != ':' && *c != '\t'; ++c) {
      if (*c == '\\' && c + 1 < end && (c[1] == ':' || c[1] == '\\')) ++c;
      unescaped_ += *c;
    }
    *q = c;
    return unescaped_;
  }

  void add_attribute(const Field& field) {
    double value = 1.0;
    if (!field.value.empty()) {
      value = number(field);
      if (value == 0.0) return;
    }
    if (field.copied) {
      items_.add_copy(field.name, value);
    } else {
      items_.add(field.name, value);
    }
  }

  void declare(const Field& field) {
    if (field.name != "@weight") {
      fail("unknown declaration '" + shortened(field.text) +
           "': only @weight:w may come before the label, and a label cannot begin with @");
    }
    weight_ = number(field);
    if (weight_ < 0.0) {
      fail("expected a weight of 0 or more, got '" + shortened(field.text) + "'");
    }
  }

  double number(const Field& field) const {
    double value = 0.0;
    switch (parse_number(field.value, &value)) {
      case NumberText::number:
        return value;
      case NumberText::not_finite:
        fail("'" + shortened(field.text) +
             "': expected a finite number after the colon; leave the attribute out where its value is "
             "missing");
      case NumberText::malformed:
        break;
    }
    if (field.value.find(':') != std::string_view::npos) refuse_colon(field);
    fail("'" + shortened(field.text) +
         "': expected a number such as 0.5 after the colon; a colon that belongs to the name is written \\:");
  }

  [[noreturn]] void refuse_colon(const Field& field) const {
    fail("'" + shortened(field.text) +
         "': expected name or name:value, got two colons; a colon that belongs to the name is written \\:");
  }

  static bool ends_name(char c) { return kEndsName[static_cast<unsigned char>(c)]; }

  static constexpr std::array<bool, 256> kEndsName = [] {
    std::array<bool, 256> table{};
    for (const char c : {'\t', ':', '\\'}) table[static_cast<unsigned char>(c)] = true;
    return table;
  }();

  std::string unescaped_;
};

}  // namespace crfkit
