// Reads bytes and packed numbers that may be damaged: nothing is read beyond their end, and a count is
// refused before anything is allocated for it. Numbers have seven bits per byte, the lowest first; the
// highest bit says that more follow.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace crfkit {

// Error: what is thrown, with a message about `subject`.
template <class Error>
class PackedReader {
 public:
  PackedReader(std::string_view bytes, const char* subject) : rest_(bytes), subject_(subject) {}

  bool empty() const { return rest_.empty(); }

  // The next n bytes.
  std::string_view take(size_t n) {
    if (n > rest_.size()) throw Error(subject_ + " is cut off");
    const std::string_view taken = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return taken;
  }
  uint8_t byte() { return static_cast<uint8_t>(take(1).front()); }

  // A number below 2^bits, with bits <= 32.
  uint64_t packed(int bits) {
    uint64_t value = 0;
    for (int shift = 0;; shift += 7) {
      const uint8_t here = byte();
      value |= uint64_t{here & 0x7fu} << shift;
      if (here < 0x80 && value >> bits == 0) return value;
      if (here < 0x80 || shift > 21) throw Error(subject_ + " has a number that is too large");
    }
  }
  uint32_t number() { return static_cast<uint32_t>(packed(31)); }

  // How many things follow, of at least one byte each.
  size_t count() {
    const size_t n = number();
    if (n > rest_.size()) throw Error(subject_ + " is cut off");
    return n;
  }

 private:
  std::string_view rest_;
  std::string subject_;
};

}  // namespace crfkit
