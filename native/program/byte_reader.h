// Reads the numbers and strings of a feature program, which may be damaged.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/packed_reader.h"
#include "base/utf8.h"
#include "ingest/vocabulary.h"

namespace crfkit {

class ProgramError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ByteReader : public PackedReader<ProgramError> {
 public:
  explicit ByteReader(std::string_view bytes) : PackedReader(bytes, "it") {}

  // A number below a limit, stored in one byte.
  uint8_t choice(uint8_t n) {
    const uint8_t value = byte();
    if (value >= n) throw ProgramError("it has an unknown code " + std::to_string(value));
    return value;
  }
  bool flag() { return choice(2) != 0; }

  // 0, -1, 1, -2, ... are stored as 0, 1, 2, 3, ...
  int32_t signed_number() {
    const uint64_t value = packed(32);
    const auto half = static_cast<int64_t>(value >> 1);
    return static_cast<int32_t>(value & 1 ? -half - 1 : half);
  }
  // The number of an earlier thing, of which there are n.
  uint32_t reference(size_t n) {
    const uint32_t value = number();
    if (value >= n) throw ProgramError("it refers to something that does not come before");
    return value;
  }
  double real() { return std::bit_cast<double>(load_word<uint64_t>(take(8).data())); }
  std::string text() {
    std::string value(take(count()));
    if (!is_utf8(value)) throw ProgramError("it has text that is not UTF-8");
    return value;
  }
};

}  // namespace crfkit
