// The vocabulary as Python holds it, with helpers for the files that fill one or hand arrays to Python.
#pragma once

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <utility>

#include "bind.h"
#include "ingest/ingest_array.h"
#include "ingest/vocabulary.h"

namespace crfkit {

// Raises crfkit.exceptions.<exception>; bytes that are not UTF-8 are shown as replacement characters.
[[noreturn]] inline void raise(const char* exception, const std::string& message) {
  const nb::object type = nb::module_::import_("crfkit.exceptions").attr(exception);
  PyObject* text = PyUnicode_DecodeUTF8(message.data(), static_cast<Py_ssize_t>(message.size()), "replace");
  if (text != nullptr) PyErr_SetObject(type.ptr(), nb::steal(text).ptr());
  throw nb::python_error();
}

template <class T>
Numpy<T> to_numpy(GrowableArray<T>* array) {
  const size_t size = array->size();
  T* memory = array->release().release();
  const nb::capsule owner(memory, [](void* p) noexcept { std::free(p); });
  return Numpy<T>(memory, {size}, owner);
}

template <class T>
std::optional<Numpy<T>> to_numpy_if(bool wanted, GrowableArray<T>* array) {
  if (!wanted) return std::nullopt;
  return to_numpy(array);
}

// The flags change only while the GIL is held.
struct BoundVocabulary {
  BoundVocabulary() : core(std::make_shared<Vocabulary>()) {}

  // Gives access while the GIL is held.
  const Vocabulary& open() const {
    if (unattended) raise("InputError", "this vocabulary is being filled by another thread");
    return *core;
  }

  std::shared_ptr<Vocabulary> core;  // others may lie over it: then it must not grow
  bool growing = false;              // a call that may add strings is under way
  bool unattended = false;           // ... and may do so while the GIL is released
  int readers = 0;                   // calls under way that read while the GIL is released
};

// While one call adds strings, neither Python code it runs nor another thread may add any, because a failing
// call restores the previous state. A call that releases the GIL while it adds strings says so (unattended):
// then other threads may not read either.
class Growth {
 public:
  explicit Growth(BoundVocabulary* vocabulary, bool unattended = false)
      : vocabulary_(vocabulary), before_(vocabulary->core->size()) {
    if (vocabulary->growing) raise("InputError", "this vocabulary is being filled by another call");
    if (vocabulary->readers > 0) raise("InputError", "this vocabulary is being read by another thread");
    if (vocabulary->core.use_count() > 1) vocabulary->core = Vocabulary::extended(vocabulary->core);
    vocabulary->growing = true;
    vocabulary->unattended = unattended;
  }
  ~Growth() {
    vocabulary_->growing = vocabulary_->unattended = false;
    if (!kept_) vocabulary_->core->truncate(before_);
  }
  Growth(const Growth&) = delete;
  Growth& operator=(const Growth&) = delete;
  void keep() { kept_ = true; }

 private:
  BoundVocabulary* vocabulary_;
  size_t before_;
  bool kept_ = false;
};

// Held while a call reads without the GIL.
class Reading {
 public:
  explicit Reading(BoundVocabulary* vocabulary) : vocabulary_(vocabulary) {
    vocabulary->open();
    ++vocabulary->readers;
  }
  ~Reading() { --vocabulary_->readers; }
  Reading(const Reading&) = delete;
  Reading& operator=(const Reading&) = delete;

 private:
  BoundVocabulary* vocabulary_;
};

// Runs fn and raises the core's exceptions as crfkit's own errors.
template <class Fn>
auto translating(Fn&& fn) {
  try {
    return fn();
  } catch (const std::invalid_argument& damage) {
    raise("ModelFileError", damage.what());
  } catch (const std::length_error& limit) {
    raise("InputError", limit.what());
  }
}

}  // namespace crfkit
