// Feature programs: from the cells of sentences to sequences of attribute ids.
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <memory>
#include <string>
#include <variant>

#include "bind.h"
#include "bound_vocabulary.h"
#include "items.h"
#include "program/feature_program.h"
#include "program/feature_runner.h"
#include "program/program_encode.h"
#include "program/step.h"
#include "unicode/tables.h"
#include "unicode/tokenize.h"

namespace crfkit {
namespace {

// Raises InputError with the position of the batch that it is about.
[[noreturn]] void raise_at(size_t position, const std::string& message) {
  const nb::object error =
      nb::module_::import_("crfkit.exceptions").attr("InputError")(nb::str(message.data(), message.size()));
  error.attr("position") = position;
  PyErr_SetObject(error.type().ptr(), error.ptr());
  throw nb::python_error();
}

std::string_view bytes_of(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

// Returns the UTF-8 of a str; a view that lives as long as the str. False for a lone surrogate.
bool utf8_of(PyObject* text, std::string_view* utf8) {
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    return false;
  }
  *utf8 = {data, static_cast<size_t>(size)};
  return true;
}

std::string surrogate_problem(PyObject* text) {
  return "a lone surrogate cannot be stored as UTF-8, got " + describe(text) +
         "; decode the text with errors='replace', or clean it";
}

void make_step(Step* self, const nb::bytes& code) {
  ByteReader reader(bytes_of(code));
  new (self) Step(&reader);
}

std::variant<bool, std::optional<std::string>> apply_step(const Step& step, nb::str cell) {
  std::string_view text;
  if (!utf8_of(cell.ptr(), &text)) raise("InputError", surrogate_problem(cell.ptr()));
  std::string made;
  const bool found = step.apply(text, &made) != Step::Result::kNothing;
  if (step.is_test()) return found;
  return found ? std::optional(made) : std::nullopt;
}

void make_program(FeatureProgram* self, const nb::bytes& code, bool stored) {
  try {
    new (self) FeatureProgram(bytes_of(code), stored);
  } catch (const ProgramError& error) {
    raise("ModelFileError", std::string("its feature program is damaged: ") + error.what());
  }
}

// The tokens of a text: text, start and end in characters.
std::vector<std::tuple<std::string_view, size_t, size_t>> tokenize(nb::str text) {
  std::string_view utf8;
  if (!utf8_of(text.ptr(), &utf8)) raise("InputError", surrogate_problem(text.ptr()));
  std::vector<std::tuple<std::string_view, size_t, size_t>> tokens;
  for (const unicode::TokenSpan& token : unicode::tokenize(utf8)) {
    tokens.emplace_back(utf8.substr(token.first_byte, token.after_byte - token.first_byte), token.start,
                        token.end);
  }
  return tokens;
}

// kind, optional, computed, key, title
using InputRecord = std::tuple<int, bool, bool, std::variant<int, std::string>, std::string>;

std::vector<InputRecord> inputs_of(const FeatureProgram& program) {
  std::vector<InputRecord> records;
  for (const ProgramInput& input : program.inputs()) {
    std::variant<int, std::string> key = input.place;
    if (input.named) key = input.name;
    records.emplace_back(static_cast<int>(input.kind), input.optional, input.computed, std::move(key),
                         input.title);
  }
  return records;
}

// The ids of cells in a vocabulary of distinct cells, which grows; None is -1.
Numpy<int32_t> cell_ids(BoundVocabulary& vocabulary, nb::typed<nb::list, std::optional<std::string>> cells) {
  GrowableArray<int32_t> ids;
  Growth growth(&vocabulary);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(cells.ptr()); ++i) {
    PyObject* cell = PyList_GET_ITEM(cells.ptr(), i);
    std::string_view text;
    if (cell == Py_None) {
      ids.push_back(-1);
      continue;
    }
    if (is_plain(cell)) {
      text = {static_cast<const char*>(PyUnicode_DATA(cell)),
              static_cast<size_t>(PyUnicode_GET_LENGTH(cell))};
    } else if (!PyUnicode_Check(cell) || !utf8_of(cell, &text)) {
      raise_at(static_cast<size_t>(i),
               PyUnicode_Check(cell) ? surrogate_problem(cell) : "expected text, got " + describe(cell));
    }
    ids.push_back(vocabulary.core->find_or_add(text, hash_string(text)));
  }
  growth.keep();
  return to_numpy(&ids);
}

void check_batch(const FeatureProgram& program, const ProgramBatch& batch, size_t n_rows, size_t n_offsets) {
  const auto n_cells = static_cast<int64_t>(batch.cells->size());
  for (size_t i = 0; i < n_rows * batch.n_columns; ++i) {
    if (batch.ids[i] < -1 || batch.ids[i] >= n_cells) throw nb::index_error("a cell id is out of range");
  }
  require(batch.columns.size() == program.inputs().size(), "there must be one column per input");
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const InputKind kind = program.inputs()[i].kind;
    const bool numbers = kind == InputKind::kNumber || kind == InputKind::kVector;
    require(batch.columns[i] < (numbers ? batch.matrices.size() : batch.n_columns),
            "there is no such column");
    require(kind != InputKind::kNumber || batch.matrices[batch.columns[i]].width == 1,
            "a column of numbers has one number per row");
  }
  for (size_t i = 0; i < n_offsets; ++i) {
    const int64_t least = i == 0 ? 0 : batch.offsets[i - 1];
    require(batch.offsets[i] >= least && (i > 0 || batch.offsets[0] == 0),
            "offsets must begin with 0 and ascend");
  }
  require(batch.offsets[n_offsets - 1] == static_cast<int64_t>(n_rows),
          "the last offset must be the number of rows");
}

