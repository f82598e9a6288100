// A group of features (LinearGroup) in double precision: weights, scores of a position, and sums by
// parameter.
//
// Training sums scores in float. Whether a constraint holds depends on differences between scores of whole
// sequences; these are computed here in double, as in decoding.
#pragma once

#include <vector>

#include "linear/linear_group.h"

namespace crfkit {

using ExactTable = ParameterTable<double>;

// Converts derivatives by scores to derivatives by θ: out[i] += the table's entry for parameter i, times √k.
inline void add_exact(const LinearLayout& layout, const ExactTable& table, double* out) {
  for (size_t i = 0; i < layout.scale.size(); ++i) out[i] += table(layout, i) * layout.scale[i];
}

// Calls dense(place, value) or sparse(place, value), by where its entry is in a ParameterTable, for every
// parameter active at position t with this label (of a pair: previous * Lp + label).
template <class Dense, class Sparse>
void for_active_entries(const LinearLayout& layout, int64_t t, int64_t label, Dense&& dense,
                        Sparse&& sparse) {
  const auto at = static_cast<size_t>(t);
  for (int64_t i = layout.row_ptr[at]; i < layout.row_ptr[at + 1]; ++i) {
    const auto k = static_cast<size_t>(i);
    const double value = layout.row_values.empty() ? 1.0 : static_cast<double>(layout.row_values[k]);
    dense(
        static_cast<size_t>(layout.rows[k]) * static_cast<size_t>(layout.padded) + static_cast<size_t>(label),
        value);
  }
  for (int64_t i = layout.sparse_ptr[at]; i < layout.sparse_ptr[at + 1]; ++i) {
    const auto k = static_cast<size_t>(i);
    if (layout.sparse_labels[k] != label) continue;
    const double value = layout.sparse_values.empty() ? 1.0 : static_cast<double>(layout.sparse_values[k]);
    sparse(static_cast<size_t>(layout.sparse_ids[k]), value);
  }
}

// Calls fn(entry of the table, value) for each of them.
template <class Fn>
void for_active(const LinearLayout& layout, ExactTable& table, int64_t t, int64_t label, Fn&& fn) {
  for_active_entries(
      layout, t, label, [&](size_t i, double value) { fn(table.dense[i], value); },
      [&](size_t i, double value) { fn(table.sparse[i], value); });
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
