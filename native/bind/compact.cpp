// The compact form of linear models: to bytes and back.
#include "bind.h"
#include "bound_vocabulary.h"
#include "linear/compact_form.h"

namespace crfkit {
namespace {

std::string_view view(const Array<const uint8_t>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

Numpy<uint8_t> pack_names(BoundVocabulary& vocabulary) {
  const Vocabulary& core = vocabulary.open();
  CompactWriter writer;
  std::string_view before, name;
  for (size_t id = 0; id < core.size(); ++id, before = name)
    if (!core.string(id, &name))
      raise("ModelFileError", "the vocabulary is damaged");
    else
      writer.name(name, before);
  return to_numpy(std::move(writer.bytes));
}

BoundVocabulary* unpack_names(Array<const uint8_t> bytes) {
  auto vocabulary = std::make_unique<BoundVocabulary>();
  translating([&] { CompactReader(view(bytes)).names(vocabulary->core.get()); });
  return vocabulary.release();
}

Numpy<uint8_t> pack_rows(Array<const int64_t> ends, Array<const int32_t> ids) {
  check_bounds(ends, ids.size(), "rows must ascend from 0 to the number of ids");
  CompactWriter writer;
  for (size_t row = 0; row + 1 < ends.size(); ++row) {
    const auto begin = static_cast<size_t>(ends(row)), end = static_cast<size_t>(ends(row + 1));
    for (size_t i = begin; i < end; ++i)
      require(ids(i) > (i > begin ? ids(i - 1) : -1), "the ids of a row must ascend");
    writer.row(ids.data() + begin, end - begin);
  }
  return to_numpy(std::move(writer.bytes));
}

auto unpack_rows(Array<const uint8_t> bytes, size_t n_rows, int64_t width) {
  std::vector<int64_t> ends;
  std::vector<int32_t> ids;
  translating([&] { CompactReader(view(bytes)).rows(n_rows, width, &ends, &ids); });
  return std::tuple(to_numpy(std::move(ends)), to_numpy(std::move(ids)));
}

}  // namespace

void bind_compact(nb::module_& m) {
  m.def("pack_names", &pack_names, "vocabulary"_a, "Return the strings as bytes that share beginnings.");
  m.def("unpack_names", &unpack_names, "bytes"_array, "Return the vocabulary of such bytes.");
  m.def("pack_rows", &pack_rows, "ends"_array, "ids"_array,
        "Return rows of ascending ids, which end at ends [R + 1], as bytes.");
  m.def("unpack_rows", &unpack_rows, "bytes"_array, "n_rows"_a, "width"_a,
        "Return ends int64 [R + 1] and ids int32 of such bytes; ids must be below width.");
}

}  // namespace crfkit
