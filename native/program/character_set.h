// A set of characters, written as in regular expressions: [.,;], [^\w.], [0-9].
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "program/byte_reader.h"
#include "unicode/unicode.h"

namespace crfkit {

class CharacterSet {
 public:
  CharacterSet() = default;

  // The complement; bits for \w \d \s \W \D \S; ranges of characters.
  explicit CharacterSet(ByteReader* bytes) : negated_(bytes->flag()), escapes_(bytes->choice(64)) {
    for (size_t n = bytes->count(); n > 0; --n) {
      const uint32_t first = bytes->number(), last = bytes->number();
      if (first > last) throw ProgramError("a range of characters is empty");
      ranges_.emplace_back(first, last);
    }
  }

  bool has(uint32_t character) const { return listed(character) != negated_; }

 private:
  bool listed(uint32_t character) const {
    for (const auto& [first, last] : ranges_) {
      if (character >= first && character <= last) return true;
    }
    if (escapes_ == 0) return false;
    const uint16_t classes = unicode::classes_of(character);
    const bool word = (classes & unicode::kAlphanumeric) != 0 || character == '_';
    const bool digit = (classes & unicode::kDecimal) != 0, space = (classes & unicode::kSpace) != 0;
    const unsigned found = (word ? 1 : 8) | (digit ? 2 : 16) | (space ? 4 : 32);
    return (escapes_ & found) != 0;
  }

  bool negated_ = false;
  uint8_t escapes_ = 0;
  std::vector<std::pair<uint32_t, uint32_t>> ranges_;
};

}  // namespace crfkit
