// Vocabularies; conversion of Python objects to sequences of attribute ids.
#include <nanobind/stl/variant.h>

#include <memory>
#include <string>

#include "bind.h"
#include "bound_vocabulary.h"
#include "ingest/ingest_rows.h"
#include "ingest/vocabulary.h"
#include "items.h"

namespace crfkit {
namespace {

BoundVocabulary* attach(Array<const uint8_t> arena, Array<const int64_t> offsets,
                        Array<const uint32_t> slots) {
  auto vocabulary = std::make_unique<BoundVocabulary>();
  translating([&] {
    if (offsets.size() == 0) throw std::invalid_argument("a vocabulary's offsets must not be empty");
    auto core = std::make_unique<Vocabulary>(reinterpret_cast<const char*>(arena.data()), arena.size(),
                                             offsets.data(), offsets.size() - 1, slots.data(), slots.size());
    // The arrays live as long as the core, over which other vocabularies may lie.
    vocabulary->core = {core.release(), [arena, offsets, slots](Vocabulary* done) { delete done; }};
  });
  return vocabulary.release();
}

BoundVocabulary* extended(BoundVocabulary& vocabulary) {
  vocabulary.open();
  if (vocabulary.growing) raise("InputError", "this vocabulary is being filled by another call");
  auto copy = std::make_unique<BoundVocabulary>();
  translating([&] { copy->core = Vocabulary::extended(vocabulary.core); });
  return copy.release();
}

std::string_view string_or_raise(const Vocabulary& core, size_t id) {
  std::string_view s;
  if (!core.string(id, &s)) {
    raise("ModelFileError", "string " + std::to_string(id) + " of the vocabulary lies outside its arena");
  }
  return s;
}

nb::object text_or_raise(const Vocabulary& core, size_t id) {
  const std::string_view s = string_or_raise(core, id);
  PyObject* decoded = PyUnicode_DecodeUTF8(s.data(), static_cast<Py_ssize_t>(s.size()), nullptr);
  if (decoded == nullptr) {
    PyErr_Clear();
    raise("ModelFileError", "string " + std::to_string(id) + " of the vocabulary is not UTF-8");
  }
  return nb::steal(decoded);
}

nb::typed<nb::list, nb::str> strings(const BoundVocabulary& vocabulary, size_t start, size_t stop) {
  const Vocabulary& core = vocabulary.open();
  nb::list out;
  for (size_t id = start; id < std::min(stop, core.size()); ++id) out.append(text_or_raise(core, id));
  return out;
}

nb::typed<nb::list, nb::str> strings_of(const BoundVocabulary& vocabulary, Array<const int64_t> ids) {
  const Vocabulary& core = vocabulary.open();
  nb::list out;
  for (size_t i = 0; i < ids.size(); ++i) {
    const int64_t id = ids.data()[i];
    if (id < 0 || static_cast<size_t>(id) >= core.size()) throw nb::index_error("there is no such name");
    out.append(text_or_raise(core, static_cast<size_t>(id)));
  }
  return out;
}

// Strings to look up; checked one by one, so that messages can name the wrong one.
using Texts = nb::typed<nb::handle, nb::typed<nb::iterable, std::variant<nb::str, nb::bytes>>>;

Numpy<int32_t> look_up(BoundVocabulary& vocabulary, nb::handle names, bool grow) {
  ItemReader reader;
  GrowableArray<int32_t> ids;
  const nb::object single = checked(PyList_New(1));
  if (is_text(names.ptr()) || !for_each(names.ptr(), [&](PyObject* name) {
        if (!is_text(name)) raise("InputError", "a name must be str or bytes, got " + describe(name));
        Py_INCREF(name);
        PyList_SetItem(single.ptr(), 0, name);
        try {
          reader.read(single.ptr());
        } catch (const InputProblem& problem) {
          raise("InputError", problem.what());
        }
        const std::string_view text = reader.name(reader.attributes()[0]);
        const uint64_t hash = hash_string(text);
        ids.push_back(grow ? vocabulary.core->find_or_add(text, hash) : vocabulary.core->find(text, hash));
      })) {
    raise("InputError", "expected a list of names, got " + describe(names.ptr()));
  }
  return to_numpy(&ids);
}

Numpy<int32_t> add_names(BoundVocabulary& vocabulary, Texts names) {
  Growth growth(&vocabulary);
  auto ids = translating([&] { return look_up(vocabulary, names, true); });
  growth.keep();
  return ids;
}

// Array input: column j is the attribute "j".
void add_columns(BoundVocabulary& vocabulary, size_t n) {
  Growth growth(&vocabulary);
  translating([&] {
    for (size_t j = 0; j < n; ++j) {
      const std::string name = std::to_string(j);
      vocabulary.core->find_or_add(name, hash_string(name));
    }
  });
  growth.keep();
}

bool has_columns(const BoundVocabulary& vocabulary) {
  const Vocabulary& core = vocabulary.open();
  for (size_t j = 0; j < core.size(); ++j) {
    if (string_or_raise(core, j) != std::to_string(j)) return false;
  }
  return true;
}

// Reads X item by item.
class Encoder {
 public:
  Encoder(BoundVocabulary* vocabulary, bool grow, bool keep_zeros)
      : vocabulary_(vocabulary), grow_(grow), reader_(keep_zeros), rows_(keep_zeros) {}

