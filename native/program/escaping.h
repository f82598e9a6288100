// How a text stands in the name of an attribute.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

#include "program/feature_program.h"

namespace crfkit {

// Whether a text is \…\<s2> or </s>, with any number of backslashes.
inline bool is_like_a_border(std::string_view text) {
  if (!text.ends_with('>')) return false;
  text.remove_suffix(1);
  text.remove_prefix(std::min(text.find_first_not_of('\\'), text.size()));
  if (!text.starts_with('<')) return false;
  text.remove_prefix(text.starts_with("</") ? 2 : 1);
  return text.starts_with('s') && text.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

inline void append_escaped(std::string_view text, Escape escape, std::string* out) {
  if (escape == Escape::kNone) {
    *out += text;
    return;
  }
  const size_t start = out->size();
  for (const char c : text) {
    if (escape == Escape::kJoined && (c == '\\' || c == '|')) *out += '\\';
    *out += c;
  }
  if (is_like_a_border(std::string_view(*out).substr(start))) out->insert(start, 1, '\\');
}

}  // namespace crfkit
