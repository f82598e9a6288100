// A group of features (LinearGroup) in double precision: weights, scores of a position, and sums by
// parameter.
//
// Training sums scores in float. Whether a constraint holds is decided by differences of scores of whole
// sequences, so that they are computed here in double, as they are when the model decodes.
#pragma once

#include <vector>

#include "linear/linear_group.h"

namespace crfkit {

// One number a parameter, as a layout has them: dense rows and lists.
struct ExactTable {
  std::vector<double> dense, sparse;

  void reset(const LinearLayout& layout, double value = 0.0) {
    dense.assign(static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded), value);
    sparse.assign(static_cast<size_t>(layout.n_sparse), value);
  }
};

// θ of a group, times √k: what a parameter adds to a score.
inline void load_exact(const LinearLayout& layout, const double* theta, ExactTable& out) {
  const auto n_dense = layout.slots.size();
  out.dense.resize(static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded));
  out.sparse.resize(static_cast<size_t>(layout.n_sparse));
  for (size_t i = 0; i < n_dense; ++i)
    out.dense[static_cast<size_t>(layout.slots[i])] = theta[i] * layout.scale[i];
  for (size_t i = 0; i < out.sparse.size(); ++i)
    out.sparse[i] = theta[n_dense + i] * layout.scale[n_dense + i];
}

// out[i] += the table's entry for parameter i, times √k: derivatives by scores to derivatives by θ.
inline void add_exact(const LinearLayout& layout, const ExactTable& table, double* out) {
  const auto n_dense = layout.slots.size();
  for (size_t i = 0; i < n_dense; ++i)
    out[i] += table.dense[static_cast<size_t>(layout.slots[i])] * layout.scale[i];
  for (size_t i = 0; i < table.sparse.size(); ++i)
    out[n_dense + i] += table.sparse[i] * layout.scale[n_dense + i];
}

// Calls fn(entry of the table, value) for every parameter active at position t with this label (of a pair:
// previous * Lp + label).
template <class Fn>
void for_active(const LinearLayout& layout, ExactTable& table, int64_t t, int64_t label, Fn&& fn) {
  const auto at = static_cast<size_t>(t);
  for (int64_t i = layout.row_ptr[at]; i < layout.row_ptr[at + 1]; ++i) {
    const auto k = static_cast<size_t>(i);
    const double value = layout.row_values.empty() ? 1.0 : static_cast<double>(layout.row_values[k]);
    fn(table.dense[static_cast<size_t>(layout.rows[k]) * static_cast<size_t>(layout.padded) +
                   static_cast<size_t>(label)],
       value);
  }
  for (int64_t i = layout.sparse_ptr[at]; i < layout.sparse_ptr[at + 1]; ++i) {
    const auto k = static_cast<size_t>(i);
    if (layout.sparse_labels[k] != label) continue;
    const double value = layout.sparse_values.empty() ? 1.0 : static_cast<double>(layout.sparse_values[k]);
    fn(table.sparse[static_cast<size_t>(layout.sparse_ids[k])], value);
  }
}

// scores[row * to + l] += Σ value · weight at position t, for rows of L labels that lie `from` apart in the
// layout and `to` apart in scores.
inline void add_scores(const LinearLayout& layout, const ExactTable& weights, int64_t t, int n_rows,
                       int labels, int from, int to, double* scores) {
  const auto at = static_cast<size_t>(t);
  for (int64_t i = layout.row_ptr[at]; i < layout.row_ptr[at + 1]; ++i) {
    const auto k = static_cast<size_t>(i);
    const double value = layout.row_values.empty() ? 1.0 : static_cast<double>(layout.row_values[k]);
    const double* row =
        weights.dense.data() + static_cast<int64_t>(layout.rows[k]) * static_cast<int64_t>(layout.padded);
    for (int r = 0; r < n_rows; ++r)
      for (int l = 0; l < labels; ++l) scores[r * to + l] += value * row[r * from + l];
  }
  for (int64_t i = layout.sparse_ptr[at]; i < layout.sparse_ptr[at + 1]; ++i) {
    const auto k = static_cast<size_t>(i);
    const double value = layout.sparse_values.empty() ? 1.0 : static_cast<double>(layout.sparse_values[k]);
    const int slot = layout.sparse_labels[k];
    scores[slot / from * to + slot % from] +=
        value * weights.sparse[static_cast<size_t>(layout.sparse_ids[k])];
  }
}

}  // namespace crfkit
