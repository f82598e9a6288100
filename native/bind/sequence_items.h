// The items of one sequence, from Python objects to rows of attribute ids.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bound_vocabulary.h"
#include "items.h"
#include "tagger/scratch.h"

namespace crfkit {

[[noreturn]] inline void raise_at_position(size_t position, const std::string& problem) {
  raise("InputError", "position " + std::to_string(position) + ": " + problem);
}

// The attributes of a sequence, read once, with the hashes of their names.
struct ItemSequence {
  struct Entry {
    uint64_t hash;
    size_t start;  // its name is text[start .. start + size)
    size_t size;
    double value;
  };
  std::string text;
  std::vector<Entry> entries;
  std::vector<size_t> ends{0};  // [T + 1] position t has the entries ends[t] .. ends[t + 1] - 1

  std::string_view name(const Entry& entry) const { return {text.data() + entry.start, entry.size}; }
};

// Calls visit(item) for the items of a sequence; raises unless it is one.
template <class Visit>
void for_each_item(PyObject* sequence, Visit&& visit) {
  if (PyList_CheckExact(sequence)) {
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(sequence); ++i) {
      const nb::object item = nb::borrow(PyList_GET_ITEM(sequence, i));
      if ((i & 1023) == 1023 && PyErr_CheckSignals() < 0) throw nb::python_error();
      visit(item.ptr());
    }
    return;
  }
  nb::object items = nb::borrow(sequence);
  const bool refused = is_text(sequence) || is_mapping(sequence);
  // pycrfsuite.ItemSequence is neither a mapping nor iterable, but has items().
  if (!refused && !PyMapping_Check(sequence) && PyObject_HasAttrString(sequence, "items")) {
    items = checked(PyObject_CallMethod(sequence, "items", nullptr));
  }
  if (refused || !for_each(items.ptr(), visit)) {
    raise("InputError",
          "a sequence is a list of items, each a dict or a list of strings; got " + describe(sequence));
  }
}

class ItemRows : public ReaderMemory {
 public:
  // Returns the reader that waits in a scratch.
  static ItemRows& of(Scratch* scratch) {
    if (scratch->reader == nullptr) scratch->reader = std::make_unique<ItemRows>();
    return static_cast<ItemRows&>(*scratch->reader);
  }

  // Looks the attributes up; unknown ones are left out. distinct: repeated ones are added up.
  void read(PyObject* sequence, const Vocabulary& vocabulary, bool distinct, RowBuilder* rows) {
    rows->clear();
    size_t position = 0;
    for_each_item(sequence, [&](PyObject* item) {
      read_item(item, position);
      const auto& attributes = reader_.attributes();
      hashes_.resize(attributes.size());
      for (size_t i = 0; i < attributes.size(); ++i) {
        hashes_[i] = hash_string(reader_.name(attributes[i]));
        vocabulary.prefetch_slot(hashes_[i]);
      }
      for (size_t i = 0; i < attributes.size(); ++i) {
        const int32_t id = vocabulary.find(reader_.name(attributes[i]), hashes_[i]);
        if (id != Vocabulary::kUnknown) rows->add(id, attributes[i].value);
      }
      end_position(distinct, vocabulary, position++, rows);
    });
    rows->end_sequence();
  }

  // The same for a sequence that has been read before.
  void read(const ItemSequence& sequence, const Vocabulary& vocabulary, bool distinct, RowBuilder* rows) {
    constexpr size_t kAhead = 16;
    rows->clear();
    const auto& entries = sequence.entries;
    for (size_t i = 0; i < std::min(kAhead, entries.size()); ++i) vocabulary.prefetch_slot(entries[i].hash);
    for (size_t t = 0; t + 1 < sequence.ends.size(); ++t) {
      for (size_t i = sequence.ends[t]; i < sequence.ends[t + 1]; ++i) {
        if (i + kAhead < entries.size()) vocabulary.prefetch_slot(entries[i + kAhead].hash);
        const int32_t id = vocabulary.find(sequence.name(entries[i]), entries[i].hash);
        if (id != Vocabulary::kUnknown && entries[i].value != 0.0) rows->add(id, entries[i].value);
      }
      end_position(distinct, vocabulary, t, rows);
    }
    rows->end_sequence();
  }

  // Reads one item; its attributes are in reader() then.
  void read_item(PyObject* item, size_t position) {
    reader_.clear();
    if (reader_.read_plain(item)) return;
    try {
      reader_.read(item);
    } catch (const InputProblem& problem) {
      raise_at_position(position, problem.what());
    }
  }

 private:
  static void end_position(bool distinct, const Vocabulary& vocabulary, size_t position, RowBuilder* rows) {
    if (!distinct) {
      rows->end_distinct_position();
    } else if (const int32_t overflown = rows->end_position(); overflown >= 0) {
      std::string_view name;
      (void)vocabulary.string(static_cast<size_t>(overflown), &name);
      raise_at_position(
          position, "feature '" + std::string(name) + "': its values at this position add up to infinity");
    }
  }

  ItemReader reader_;
  std::vector<uint64_t> hashes_;  // [attributes of the item]
};

// Reads a sequence, zeros included.
inline ItemSequence read_item_sequence(PyObject* sequence) {
  ItemSequence made;
  ItemReader reader(true);
  for_each_item(sequence, [&](PyObject* item) {
    reader.clear();
    try {
      if (!reader.read_plain(item)) reader.read(item);
    } catch (const InputProblem& problem) {
      raise_at_position(made.ends.size() - 1, problem.what());
    }
    for (const Attribute& attribute : reader.attributes()) {
      const std::string_view name = reader.name(attribute);
      made.entries.push_back({hash_string(name), made.text.size(), name.size(), attribute.value});
      made.text += name;
    }
    made.ends.push_back(made.entries.size());
  });
  return made;
}

}  // namespace crfkit
