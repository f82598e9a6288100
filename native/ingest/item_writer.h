// Sequences as the text of item files: what crfsuite_text.h and mallet_text.h read.
#pragma once

#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/number_text.h"
#include "base/shortened.h"

namespace crfkit {

// Says what a format cannot express; the caller adds the sequence and position.
class NotExpressible : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class CrfsuiteWriter {
 public:
  static constexpr const char* kFormat = "CRFsuite data";

  void weight(double w) {
    if (!(std::isfinite(w) && w >= 0.0)) {
      throw NotExpressible("expected a weight of 0 or more, got " + std::to_string(w));
    }
    if (w != 1.0) {
      text += "@weight:";
      append_number(w, &text);
      text += '\t';
    }
  }

  void label(std::string_view name) {
    if (name.starts_with('@')) {
      throw NotExpressible("the label '" + shortened(name) +
                           "' begins with @, which CRFsuite takes for a declaration; rename it");
    }
    append_name("label", name);
    if (name.empty()) text += ':';  // a field of its own: TABs in a row are one
  }
  void no_label(bool bare) {
    if (bare) text += '\t';  // else the line would be empty
  }

  void attribute(std::string_view name, double value) {
    text += '\t';
    append_name("attribute", name);
    if (value != 1.0 || name.empty()) text += ':';
    if (value != 1.0) append_number(value, &text);
  }

  void end_position() { text += '\n'; }

  std::string text;

 private:
  void append_name(const char* what, std::string_view name) {
    for (const char c : name) {
      if (c == '\t' || c == '\n' || c == '\0') {
        throw NotExpressible(std::string("the ") + what + " '" + shortened(name) + "' holds a " +
                             (c == '\t'   ? "TAB"
                              : c == '\n' ? "line feed"
                                          : "NUL character") +
                             ", which CRFsuite data cannot express; replace it");
      }
      if (c == ':' || c == '\\') text += '\\';
      text += c;
    }
  }
};

class MalletWriter {
 public:
  static constexpr const char* kFormat = "MALLET data";

  void weight(double w) {
    if (w != 1.0) throw NotExpressible("MALLET data has no weights; leave them out");
  }

  void label(std::string_view name) {
    label_ = name;
    labelled_ = true;
  }
  void no_label(bool bare) {
    if (bare) {
      throw NotExpressible(
          "without label or attributes it would be an empty line, which ends a sequence; give it some");
    }
    labelled_ = false;
  }

  void attribute(std::string_view name, double value) {
    if (value != 1.0) {
      throw NotExpressible("the attribute '" + shortened(name) +
                           "' has a value other than 1, and MALLET data has no values; write CRFsuite data, "
                           "or make names of the values");
    }
    append_word("attribute", name);
  }

  void end_position() {
    if (labelled_) append_word("label", label_);
    text.back() = '\n';
  }

  std::string text;

 private:
  static constexpr std::string_view kNever{" \t\n\r\f\v\0", 7};

  void append_word(const char* what, std::string_view name) {
    if (name.empty() || name.find_first_of(kNever) != std::string_view::npos) {
      throw NotExpressible(std::string("the ") + what + " '" + shortened(name) + "' " +
                           (name.empty() ? "is empty" : "holds a blank or a NUL character") +
                           ", which MALLET data cannot express; rename it");
    }
    text += name;
    text += ' ';
  }

  std::string_view label_;  // comes last
  bool labelled_ = false;
};

}  // namespace crfkit
