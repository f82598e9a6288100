// The parameters of one kind of features: those that score labels, or those that score pairs of labels.
//
// A group owns its weights in the kernel's form (float, dense rows and lists; see LinearLayout) and knows the
// place of its parameters in θ.
#pragma once

#include <vector>

#include "linear/linear_layout.h"
#include "linear/linear_problem.h"

namespace crfkit {

// One number per parameter in a layout: dense rows and lists.
template <class Real>
struct ParameterTable {
  std::vector<Real> dense, sparse;

  void reset(const LinearLayout& layout, Real value = 0) {
    dense.assign(static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded), value);
    sparse.assign(static_cast<size_t>(layout.n_sparse), value);
  }

  // Loads θ of a group, [n_parameters], times √k: what a parameter adds to a score.
  void load(const LinearLayout& layout, const double* theta) {
    const auto n_dense = layout.slots.size();
    for (size_t i = 0; i < n_dense; ++i)
      dense[static_cast<size_t>(layout.slots[i])] = static_cast<Real>(theta[i] * layout.scale[i]);
    for (size_t i = 0; i < sparse.size(); ++i)
      sparse[i] = static_cast<Real>(theta[n_dense + i] * layout.scale[n_dense + i]);
  }

  // Returns the entry of parameter i.
  Real operator()(const LinearLayout& layout, size_t i) const {
    const auto n_dense = layout.slots.size();
    return i < n_dense ? dense[static_cast<size_t>(layout.slots[i])] : sparse[i - n_dense];
  }
};
using GroupSums = ParameterTable<float>;

class LinearGroup {
 public:
  LinearGroup(const AttributeData& attributes, int padded) : layout_(make_layout(attributes, padded)) {
    weights_.reset(layout_);
  }

  const LinearLayout& layout() const { return layout_; }
  int64_t n_parameters() const { return layout_.n_parameters(); }
  int64_t n_features() const { return static_cast<int64_t>(layout_.parameter_of.size()); }

  // The methods below take the group's own part of θ, [n_parameters].

  void penalty_scale(double* out) const { std::copy(layout_.scale.begin(), layout_.scale.end(), out); }

  void to_features(const double* theta, double* features) const {
    for (size_t f = 0; f < layout_.parameter_of.size(); ++f) {
      const int32_t p = layout_.parameter_of[f];
      features[f] = p < 0 ? 0.0 : theta[p] / layout_.scale[static_cast<size_t>(p)];
    }
  }
  void from_features(const double* features, double* theta) const {
    std::fill(theta, theta + n_parameters(), 0.0);
    for (size_t f = 0; f < layout_.parameter_of.size(); ++f) {
      const int32_t p = layout_.parameter_of[f];
      if (p >= 0) theta[p] += features[f] / layout_.scale[static_cast<size_t>(p)];
    }
  }

  // Converts θ to the kernel's form (float, times √k, in dense rows and lists) and back.
  void load(const double* theta) { weights_.load(layout_, theta); }
  void store(double* theta) const {
    for (size_t i = 0; i < layout_.scale.size(); ++i)
      theta[i] = static_cast<double>(weights_(layout_, i)) / layout_.scale[i];
  }
  void multiply(float factor) {
    for (float& w : weights_.dense) w *= factor;
    for (float& w : weights_.sparse) w *= factor;
  }

  LinearTable<const float> weights() const { return {weights_.dense.data(), weights_.sparse.data()}; }
  LinearTable<float> weights() { return {weights_.dense.data(), weights_.sparse.data()}; }

  // Returns sums, set to zero, in the kernel's form.
  LinearTable<float> zeros(GroupSums& sums) const {
    sums.reset(layout_);
    return {sums.dense.data(), sums.sparse.data()};
  }

  LinearFeatures features() const {
    LinearFeatures f{};
    f.padded = layout_.padded;
    f.row_ptr = layout_.row_ptr.data();
    f.rows = layout_.rows.data();
    f.row_values = layout_.row_values.empty() ? nullptr : layout_.row_values.data();
    f.sparse_ptr = layout_.sparse_ptr.data();
    f.sparse_ids = layout_.sparse_ids.data();
    f.sparse_labels = layout_.sparse_labels.data();
    f.sparse_values = layout_.sparse_values.empty() ? nullptr : layout_.sparse_values.data();
    f.row_shares = layout_.row_shares.data();
    f.sparse_shares = layout_.sparse_shares.data();
    return f;
  }

  // out[i] = the sums' entry for parameter i, times its scale^power, for parameters from .. to-1.
  // sum_of(fn) adds fn(sums) over the blocks, in their order.
  template <class SumOf>
  void collect(double* out, int64_t from, int64_t to, int power, SumOf&& sum_of) const {
    for (int64_t i = from; i < to; ++i) {
      const double sum = sum_of(
          [&](const GroupSums& sums) { return static_cast<double>(sums(layout_, static_cast<size_t>(i))); });
      const double scale = layout_.scale[static_cast<size_t>(i)];
      out[i] = sum * (power == 1 ? scale : scale * scale);
    }
  }

 private:
  LinearLayout layout_;
  ParameterTable<float> weights_;
};

}  // namespace crfkit
