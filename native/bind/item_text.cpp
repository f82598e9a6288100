// Item files (CRFsuite data, MALLET SimpleTagger) to sequences of attribute ids and back.
#include <nanobind/stl/string.h>

#include "bound_vocabulary.h"
#include "ingest/crfsuite_text.h"
#include "ingest/item_writer.h"
#include "ingest/mallet_text.h"

namespace crfkit {
namespace {

// A reader and the name of its source, for messages.
struct BoundItemText {
  BoundItemText(const std::string& format, const std::string& labels, std::string source)
      : source(std::move(source)) {
    const LabelField field = labels == "required"   ? LabelField::required
                             : labels == "optional" ? LabelField::optional
                                                    : LabelField::absent;
    if (format == "crfsuite") {
      reader = std::make_unique<CrfsuiteText>(field);
    } else {
      reader = std::make_unique<MalletText>(field);
    }
  }

  std::unique_ptr<ItemTextReader> reader;
  std::string source;
  bool busy = false;  // a call is reading, with the GIL released now and then
};

// Permits one call per reader at a time.
class Turn {
 public:
  explicit Turn(BoundItemText* text) : text_(text) {
    if (text->busy) raise("InputError", text->source + " is being read by another thread");
    text->busy = true;
  }
  ~Turn() { text_->busy = false; }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  BoundItemText* text_;
};

// Reads chunks of text until whole sequences have so many positions or, if prompt, until there is at least
// one whole sequence, or until the chunks end.
void read_chunks(BoundItemText& text, nb::handle chunks, Vocabulary* vocabulary, bool grow, size_t positions,
                 bool prompt) {
  ItemTextReader& reader = *text.reader;
  for (;;) {
    bool enough;
    {
      const Unlocked released;
      enough = reader.read(vocabulary, grow, positions);
    }
    if (enough || reader.finished() || (prompt && reader.whole_sequences() > 0)) return;
    const nb::object chunk = nb::steal(PyIter_Next(chunks.ptr()));
    if (chunk.is_valid()) {
      if (!PyBytes_Check(chunk.ptr())) {
        raise("InputError",
              text.source +
                  ": expected a file opened in binary mode ('rb'), which yields bytes, got one that yields " +
                  Py_TYPE(chunk.ptr())->tp_name);
      }
      reader.feed({PyBytes_AS_STRING(chunk.ptr()), static_cast<size_t>(PyBytes_GET_SIZE(chunk.ptr()))});
    } else {
      if (PyErr_Occurred()) throw nb::python_error();
      reader.finish();
    }
  }
}

// Returns the next whole sequences, or None at the end of the text.
auto read_items(BoundItemText& text, nb::typed<nb::handle, nb::typed<nb::iterator, nb::bytes>> chunks,
                BoundVocabulary& vocabulary, bool grow, size_t positions, bool prompt) {
  const Turn turn(&text);
  if (!PyIter_Check(chunks.ptr())) raise("InputError", "chunks must be an iterator of bytes");
  try {
    translating([&] {
      if (grow) {
        Growth growth(&vocabulary, true);
        read_chunks(text, chunks, vocabulary.core.get(), true, positions, prompt);
        growth.keep();
      } else {
        const Reading reading(&vocabulary);
        read_chunks(text, chunks, vocabulary.core.get(), false, positions, prompt);
      }
    });
  } catch (const LineProblem& problem) {
    raise("InputError", text.source + ":" + std::to_string(problem.line) + ": " + problem.what());
  }
  const auto arrays = [&] {
    const auto batch = text.reader->take();
    return std::tuple(to_numpy(&batch->rows.offsets), to_numpy(&batch->rows.indptr),
                      to_numpy(&batch->rows.indices),
                      to_numpy_if(!batch->rows.all_ones(), &batch->rows.values), vocabulary.core->size(),
                      to_numpy(&batch->labels), to_numpy_if(batch->weighted, &batch->weights));
  };
  return text.reader->whole_sequences() > 0 ? std::optional(arrays()) : std::nullopt;
}

nb::typed<nb::list, nb::str> label_names(BoundItemText& text, size_t start) {
  const Turn turn(&text);
  const Vocabulary& labels = text.reader->labels();
  nb::list names;
  for (size_t id = start; id < labels.size(); ++id) {
    std::string_view name;
    (void)labels.string(id, &name);
    names.append(nb::str(name.data(), name.size()));
  }
  return names;
}

// --- writing ---

struct ItemArrays {
  Array<const int64_t> offsets;                // [N + 1]
  Array<const int64_t> indptr;                 // [ΣT + 1]
  Array<const int32_t> indices;                // [nnz]
  std::optional<Array<const double>> values;   // [nnz]
  std::optional<Array<const int32_t>> labels;  // [ΣT]
  std::optional<Array<const double>> weights;  // [N]
};

void check(const ItemArrays& x, const Vocabulary& attributes, const Vocabulary& labels) {
  check_bounds(x.indptr, x.indices.size(), "indptr does not fit indices");
  check_bounds(x.offsets, x.indptr.size() - 1, "offsets do not fit indptr");
  check_ids(x.indices, 0, static_cast<int64_t>(attributes.size()), "an attribute is not in the vocabulary");
  if (x.values) require(x.values->size() == x.indices.size(), "values do not fit indices");
  if (x.weights) require(x.weights->size() == x.offsets.size() - 1, "weights do not fit offsets");
  if (x.labels) {
    require(x.labels->size() == x.indptr.size() - 1, "labels do not fit indptr");
    check_ids(*x.labels, -1, static_cast<int64_t>(labels.size()), "a label is not in the vocabulary");
  }
}

std::string_view string_of(const Vocabulary& vocabulary, int32_t id) {
  std::string_view name;
  if (!vocabulary.string(static_cast<size_t>(id), &name)) {
    throw std::invalid_argument("string " + std::to_string(id) + " of the vocabulary lies outside its arena");
  }
  return name;
}

template <class Writer>
void write_position(const ItemArrays& x, const Vocabulary& attributes, const Vocabulary& labels, size_t t,
                    Writer* out) {
  const auto begin = static_cast<size_t>(x.indptr(t)), end = static_cast<size_t>(x.indptr(t + 1));
  if (!x.labels) {
    out->no_label(begin == end);
  } else if (const int32_t id = (*x.labels)(t); id >= 0) {
    out->label(string_of(labels, id));
  } else {
    throw NotExpressible(std::string("there is no single label, which ") + Writer::kFormat +
                         " cannot express; leave the sequence out");
  }
  for (size_t i = begin; i < end; ++i) {
    out->attribute(string_of(attributes, x.indices(i)), x.values ? (*x.values)(i) : 1.0);
  }
  out->end_position();
}

// numbered_from: the number of the first sequence in messages.
template <class Writer>
std::string write_sequences(const ItemArrays& x, const Vocabulary& attributes, const Vocabulary& labels,
                            size_t numbered_from) {
  Writer out;
  for (size_t i = 0; i + 1 < x.offsets.size(); ++i) {
    const std::string where = "sequence " + std::to_string(numbered_from + i);
    const int64_t begin = x.offsets(i), end = x.offsets(i + 1);
    if (begin == end) {
      throw NotExpressible(where + " is empty, which " + Writer::kFormat + " cannot express; leave it out");
    }
    int64_t t = begin;
    try {
      if (x.weights) out.weight((*x.weights)(i));
      for (; t < end; ++t) write_position(x, attributes, labels, static_cast<size_t>(t), &out);
    } catch (const NotExpressible& problem) {
      throw NotExpressible(where + ", position " + std::to_string(t - begin) + ": " + problem.what());
    }
    out.text += '\n';
  }
  return std::move(out.text);
}

nb::bytes write_items(const std::string& format, Array<const int64_t> offsets, Array<const int64_t> indptr,
                      Array<const int32_t> indices, std::optional<Array<const double>> values,
                      BoundVocabulary& vocabulary, std::optional<Array<const int32_t>> labels,
                      BoundVocabulary& names, std::optional<Array<const double>> weights,
                      size_t numbered_from) {
  const ItemArrays x{std::move(offsets), std::move(indptr), std::move(indices),
                     std::move(values),  std::move(labels), std::move(weights)};
  const Reading reading(&vocabulary), reading_names(&names);
  std::string text;
  try {
    translating([&] {
      const Unlocked released;
      check(x, *vocabulary.core, *names.core);
      text = format == "crfsuite"
                 ? write_sequences<CrfsuiteWriter>(x, *vocabulary.core, *names.core, numbered_from)
                 : write_sequences<MalletWriter>(x, *vocabulary.core, *names.core, numbered_from);
    });
  } catch (const NotExpressible& problem) {
    raise("InputError", problem.what());
  }
  return nb::bytes(text.data(), text.size());
}

}  // namespace

void bind_item_text(nb::module_& m) {
  nb::class_<BoundItemText>(m, "ItemText", "Reads an item file.")
      .def(nb::init<const std::string&, const std::string&, std::string>(), "format"_a, "labels"_a,
           "source"_a,
           "format: \"crfsuite\" or \"mallet\"; labels: \"required\", \"optional\" or \"absent\"; source: "
           "name in messages.")
      .def("read", &read_items, "chunks"_a, "vocabulary"_a, "grow"_a, "positions"_a, "prompt"_a,
           "Return (offsets int64 [N + 1], indptr int64 [sum T + 1], indices int32 [nnz], values float64 "
           "[nnz] or None, A, labels int32 [sum T], weights float64 [N] or None) of the next whole "
           "sequences, or None.")
      .def("label_names", &label_names, "start"_a, "Return the labels with ids start, start + 1, ...")
      .def_prop_ro("carriage_return_line",
                   [](const BoundItemText& t) { return t.reader->carriage_return_line(); })
      .def_prop_ro("colon_label_line", [](const BoundItemText& t) { return t.reader->colon_label_line(); });
  m.def("write_items", &write_items, "format"_a, "offsets"_array, "indptr"_array, "indices"_array,
        "values"_array, "vocabulary"_a, "labels"_array, "names"_a, "weights"_array, "numbered_from"_a,
        "Return sequences as text (bytes); numbered_from: the first one's number in messages.");
}

}  // namespace crfkit
