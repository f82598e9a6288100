// A dictionary of phrases: from left to right, the longest phrase that begins at a token counts; none
// overlap.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/pair_table.h"
#include "ingest/vocabulary.h"
#include "program/byte_reader.h"
#include "unicode/unicode.h"

namespace crfkit {

class Gazetteer {
 public:
  static constexpr uint32_t kNoToken = UINT32_MAX;

  explicit Gazetteer(ByteReader* bytes) : ignores_case_(bytes->flag()), ends_(1, false) {
    for (size_t n = bytes->count(); n > 0; --n) {
      uint32_t state = 0;
      const size_t n_tokens = bytes->count();
      if (n_tokens == 0) throw ProgramError("a phrase has no tokens");
      for (size_t i = 0; i < n_tokens; ++i) {
        const std::string token = bytes->text();
        const auto id = static_cast<uint32_t>(tokens_.find_or_add(token, hash_string(token)));
        state = next_.find_or_add(state, id) + 1;
        if (state == ends_.size()) ends_.push_back(false);
      }
      ends_[state] = true;
    }
  }

  Gazetteer(Gazetteer&&) = delete;

  // Returns the number of a token, or kNoToken if no phrase has it.
  uint32_t token(std::string_view text) const {
    std::string folded;
    if (ignores_case_) {
      unicode::append_folded(text, &folded);
      text = folded;
    }
    const int32_t id = tokens_.find(text, hash_string(text));
    return id == Vocabulary::kUnknown ? kNoToken : static_cast<uint32_t>(id);
  }

  // Calls mark(t, first) for every token of a phrase in tokens [T].
  template <class Mark>
  void find(const std::vector<uint32_t>& tokens, Mark&& mark) const {
    for (size_t t = 0; t < tokens.size();) {
      size_t end = t;  // of the longest phrase from t on
      uint32_t state = 0;
      for (size_t i = t; i < tokens.size() && tokens[i] != kNoToken; ++i) {
        const uint32_t found = next_.find(state, tokens[i]);
        if (found == PairTable::kUnknown) break;
        state = found + 1;
        if (ends_[state]) end = i + 1;
      }
      if (end == t) {
        ++t;
        continue;
      }
      for (size_t i = t; i < end; ++i) mark(i, i == t);
      t = end;
    }
  }

 private:
  bool ignores_case_;
  Vocabulary tokens_;
  PairTable next_;          // (state, token) -> next state - 1; phrases begin in state 0
  std::vector<bool> ends_;  // [states], whether a phrase ends there
};

}  // namespace crfkit
