// What the data says about each attribute: how often it occurs, whether nearby, and its fingerprint, by which
// attributes that occur at exactly the same positions are recognised.
#pragma once

#include <compare>
#include <cstdint>
#include <cstring>
#include <vector>

#include "base/splitmix.h"
#include "linear/attribute_data.h"

namespace crfkit {

struct Fingerprint {
  uint64_t a = 0, b = 0;
  auto operator<=>(const Fingerprint&) const = default;
};

struct AttributeColumns {
  static constexpr int kParts = 1024;  // equal parts of the data

  // 128-bit sums over (position, value) and over labels: equal for equal columns, and for others with
  // probability 2^-128.
  std::vector<Fingerprint> prints;         // [A]
  std::vector<int64_t> frequency;          // [A]
  std::vector<uint16_t> first_part, last;  // [A] the first and the last part of the data with the attribute

  explicit AttributeColumns(const AttributeData& x)
      : prints(static_cast<size_t>(x.n_attributes)),
        frequency(prints.size(), 0),
        first_part(prints.size(), 0),
        last(prints.size(), 0) {
    for_positions(x, [&](int64_t t, int64_t first_entry, int64_t last_entry) {
      const uint64_t here_a = splitmix(static_cast<uint64_t>(t));
      const uint64_t here_b = splitmix(here_a);
      const auto part = static_cast<uint16_t>(static_cast<double>(t) / static_cast<double>(x.n_positions) *
                                              static_cast<double>(kParts));
      for (int64_t i = first_entry; i < last_entry; ++i) {
        const auto a = static_cast<size_t>(x.indices[i]);
        Fingerprint& p = prints[a];
        if (frequency[a]++ == 0) first_part[a] = part;
        last[a] = part;
        if (x.values) {
          uint64_t bits;
          std::memcpy(&bits, &x.values[i], sizeof bits);
          p.a += splitmix(here_a ^ bits);
          p.b += splitmix(here_b + bits);
        } else {
          p.a += here_a;
          p.b += here_b;
        }
      }
    });
    for (int64_t a = 0; a < x.n_attributes; ++a) {
      Fingerprint& p = prints[static_cast<size_t>(a)];
      for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f) {
        const uint64_t h = splitmix(~static_cast<uint64_t>(x.state_labels[f]));
        p.a += h;
        p.b += splitmix(h);
      }
    }
  }

  // Returns how local an attribute is: k if it occurs in one of 2^k equal parts of the data only, 0 .. 10.
  // Threads have such parts: the parameters of a local attribute belong to one of them.
  int locality(size_t a) const {
    int k = 0;
    while (k < 10 && (first_part[a] >> (9 - k)) == (last[a] >> (9 - k))) ++k;
    return k;
  }
};

}  // namespace crfkit
