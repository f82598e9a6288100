// Functions of one text: to another text, or a test, whose result is the empty text where it holds. A step
// may give nothing. The lists of kinds and tests are those of src/crfkit/features/program_code.py.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "program/byte_reader.h"
#include "program/character_set.h"
#include "templates/wapiti_pattern.h"
#include "unicode/unicode.h"

namespace crfkit {

enum class StepKind : uint8_t {
  kLower,
  kUpper,
  kFold,
  kShape,
  kShortShape,
  kPrefix,      // the first n characters; nothing if there are fewer
  kSuffix,      // the last n
  kBeginning,   // the first n characters; nothing unless there are more
  kEnding,      // the last n
  kSkip,        // all but the first n characters
  kLength,      // the number of characters
  kStrip,       // without the characters of a set at the ends
  kRemove,      // without the characters of a set
  kTail,        // the characters of a set at the end
  kDigitShare,  // of token_features: how many digits the word has, of how many characters
  kMarks,       // of token_features: the marks after the word
  kMatch,       // Wapiti's %t
  kFind,        // Wapiti's %m
  kAsciiLower,  // Wapiti's %X
  kTest,        // a test of str
  kAny,         // whether any character is in a set
  kAll,         // whether all are
  kCount
};

enum class StringTest : uint8_t {
  kAlnum,
  kAlpha,
  kAscii,
  kDecimal,
  kDigit,
  kLower,
  kNumeric,
  kSpace,
  kTitle,
  kUpper,
  kCount
};

class Step {
 public:
  // A match of Wapiti's %m that is counted longer than the text includes the text's end (in C, its zero
  // byte), which ends the whole attribute.
  enum class Result : uint8_t { kNothing, kText, kLastText };

  Step() = default;

  explicit Step(ByteReader* bytes)
      : kind_(static_cast<StepKind>(bytes->choice(static_cast<uint8_t>(StepKind::kCount)))) {
    switch (kind_) {
      case StepKind::kPrefix:
      case StepKind::kSuffix:
      case StepKind::kBeginning:
      case StepKind::kEnding:
      case StepKind::kSkip:
        n_ = bytes->number();
        break;
      case StepKind::kStrip:
        left_ = bytes->flag();
        right_ = bytes->flag();
        keeps_whole_ = bytes->flag();
        set_ = CharacterSet(bytes);
        break;
      case StepKind::kRemove:
      case StepKind::kTail:
        set_ = CharacterSet(bytes);
        break;
      case StepKind::kMatch:
      case StepKind::kFind:
        ascii_lower_ = bytes->flag();
        pattern_ = WapitiPattern(bytes->text());
        break;
      case StepKind::kTest:
        negated_ = bytes->flag();
        test_ = static_cast<StringTest>(bytes->choice(static_cast<uint8_t>(StringTest::kCount)));
        break;
      case StepKind::kAny:
      case StepKind::kAll:
        negated_ = bytes->flag();
        set_ = CharacterSet(bytes);
        break;
      default:
        break;
    }
  }

  StepKind kind() const { return kind_; }
  bool is_test() const {
    return kind_ == StepKind::kTest || kind_ == StepKind::kAny || kind_ == StepKind::kAll;
  }

  // Appends the result to out.
  Result apply(std::string_view text, std::string* out) const {
    switch (kind_) {
      case StepKind::kLower:
        unicode::append_lower(text, out);
        return Result::kText;
      case StepKind::kUpper:
        unicode::append_upper(text, out);
        return Result::kText;
      case StepKind::kFold:
        unicode::append_folded(text, out);
        return Result::kText;
      case StepKind::kShape:
        append_shape(text, false, out);
        return Result::kText;
      case StepKind::kShortShape:
        append_shape(text, true, out);
        return Result::kText;
      case StepKind::kPrefix:
      case StepKind::kBeginning: {
        const size_t end = start_of(text, n_);
        if (end == kBeyond || (kind_ == StepKind::kBeginning && end == text.size())) return Result::kNothing;
        *out += text.substr(0, end);
        return Result::kText;
      }
      case StepKind::kSuffix:
      case StepKind::kEnding: {
        size_t start = text.size();
        for (uint32_t i = 0; i < n_; ++i) {
          if (start == 0) return Result::kNothing;
          start -= unicode::last_size(text.substr(0, start));
        }
        if (kind_ == StepKind::kEnding && start == 0) return Result::kNothing;
        *out += text.substr(start);
        return Result::kText;
      }
      case StepKind::kSkip: {
        const size_t start = start_of(text, n_);
        if (start != kBeyond) *out += text.substr(start);
        return Result::kText;
      }
      case StepKind::kLength:
        *out += std::to_string(unicode::length(text));
        return Result::kText;
      case StepKind::kStrip: {
        const std::string_view left = stripped(text);
        *out += left.empty() && keeps_whole_ ? text : left;
        return Result::kText;
      }
      case StepKind::kRemove:
        for (std::string_view rest = text; !rest.empty();) {
          const uint32_t character = unicode::take(&rest);
          if (!set_.has(character)) unicode::append(character, out);
        }
        return Result::kText;
      case StepKind::kTail: {
        size_t start = text.size();
        while (start > 0 && set_.has(unicode::last(text.substr(0, start)))) {
          start -= unicode::last_size(text.substr(0, start));
        }
        *out += text.substr(start);
        return Result::kText;
      }
      case StepKind::kDigitShare:
        return digit_share(text, out);
      case StepKind::kMarks:
        return marks(text, out);
      case StepKind::kMatch:
      case StepKind::kFind:
        return wapiti(text, out);
      case StepKind::kAsciiLower:
        *out += text;
        lower_ascii(out, out->size() - text.size());
        return Result::kText;
      case StepKind::kTest:
        return holds(text) != negated_ ? Result::kText : Result::kNothing;
      case StepKind::kAny:
      case StepKind::kAll: {
        bool any = false, all = true;
        for (std::string_view rest = text; !rest.empty();) {
          const bool found = set_.has(unicode::take(&rest));
          any |= found;
          all &= found;
        }
        return (kind_ == StepKind::kAny ? any : all) != negated_ ? Result::kText : Result::kNothing;
      }
      case StepKind::kCount:
        break;
    }
    return Result::kNothing;
  }