auto encode(const FeatureProgram& program, BoundVocabulary& cells, Array<const int32_t, 2> ids,
            std::vector<size_t> columns, const std::vector<Array<const double, 2>>& matrices,
            Array<const int64_t> offsets, BoundVocabulary& vocabulary, bool grow, bool keep_zeros,
            int n_threads) {
  require(offsets.size() > 0, "offsets must not be empty");
  const Reading reading_cells(&cells);
  ProgramBatch batch{cells.core.get(), ids.data(),        ids.shape(1), std::move(columns), {},
                     offsets.data(),   offsets.size() - 1};
  for (const auto& matrix : matrices) {
    require(matrix.shape(0) == ids.shape(0), "the columns have different lengths");
    batch.matrices.push_back({matrix.data(), matrix.shape(1)});
  }
  check_batch(program, batch, ids.shape(0), offsets.size());
  EncodedRows rows;
  const auto run = [&] {
    ProgramEncoder encoder(program, batch, vocabulary.core.get(), grow, keep_zeros, n_threads);
    const Unlocked release;
    encoder.run(&rows);
  };
  translating([&] {
    try {
      if (grow) {
        Growth growth(&vocabulary, true);
        run();
        growth.keep();
      } else {
        const Reading reading(&vocabulary);
        run();
      }
    } catch (const ProgramFault& fault) {
      raise_at(fault.position, fault.what());
    }
  });
  return std::tuple(to_numpy(&rows.indptr), to_numpy(&rows.indices), to_numpy_if(rows.valued, &rows.values),
                    vocabulary.core->size(), to_numpy(std::move(rows.numeric)));
}

}  // namespace

void bind_program(nb::module_& m) {
  m.attr("UNICODE_VERSION") = unicode::kVersion;
  nb::class_<Step>(m, "Step", "A function of a text, as feature programs have it.")
      .def("__init__", &make_step, "code"_a)
      .def("__call__", &apply_step, "cell"_a);
  nb::class_<FeatureProgram>(m, "FeatureProgram", "A compiled description of attributes.")
      .def("__init__", &make_program, "code"_a, "stored"_a)
      .def("inputs", &inputs_of, "Return (kind, optional, computed, key, title) for each column it reads.")
      .def("encode", &encode, "cells"_a, "ids"_array, "columns"_a, "matrices"_a, "offsets"_array,
           "vocabulary"_a, "grow"_a, "keep_zeros"_a, "n_threads"_a,
           "Return (indptr int64 [sum T + 1], indices int32 [nnz], values float64 [nnz] or None, A, numeric "
           "uint8 [A], if it grew: which attributes have values)");
  m.def("tokenize", &tokenize, "text"_a, "Return (text, start, end) of each token; places count characters.");
  m.def("cell_ids", &cell_ids, "vocabulary"_a, "cells"_a,
        "Return the ids of cells, int32 [len(cells)], which are added to the vocabulary; -1 for None.");
}

}  // namespace crfkit
