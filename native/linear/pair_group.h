// The features of attributes that score label pairs, as a LinearGroup with rows over pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/linear_group.h"

namespace crfkit {

// Leaves out the attributes at the first position of a sequence, where there is no pair. The "labels" of x
// are previous * L + label; offsets: [N + 1].
inline LinearGroup make_pair_group(const AttributeData& x, const std::vector<int64_t>& offsets,
                                   const ChainDims& d) {
  std::vector<uint8_t> starts(static_cast<size_t>(x.n_positions) + 1, 0);
  for (int64_t first : offsets) starts[static_cast<size_t>(first)] = 1;
  std::vector<int64_t> indptr{0};
  std::vector<int32_t> indices;
  std::vector<double> values;
  for (int64_t t = 0; t < x.n_positions; ++t) {
    for (int64_t i = x.indptr[t]; i < x.indptr[t + 1] && !starts[static_cast<size_t>(t)]; ++i) {
      const int32_t a = x.indices[i];
      if (x.state_indptr[a] == x.state_indptr[a + 1]) continue;
      indices.push_back(a);
      if (x.values) values.push_back(x.values[i]);
    }
    indptr.push_back(static_cast<int64_t>(indices.size()));
  }
  std::vector<int32_t> slots(static_cast<size_t>(x.state_indptr[x.n_attributes]));
  for (size_t f = 0; f < slots.size(); ++f)
    slots[f] = x.state_labels[f] / d.labels * d.padded + x.state_labels[f] % d.labels;
  AttributeData kept = x;
  kept.indptr = indptr.data();
  kept.indices = indices.data();
  kept.values = x.values ? values.data() : nullptr;
  kept.state_labels = slots.data();
  return LinearGroup(kept, d.labels * d.padded);
}

}  // namespace crfkit
