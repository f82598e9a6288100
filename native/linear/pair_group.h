// The features of attributes that score label pairs, as a LinearGroup with rows over pairs.
#pragma once

#include <cstdint>
#include <vector>

#include "linear/linear_group.h"

namespace crfkit {

// Leaves out the attributes at the first position of a sequence, where there is no pair. The "labels" of x
// are previous * L + label; offsets: [N + 1].
inline LinearGroup make_pair_group(const AttributeData& x, const std::vector<int64_t>& offsets,
                                   const ChainDims& d, const LayoutPlace& place) {
  std::vector<bool> starts(static_cast<size_t>(x.n_positions) + 1, false);
  for (int64_t first : offsets) starts[static_cast<size_t>(first)] = true;
  std::vector<int32_t> slots(static_cast<size_t>(x.state_indptr[x.n_attributes]));
  for (size_t f = 0; f < slots.size(); ++f)
    slots[f] = x.state_labels[f] / d.labels * d.padded + x.state_labels[f] % d.labels;
  AttributeData inner = x;
  inner.skipped = &starts;
  inner.state_labels = slots.data();
  return LinearGroup(inner, d.labels * d.padded, place);
}

}  // namespace crfkit
