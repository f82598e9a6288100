// Splits a text into tokens with their offsets. The rule, which model files name "words":
//
//   - white space separates tokens and belongs to none;
//   - a run of letters, digits, marks and underscores is a token;
//   - a character of a script that is written without spaces between words (Chinese, Japanese) is a token;
//   - any other character is a token, with the marks that follow it.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>
#include <vector>

#include "unicode/unicode.h"

namespace crfkit::unicode {

struct TokenSpan {
  size_t start, end;              // in characters
  size_t first_byte, after_byte;  //
};

// Han, Hiragana and Katakana with their extensions.
inline bool stands_alone(uint32_t c) {
  return (c >= 0x2e80 && c <= 0x2fdf) || (c >= 0x3005 && c <= 0x3007) || (c >= 0x3021 && c <= 0x3029) ||
         (c >= 0x3041 && c <= 0x30ff) || (c >= 0x31f0 && c <= 0x31ff) || (c >= 0x3400 && c <= 0x4dbf) ||
         (c >= 0x4e00 && c <= 0x9fff) || (c >= 0xf900 && c <= 0xfaff) || (c >= 0xff66 && c <= 0xff9f) ||
         (c >= 0x1b000 && c <= 0x1b16f) || (c >= 0x20000 && c <= 0x3ffff);
}

inline std::vector<TokenSpan> tokenize(std::string_view text) {
  std::vector<TokenSpan> tokens;
  bool continues_word = false;  // whether a letter or digit goes on with the last token
  bool continues_any = false;   // whether a mark does
  size_t place = 0;
  for (std::string_view rest = text; !rest.empty(); ++place) {
    const size_t byte = text.size() - rest.size();
    const uint32_t character = take(&rest);
    const size_t after = text.size() - rest.size();
    const uint16_t classes = classes_of(character);
    const bool alone = stands_alone(character);
    const bool in_word = !alone && ((classes & (kAlphanumeric | kMark)) != 0 || character == '_');
    if (classes & kSpace) {
      continues_word = continues_any = false;
    } else if ((classes & kMark) ? continues_any : (in_word && continues_word)) {
      tokens.back().end = place + 1;
      tokens.back().after_byte = after;
    } else {
      tokens.push_back({place, place + 1, byte, after});
      continues_word = in_word;
      continues_any = true;
    }
  }
  return tokens;
}

}  // namespace crfkit::unicode
