// Model files of other tools, as arrays; and the dictionary of CRFsuite's files, to write one.
#include <nanobind/stl/string_view.h>

#include "bound_vocabulary.h"
#include "foreign/any_model.h"
#include "foreign/names_vocabulary.h"

namespace crfkit {
namespace {

using Bytes = Array<const uint8_t>;
using Offsets = Array<const int64_t>;

std::string_view view_of(const nb::bytes& content) { return {content.c_str(), content.size()}; }

std::optional<std::string_view> format_of(const nb::bytes& start) {
  for (const ForeignFormat& format : foreign_formats()) {
    if (format.recognises(view_of(start))) return format.name;
  }
  return std::nullopt;
}

std::vector<nb::bytes> bytes_of(const Names& names) {
  std::vector<nb::bytes> out;
  for (size_t i = 0; i < names.size(); ++i) out.emplace_back(names[i].data(), names[i].size());
  return out;
}

auto arrays_of(FeatureRows&& rows) {
  return std::tuple(to_numpy(std::move(rows.indptr)), to_numpy(std::move(rows.columns)),
                    to_numpy(std::move(rows.weights)));
}

// Reading runs without the GIL; arrays are made with it. Damage becomes a ValueError.
auto read_foreign(const nb::bytes& file, std::string_view name) {
  for (const ForeignFormat& format : foreign_formats()) {
    if (format.name != name) continue;
    ForeignModel model = unlocked([&] { return format.read(view_of(file)); });
    const size_t L = model.labels.size();
    std::optional<decltype(arrays_of({}))> pairs;
    if (model.paired) pairs = arrays_of(std::move(model.pair));
    std::optional<std::string_view> dialect;
    if (model.template_lines.size() > 0) dialect = model.dialect;
    return std::tuple(bytes_of(model.labels), to_numpy(std::move(model.attributes.arena)),
                      to_numpy(std::move(model.attributes.offsets)), model.cut,
                      arrays_of(std::move(model.state)), to_numpy(std::move(model.edge_mask), L, L),
                      to_numpy(std::move(model.edge_weights), L, L), pairs, bytes_of(model.template_lines),
                      dialect);
  }
  throw nb::value_error("unknown model format");
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

auto double_array_keys(const Bytes& units) {
  DoubleArrayEntries found = unlocked([&] { return read_double_array(units.data(), units.size() / 8); });
  return std::tuple(to_numpy(std::move(found.values)), to_numpy(std::move(found.keys.arena)),
                    to_numpy(std::move(found.keys.offsets)));
}

BoundVocabulary* vocabulary_of(const Bytes& arena, const Offsets& offsets, bool cut) {
  check_names(arena, offsets);
  auto vocabulary = std::make_unique<BoundVocabulary>();
  unlocked([&] {
    Names names;
    names.arena.assign(arena.data(), arena.data() + arena.size());
    names.offsets.assign(offsets.data(), offsets.data() + offsets.size());
    add_names(names, cut, vocabulary->core.get());
  });
  return vocabulary.release();
}

}  // namespace

void bind_foreign(nb::module_& m) {
  m.def("foreign_format", &format_of, "start"_a,
        "Return the name of the format of a file with these first bytes, or None.");
  m.def("read_foreign", &read_foreign, "file"_a, "format"_a,
        "Return (labels, attributes' arena uint8 [bytes] and offsets int64 [A + 1], cut, (indptr int64 [A + "
        "1], labels int32 [F], weights float64 [F]), edge mask uint8 [L, L], edge weights float64 [L, L], "
        "the same as for labels for label pairs or None, template lines, dialect or None).");
  m.def("cqdb_chunk", &cqdb_chunk, "arena"_array, "offsets"_array,
        "Return CRFsuite's dictionary of these strings, uint8 [bytes]; no string may hold a NUL.");
  m.def("double_array_keys", &double_array_keys, "units"_array,
        "Return (values int64 [n], arena, offsets) of all keys in a Darts double array, uint8 [8 units].");
  m.def("vocabulary_of", &vocabulary_of, "arena"_array, "offsets"_array, "cut"_a,
        "Return a vocabulary of these strings.");
}

}  // namespace crfkit
