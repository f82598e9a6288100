// Model files of other tools: the parts that are long lists of strings and numbers.
#include "base/utf8.h"
#include "bound_vocabulary.h"
#include "foreign/cqdb.h"
#include "foreign/double_array.h"
#include "foreign/model_text.h"

namespace crfkit {
namespace {

using Bytes = Array<const uint8_t>;
using Offsets = Array<const int64_t>;

// Reading runs without the GIL; arrays are made with it. Damage becomes a ValueError.

auto cqdb_names(const Bytes& chunk, uint64_t n) {
  Names names = unlocked([&] { return read_cqdb(chunk.data(), chunk.size(), n); });
  return std::tuple(to_numpy(std::move(names.arena)), to_numpy(std::move(names.offsets)));
}

void check_names(const Bytes& arena, const Offsets& offsets) {
  check_bounds(offsets, arena.size(), "the offsets of the strings do not fit their arena");
}

Numpy<uint8_t> cqdb_chunk(const Bytes& arena, const Offsets& offsets) {
  check_names(arena, offsets);
  const size_t n = offsets.size() - 1;
  if (cqdb_size(n, arena.size()) >> 32 != 0) throw nb::value_error("the dictionary exceeds 4 GiB");
  std::vector<uint8_t> chunk = unlocked([&] {
    std::vector<uint8_t> out(cqdb_size(n, arena.size()));
    write_cqdb(arena.data(), offsets.data(), n, out.data());
    return out;
  });
  return to_numpy(std::move(chunk));
}

auto netstrings(const Bytes& text, size_t start, uint64_t n) {
  TextReader reader(text.data(), text.size(), start);
  Names names = unlocked([&] { return read_netstrings(&reader, n); });
  return std::tuple(to_numpy(std::move(names.arena)), to_numpy(std::move(names.offsets)), reader.at());
}

auto text_weights(const Bytes& text, size_t start, uint64_t n) {
  TextReader reader(text.data(), text.size(), start);
  TextWeights read = unlocked([&] { return read_weights(&reader, n); });
  return std::tuple(to_numpy(std::move(read.places)), to_numpy(std::move(read.weights)),
                    to_numpy(std::move(read.others)), reader.at());
}

auto numbered_names(const Bytes& text, size_t start) {
  TextReader reader(text.data(), text.size(), start);
  std::vector<int64_t> numbers;
  Names names = unlocked([&] { return read_numbered(&reader, &numbers); });
  return std::tuple(to_numpy(std::move(numbers)), to_numpy(std::move(names.arena)),
                    to_numpy(std::move(names.offsets)), reader.at());
}

auto double_array_keys(const Bytes& units) {
  DoubleArrayEntries found = unlocked([&] { return read_double_array(units.data(), units.size() / 8); });
  return std::tuple(to_numpy(std::move(found.values)), to_numpy(std::move(found.keys.arena)),
                    to_numpy(std::move(found.keys.offsets)));
}

// Makes a vocabulary of these strings. They must be distinct, and UTF-8 unless `cut` says that they may end
// within a character: then the remaining bytes are escaped as templates do.
BoundVocabulary* vocabulary_of(const Bytes& arena, const Offsets& offsets, bool cut) {
  check_names(arena, offsets);
  auto vocabulary = std::make_unique<BoundVocabulary>();
  unlocked([&] {
    std::string escaped;
    for (size_t id = 0; id + 1 < offsets.size(); ++id) {
      const int64_t begin = offsets.data()[id], end = offsets.data()[id + 1];
      std::string_view name(reinterpret_cast<const char*>(arena.data()) + begin,
                            static_cast<size_t>(end - begin));
      if (!is_utf8(name)) {
        if (!cut) throw Damage("name " + std::to_string(id) + " is not UTF-8");
        name = escaped = escape_ill_formed(name);
      }
      if (vocabulary->core->find_or_add(name, hash_string(name)) != static_cast<int32_t>(id)) {
        throw Damage("name " + std::to_string(id) + " comes twice");
      }
    }
  });
  return vocabulary.release();
}

}  // namespace

void bind_foreign(nb::module_& m) {
  m.def("cqdb_names", &cqdb_names, "chunk"_array, "n"_a,
        "Return (arena uint8 [bytes], offsets int64 [n + 1]) of CRFsuite's dictionary, by id.");
  m.def("cqdb_chunk", &cqdb_chunk, "arena"_array, "offsets"_array,
        "Return CRFsuite's dictionary of these strings, uint8 [bytes]; no string may hold a NUL.");
  m.def("netstrings", &netstrings, "text"_array, "start"_a, "n"_a,
        "Return (arena, offsets, end) of n netstrings.");
  m.def("text_weights", &text_weights, "text"_array, "start"_a, "n"_a,
        "Return (places int64 [n], weights float64 [n], others int64 [3 m], end) of n lines place=weight; "
        "others has (which, begin, end) of the weights that are not hexadecimal.");
  m.def("numbered_names", &numbered_names, "text"_array, "start"_a,
        "Return (numbers int64 [n], arena, offsets, end) of lines \"number name\" up to an empty one.");
  m.def("double_array_keys", &double_array_keys, "units"_array,
        "Return (values int64 [n], arena, offsets) of all keys in a Darts double array, uint8 [8 units].");
  m.def("vocabulary_of", &vocabulary_of, "arena"_array, "offsets"_array, "cut"_a,
        "Return a vocabulary of these strings.");
}

}  // namespace crfkit