  void read(PyObject* X) {
    if (is_text(X) || is_mapping(X) ||
        !for_each(X, [this](PyObject* sequence) { read_sequence(sequence); })) {
      raise("InputError", "X must be a list of sequences, got " + describe(X));
    }
  }

  auto finish() {
    return std::tuple(to_numpy(&rows_.offsets), to_numpy(&rows_.indptr), to_numpy(&rows_.indices),
                      to_numpy_if(!rows_.all_ones(), &rows_.values), vocabulary_->core->size());
  }

 private:
  static constexpr Py_ssize_t kItemsTogether = 32;
  static constexpr size_t kItemsBetweenSignals = 1 << 10;
  static constexpr size_t kItemsBetweenTurns = 1 << 15;

  void read_sequence(PyObject* sequence) {
    position_ = 0;
    nb::object items = nb::borrow(sequence);
    // pycrfsuite.ItemSequence is neither a mapping nor iterable, but has items().
    if (!is_text(sequence) && !PyMapping_Check(sequence) && PyObject_HasAttrString(sequence, "items")) {
      items = checked(PyObject_CallMethod(sequence, "items", nullptr));
    }
    if (is_text(sequence) || is_mapping(sequence) || !read_items(items.ptr())) {
      std::string hint;
      if (is_mapping(sequence)) hint = "; a dict is one item: X is a list of lists of dicts";
      if (is_text(sequence))
        hint = "; X is a list of sequences, and each sequence is a list of items, not a plain string";
      raise("InputError", "sequence " + std::to_string(sequence_) + ": expected a list of items, got " +
                              describe(sequence) + hint);
    }
    rows_.end_sequence();
    ++sequence_;
  }

  bool read_items(PyObject* items) {
    if (!PyList_Check(items)) {
      return for_each(items, [this](PyObject* item) { read_item(item); });
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(items);) {
      if (const Py_ssize_t n_plain = read_plain_items(items, i); n_plain > 0) {
        i += n_plain;
        breathe();
      } else {
        const nb::object item = nb::borrow(PyList_GET_ITEM(items, i++));
        if (i < PyList_GET_SIZE(items)) prefetch_elements(PyList_GET_ITEM(items, i));
        read_item(item.ptr());
      }
    }
    return true;
  }

  void read_item(PyObject* item) {
    breathe();
    try {
      reader_.read(item);
    } catch (const InputProblem& problem) {
      fail(problem.what());
    }
    look_up();
    end_item(0, reader_.attributes().size());
  }

  // Reads the next few items together while they are plain, so that many look-ups overlap. Runs no Python
  // code. Returns how many were read.
  Py_ssize_t read_plain_items(PyObject* items, Py_ssize_t first) {
    reader_.clear();
    ends_.clear();
    const Py_ssize_t last = std::min(PyList_GET_SIZE(items), first + kItemsTogether);
    for (Py_ssize_t i = first; i < last; ++i) {
      if (i + 1 < last) prefetch_elements(PyList_GET_ITEM(items, i + 1));
      if (!reader_.read_plain(PyList_GET_ITEM(items, i))) break;
      ends_.push_back(reader_.attributes().size());
    }
    look_up();
    size_t begin = 0;
    for (const size_t end : ends_) {
      end_item(begin, end);
      begin = end;
    }
    return static_cast<Py_ssize_t>(ends_.size());
  }

  // Finds the ids of all attributes read. Each look-up takes four steps, and each step waits for memory
  // requested by the previous one, so the steps of several attributes are interleaved.
  void look_up() {
    constexpr size_t kApart = 12;
    Vocabulary& core = *vocabulary_->core;
    const auto& attributes = reader_.attributes();
    const size_t n = attributes.size();
    hashes_.resize(n);
    ids_.resize(n);
    for (size_t i = 0; n > 0 && i < n + 3 * kApart; ++i) {
      if (i < n) {
        hashes_[i] = hash_string(reader_.name(attributes[i]));
        core.prefetch_slot(hashes_[i]);
      }
      if (i >= kApart && i - kApart < n) core.prefetch_offsets(hashes_[i - kApart]);
      if (i >= 2 * kApart && i - 2 * kApart < n) core.prefetch_string(hashes_[i - 2 * kApart]);
      if (i >= 3 * kApart) {
        const size_t j = i - 3 * kApart;
        const std::string_view name = reader_.name(attributes[j]);
        ids_[j] = grow_ ? core.find_or_add(name, hashes_[j]) : core.find(name, hashes_[j]);
      }
    }
  }

