// The cells of one sequence, from Python objects to a feature program's inputs or a tree model's values. A
// sequence is a list of tokens, or of rows: lists, tuples, dicts, or objects with attributes.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "items.h"
#include "program/feature_runner.h"
#include "sequence_items.h"
#include "tagger/tree_model.h"

namespace crfkit {

inline bool is_missing(PyObject* cell) {
  if (cell == Py_None) return true;
  if (PyFloat_Check(cell)) return std::isnan(PyFloat_AS_DOUBLE(cell));
  const std::string_view type = Py_TYPE(cell)->tp_name;
  return type == "NAType" || type == "NaTType" || type == "pandas._libs.missing.NAType";
}

// Returns the UTF-8 of a str, which lives as long as the str; raises for a lone surrogate.
inline std::string_view text_of(PyObject* text, size_t position) {
  if (is_plain(text)) {
    return {static_cast<const char*>(PyUnicode_DATA(text)), static_cast<size_t>(PyUnicode_GET_LENGTH(text))};
  }
  Py_ssize_t size = 0;
  const char* data = PyUnicode_AsUTF8AndSize(text, &size);
  if (data == nullptr) {
    PyErr_Clear();
    raise_at_position(position, "a lone surrogate cannot be stored as UTF-8, got " + describe(text) +
                                    "; decode the text with errors='replace', or clean it");
  }
  return {data, static_cast<size_t>(size)};
}

// A sequence of tokens or rows.
class Rows {
 public:
  explicit Rows(PyObject* sequence) {
    if (is_text(sequence) || is_mapping(sequence) || !PySequence_Check(sequence)) {
      raise("InputError", "a sequence must be a list of tokens or rows, got " + describe(sequence) +
                              (PyUnicode_Check(sequence) ? "; split it first" : ""));
    }
    rows_ = checked(PySequence_Fast(sequence, "a sequence must be a list of tokens or rows"));
    size_ = static_cast<size_t>(PySequence_Fast_GET_SIZE(rows_.ptr()));
  }

  size_t size() const { return size_; }
  nb::object row(size_t t) const {
    if (static_cast<Py_ssize_t>(t) >= PySequence_Fast_GET_SIZE(rows_.ptr())) {
      raise("InputError", "the sequence changed while it was read");
    }
    return nb::borrow(PySequence_Fast_GET_ITEM(rows_.ptr(), static_cast<Py_ssize_t>(t)));
  }

  // Returns the cell of a column; an invalid object if it is optional and not there.
  nb::object cell(size_t t, const ProgramInput& input) const {
    nb::object row = this->row(t);
    if (PyUnicode_Check(row.ptr())) {
      if (!input.named && (input.place == 0 || input.place == -1)) return row;
      if (input.optional) return nb::object();
      raise_at_position(t,
                        "there is no column " + key(input) + ": the sequence has tokens, which are column 0");
    }
    if (input.named) return named(row, t, input);
    if (PyList_Check(row.ptr()) || PyTuple_Check(row.ptr())) {
      const Py_ssize_t n = Py_SIZE(row.ptr());
      const Py_ssize_t place = input.place < 0 ? input.place + n : input.place;
      if (place >= 0 && place < n) {
        return nb::borrow(PyList_Check(row.ptr()) ? PyList_GET_ITEM(row.ptr(), place)
                                                  : PyTuple_GET_ITEM(row.ptr(), place));
      }
    } else if (!PyDict_Check(row.ptr()) && PySequence_Check(row.ptr()) && !PyBytes_Check(row.ptr())) {
      if (PyObject* found = PySequence_GetItem(row.ptr(), input.place)) return nb::steal(found);
      PyErr_Clear();
    }
    if (input.optional) return nb::object();
    if (is_mapping(row.ptr())) {
      raise_at_position(t, "there is no column " + key(input) + " in " + describe(row.ptr()) +
                               "; name the column in the features: column('…')");
    }
    if (PyBytes_Check(row.ptr()) || !PySequence_Check(row.ptr())) {
      raise_at_position(
          t, "a token must be a str, and a row a list, tuple or dict of cells, got " + describe(row.ptr()));
    }
    raise_at_position(t, "there is no column " + key(input) + ": the row has " +
                             std::to_string(PySequence_Size(row.ptr())) + " cells, " + describe(row.ptr()));
  }

 private:
  static std::string key(const ProgramInput& input) {
    return input.named ? "'" + input.name + "'" : std::to_string(input.place);
  }

