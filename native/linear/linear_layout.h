// How the objective of a linear CRF lies in memory.
//
// A pass over the data spends nearly all its time gathering weights and scattering gradients, so the layout
// is made for those two loops:
//  - Attributes that occur at exactly the same positions with the same values cannot be told apart by the
//    training data. k of them with one weight each, v/√k, act as one attribute of weight √k·v, with the same
//    penalty ‖·‖²; started from equal weights every gradient method keeps them equal. They become one
//    parameter v, scale √k (so c1·‖w‖₁ = c1·√k·|v|).
//  - An attribute seen with many labels gets a dense row of floats, one SIMD load each; one seen with few
//    labels gets a list of parameters, and the list is written out at each position where it occurs.
//  - Both are sorted by frequency, so that what is hot stays in cache; equally frequent ones by how local
//  they
//    are, so that what one thread alone touches is together (touched.h).
//  - Values are stored in an attribute's own unit, so that floats and stochastic steps see numbers near 1
//    whatever the scale of the data. Weights are multiplied by the unit; θ stays in the user's units.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "base/flat_array.h"
#include "linear/attribute_columns.h"
#include "linear/settle_plan.h"
#include "linear/touched.h"

namespace crfkit {

// Where the arrays of a layout lie, and how the threads of a pass share the positions.
struct LayoutPlace {
  std::string directory;      // of scratch files for everything that grows with the data; "": in memory
  std::vector<int64_t> cuts;  // [runs + 1] positions where the runs of a pass begin and end
};

struct LinearLayout {
  int padded;                  // width of a dense row: Lp, or L * Lp for pairs of labels
  int64_t n_rows = 0;          // dense rows
  int64_t n_sparse = 0;        // sparse parameters
  std::vector<int32_t> slots;  // [dense parameters] row * padded + label
  std::vector<double> scale;   // [dense parameters, then sparse ones] √k · unit
  std::vector<double> unit;    // [the same], or empty: all 1
  FlatArray<int64_t> row_ptr;  // [ΣT + 1] position t has rows[row_ptr[t]:row_ptr[t+1]]
  FlatArray<int32_t> rows;
  FlatArray<float> row_values;    // empty: all ones
  FlatArray<int64_t> sparse_ptr;  // [ΣT + 1] likewise
  FlatArray<int32_t> sparse_ids;  // sparse parameter
  FlatArray<int32_t> sparse_labels;
  FlatArray<float> sparse_values;
  std::vector<float> row_shares;        // [rows, padded] k, or 0 where a row has no feature for a label
  std::vector<float> sparse_shares;     // [n_sparse]
  SettlePlan row_plan, sparse_plan;     // when their sums are moved to double
  Touched touched_rows, touched_lists;  // by the runs of a pass: dense rows, sparse parameters
  std::vector<int32_t> parameter_of;    // [F] parameter of a feature; -1: its attribute never occurs

  double unit_of(size_t parameter) const { return unit.empty() ? 1.0 : unit[parameter]; }
  int64_t n_parameters() const { return static_cast<int64_t>(slots.size()) + n_sparse; }