  // Closes one position with attributes begin .. end-1 of those read.
  void end_item(size_t begin, size_t end) {
    for (size_t i = begin; i < end; ++i) {
      if (ids_[i] != Vocabulary::kUnknown) rows_.add(ids_[i], reader_.attributes()[i].value);
    }
    if (const int32_t overflown = rows_.end_position(); overflown >= 0) {
      fail("feature '" + std::string(string_or_raise(*vocabulary_->core, static_cast<size_t>(overflown))) +
           "': its values at this position add up to infinity");
    }
    ++position_;
    ++since_signals_;
    ++since_turn_;
  }

  // Checks for Ctrl-C and lets other threads run from time to time.
  void breathe() {
    if (since_signals_ >= kItemsBetweenSignals) {
      since_signals_ = 0;
      if (PyErr_CheckSignals() < 0) throw nb::python_error();
    }
    if (since_turn_ >= kItemsBetweenTurns) {
      since_turn_ = 0;
      const Unlocked turn;
    }
  }

  [[noreturn]] void fail(const std::string& problem) const {
    raise("InputError", "sequence " + std::to_string(sequence_) + ", position " + std::to_string(position_) +
                            ": " + problem);
  }

  BoundVocabulary* vocabulary_;
  bool grow_;
  size_t sequence_ = 0;
  size_t position_ = 0;
  size_t since_signals_ = 0;  // items
  size_t since_turn_ = 0;     // items
  ItemReader reader_;
  RowBuilder rows_;
  std::vector<uint64_t> hashes_;  // [attributes read]
  std::vector<int32_t> ids_;      // [attributes read]
  std::vector<size_t> ends_;      // [items read together], where the attributes of each end
};

auto encode_objects(nb::handle X, BoundVocabulary& vocabulary, bool grow, bool keep_zeros) {
  return translating([&] {
    Encoder encoder(&vocabulary, grow, keep_zeros);
    if (!grow) {
      const Reading reading(&vocabulary);  // the GIL is released now and then
      encoder.read(X.ptr());
      return encoder.finish();
    }
    Growth growth(&vocabulary);
    encoder.read(X.ptr());
    growth.keep();
    return encoder.finish();
  });
}

}  // namespace

void bind_ingest(nb::module_& m) {
  m.attr("HASH_VERSION") = Vocabulary::kHashVersion;
  nb::class_<BoundVocabulary>(m, "Vocabulary", "Strings <-> ids, append-only.")
      .def(nb::init<>())
      .def_static("attach", &attach, "arena"_array, "offsets"_array, "slots"_array,
                  "Look up in these arrays, without a copy.")
      .def("__len__", [](const BoundVocabulary& v) { return v.open().size(); })
      .def("strings", &strings, "start"_a, "stop"_a)
      .def("strings_of", &strings_of, "ids"_array, "Return the strings with these int64 ids.")
      .def("extended", &extended,
           "Return a vocabulary with the same strings that grows by itself; it shares what is large.")
      .def(
          "find",
          [](BoundVocabulary& v, Texts names) {
            const Reading reading(&v);  // an iterator may release the GIL
            return look_up(v, names, false);
          },
          "names"_a, "Return int32 ids [len(names)], -1 for unknown names.")
      .def("add", &add_names, "names"_a, "Return int32 ids [len(names)]; new names are appended.")
      .def("add_columns", &add_columns, "n"_a, "Append \"0\" .. str(n - 1).")
      .def("has_columns", &has_columns, "Return whether string j is str(j), for all j.")
      .def(
          "clear",
          [](BoundVocabulary& v) {
            v.open();
            if (v.growing || v.readers > 0) raise("InputError", "this vocabulary is in use");
            v.core = std::make_shared<Vocabulary>();
          },
          "Forget all strings.")
      .def(
          "hashes",
          [](const BoundVocabulary& v) {
            const Vocabulary& core = v.open();
            std::vector<uint64_t> out(core.size());
            std::string_view text;
            for (size_t i = 0; i < out.size(); ++i)
              if (core.string(i, &text)) out[i] = hash_string(text);
            return to_numpy(std::move(out));
          },
          "Return the hash of each string, uint64 [n].")
      .def(
          "arrays",
          [](const BoundVocabulary& v) {
            std::shared_ptr<const Vocabulary> flat;
            v.open();
            if (!v.core->is_flat()) flat = translating([&] { return v.core->flattened(); });
            const Vocabulary& core = flat ? *flat : *v.core;
            const auto* arena = reinterpret_cast<const uint8_t*>(core.arena());
            return std::tuple(to_numpy(std::vector(arena, arena + core.arena_size())),
                              to_numpy(std::vector(core.offsets(), core.offsets() + core.size() + 1)),
                              to_numpy(std::vector(core.slots(), core.slots() + core.slot_count())));
          },
          "Return copies of (arena uint8 [bytes], offsets int64 [n + 1], slots uint32 [2^b]).");
  m.def(
      "encode_objects", &encode_objects, "X"_a, "vocabulary"_a, "grow"_a, "keep_zeros"_a = false,
      "Return (offsets int64 [N + 1], indptr int64 [sum T + 1], indices int32 [nnz], values float64 [nnz] or "
      "None, A)");
}

}  // namespace crfkit
