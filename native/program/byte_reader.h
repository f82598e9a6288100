// Reads numbers and strings from bytes that may be damaged: nothing is read beyond their end, and a count is
// refused before anything is allocated for it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "base/utf8.h"
#include "ingest/vocabulary.h"

namespace crfkit {

class ProgramError : public std::runtime_error {
  using std::runtime_error::runtime_error;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : rest_(bytes) {}

  bool empty() const { return rest_.empty(); }

  uint8_t byte() {
    if (rest_.empty()) throw ProgramError("it is cut off");
    const auto value = static_cast<uint8_t>(rest_.front());
    rest_.remove_prefix(1);
    return value;
  }

  // A number below a limit, stored in one byte.
  uint8_t choice(uint8_t n) {
    const uint8_t value = byte();
    if (value >= n) throw ProgramError("it has an unknown code " + std::to_string(value));
    return value;
  }
  bool flag() { return choice(2) != 0; }

  // Seven bits per byte, the lowest first; the highest bit says that more follow.
  uint32_t number() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t bits = byte();
      value |= uint64_t{bits & 0x7fu} << shift;
      if (bits < 0x80) break;
      if (shift > 21) throw ProgramError("a number is too large");
    }
    if (value >= uint64_t{1} << 31) throw ProgramError("a number is too large");
    return static_cast<uint32_t>(value);
  }
  // 0, -1, 1, -2, ... are stored as 0, 1, 2, 3, ...
  int32_t signed_number() {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t bits = byte();
      value |= uint64_t{bits & 0x7fu} << shift;
      if (bits < 0x80) break;
      if (shift > 21) throw ProgramError("a number is too large");
    }
    if (value > UINT32_MAX) throw ProgramError("a number is too large");
    const auto half = static_cast<int64_t>(value >> 1);
    return static_cast<int32_t>(value & 1 ? -half - 1 : half);
  }
  // How many things follow, of at least one byte each.
  size_t count() {
    const size_t n = number();
    if (n > rest_.size()) throw ProgramError("it is cut off");
    return n;
  }
  // The number of an earlier thing, of which there are n.
  uint32_t reference(size_t n) {
    const uint32_t value = number();
    if (value >= n) throw ProgramError("it refers to something that does not come before");
    return value;
  }
  double real() {
    if (rest_.size() < 8) throw ProgramError("it is cut off");
    const auto bits = load_word<uint64_t>(rest_.data());
    rest_.remove_prefix(8);
    return std::bit_cast<double>(bits);
  }
  std::string text() {
    const size_t n = count();
    std::string value(rest_.substr(0, n));
    rest_.remove_prefix(n);
    if (!is_utf8(value)) throw ProgramError("it has text that is not UTF-8");
    return value;
  }

 private:
  std::string_view rest_;
};

}  // namespace crfkit