  // Calls fn(pointer, n) for each of the position arrays: the part that belongs to positions from .. to - 1.
  template <class Fn>
  void for_arrays(int64_t from, int64_t to, Fn&& fn) const {
    const auto first = static_cast<size_t>(from), last = static_cast<size_t>(to);
    const int64_t r = row_ptr[first], n_r = row_ptr[last] - r, s = sparse_ptr[first],
                  n_s = sparse_ptr[last] - s;
    fn(row_ptr.data() + from, to - from);
    fn(rows.data() + r, n_r);
    if (!row_values.empty()) fn(row_values.data() + r, n_r);
    fn(sparse_ptr.data() + from, to - from);
    fn(sparse_ids.data() + s, n_s);
    fn(sparse_labels.data() + s, n_s);
    if (!sparse_values.empty()) fn(sparse_values.data() + s, n_s);
  }
};

// Labels lie in 0..padded-1.
inline LinearLayout make_layout(const AttributeData& x, int padded, const LayoutPlace& place) {
  const auto A = static_cast<size_t>(x.n_attributes);
  const int64_t F = x.state_indptr[x.n_attributes];
  if (F > INT32_MAX || x.n_attributes * static_cast<int64_t>(padded) > (int64_t{1} << 40))
    throw std::length_error("there are more than 2^31 features: raise min_freq or select features first");
  LinearLayout out;
  out.padded = padded;

  const AttributeColumns columns(x);
  const std::vector<Fingerprint>& prints = columns.prints;
  const std::vector<int64_t>& frequency = columns.frequency;
  std::vector<int32_t> order(A);
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    const auto& pa = prints[static_cast<size_t>(a)];
    const auto& pb = prints[static_cast<size_t>(b)];
    return pa != pb ? pa < pb : a < b;
  });
  std::vector<int32_t> twin(A);             // the first attribute with the same column
  std::vector<int32_t> multiplicity(A, 0);  // k, at that first one
  for (size_t i = 0; i < A; ++i) {
    const auto a = static_cast<size_t>(order[i]);
    const bool same = !x.as_given && i > 0 && prints[a] == prints[static_cast<size_t>(order[i - 1])];
    twin[a] = same ? twin[static_cast<size_t>(order[i - 1])] : order[i];
    ++multiplicity[static_cast<size_t>(twin[a])];
  }

  // A dense row costs padded/8 vector operations per visit. A list costs about four times as much per label
  // as a vector operation, but nothing for labels it does not have.
  auto unit_of = [&](size_t a) { return x.units ? x.units[a] : 1.0; };
  auto add_scale = [&](size_t a, int64_t n) {  // of the n parameters of attribute a
    const auto count = static_cast<size_t>(n);
    out.scale.insert(out.scale.end(), count, std::sqrt(static_cast<double>(multiplicity[a])) * unit_of(a));
    if (x.units) out.unit.insert(out.unit.end(), count, unit_of(a));
  };
  const int64_t dense_from = std::max<int64_t>(2, (padded / 8 * 3 + 3) / 4);
  std::vector<int32_t> dense, sparse;
  for (size_t a = 0; a < A; ++a) {
    const int64_t n = x.state_indptr[a + 1] - x.state_indptr[a];
    if (twin[a] != static_cast<int32_t>(a) || n == 0 || (frequency[a] == 0 && !x.as_given)) continue;
    (n >= dense_from ? dense : sparse).push_back(static_cast<int32_t>(a));
  }
  auto more_frequent = [&](int32_t a, int32_t b) {
    const int64_t fa = frequency[static_cast<size_t>(a)], fb = frequency[static_cast<size_t>(b)];
    if (fa != fb) return fa > fb;
    const int la = columns.locality(static_cast<size_t>(a)), lb = columns.locality(static_cast<size_t>(b));
    return la != lb ? la < lb : a < b;
  };
  if (!x.as_given) {
    std::sort(dense.begin(), dense.end(), more_frequent);
    std::sort(sparse.begin(), sparse.end(), more_frequent);
  }
  if (static_cast<int64_t>(dense.size()) * padded > INT32_MAX)
    throw std::length_error("the dense weight table would exceed 2^31 entries: raise min_freq");

  std::vector<int32_t> row_of(A, -1);    // dense row
  std::vector<int32_t> first_of(A, -1);  // first parameter
  out.n_rows = static_cast<int64_t>(dense.size());
  for (size_t r = 0; r < dense.size(); ++r) {
    const auto a = static_cast<size_t>(dense[r]);
    row_of[a] = static_cast<int32_t>(r);
    first_of[a] = static_cast<int32_t>(out.slots.size());
    out.row_shares.resize((r + 1) * static_cast<size_t>(padded), 0.0f);
    for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f) {
      out.slots.push_back(static_cast<int32_t>(static_cast<int64_t>(r) * padded + x.state_labels[f]));
      out.row_shares[static_cast<size_t>(out.slots.back())] = static_cast<float>(multiplicity[a]);
    }
    add_scale(a, x.state_indptr[a + 1] - x.state_indptr[a]);
  }
  const auto n_dense = static_cast<int32_t>(out.slots.size());
  for (int32_t id : sparse) {
    const auto a = static_cast<size_t>(id);
    first_of[a] = n_dense + static_cast<int32_t>(out.n_sparse);
    const int64_t n = x.state_indptr[a + 1] - x.state_indptr[a];
    out.n_sparse += n;
    out.sparse_shares.insert(out.sparse_shares.end(), static_cast<size_t>(n),
                             static_cast<float>(multiplicity[a]));
    add_scale(a, n);
  }
  out.parameter_of.assign(static_cast<size_t>(F), -1);
  for (size_t a = 0; a < A; ++a) {
    const int32_t first = first_of[static_cast<size_t>(twin[a])];
    if (first < 0) continue;
    for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f)
      out.parameter_of[static_cast<size_t>(f)] = first + static_cast<int32_t>(f - x.state_indptr[a]);
  }

  int64_t n_rows = 0, n_list = 0, row_events = 0, list_events = 0;
  for (size_t a = 0; a < A; ++a) {
    if (row_of[a] >= 0) {
      n_rows += frequency[a];
      row_events += SettlePlan::moves(frequency[a]);
    } else if (first_of[a] >= 0) {
      const int64_t n = x.state_indptr[a + 1] - x.state_indptr[a];
      n_list += n * frequency[a];
      list_events += n * SettlePlan::moves(frequency[a]);
    }
  }
  const std::string& directory = place.directory;
  const auto positions = static_cast<size_t>(x.n_positions);
  out.row_ptr.resize(positions + 1, directory);
  out.sparse_ptr.resize(positions + 1, directory);
  out.rows.resize(static_cast<size_t>(n_rows), directory);
  out.sparse_ids.resize(static_cast<size_t>(n_list), directory);
  out.sparse_labels.resize(out.sparse_ids.size(), directory);
  if (x.values) {
    out.row_values.resize(out.rows.size(), directory);
    out.sparse_values.resize(out.sparse_ids.size(), directory);
  }
  out.row_plan.begin(out.n_rows, padded, row_events, directory);
  out.sparse_plan.begin(out.n_sparse, 1, list_events, directory);
  constexpr int64_t kTogether = 1024;  // numbers
  out.touched_rows = Touched(out.n_rows, std::max<int64_t>(1, kTogether / padded));
  out.touched_lists = Touched(out.n_sparse, kTogether);
  size_t r = 0, s = 0, run = 1;
  int64_t kept_from = 0;  // positions before it are let go
  out.row_ptr[0] = out.sparse_ptr[0] = 0;
  for_positions(x, [&](int64_t t, int64_t first, int64_t last) {
    for (; run < place.cuts.size() && t == place.cuts[run]; ++run) {
      out.touched_rows.end_run();
      out.touched_lists.end_run();
    }
    for (int64_t i = first; i < last; ++i) {
      const auto a = static_cast<size_t>(x.indices[i]);
      const float value = x.values ? static_cast<float>(x.values[i] / unit_of(a)) : 1.0f;
      if (row_of[a] >= 0) {
        out.rows[r] = row_of[a];
        if (x.values) out.row_values[r] = value;
        out.row_plan.note(t, row_of[a]);
        out.touched_rows.note(row_of[a]);
        ++r;
      } else if (first_of[a] >= 0) {
        for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f, ++s) {
          const int32_t id = first_of[a] - n_dense + static_cast<int32_t>(f - x.state_indptr[a]);
          out.sparse_ids[s] = id;
          out.sparse_labels[s] = x.state_labels[f];
          if (x.values) out.sparse_values[s] = value;
          out.sparse_plan.note(t, id);
          out.touched_lists.note(id);
        }
      }
    }
    out.row_ptr[static_cast<size_t>(t) + 1] = static_cast<int64_t>(r);
    out.sparse_ptr[static_cast<size_t>(t) + 1] = static_cast<int64_t>(s);
    if (t + 1 - kept_from == kStretch) {
      out.for_arrays(kept_from, t + 1, [](const auto* p, int64_t n) { let_go(p, n); });
      kept_from = t + 1;
    }
  });
  for (; run < place.cuts.size(); ++run) {
    out.touched_rows.end_run();
    out.touched_lists.end_run();
  }
  out.row_plan.end();
  out.sparse_plan.end();
  return out;
}

}  // namespace crfkit
