// Reads one item (the attributes of one position) from Python objects, with python-crfsuite's meaning: a list
// of names; or a dict where a string value makes "key:value", a number "key" with that value, a dict
// "key:..." of its entries, and a list or set "key:name" for each name. In addition: tuples, frozensets, any
// mapping, and a vector of numbers, which makes "key:0", "key:1", ...
//
// Python code may run in between (iterators, __float__) and change the containers being read: sizes are
// checked again at every step, and a reference to each element is held while it is read.
#pragma once

#include <Python.h>
#include <nanobind/nanobind.h>

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "ingest/vocabulary.h"

namespace crfkit {

namespace nb = nanobind;

// Says what is wrong with the data; the caller adds where.
class InputProblem : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

inline nb::object checked(PyObject* owned) {
  if (owned == nullptr) throw nb::python_error();
  return nb::steal(owned);
}

// Returns type and value, cut to a readable length: "float 0.5", "dict {'a': 1}".
inline std::string describe(PyObject* object) {
  std::string text = Py_TYPE(object)->tp_name;
  if (object == Py_None) return "None";
  PyObject* repr = PyObject_Repr(object);
  Py_ssize_t size = 0;
  const char* utf8 = repr == nullptr ? nullptr : PyUnicode_AsUTF8AndSize(repr, &size);
  if (utf8 == nullptr) {
    PyErr_Clear();
  } else {
    constexpr Py_ssize_t kLongest = 60;
    Py_ssize_t cut = std::min(size, kLongest);
    while (cut < size && (utf8[cut] & 0xc0) == 0x80) --cut;  // never inside a character
    text += ' ';
    text.append(utf8, static_cast<size_t>(cut));
    if (cut < size) text += "...";
  }
  Py_XDECREF(repr);
  return text;
}

// Calls visit(element) for the elements of a list, tuple or any iterable. Returns false for anything else.
template <class Visit>
bool for_each(PyObject* container, Visit&& visit) {
  if (PyList_Check(container)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); ++i) {
      PyObject* element = PyList_GET_ITEM(container, i);
      // Reading a plain str runs no Python code; counting references would write to every string's memory.
      const nb::object held = PyUnicode_CheckExact(element) ? nb::object() : nb::borrow(element);
      visit(element);
    }
    return true;
  }
  if (PyTuple_Check(container)) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(container); ++i) visit(PyTuple_GET_ITEM(container, i));
    return true;
  }
  PyObject* iterator = PyObject_GetIter(container);
  if (iterator == nullptr) {
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) throw nb::python_error();
    PyErr_Clear();
    return false;
  }
  const nb::object held = nb::steal(iterator);
  while (PyObject* next = PyIter_Next(iterator)) {
    const nb::object element = nb::steal(next);
    visit(element.ptr());
  }
  if (PyErr_Occurred()) throw nb::python_error();
  return true;
}

inline bool is_text(PyObject* object) { return PyUnicode_Check(object) || PyBytes_Check(object); }

// Lists are tested first: looking for an attribute they lack is slow.
inline bool is_mapping(PyObject* object) {
  if (PyList_Check(object) || PyTuple_Check(object)) return false;
  return PyDict_Check(object) || (PyMapping_Check(object) && PyObject_HasAttrString(object, "items"));
}

// Prefetches the strings of a list or dict, which lie scattered over memory, to be read a little later.
inline void prefetch_elements(PyObject* container) {
  if (PyList_Check(container)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(container); ++i) prefetch(PyList_GET_ITEM(container, i));
  } else if (PyDict_CheckExact(container)) {
    PyObject* value;
    for (Py_ssize_t place = 0; PyDict_Next(container, &place, nullptr, &value);) prefetch(value);
  }
}

inline bool is_plain(PyObject* object) {
  return PyUnicode_CheckExact(object) && PyUnicode_IS_COMPACT_ASCII(object);
}

struct Attribute {
  const char* borrowed;  // its name, where that lies in a Python string; else null
  size_t start;          // its name is text[start .. start + size)
  size_t size;
  double value;  // finite; not 0, unless the reader keeps zeros
};

class ItemReader {
 public:
  explicit ItemReader(bool keep_zeros = false) : keep_zeros_(keep_zeros) {}

  void clear() {
    text_.clear();
    prefix_.clear();
    attributes_.clear();
  }

