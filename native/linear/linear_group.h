// Features of one kind as parameters: those that score labels, or those that score pairs of labels.
//
// A group owns its weights in the form the kernel wants them (float, dense rows and lists; see LinearLayout)
// and knows where its parameters stand in θ.
#pragma once

#include <vector>

#include "linear/linear_layout.h"
#include "linear/linear_problem.h"

namespace crfkit {

// One number a parameter, in a thread's own memory.
struct GroupSums {
  std::vector<float> dense, sparse;

  // Set to zero, as the kernel sees them.
  LinearTable<float> zeros(const LinearLayout& layout) {
    dense.assign(static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded), 0.0f);
    sparse.assign(static_cast<size_t>(layout.n_sparse), 0.0f);
    return {dense.data(), sparse.data()};
  }
};

class LinearGroup {
 public:
  LinearGroup(const AttributeData& attributes, int padded)
      : layout_(make_layout(attributes, padded)),
        dense_(static_cast<size_t>(layout_.n_rows * padded)),
        sparse_(static_cast<size_t>(layout_.n_sparse)) {}

  const LinearLayout& layout() const { return layout_; }
  int64_t n_parameters() const { return layout_.n_parameters(); }
  int64_t n_features() const { return static_cast<int64_t>(layout_.parameter_of.size()); }

  // All that follow take the group's own part of θ, [n_parameters].

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

  // θ as the kernel wants it: in float, times √k, in dense rows and lists; and back.
  void load(const double* theta) {
    const auto n_dense = layout_.slots.size();
    for (size_t i = 0; i < n_dense; ++i)
      dense_[static_cast<size_t>(layout_.slots[i])] = static_cast<float>(theta[i] * layout_.scale[i]);
    for (size_t i = 0; i < sparse_.size(); ++i)
      sparse_[i] = static_cast<float>(theta[n_dense + i] * layout_.scale[n_dense + i]);
  }
  void store(double* theta) const {
    const auto n_dense = layout_.slots.size();
    for (size_t i = 0; i < n_dense; ++i)
      theta[i] = static_cast<double>(dense_[static_cast<size_t>(layout_.slots[i])]) / layout_.scale[i];
    for (size_t i = 0; i < sparse_.size(); ++i)
      theta[n_dense + i] = static_cast<double>(sparse_[i]) / layout_.scale[n_dense + i];
  }
  void multiply(float factor) {
    for (float& w : dense_) w *= factor;
    for (float& w : sparse_) w *= factor;
  }

  LinearTable<const float> weights() const { return {dense_.data(), sparse_.data()}; }
  LinearTable<float> weights() { return {dense_.data(), sparse_.data()}; }

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
    const auto n_dense = static_cast<int64_t>(layout_.slots.size());
    for (int64_t i = from; i < to; ++i) {
      const double sum = sum_of([&](const GroupSums& sums) {
        return static_cast<double>(
            i < n_dense ? sums.dense[static_cast<size_t>(layout_.slots[static_cast<size_t>(i)])]
                        : sums.sparse[static_cast<size_t>(i - n_dense)]);
      });
      const double scale = layout_.scale[static_cast<size_t>(i)];
      out[i] = sum * (power == 1 ? scale : scale * scale);
    }
  }

 private:
  LinearLayout layout_;
  std::vector<float> dense_, sparse_;  // weights
};

}  // namespace crfkit
