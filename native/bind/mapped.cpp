// Files mapped into memory as arrays of bytes.
#include <nanobind/stl/string.h>

#include <system_error>

#include "base/mapped_file.h"
#include "bind.h"

namespace crfkit {

namespace {

Numpy<const uint8_t> map_file(const std::string& path) {
  auto* file = new MappedFile(MappedFile::reading(path));
  const nb::capsule owner(file, [](void* p) noexcept { delete static_cast<MappedFile*>(p); });
  static const uint8_t nothing = 0;  // an address even if the file is empty
  const auto* data = static_cast<const uint8_t*>(file->data());
  return Numpy<const uint8_t>(data ? data : &nothing, {file->size()}, owner);
}

}  // namespace

void bind_mapped(nb::module_& m) {
  nb::register_exception_translator([](const std::exception_ptr& error, void*) {
    try {
      std::rethrow_exception(error);
    } catch (const std::system_error& e) {                               // an error of the operating system
      const std::string words = e.what(), message = e.code().message();  // "path: message"
      const std::string path = words.substr(0, words.size() - std::min(words.size(), message.size() + 2));
      const nb::object arguments = nb::make_tuple(e.code().value(), message, path);
      PyErr_SetObject(PyExc_OSError, arguments.ptr());
    }
  });
  m.attr("MAPS_FILES") = kMapsFiles;
  m.def("map_file", &map_file, "path"_a, "Return a file as bytes, uint8 [size], mapped for reading.");
  m.def(
      "let_go",
      [](Array<const uint8_t> bytes) { let_go(bytes.data(), static_cast<int64_t>(bytes.shape(0))); },
      "bytes"_array, "Let go of the pages of bytes that map_file has mapped; the content stays in the file.");
}

}  // namespace crfkit
