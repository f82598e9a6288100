// A vocabulary of the names in a model file of another tool.
#pragma once

#include "base/names.h"
#include "base/utf8.h"
#include "ingest/vocabulary.h"

namespace crfkit {

// Adds the names to an empty vocabulary. They must be distinct, and UTF-8 unless `cut` says that they may
// begin or end within a character: then the remaining bytes are escaped as templates do.
inline void add_names(const Names& names, bool cut, Vocabulary* vocabulary) {
  std::string escaped;
  for (size_t id = 0; id < names.size(); ++id) {
    std::string_view name = names[id];
    if (!is_utf8(name)) {
      if (!cut) {
        throw Damage("name " + std::to_string(id) +
                     " is not UTF-8; pass encoding='…' if the model was made from text in another encoding");
      }
      name = escaped = escape_ill_formed(name);
    }
    if (vocabulary->find_or_add(name, hash_string(name)) != static_cast<int32_t>(id)) {
      throw Damage("name " + std::to_string(id) + " comes twice");
    }
  }
}

}  // namespace crfkit
