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
//  - Both are sorted by frequency, so that what is hot stays in cache.
//  - Values are stored in an attribute's own unit, so that floats and stochastic steps see numbers near 1
//    whatever the scale of the data. Weights are multiplied by the unit; θ stays in the user's units.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <vector>

#include "base/poll.h"
#include "base/splitmix.h"
#include "linear/settle_plan.h"

namespace crfkit {

// The attributes as given: compressed sparse rows over positions, and the labels each attribute may score.
struct AttributeData {
  int64_t n_positions;          // ΣT
  int64_t n_attributes;         // A
  const int64_t* indptr;        // [ΣT + 1]
  const int32_t* indices;       // [nnz]
  const double* values;         // [nnz] or null: all ones
  const int64_t* state_indptr;  // [A + 1] features of an attribute
  const int32_t* state_labels;  // [F] their labels
  const double* units;          // [A] the size of an attribute's values, or null: all 1
  bool as_given = false;        // one parameter per feature, in the order of features, whatever the data
};

struct LinearLayout {
  int padded;                    // width of a dense row: Lp, or L * Lp for pairs of labels
  int64_t n_rows = 0;            // dense rows
  int64_t n_sparse = 0;          // sparse parameters
  std::vector<int32_t> slots;    // [dense parameters] row * padded + label
  std::vector<double> scale;     // [dense parameters, then sparse ones] √k · unit
  std::vector<double> unit;      // [the same], or empty: all 1
  std::vector<int64_t> row_ptr;  // [ΣT + 1] position t has rows[row_ptr[t]:row_ptr[t+1]]
  std::vector<int32_t> rows;
  std::vector<float> row_values;    // empty: all ones
  std::vector<int64_t> sparse_ptr;  // [ΣT + 1] likewise
  std::vector<int32_t> sparse_ids;  // sparse parameter
  std::vector<int32_t> sparse_labels;
  std::vector<float> sparse_values;
  std::vector<float> row_shares;      // [rows, padded] k, or 0 where a row has no feature for a label
  std::vector<float> sparse_shares;   // [n_sparse]
  SettlePlan row_plan, sparse_plan;   // when their sums are moved to double
  std::vector<int32_t> parameter_of;  // [F] parameter of a feature; -1: its attribute never occurs

  double unit_of(size_t parameter) const { return unit.empty() ? 1.0 : unit[parameter]; }
  int64_t n_parameters() const { return static_cast<int64_t>(slots.size()) + n_sparse; }
};

namespace layout_detail {

struct Fingerprint {
  uint64_t a = 0, b = 0;
  auto operator<=>(const Fingerprint&) const = default;
};

// Computes 128-bit sums over (position, value) and over labels: equal for equal columns, and for others with
// probability 2^-128.
inline std::vector<Fingerprint> fingerprints(const AttributeData& x, std::vector<int64_t>& frequency) {
  std::vector<Fingerprint> prints(static_cast<size_t>(x.n_attributes));
  frequency.assign(static_cast<size_t>(x.n_attributes), 0);
  for (int64_t t = 0; t < x.n_positions; ++t) {
    poll_at(t);
    const uint64_t here_a = splitmix(static_cast<uint64_t>(t));
    const uint64_t here_b = splitmix(here_a);
    for (int64_t i = x.indptr[t]; i < x.indptr[t + 1]; ++i) {
      Fingerprint& p = prints[static_cast<size_t>(x.indices[i])];
      ++frequency[static_cast<size_t>(x.indices[i])];
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
  }
  for (int64_t a = 0; a < x.n_attributes; ++a) {
    Fingerprint& p = prints[static_cast<size_t>(a)];
    for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f) {
      const uint64_t h = splitmix(~static_cast<uint64_t>(x.state_labels[f]));
      p.a += h;
      p.b += splitmix(h);
    }
  }
  return prints;
}

}  // namespace layout_detail

// Labels lie in 0..padded-1.
inline LinearLayout make_layout(const AttributeData& x, int padded) {
  using namespace layout_detail;
  const auto A = static_cast<size_t>(x.n_attributes);
  const int64_t F = x.state_indptr[x.n_attributes];
  if (F > INT32_MAX || x.n_attributes * static_cast<int64_t>(padded) > (int64_t{1} << 40))
    throw std::length_error("there are more than 2^31 features: raise min_freq or select features first");
  LinearLayout out;
  out.padded = padded;

  std::vector<int64_t> frequency;
  const std::vector<Fingerprint> prints = fingerprints(x, frequency);
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
    return fa != fb ? fa > fb : a < b;
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

  const auto positions = static_cast<size_t>(x.n_positions);
  out.row_ptr.assign(positions + 1, 0);
  out.sparse_ptr.assign(positions + 1, 0);
  for (size_t t = 0; t < positions; ++t) {
    int64_t n_rows = 0, n_list = 0;
    for (int64_t i = x.indptr[t]; i < x.indptr[t + 1]; ++i) {
      const auto a = static_cast<size_t>(x.indices[i]);
      if (row_of[a] >= 0)
        ++n_rows;
      else if (first_of[a] >= 0)
        n_list += x.state_indptr[a + 1] - x.state_indptr[a];
    }
    out.row_ptr[t + 1] = out.row_ptr[t] + n_rows;
    out.sparse_ptr[t + 1] = out.sparse_ptr[t] + n_list;
  }
  out.rows.resize(static_cast<size_t>(out.row_ptr[positions]));
  out.sparse_ids.resize(static_cast<size_t>(out.sparse_ptr[positions]));
  out.sparse_labels.resize(out.sparse_ids.size());
  if (x.values) {
    out.row_values.resize(out.rows.size());
    out.sparse_values.resize(out.sparse_ids.size());
  }
  size_t r = 0, s = 0;
  for (size_t t = 0; t < positions; ++t)
    for (int64_t i = x.indptr[t]; i < x.indptr[t + 1]; ++i) {
      const auto a = static_cast<size_t>(x.indices[i]);
      const float value = x.values ? static_cast<float>(x.values[i] / unit_of(a)) : 1.0f;
      if (row_of[a] >= 0) {
        out.rows[r] = row_of[a];
        if (x.values) out.row_values[r] = value;
        ++r;
      } else if (first_of[a] >= 0) {
        for (int64_t f = x.state_indptr[a]; f < x.state_indptr[a + 1]; ++f, ++s) {
          out.sparse_ids[s] = first_of[a] - n_dense + static_cast<int32_t>(f - x.state_indptr[a]);
          out.sparse_labels[s] = x.state_labels[f];
          if (x.values) out.sparse_values[s] = value;
        }
      }
    }
  out.row_plan = SettlePlan(out.row_ptr, out.rows, out.n_rows, padded);
  out.sparse_plan = SettlePlan(out.sparse_ptr, out.sparse_ids, out.n_sparse, 1);
  return out;
}

}  // namespace crfkit
