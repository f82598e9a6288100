// Column files and Python rows to tables of cell ids.
#include "ingest/columns.h"

#include <nanobind/stl/unique_ptr.h>

#include <string>

#include "bind.h"
#include "bound_vocabulary.h"
#include "items.h"

namespace crfkit {
namespace {

// (cells Vocabulary, ids int32 [ΣT, K], offsets int64 [N + 1], lines int64 [ΣT])
auto to_python(std::unique_ptr<ColumnTable> table) {
  auto cells = std::make_unique<BoundVocabulary>();
  cells->core = std::move(table->cells);
  const size_t n_positions = table->n_positions(), n_columns = table->n_columns;
  int32_t* ids = table->ids.release().release();
  const nb::capsule owner(ids, [](void* p) noexcept { std::free(p); });
  return std::tuple(std::move(cells), Numpy<int32_t, 2>(ids, {n_positions, n_columns}, owner),
                    to_numpy(&table->offsets), to_numpy(&table->lines));
}

// The parser and the name of its source, for messages.
class BoundParser {
 public:
  BoundParser(std::string source, bool at_tabs) : source_(std::move(source)), parser_(at_tabs) {}

  void feed(nb::bytes piece) {
    run([&] { parser_.feed(static_cast<const char*>(piece.data()), piece.size()); });
  }
  void finish() {
    run([&] { parser_.finish(); });
  }
  size_t ready() {
    check_free();
    return parser_.ready();
  }
  std::unique_ptr<ColumnTable> take_table() {
    check_free();
    return parser_.take();
  }
  auto take() { return to_python(take_table()); }

 private:
  void check_free() const {
    if (busy_) raise("InputError", source_ + " is being read by another thread");
  }

  template <class Fn>
  void run(Fn&& fn) {
    check_free();
    busy_ = true;
    try {
      {
        const Unlocked release;
        fn();
      }
      busy_ = false;
    } catch (const ColumnFault& fault) {
      busy_ = false;
      raise("InputError", source_ + ":" + std::to_string(fault.line) + ": " + fault.what());
    } catch (const std::length_error& limit) {
      busy_ = false;
      raise("InputError", source_ + ": " + limit.what());
    }
  }

  std::string source_;
  ColumnParser parser_;
  bool busy_ = false;  // a thread is parsing without the GIL
};

std::string_view utf8_of(PyObject* text) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    raise("InputError", "a cell holds a lone surrogate, which has no UTF-8 form: " + describe(text));
  }
  return {data, static_cast<size_t>(size)};
}

// Reads sentences of rows of str. Lines are numbered as in a file with an empty line between sentences.
auto columns_from_rows(nb::handle sentences) {
  auto table = std::make_unique<ColumnTable>();
  int64_t line = 0, sentence_number = 0;
  const auto fail = [&](int64_t row, const std::string& problem) {
    raise("InputError",
          "sentence " + std::to_string(sentence_number) + ", row " + std::to_string(row) + ": " + problem);
  };
  const auto read_row = [&](PyObject* row, int64_t number) {
    size_t n_cells = 0;
    if (is_text(row) || is_mapping(row) || !for_each(row, [&](PyObject* cell) {
          if (!PyUnicode_Check(cell)) {
            fail(number, "a cell must be str, got " + describe(cell));
          }
          const std::string_view text = utf8_of(cell);
          table->ids.push_back(table->cells->find_or_add(text, hash_string(text)));
          ++n_cells;
        })) {
      fail(number, "expected a list of cells, got " + describe(row));
    }
    if (table->n_positions() == 0) table->n_columns = n_cells;
    if (n_cells == 0 || n_cells != table->n_columns) {
      fail(number, n_cells == 0 ? std::string("a row needs at least one cell")
                                : "expected " + std::to_string(table->n_columns) +
                                      " columns as in the first row, got " + std::to_string(n_cells));
    }
    table->lines.push_back(++line);
  };
  const auto read_sentence = [&](PyObject* sentence) {
    int64_t row_number = 0;
    if (is_text(sentence) || is_mapping(sentence) ||
        !for_each(sentence, [&](PyObject* row) { read_row(row, row_number++); })) {
      raise("InputError", "sentence " + std::to_string(sentence_number) + ": expected a list of rows, got " +
                              describe(sentence));
    }
    table->offsets.push_back(static_cast<int64_t>(table->n_positions()));
    ++line;
    ++sentence_number;
  };
  translating([&] {
    if (is_text(sentences.ptr()) || is_mapping(sentences.ptr()) ||
        !for_each(sentences.ptr(), read_sentence)) {
      raise("InputError", "expected a list of sentences, got " + describe(sentences.ptr()));
    }
  });
  return to_python(std::move(table));
}

