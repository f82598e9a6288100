// Templates over column tables.
#include <string>

#include "bind.h"
#include "bound_vocabulary.h"
#include "templates/template_encode.h"
#include "templates/template_program.h"

namespace crfkit {
namespace {

std::string to_string(nb::handle bytes) {
  const auto held = nb::cast<nb::bytes>(bytes);
  return {static_cast<const char*>(held.data()), held.size()};
}

std::vector<std::string> to_strings(const nb::list& list) {
  std::vector<std::string> out;
  for (const nb::handle item : list) out.push_back(to_string(item));
  if (out.empty()) throw nb::value_error("there must be a text for outside the sequence");
  return out;
}

// (command, anchor, row, column, fold, pattern)
TemplateMacro to_macro(const nb::tuple& fields, TemplateProgram* program) {
  if (fields.size() != 6) throw nb::value_error("a macro has six fields");
  const std::string command = to_string(fields[0]);
  const auto anchor = nb::cast<int>(fields[1]);
  if (command.size() != 1 || anchor < 0 || anchor > 2) throw nb::value_error("not a macro");
  TemplateMacro macro;
  macro.anchor = static_cast<Anchor>(anchor);
  macro.row = nb::cast<int32_t>(fields[2]);
  macro.column = nb::cast<uint32_t>(fields[3]);
  macro.view = program->add_view(command[0], nb::cast<bool>(fields[4]), to_string(fields[5]));
  return macro;
}

// Lines: (from_second, pieces); a piece is bytes or a macro.
void make_program(TemplateProgram* self, const nb::list& lines, const nb::list& before,
                  const nb::list& after) {
  TemplateProgram program(to_strings(before), to_strings(after));
  for (const nb::handle item : lines) {
    const auto fields = nb::cast<nb::tuple>(item);
    TemplateLine line;
    line.from_second = nb::cast<bool>(fields[0]);
    line.literals.emplace_back();
    for (const nb::handle piece : fields[1]) {
      if (nb::isinstance<nb::bytes>(piece)) {
        line.literals.back() += to_string(piece);
      } else {
        line.macros.push_back(to_macro(nb::cast<nb::tuple>(piece), &program));
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
    if (table.ids[i] < 0 || table.ids[i] >= n_cells) throw nb::index_error("a cell id outside the cells");
  }
  for (size_t i = 0; i < n_offsets; ++i) {
    const int64_t least = i == 0 ? 0 : table.offsets[i - 1];
    if (table.offsets[i] < least || (i == 0 && table.offsets[0] != 0)) {
      throw nb::value_error("offsets must begin with 0 and not fall");
    }
  }
  if (table.offsets[n_offsets - 1] != static_cast<int64_t>(n_rows)) {
    throw nb::value_error("the last offset must be the number of rows");
  }
}

nb::tuple encode(const TemplateProgram& program, BoundVocabulary& cells, Array<const int32_t, 2> ids,
                 Array<const int64_t> offsets, BoundVocabulary& vocabulary, bool grow, int n_threads) {
  if (offsets.size() == 0) throw nb::value_error("offsets must not be empty");
  const Reading reading_cells(&cells);
  const CellTable table{cells.core.get(), ids.data(), offsets.data(), offsets.size() - 1, ids.shape(1)};
  if (ids.shape(0) > 0 && program.n_columns() > table.n_columns) {
    throw nb::value_error("the template needs more columns");
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
  return nb::make_tuple(to_numpy(&rows.indptr), to_numpy(&rows.indices),
                        rows.valued ? to_numpy(&rows.values) : nb::object(nb::none()),
                        vocabulary.core->size());
}

}  // namespace

void bind_templates(nb::module_& m) {
  nb::class_<TemplateProgram>(m, "TemplateProgram", "A compiled template.")
      .def("__init__", &make_program, nb::arg("lines"), nb::arg("before"), nb::arg("after"))
      .def("encode", &encode, nb::arg("cells"), nb::arg("ids").noconvert(), nb::arg("offsets").noconvert(),
           nb::arg("vocabulary"), nb::arg("grow"), nb::arg("n_threads"),
           "(indptr int64 [sum T + 1], indices int32 [nnz], values float64 [nnz] or None, A)");
}

}  // namespace crfkit