  // Reads the common case, a list of ASCII strings: no Python code runs, and their characters are used in
  // place. Returns false, with nothing added, for anything else.
  bool read_plain(PyObject* item) {
    if (!PyList_CheckExact(item)) return false;
    const size_t before = attributes_.size();
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(item); ++i) {
      PyObject* name = PyList_GET_ITEM(item, i);
      if (!is_plain(name)) {
        attributes_.resize(before);
        return false;
      }
      attributes_.push_back({static_cast<const char*>(PyUnicode_DATA(name)), 0,
                             static_cast<size_t>(PyUnicode_GET_LENGTH(name)), 1.0});
    }
    return true;
  }

  // Reads any item. Replaces those read before: Python code may run, and borrowed names disappear.
  void read(PyObject* item) {
    clear();
    if (is_text(item)) {
      throw InputProblem(
          "an item must be a list of attribute strings or a dict, got " + describe(item) +
          ". X is a list of sequences, a sequence is a list of positions: for one sequence "
          "write [x], and put the attributes of each position in a list of their own: [['a', 'b'], ['c']]");
    }
    if (is_mapping(item)) {
      read_mapping(item, 0);
    } else if (!read_names(item)) {
      throw InputProblem("an item must be a list of attribute strings or a dict, got " + describe(item));
    }
  }

  const std::vector<Attribute>& attributes() const { return attributes_; }
  // Returns a view that is valid until Python code runs.
  std::string_view name(const Attribute& a) const {
    return {a.borrowed != nullptr ? a.borrowed : text_.data() + a.start, a.size};
  }

 private:
  static constexpr int kDeepest = 32;

  // Reads a list, tuple, set or iterable of names, each under the prefix. False if it is not iterable.
  bool read_names(PyObject* container) {
    const size_t first = attributes_.size();
    const bool iterable = for_each(container, [&](PyObject* element) {
      if (!is_text(element)) refuse_name(element, "an attribute in a list");
      add_name(element);
    });
    // The order of a set differs between processes; the ids must not.
    if (PyAnySet_Check(container)) {
      std::sort(attributes_.begin() + static_cast<std::ptrdiff_t>(first), attributes_.end(),
                [this](const Attribute& a, const Attribute& b) { return name(a) < name(b); });
    }
    return iterable;
  }

  void read_mapping(PyObject* mapping, int depth) {
    if (depth > kDeepest) {
      throw InputProblem("feature '" + prefix_.substr(0, 60) + "...': dicts nested more than " +
                         std::to_string(kDeepest) + " deep, or one that contains itself");
    }
    // Subclasses with their own iteration (OrderedDict) are read through items().
    if (PyDict_Check(mapping) && Py_TYPE(mapping)->tp_iter == PyDict_Type.tp_iter) {
      const Py_ssize_t size = PyDict_GET_SIZE(mapping);
      PyObject *key, *value;
      for (Py_ssize_t place = 0; PyDict_Next(mapping, &place, &key, &value);) {
        if (is_plain(key) && is_plain(value)) {
          add_plain(key, value);
          continue;
        }
        const nb::object held_key = nb::borrow(key), held_value = nb::borrow(value);
        read_entry(key, value, depth);
        if (PyDict_GET_SIZE(mapping) != size) throw InputProblem("a dict changed while it was read");
      }
      return;
    }
    const nb::object items = checked(PyMapping_Items(mapping));
    for_each(items.ptr(), [&](PyObject* pair) {
      if (!PyTuple_Check(pair) || PyTuple_GET_SIZE(pair) != 2) {
        throw InputProblem("items() of a mapping must give (key, value) pairs, got " + describe(pair));
      }
      read_entry(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1), depth);
    });
  }

  // Adds the common entry, "key:value", without counting references.
  void add_plain(PyObject* key, PyObject* value) {
    const auto key_size = static_cast<size_t>(PyUnicode_GET_LENGTH(key));
    const auto value_size = static_cast<size_t>(PyUnicode_GET_LENGTH(value));
    const size_t start = text_.size(), size = prefix_.size() + key_size + 1 + value_size;
    text_.resize(start + size);
    char* out = std::copy(prefix_.begin(), prefix_.end(), text_.data() + start);
    out = std::copy_n(static_cast<const char*>(PyUnicode_DATA(key)), key_size, out);
    *out++ = ':';
    std::copy_n(static_cast<const char*>(PyUnicode_DATA(value)), value_size, out);
    attributes_.push_back({nullptr, start, size, 1.0});
  }

  void read_entry(PyObject* key, PyObject* value, int depth) {
    if (!is_text(key)) refuse_name(key, "a key of a dict");
    const size_t outer = prefix_.size();
    append(key, &prefix_);
    read_value(value, depth);
    prefix_.resize(outer);
  }

  // Reads a value, testing common types first; prefix_ is the feature's name.
  void read_value(PyObject* value, int depth) {
    if (PyUnicode_Check(value) || PyBytes_Check(value)) {
      prefix_ += ':';
      add_name(value);
    } else if (PyBool_Check(value)) {
      add_number(value == Py_True ? 1.0 : 0.0);
    } else if (PyFloat_Check(value)) {
      add_number(PyFloat_AS_DOUBLE(value));
    } else if (PyLong_Check(value)) {
      add_number(convert(value));
    } else if (PyList_Check(value) || PyTuple_Check(value) || PyAnySet_Check(value)) {
      prefix_ += ':';
      read_names(value);
    } else if (is_mapping(value)) {
      prefix_ += ':';
      read_mapping(value, depth + 1);
    } else if (is_vector(value)) {
      read_vector(value);
    } else if (PyNumber_Check(value) && !PyComplex_Check(value)) {
      add_number(convert(value));  // NumPy scalars, Decimal, Fraction, ...
    } else {
      refuse_value(value);
    }
  }

  static bool is_vector(PyObject* value) {
    PyObject* ndim = PyObject_GetAttrString(value, "ndim");
    const long rank = ndim != nullptr && PyLong_Check(ndim) ? PyLong_AsLong(ndim) : 0;
    Py_XDECREF(ndim);
    PyErr_Clear();
    return rank == 1;
  }

  void read_vector(PyObject* vector) {
    const nb::object elements = checked(PyObject_CallMethod(vector, "tolist", nullptr));
    prefix_ += ':';
    const size_t stem = prefix_.size();
    size_t i = 0;
    for_each(elements.ptr(), [&](PyObject* element) {
      if (is_text(element)) {
        add_name(element);
      } else {
        prefix_ += std::to_string(i);
        if (!PyFloat_Check(element) && !PyLong_Check(element)) refuse_value(element);
        add_number(convert(element));
        prefix_.resize(stem);
      }
      ++i;
    });
  }

  double convert(PyObject* number) {
    const double converted = PyFloat_AsDouble(number);
    if (converted == -1.0 && PyErr_Occurred()) {
      if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError) &&
          !PyErr_ExceptionMatches(PyExc_OverflowError)) {
        throw nb::python_error();
      }
      PyErr_Clear();
      refuse_value(number);
    }
    return converted;
  }

  void add_number(double value) {
    if (value == 0.0 && !keep_zeros_) return;
    if (!std::isfinite(value)) {
      throw InputProblem("feature '" + prefix_ + "': expected a finite number, got " +
                         (std::isnan(value) ? "nan"
                          : value > 0       ? "inf"
                                            : "-inf") +
                         "; leave the feature out where its value is missing");
    }
    attributes_.push_back({nullptr, text_.size(), prefix_.size(), value});
    text_ += prefix_;
  }

  void add_name(PyObject* name) {
    const size_t start = text_.size();
    text_ += prefix_;
    append(name, &text_);
    attributes_.push_back({nullptr, start, text_.size() - start, 1.0});
  }

  // Appends a str or bytes as UTF-8. PyUnicode_AsUTF8 would leave a second copy in the caller's string.
  static void append(PyObject* text, std::string* out) {
    if (PyBytes_Check(text)) {
      PyObject* decoded = PyUnicode_DecodeUTF8(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), nullptr);
      if (decoded == nullptr) {
        PyErr_Clear();
        throw InputProblem("bytes must be UTF-8, got " + describe(text));
      }
      Py_DECREF(decoded);
      out->append(PyBytes_AS_STRING(text), static_cast<size_t>(PyBytes_GET_SIZE(text)));
      return;
    }
