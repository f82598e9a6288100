// The compact form of a linear model: names that share their beginnings, and rows of ids in few bytes.
//
// Names, one after the other: a byte k, how many bytes the name shares with the beginning of the one before
// it (at most 255, so that damaged bytes cannot ask for much memory); a number, how many bytes follow; these
// bytes. Sorted names share most. Rows of ascending ids: a number, how many ids follow; then the ids as
// distances: the first from -1, each other one from the one before it, less 1. Numbers are those of
// packed_reader.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/packed_reader.h"
#include "base/utf8.h"
#include "ingest/vocabulary.h"

namespace crfkit {

class CompactWriter {
 public:
  std::vector<uint8_t> bytes;

  void name(std::string_view name, std::string_view before) {
    const size_t most = std::min({name.size(), before.size(), size_t{255}});
    size_t shared = 0;
    while (shared < most && name[shared] == before[shared]) ++shared;
    bytes.push_back(static_cast<uint8_t>(shared));
    number(name.size() - shared);
    bytes.insert(bytes.end(), name.begin() + static_cast<std::ptrdiff_t>(shared), name.end());
  }

  // Ids ascend.
  void row(const int32_t* ids, size_t n) {
    number(n);
    int32_t last = -1;
    for (size_t i = 0; i < n; last = ids[i++]) number(static_cast<uint64_t>(ids[i] - last - 1));
  }

 private:
  void number(uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<uint8_t>(value | 0x80));
    bytes.push_back(static_cast<uint8_t>(value));
  }
};

class CompactReader : public PackedReader<Damage> {
 public:
  explicit CompactReader(std::string_view bytes) : PackedReader(bytes, "its compact form") {}

  // Adds all names to an empty vocabulary.
  void names(Vocabulary* vocabulary) {
    std::vector<char> name;
    while (!empty()) {
      const size_t shared = byte();
      if (shared > name.size()) throw Damage("its names do not fit together");
      const std::string_view more = take(count());
      name.resize(shared);
      name.insert(name.end(), more.begin(), more.end());
      const std::string_view whole(name.data(), name.size());
      if (!is_utf8(whole)) throw Damage("it has a name that is not UTF-8");
      const auto id = static_cast<int32_t>(vocabulary->size());
      if (vocabulary->find_or_add(whole, hash_string(whole)) != id)
        throw Damage("it has the same name twice");
    }
  }

  // Reads all rows, of which there must be n_rows, with ids below width.
  void rows(size_t n_rows, int64_t width, std::vector<int64_t>* ends, std::vector<int32_t>* ids) {
    ends->assign(1, 0);
    while (!empty()) {
      int64_t last = -1;
      for (size_t n = count(); n > 0; --n) {
        last += static_cast<int64_t>(number()) + 1;
        if (last >= width) throw Damage("its feature index does not fit together");
        ids->push_back(static_cast<int32_t>(last));
      }
      ends->push_back(static_cast<int64_t>(ids->size()));
    }
    if (ends->size() != n_rows + 1) throw Damage("its feature index does not fit together");
  }
};

}  // namespace crfkit