 private:
  static constexpr size_t kBeyond = static_cast<size_t>(-1);

  // Returns where the n-th character begins: the size of the text for one more than there are.
  static size_t start_of(std::string_view text, uint32_t n) {
    size_t place = 0;
    for (uint32_t i = 0; i < n; ++i) {
      if (place == text.size()) return kBeyond;
      do ++place;
      while (place < text.size() && unicode::continues(text[place]));
    }
    return place;
  }

  // X for a capital, x for another letter, 9 for a digit, other characters as they are.
  static void append_shape(std::string_view text, bool shorten, std::string* out) {
    uint32_t before = UINT32_MAX;
    while (!text.empty()) {
      uint32_t character = unicode::take(&text);
      const uint16_t classes = unicode::classes_of(character);
      character = classes & unicode::kDigit       ? '9'
                  : classes & unicode::kUpperCase ? 'X'
                  : classes & unicode::kAlpha     ? 'x'
                                                  : character;
      // Line feeds never match the dot of the regular expression (.)\1+ that defined short shapes.
      if (!shorten || character != before || character == '\n') unicode::append(character, out);
      before = character;
    }
  }

  std::string_view stripped(std::string_view text) const {
    if (left_) {
      for (std::string_view rest = text; !rest.empty(); text = rest) {
        if (!set_.has(unicode::take(&rest))) break;
      }
    }
    while (right_ && !text.empty() && set_.has(unicode::last(text))) {
      text.remove_suffix(unicode::last_size(text));
    }
    return text;
  }

  // Of token_features: the word in lower case, without the marks at its end.
  static std::string bare(std::string_view text, size_t* n_marks) {
    std::string lower;
    unicode::append_lower(text, &lower);
    const size_t last = lower.find_last_not_of(".,;:");
    const size_t n = last == std::string::npos ? 0 : last + 1;
    *n_marks = lower.size() - n;
    lower.resize(n);
    return lower;
  }

  static Result digit_share(std::string_view text, std::string* out) {
    size_t n_digits = 0, n_marks;
    for (std::string_view rest = text; !rest.empty();) {
      n_digits += unicode::is_any(unicode::take(&rest), unicode::kDigit);
    }
    if (n_digits == 0) return Result::kNothing;
    const size_t n = unicode::length(bare(text, &n_marks));
    *out += std::to_string(n_digits);
    if (n_digits < n) *out += '/' + std::to_string(n);
    return Result::kText;
  }

  static Result marks(std::string_view text, std::string* out) {
    size_t n_marks;
    const std::string word = bare(text, &n_marks);
    if (n_marks == 0) return Result::kNothing;
    const size_t start = start_of(text, static_cast<uint32_t>(unicode::length(word)));
    if (start != kBeyond) *out += text.substr(start);
    return Result::kText;
  }

  Result wapiti(std::string_view text, std::string* out) const {
    const WapitiPattern::Match match = pattern_.match(text);
    const size_t before = out->size();
    Result result = Result::kText;
    if (kind_ == StepKind::kMatch) {
      *out += match.found ? "true" : "false";
    } else if (match.found) {
      *out += text.substr(match.start, match.length);
      if (match.length > text.size() - match.start) result = Result::kLastText;
    }
    if (ascii_lower_) lower_ascii(out, before);
    return result;
  }

  static void lower_ascii(std::string* text, size_t start) {
    for (size_t i = start; i < text->size(); ++i) {
      if ((*text)[i] >= 'A' && (*text)[i] <= 'Z') (*text)[i] += 'a' - 'A';
    }
  }

  bool holds(std::string_view text) const {
    using namespace unicode;
    switch (test_) {
      case StringTest::kAlnum:
        return all_are(text, kAlphanumeric);
      case StringTest::kAlpha:
        return all_are(text, kAlpha);
      case StringTest::kAscii:
        return is_ascii(text);
      case StringTest::kDecimal:
        return all_are(text, kDecimal);
      case StringTest::kDigit:
        return all_are(text, kDigit);
      case StringTest::kLower:
        return cased_as(text, kLowerCase);
      case StringTest::kNumeric:
        return all_are(text, kNumeric);
      case StringTest::kSpace:
        return all_are(text, kSpace);
      case StringTest::kTitle:
        return is_title(text);
      case StringTest::kUpper:
        return cased_as(text, kUpperCase);
      case StringTest::kCount:
        break;
    }
    return false;
  }

  StepKind kind_ = StepKind::kLower;
  uint32_t n_ = 0;
  bool left_ = false, right_ = false, keeps_whole_ = false, ascii_lower_ = false, negated_ = false;
  StringTest test_ = StringTest::kAlnum;
  CharacterSet set_;
  WapitiPattern pattern_{""};
};

}  // namespace crfkit
