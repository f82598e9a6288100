// Wapiti's regular expressions: a small language over bytes.
//
//   .                any byte
//   \d \a \w \l \u \p \s   ASCII digit, letter, either, small letter, capital, punctuation, white space
//   \D \A ...        the complement
//   \x               any other x itself
//   x* x?            x any number of times, as few as will do; x or nothing, x if that will do
//   ^ $              at the very start and the very end of the expression: the ends of the text
//
// Wapiti matches by backtracking and keeps the length of the match in one counter. If an optional byte is
// tried and given up, the counter keeps what the failed attempt counted, so that the match is too long.
// Models have been trained with these lengths, so they are reproduced. Attempt (atom r, place s) always has
// the same outcome and adds the same amount to the counter. Computing the attempts from the last atom to the
// first, as below, takes time |expression| * |text|; backtracking may take exponential time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace crfkit {

class WapitiPattern {
 public:
  struct Match {
    bool found = false;
    size_t start = 0;
    size_t length = 0;  // may reach beyond the end of the text, see above
  };

  // The expression has been checked: no * or ? without an atom before it, no backslash at the end.
  explicit WapitiPattern(std::string_view expression) {
    if (!expression.empty() && expression.front() == '^') {
      at_start_ = true;
      expression.remove_prefix(1);
    }
    while (!expression.empty()) {
      if (expression == "$") {
        at_end_ = true;
        break;
      }
      Atom atom;
      atom.escaped = expression.front() == '\\' && expression.size() > 1;
      if (atom.escaped) expression.remove_prefix(1);
      atom.byte = expression.front();
      expression.remove_prefix(1);
      if (!expression.empty() && (expression.front() == '*' || expression.front() == '?')) {
        atom.repeat = expression.front();
        expression.remove_prefix(1);
      }
      atoms_.push_back(atom);
    }
  }

  // The first match in the text.
  Match match(std::string_view text) const {
    const size_t n = text.size();
    std::vector<Attempt> rest(n + 1), from(n + 1);  // of the atoms after the current one, and from it on
    for (size_t s = 0; s <= n; ++s) rest[s] = {!at_end_ || s == n, 0};
    for (auto atom = atoms_.rbegin(); atom != atoms_.rend(); ++atom) {
      for (size_t s = n + 1; s-- > 0;) {
        const bool matches = s < n && atom->matches(text[s]);
        from[s] = atom->repeat == '*'   ? repeated(matches, rest[s], s < n ? from[s + 1] : Attempt{})
                  : atom->repeat == '?' ? optional(matches, rest[s], s < n ? rest[s + 1] : Attempt{})
                                        : single(matches, s < n ? rest[s + 1] : Attempt{});
      }
      std::swap(rest, from);
    }
    for (size_t s = 0; s <= (at_start_ ? 0 : n); ++s) {
      if (rest[s].found) return {true, s, rest[s].counted};
    }
    return {};
  }

 private:
  struct Attempt {
    bool found = false;
    uint32_t counted = 0;  // what it adds to the counter, found or not
  };

  static uint32_t sum(uint64_t a, uint64_t b) {
    return static_cast<uint32_t>(std::min<uint64_t>(a + b, UINT32_MAX));
  }

  // after: from the next atom on, one byte further.
  static Attempt single(bool matches, Attempt after) {
    return matches ? Attempt{after.found, sum(after.counted, 1)} : Attempt{false, 1};
  }
  // rest: from the next atom on, here; again: from this atom on, one byte further.
  static Attempt repeated(bool matches, Attempt rest, Attempt again) {
    if (rest.found) return rest;
    return matches ? Attempt{again.found, sum(again.counted, 1)} : Attempt{false, 1};
  }
  // rest: from the next atom on, here; after: one byte further.
  static Attempt optional(bool matches, Attempt rest, Attempt after) {
    if (!matches) return rest;
    if (after.found) return {true, sum(after.counted, 1)};
    return {rest.found, sum(after.counted, rest.counted)};
  }

  struct Atom {
    char byte = 0;
    bool escaped = false;
    char repeat = 0;  // '*', '?' or 0

    bool matches(char c) const {
      if (!escaped) return byte == '.' || byte == c;
      const bool lower = c >= 'a' && c <= 'z', upper = c >= 'A' && c <= 'Z', digit = c >= '0' && c <= '9';
      const bool space = c == ' ' || (c >= '\t' && c <= '\r');
      const bool punctuation = c > ' ' && c < 127 && !lower && !upper && !digit;
      switch (byte) {
        case 'a':
          return lower || upper;
        case 'A':
          return !(lower || upper);
        case 'd':
          return digit;
        case 'D':
          return !digit;
        case 'l':
          return lower;
        case 'L':
          return !lower;
        case 'p':
          return punctuation;
        case 'P':
          return !punctuation;
        case 's':
          return space;
        case 'S':
          return !space;
        case 'u':
          return upper;
        case 'U':
          return !upper;
        case 'w':
          return lower || upper || digit;
        case 'W':
          return !(lower || upper || digit);
        default:
          return byte == c;
      }
    }
  };

  bool at_start_ = false;
  bool at_end_ = false;
  std::vector<Atom> atoms_;
};

}  // namespace crfkit
