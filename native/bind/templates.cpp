// Templates over column tables.
#include <nanobind/stl/variant.h>

#include <string>

#include "bind.h"
#include "bound_vocabulary.h"
#include "templates/template_encode.h"
#include "templates/template_program.h"

namespace crfkit {
namespace {

std::string to_string(const nb::bytes& bytes) { return {bytes.c_str(), bytes.size()}; }

std::vector<std::string> to_strings(const std::vector<nb::bytes>& texts) {
  if (texts.empty()) throw nb::value_error("expected at least one text for positions outside the sequence");
  std::vector<std::string> out;
  for (const nb::bytes& text : texts) out.push_back(to_string(text));
  return out;
}

using Macro = std::tuple<nb::bytes, int, int32_t, uint32_t, bool,
                         nb::bytes>;  // command, anchor, row, column, fold, pattern
using Line =
    std::tuple<bool, std::vector<std::variant<nb::bytes, Macro>>>;  // from the second position on, pieces

TemplateMacro to_macro(const Macro& fields, TemplateProgram* program) {
  const auto& [command, anchor, row, column, fold, pattern] = fields;
  if (command.size() != 1 || anchor < 0 || anchor > 2) throw nb::value_error("a macro is malformed");
  TemplateMacro macro;
  macro.anchor = static_cast<Anchor>(anchor);
  macro.row = row;
  macro.column = column;
  macro.view = program->add_view(command.c_str()[0], fold, to_string(pattern));
  return macro;
}

void make_program(TemplateProgram* self, const std::vector<Line>& lines, const std::vector<nb::bytes>& before,
                  const std::vector<nb::bytes>& after) {
  TemplateProgram program(to_strings(before), to_strings(after));
  for (const auto& [from_second, pieces] : lines) {
    TemplateLine line;
    line.from_second = from_second;
    line.literals.emplace_back();
    for (const auto& piece : pieces) {
      if (const auto* literal = std::get_if<nb::bytes>(&piece)) {
        line.literals.back() += to_string(*literal);
      } else {
        line.macros.push_back(to_macro(std::get<Macro>(piece), &program));
        line.literals.emplace_back();
      }
    }
    program.add_line(std::move(line));
  }
  new (self) TemplateProgram(std::move(program));
}

void check_table(const CellTable& table, size_t n_rows, size_t n_offsets) {
  const auto n_cells = static_cast<int64_t>(table.cells->size());
  for (size_t i = 0; i < n_rows * table.n_columns; ++i) {
    if (table.ids[i] < 0 || table.ids[i] >= n_cells) throw nb::index_error("a cell id is out of range");
  }
  for (size_t i = 0; i < n_offsets; ++i) {
    const int64_t least = i == 0 ? 0 : table.offsets[i - 1];
    if (table.offsets[i] < least || (i == 0 && table.offsets[0] != 0)) {
      throw nb::value_error("offsets must begin with 0 and ascend");
    }
  }
  if (table.offsets[n_offsets - 1] != static_cast<int64_t>(n_rows)) {
    throw nb::value_error("the last offset must be the number of rows");
  }
}

auto encode(const TemplateProgram& program, BoundVocabulary& cells, Array<const int32_t, 2> ids,
            Array<const int64_t> offsets, BoundVocabulary& vocabulary, bool grow, int n_threads) {
  if (offsets.size() == 0) throw nb::value_error("offsets must not be empty");
  const Reading reading_cells(&cells);
  const CellTable table{cells.core.get(), ids.data(), offsets.data(), offsets.size() - 1, ids.shape(1)};
  if (ids.shape(0) > 0 && program.n_columns() > table.n_columns) {
    throw nb::value_error("the template reads more columns than the table has");
  }
  check_table(table, ids.shape(0), offsets.size());
  EncodedRows rows;
  translating([&] {
    TemplateEncoder encoder(program, table, vocabulary.core.get(), grow, n_threads);
    if (grow) {
      Growth growth(&vocabulary, true);
      {
        const nb::gil_scoped_release release;
        encoder.run(&rows);
      }
      growth.keep();
    } else {
      const Reading reading(&vocabulary);
      const nb::gil_scoped_release release;
      encoder.run(&rows);
    }
  });
  return std::tuple(to_numpy(&rows.indptr), to_numpy(&rows.indices), to_numpy_if(rows.valued, &rows.values),
                    vocabulary.core->size());
}

}  // namespace

void bind_templates(nb::module_& m) {
  nb::class_<TemplateProgram>(m, "TemplateProgram", "A compiled template.")
      .def("__init__", &make_program, "lines"_a, "before"_a, "after"_a)
      .def("encode", &encode, "cells"_a, "ids"_array, "offsets"_array, "vocabulary"_a, "grow"_a,
           "n_threads"_a,
           "Return (indptr int64 [sum T + 1], indices int32 [nnz], values float64 [nnz] or None, A)");
}

}  // namespace crfkit