  static nb::object named(const nb::object& row, size_t t, const ProgramInput& input) {
    PyObject* found = nullptr;
    if (is_mapping(row.ptr())) {
      found = PyMapping_GetItemString(row.ptr(), input.name.c_str());
    } else if (!PyList_CheckExact(row.ptr()) && !PyTuple_CheckExact(row.ptr())) {
      found = PyObject_GetAttrString(row.ptr(), input.name.c_str());
    }
    if (found != nullptr) return nb::steal(found);
    PyErr_Clear();
    if (input.optional) return nb::object();
    raise_at_position(t, "there is no column " + key(input) + " in " + describe(row.ptr()) +
                             "; if it may be missing, write column(…, optional=True)");
  }

  nb::object rows_;
  size_t size_ = 0;
};

// Runs a feature program over a sequence.
class ProgramCells {
 public:
  ProgramCells(const FeatureProgram& program, FeatureRunner* runner) : program_(program), runner_(runner) {}

  void run(PyObject* sequence) {
    const Rows rows(sequence);
    runner_->begin(rows.size());
    const auto& inputs = program_.inputs();
    if (inputs.size() == 1 && inputs[0].kind == InputKind::kText && !inputs[0].named) {
      read_tokens(rows, inputs[0]);
    } else {
      for (size_t t = 0; t < rows.size(); ++t) {
        for (size_t i = 0; i < inputs.size(); ++i) put(i, t, rows.cell(t, inputs[i]));
      }
    }
    try {
      runner_->finish();
    } catch (const ProgramFault& fault) {
      raise_at_position(fault.position, fault.what());
    }
  }

 private:
  // The common case: one column.
  void read_tokens(const Rows& rows, const ProgramInput& input) {
    for (size_t t = 0; t < rows.size(); ++t) {
      const nb::object row = rows.row(t);
      if (PyUnicode_Check(row.ptr()) && (input.place == 0 || input.place == -1)) {
        runner_->values.put_text(0, t, text_of(row.ptr(), t));
      } else {
        put(0, t, rows.cell(t, input));
      }
    }
  }

  void put(size_t i, size_t t, const nb::object& cell) {
    const ProgramInput& input = program_.inputs()[i];
    const bool missing = !cell.is_valid() || is_missing(cell.ptr());
    switch (input.kind) {
      case InputKind::kGap:
        if (missing) runner_->values.put_text(i, t, std::string_view());
        return;
      case InputKind::kNumber:
        put_number(i, t, cell, missing);
        return;
      case InputKind::kVector:
        if (!missing) put_vector(i, t, cell);
        return;
      default:
        if (!missing) put_text(i, t, cell);
    }
  }

  void put_text(size_t i, size_t t, const nb::object& cell) {
    if (PyUnicode_Check(cell.ptr())) {
      runner_->values.put_text(i, t, text_of(cell.ptr(), t));
      return;
    }
    const bool several = PyList_Check(cell.ptr()) || PyTuple_Check(cell.ptr()) ||
                         PyAnySet_Check(cell.ptr()) || PyBytes_Check(cell.ptr()) || is_mapping(cell.ptr());
    if (several || PyObject_HasAttrString(cell.ptr(), "ndim")) {
      raise_at_position(
          t, program_.inputs()[i].title + ": expected text or a number, got " + describe(cell.ptr()));
    }
    const nb::object text = checked(PyObject_Str(cell.ptr()));
    runner_->values.put_text(i, t, text_of(text.ptr(), t));
  }

  void put_number(size_t i, size_t t, const nb::object& cell, bool missing) {
    const ProgramInput& input = program_.inputs()[i];
    if (!missing && PyUnicode_Check(cell.ptr())) {
      try {
        runner_->values.put_number_text(i, t, text_of(cell.ptr(), t));
      } catch (const ProgramFault& fault) {
        raise_at_position(t, fault.what());
      }
      return;
    }
    if (missing) {
      if (input.optional) return;
      raise_at_position(t, input.title +
                               ": expected a number, but it is missing; with column(…, "
                               "optional=True) the attribute is left out there");
    }
    const double number = PyFloat_AsDouble(cell.ptr());
    if (number == -1.0 && PyErr_Occurred()) {
      PyErr_Clear();
      raise_at_position(t, input.title + ": expected a number, got " + describe(cell.ptr()));
    }
    if (!std::isfinite(number)) {
      raise_at_position(t, input.title + ": expected a finite number, got " + describe(cell.ptr()));
    }
    runner_->values.put_number(i, t, number);
  }