// Renumbers ids [n] in order of first appearance: (old id of each new one, new ids), both int32.
auto renumber(Array<const int32_t> ids, size_t n_known) {
  GrowableArray<int32_t> chosen, codes;
  {
    const Unlocked release;
    std::vector<int32_t> code_of(n_known, -1);  // [n_known]
    for (size_t i = 0; i < ids.size(); ++i) {
      const auto id = static_cast<size_t>(ids.data()[i]);
      if (id >= n_known) throw nb::index_error("an id is outside the vocabulary");
      if (code_of[id] < 0) {
        code_of[id] = static_cast<int32_t>(chosen.size());
        chosen.push_back(static_cast<int32_t>(id));
      }
      codes.push_back(code_of[id]);
    }
  }
  return std::tuple(to_numpy(&chosen), to_numpy(&codes));
}

// Returns the file's text: cells and further columns (codes [ΣT, E], indices into names) between separators.
nb::bytes columns_text(BoundVocabulary& cells, Array<const int32_t, 2> ids, Array<const int64_t> offsets,
                       nb::typed<nb::list, nb::str> names, Array<const int32_t, 2> codes, char separator) {
  const Reading reading(&cells);
  const size_t n_rows = ids.shape(0), n_columns = ids.shape(1), n_more = codes.shape(1);
  const size_t n_cells = cells.core->size();
  std::vector<std::string_view> texts(n_cells + names.size());  // the names after the cells
  for (size_t i = 0; i < texts.size(); ++i) {
    if (i >= n_cells) {
      texts[i] = utf8_of(names[i - n_cells].ptr());
    } else if (!cells.core->string(i, &texts[i])) {
      raise("InputError", "a cell lies outside its arena");
    }
  }
  std::vector<char> fits(texts.size(), 0);  // 1: this text can be written
  const auto check = [&](size_t i) {
    const std::string_view text = texts[i];
    const bool plain = separator == '\t' || text.find('\t') == std::string_view::npos;
    if (text.find(separator) != std::string_view::npos || text.find('\n') != std::string_view::npos ||
        !plain || (text.empty() && separator != '\t')) {
      raise("InputError", "the cell '" + std::string(text) + "' cannot be written between " +
                              (separator == '\t' ? "tabs" : "blanks"));
    }
    fits[i] = 1;
  };
  if (codes.shape(0) != n_rows || offsets.size() == 0 ||
      offsets.data()[offsets.size() - 1] != static_cast<int64_t>(n_rows)) {
    throw nb::value_error("ids, offsets and codes must have the same rows");
  }
  std::string out;
  size_t t = 0;
  for (size_t i = 1; i < offsets.size(); ++i) {
    for (; static_cast<int64_t>(t) < offsets.data()[i] && t < n_rows; ++t) {
      for (size_t k = 0; k < n_columns + n_more; ++k) {
        const bool is_cell = k < n_columns;
        const int32_t id = is_cell ? ids.data()[t * n_columns + k] : codes.data()[t * n_more + k - n_columns];
        const size_t place = is_cell ? static_cast<size_t>(id) : n_cells + static_cast<size_t>(id);
        if (id < 0 || place >= (is_cell ? n_cells : texts.size()))
          throw nb::index_error("an id is out of range");
        if (!fits[place]) check(place);
        if (k > 0) out += separator;
        out += texts[place];
      }
      out += '\n';
    }
    out += '\n';
  }
  return nb::bytes(out.data(), out.size());
}

}  // namespace

void bind_columns(nb::module_& m) {
  nb::class_<BoundParser>(m, "ColumnParser", "Parses the bytes of a column file, fed in pieces.")
      .def(
          "__init__",
          [](BoundParser* self, nb::str source, bool at_tabs) {
            new (self) BoundParser(std::string(utf8_of(source.ptr())), at_tabs);
          },
          "source"_a, "at_tabs"_a)
      .def("feed", &BoundParser::feed, "piece"_a)
      .def("finish", &BoundParser::finish)
      .def_prop_ro("ready", &BoundParser::ready, "Number of positions in complete sequences.")
      .def("take", &BoundParser::take,
           "Return (cells, ids int32 [sum T, K], offsets int64 [N + 1], lines int64 [sum T]) of them.")
      .def("take_table", &BoundParser::take_table, "Return them as a ColumnTable, without NumPy.");
  m.def("columns_from_rows", &columns_from_rows, "sentences"_a, "Return what ColumnParser.take returns.");
  m.def("columns_text", &columns_text, "cells"_a, "ids"_array, "offsets"_array, "names"_a, "codes"_array,
        "separator"_a, "Return the bytes of a column file; codes int32 [sum T, E] index names.");
  m.def("renumber", &renumber, "ids"_array, "n_known"_a,
        "Return (old id of each new one int32 [n], new ids int32 [len(ids)]), by first appearance.");
}

}  // namespace crfkit
