// Many strings in one arena: the form in which strings of other tools' model files are read and written.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace crfkit {

// Says what is wrong with a model file; the reader adds the name of the file.
struct Damage : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

struct Names {
  std::vector<uint8_t> arena;       // [bytes]
  std::vector<int64_t> offsets{0};  // [n + 1], string i is arena[offsets[i] .. offsets[i + 1])

  size_t size() const { return offsets.size() - 1; }
  std::string_view operator[](size_t i) const {
    const auto begin = static_cast<size_t>(offsets[i]), end = static_cast<size_t>(offsets[i + 1]);
    return {reinterpret_cast<const char*>(arena.data()) + begin, end - begin};
  }
  void add(std::string_view name) {
    arena.insert(arena.end(), name.begin(), name.end());
    offsets.push_back(static_cast<int64_t>(arena.size()));
  }
};

}  // namespace crfkit