  void put_vector(size_t i, size_t t, const nb::object& cell) {
    const std::string& title = program_.inputs()[i].title;
    std::vector<double>& numbers = vectors_.emplace_back();
    const auto refuse = [&] {
      raise_at_position(t, title + ": expected a vector of finite numbers, got " + describe(cell.ptr()));
    };
    if (is_text(cell.ptr()) || !for_each(cell.ptr(), [&](PyObject* element) {
          const double number = PyFloat_AsDouble(element);
          const bool failed = number == -1.0 && PyErr_Occurred() != nullptr;
          if (failed) PyErr_Clear();
          if (failed || !std::isfinite(number)) refuse();
          numbers.push_back(number);
        })) {
      refuse();
    }
    if (widths_.size() <= i) widths_.resize(i + 1, numbers.size());
    if (widths_[i] != numbers.size()) {
      raise_at_position(t, title + ": expected " + std::to_string(widths_[i]) +
                               " numbers like the others, got " + std::to_string(numbers.size()));
    }
    runner_->values.put_vector(i, t, numbers.data(), numbers.size());
  }

  const FeatureProgram& program_;
  FeatureRunner* runner_;
  std::deque<std::vector<double>> vectors_;  // of the cells
  std::vector<size_t> widths_;               // [inputs] of the first vector
};

// Reads the values of a tree model: dicts of names, or rows of values.
class TableCells {
 public:
  explicit TableCells(const TreeModel& model) : model_(model) {}

  // Fills values [T, K]; returns T.
  size_t read(PyObject* sequence, std::vector<double>* values) {
    const Rows rows(sequence);
    const size_t K = model_.columns().size();
    values->assign(rows.size() * K, TreeModel::kMissing);
    for (size_t t = 0; t < rows.size(); ++t) {
      const nb::object row = rows.row(t);
      const bool by_name = is_mapping(row.ptr());
      if (by_name == model_.width().has_value()) refuse_kind(t, row.ptr());
      const bool single = !by_name && !PyList_Check(row.ptr()) && !PyTuple_Check(row.ptr());
      const nb::object cells = single    ? checked(PyTuple_Pack(1, row.ptr()))
                               : by_name ? row
                                         : checked(PySequence_Tuple(row.ptr()));
      if (!by_name && static_cast<size_t>(PyTuple_GET_SIZE(cells.ptr())) != *model_.width()) {
        raise_at_position(t, "the row has " + std::to_string(PyTuple_GET_SIZE(cells.ptr())) +
                                 " columns, but " + std::to_string(*model_.width()) +
                                 " were expected, as in training");
      }
      for (size_t k = 0; k < K; ++k) (*values)[t * K + k] = value(cells, by_name, k, t);
    }
    return rows.size();
  }

 private:
  double value(const nb::object& cells, bool by_name, size_t k, size_t t) const {
    const TreeModel::Column& column = model_.columns()[k];
    nb::object cell;
    if (by_name) {
      cell = nb::steal(PyMapping_GetItemString(cells.ptr(), column.name.c_str()));
      if (!cell.is_valid()) {
        PyErr_Clear();
        return TreeModel::kMissing;
      }
    } else {
      cell = nb::borrow(PyTuple_GET_ITEM(cells.ptr(), static_cast<Py_ssize_t>(model_.place(k))));
    }
    if (is_missing(cell.ptr())) return TreeModel::kMissing;
    const bool text = PyUnicode_Check(cell.ptr());
    if (text && column.is_category) return TreeModel::category(column, text_of(cell.ptr(), t));
    const bool numbers_fit = !column.is_category || column.declared || column.all_numbers;
    const double number = text ? 0 : PyFloat_AsDouble(cell.ptr());
    if (text || (number == -1.0 && PyErr_Occurred()) || !numbers_fit) {
      PyErr_Clear();
      raise_at_position(t, "feature '" + column.name + "' held " + (column.is_category ? "text" : "numbers") +
                               " in training, but here " + describe(cell.ptr()) +
                               ": use the same kind as in training; None is a missing value");
    }
    if (!column.is_category && !std::isfinite(number)) {
      raise_at_position(
          t, "feature '" + column.name + "': expected a finite number, or None where it is missing");
    }
    if (!column.is_category) return number;
    const nb::object whole = std::floor(number) == number && std::isfinite(number)
                                 ? checked(PyLong_FromDouble(number))
                                 : checked(PyFloat_FromDouble(number));
    const nb::object written = checked(PyObject_Repr(whole.ptr()));
    return TreeModel::category(column, text_of(written.ptr(), t));
  }

  [[noreturn]] void refuse_kind(size_t t, PyObject* row) const {
    const std::string expected = model_.width()
                                     ? "rows of " + std::to_string(*model_.width()) + " values without names"
                                     : std::string("named values (dicts)");
    raise_at_position(t, "the model was trained on " + expected + ", got " + describe(row));
  }

  const TreeModel& model_;
};

}  // namespace crfkit
