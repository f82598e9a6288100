// Case and classes of characters, from the fixed table in tables.h: the answers of Python's str methods in
// that version of Unicode, whatever the version of the Python that runs. All texts are well-formed UTF-8.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

#include "unicode/tables.h"

namespace crfkit::unicode {

// As make_tables.py writes them. kCased and kIgnorable matter for the final sigma only: ignorable characters
// (accents, apostrophes) are looked through, and a character that is both counts as ignorable.
enum Class : uint16_t {
  kAlpha = 1,
  kDecimal = 2,
  kDigit = 4,
  kNumeric = 8,
  kUpperCase = 16,
  kLowerCase = 32,
  kTitleCase = 64,
  kSpace = 128,
  kCased = 256,
  kIgnorable = 512,
  kMark = 1024,  // accents and vowel signs, which belong to the character before them
};

inline constexpr uint16_t kAlphanumeric = kAlpha | kDecimal | kDigit | kNumeric;
inline constexpr uint32_t kCapitalSigma = 0x3a3, kFinalSigma = 0x3c2, kSmallSigma = 0x3c3;

// Returns the character at the start of a text, and removes it.
inline uint32_t take(std::string_view* text) {
  const auto byte = [text](size_t i) {
    return static_cast<uint32_t>(static_cast<unsigned char>((*text)[i]));
  };
  const uint32_t lead = byte(0);
  const size_t size = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (text->size() < size) {  // cannot happen in well-formed text
    text->remove_prefix(text->size());
    return lead;
  }
  uint32_t character = size == 1 ? lead : lead & (0xffu >> (size + 1));
  for (size_t i = 1; i < size; ++i) character = character << 6 | (byte(i) & 0x3f);
  text->remove_prefix(size);
  return character;
}

inline bool continues(char byte) { return (byte & 0xc0) == 0x80; }

// Returns the number of bytes of the last character of a text that is not empty.
inline size_t last_size(std::string_view text) {
  size_t size = 1;
  while (size < text.size() && continues(text[text.size() - size])) ++size;
  return size;
}

inline uint32_t last(std::string_view text) {
  std::string_view end = text.substr(text.size() - last_size(text));
  return take(&end);
}

inline size_t length(std::string_view text) {
  return text.size() - static_cast<size_t>(std::count_if(text.begin(), text.end(), continues));
}

inline void append(uint32_t character, std::string* out) {
  const auto byte = [out](uint32_t bits) { out->push_back(static_cast<char>(bits)); };
  const auto tail = [byte](uint32_t bits) { byte(0x80 | (bits & 0x3f)); };
  if (character < 0x80) {
    byte(character);
  } else if (character < 0x800) {
    byte(0xc0 | character >> 6), tail(character);
  } else if (character < 0x10000) {
    byte(0xe0 | character >> 12), tail(character >> 6), tail(character);
  } else {
    byte(0xf0 | character >> 18), tail(character >> 12), tail(character >> 6), tail(character);
  }
}

inline uint16_t classes_of(uint32_t character) {
  const auto* next = std::upper_bound(std::begin(kClasses), std::end(kClasses), character,
                                      [](uint32_t c, const ClassRun& run) { return c < run.first; });
  return std::prev(next)->classes;
}

inline bool is_any(uint32_t character, uint16_t classes) { return (classes_of(character) & classes) != 0; }

// Returns the value of a decimal digit of any script, or -1.
inline int decimal_value(uint32_t character) {
  const auto* next = std::upper_bound(std::begin(kZeros), std::end(kZeros), character);
  if (next == std::begin(kZeros) || character - *std::prev(next) > 9) return -1;
  return static_cast<int>(character - *std::prev(next));
}

// Appends a character in another case: one character, or several from the list of special ones.
template <size_t Runs, size_t Specials>
void append_case(uint32_t character, const CaseRun (&runs)[Runs], const CaseSpecial (&specials)[Specials],
                 std::string* out) {
  const auto* special =
      std::lower_bound(std::begin(specials), std::end(specials), character,
                       [](const CaseSpecial& entry, uint32_t c) { return entry.character < c; });
  if (special != std::end(specials) && special->character == character) {
    *out += special->text;
    return;
  }
  const auto* next = std::upper_bound(std::begin(runs), std::end(runs), character,
                                      [](uint32_t c, const CaseRun& run) { return c < run.first; });
  if (next != std::begin(runs)) {
    const CaseRun& run = *std::prev(next);
    if (character <= run.last && (character - run.first) % run.step == 0) {
      character += static_cast<uint32_t>(run.difference);
    }
  }
  append(character, out);
}

inline bool is_ascii(std::string_view text) {
  return std::none_of(text.begin(), text.end(), [](char c) { return (c & 0x80) != 0; });
}

// Whether a capital sigma between these two texts ends a word: the first character before it that is not
// ignorable is cased, and the first one after it is not.
inline bool sigma_is_final(std::string_view before, std::string_view after) {
  for (; !before.empty(); before.remove_suffix(last_size(before))) {
    const uint16_t classes = classes_of(last(before));
    if (classes & kIgnorable) continue;
    if (!(classes & kCased)) return false;
    while (!after.empty()) {
      const uint16_t following = classes_of(take(&after));
      if (!(following & kIgnorable)) return !(following & kCased);
    }
    return true;
  }
  return false;
}

// str.lower
inline void append_lower(std::string_view text, std::string* out) {
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view before = text.substr(0, text.size() - rest.size());
    const uint32_t character = take(&rest);
    if (character < 0x80) {
      out->push_back(static_cast<char>(character >= 'A' && character <= 'Z' ? character + 32 : character));
    } else if (character == kCapitalSigma) {
      append(sigma_is_final(before, rest) ? kFinalSigma : kSmallSigma, out);
    } else {
      append_case(character, kLower, kLowerSpecial, out);
    }
  }
}

// str.upper
inline void append_upper(std::string_view text, std::string* out) {
  while (!text.empty()) append_case(take(&text), kUpper, kUpperSpecial, out);
}

// str.casefold
inline void append_folded(std::string_view text, std::string* out) {
  while (!text.empty()) {
    const uint32_t character = take(&text);
    if (character < 0x80) {
      out->push_back(static_cast<char>(character >= 'A' && character <= 'Z' ? character + 32 : character));
    } else {
      append_case(character, kFold, kFoldSpecial, out);
    }
  }
}

// str.isalpha, isdecimal, isdigit, isnumeric, isalnum, isspace: all characters, and at least one.
inline bool all_are(std::string_view text, uint16_t classes) {
  if (text.empty()) return false;
  while (!text.empty()) {
    if (!is_any(take(&text), classes)) return false;
  }
  return true;
}

// str.isupper and str.islower: at least one character of the class, and none of the others with a case.
inline bool cased_as(std::string_view text, uint16_t wanted) {
  bool found = false;
  while (!text.empty()) {
    const uint16_t classes = classes_of(take(&text)) & (kUpperCase | kLowerCase | kTitleCase);
    if (classes & ~wanted) return false;
    found |= classes != 0;
  }
  return found;
}

// str.istitle: capitals follow characters without case only, small letters those with case only.
inline bool is_title(std::string_view text) {
  bool found = false, inside = false;
  while (!text.empty()) {
    const uint16_t classes = classes_of(take(&text));
    if (classes & (kUpperCase | kTitleCase)) {
      if (inside) return false;
      found = inside = true;
    } else if (classes & kLowerCase) {
      if (!inside) return false;
      found = inside = true;
    } else {
      inside = false;
    }
  }
  return found;
}

}  // namespace crfkit::unicode