#if PY_VERSION_HEX < 0x030C0000
    if (PyUnicode_READY(text) < 0) throw nb::python_error();
#endif
    const auto size = static_cast<size_t>(PyUnicode_GET_LENGTH(text));
    if (PyUnicode_IS_ASCII(text)) {
      out->append(static_cast<const char*>(PyUnicode_DATA(text)), size);
      return;
    }
    const auto kind = PyUnicode_KIND(text);
    const void* data = PyUnicode_DATA(text);
    const auto byte = [out](Py_UCS4 bits) { out->push_back(static_cast<char>(bits)); };
    const auto tail = [byte](Py_UCS4 bits) { byte(0x80 | (bits & 0x3f)); };
    for (size_t i = 0; i < size; ++i) {
      const Py_UCS4 c = PyUnicode_READ(kind, data, static_cast<Py_ssize_t>(i));
      if (c < 0x80) {
        byte(c);
      } else if (c < 0x800) {
        byte(0xc0 | c >> 6), tail(c);
      } else if (c < 0x10000) {
        if (c >= 0xd800 && c <= 0xdfff) {
          throw InputProblem("a lone surrogate cannot be stored as UTF-8, got " + describe(text) +
                             "; decode the text with errors='replace', or clean it");
        }
        byte(0xe0 | c >> 12), tail(c >> 6), tail(c);
      } else {
        byte(0xf0 | c >> 18), tail(c >> 12), tail(c >> 6), tail(c);
      }
    }
  }

  [[noreturn]] void refuse_name(PyObject* name, const char* what) const {
    std::string message = std::string(what) + " must be str or bytes, got " + describe(name);
    if (!prefix_.empty()) message = "feature '" + prefix_ + "': " + message;
    if (is_mapping(name) || PyList_Check(name) || PyTuple_Check(name) || PyAnySet_Check(name)) {
      message += "; is the data nested one level too deep?";
    } else if (PyNumber_Check(name)) {
      message += "; for real values use a dict {'name': value}, or a 2-D array for the whole sequence";
    }
    throw InputProblem(message);
  }

  [[noreturn]] void refuse_value(PyObject* value) const {
    throw InputProblem("feature '" + prefix_ +
                       "': a value must be a str, bool, number, dict, or a list or set of strings, got " +
                       describe(value));
  }

  bool keep_zeros_;
  std::string text_;    // the names of all attributes, end to end
  std::string prefix_;  // the keys of the dicts being read, joined by ':'
  std::vector<Attribute> attributes_;
};

}  // namespace crfkit
