// The parameters of one kind of features: those that score labels, or those that score pairs of labels.
//
// A group owns its weights in the kernel's form (float, dense rows and lists; see LinearLayout) and knows the
// place of its parameters in θ.
#pragma once

#include <cmath>
#include <cstring>
#include <utility>
#include <vector>

#include "linear/linear_layout.h"
#include "linear/linear_problem.h"

namespace crfkit {

// One number per parameter in a layout: dense rows and lists.
template <class Real>
struct ParameterTable {
  std::vector<Real> dense, sparse;

  void reset(const LinearLayout& layout) {
    auto clear = [](std::vector<Real>& v, size_t n) {
      v.resize(n);
      if (n) std::memset(v.data(), 0, n * sizeof(Real));  // every pass does this: faster than a loop
    };
    clear(dense, static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded));
    clear(sparse, static_cast<size_t>(layout.n_sparse));
  }
  void fill(const LinearLayout& layout, Real value) {
    dense.assign(static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded), value);
    sparse.assign(static_cast<size_t>(layout.n_sparse), value);
  }

  // Loads θ of a group, [n_parameters], times √k · unit: what a parameter adds to a score per stored value.
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
  Real& at(const LinearLayout& layout, size_t i) {
    const auto n_dense = layout.slots.size();
    return i < n_dense ? dense[static_cast<size_t>(layout.slots[i])] : sparse[i - n_dense];
  }
};

// Sums by parameter: of the last few terms in float, and in double what the plans have moved there.
struct GroupSums {
  ParameterTable<float> recent;
  std::vector<double> dense, sparse;  // [n_settled, width] of each plan

  LinearSums reset(const LinearLayout& layout) {
    recent.reset(layout);
    const SettlePlan& rows = layout.row_plan;
    dense.assign(static_cast<size_t>(rows.n_settled) * static_cast<size_t>(rows.width), 0.0);
    sparse.assign(static_cast<size_t>(layout.sparse_plan.n_settled), 0.0);
    return {{recent.dense.data(), recent.sparse.data()}, {dense.data(), sparse.data()}};
  }
};

class LinearGroup {
 public:
  LinearGroup(const AttributeData& attributes, int padded) : layout_(make_layout(attributes, padded)) {
    weights_.reset(layout_);
    find_settled();
  }

  const LinearLayout& layout() const { return layout_; }
  int64_t n_parameters() const { return layout_.n_parameters(); }
  int64_t n_features() const { return static_cast<int64_t>(layout_.parameter_of.size()); }

  // The methods below take the group's own part of θ, [n_parameters].

  // √k of each parameter: the weight of its features is θ / √k.
  void penalty_scale(double* out) const {
    for (size_t i = 0; i < layout_.scale.size(); ++i) out[i] = root(i);
  }

  void to_features(const double* theta, double* features) const {
    for (size_t f = 0; f < layout_.parameter_of.size(); ++f) {
      const int32_t p = layout_.parameter_of[f];
      features[f] = p < 0 ? 0.0 : theta[p] / root(static_cast<size_t>(p));
    }
  }
  void from_features(const double* features, double* theta) const {
    std::fill(theta, theta + n_parameters(), 0.0);
    for (size_t f = 0; f < layout_.parameter_of.size(); ++f) {
      const int32_t p = layout_.parameter_of[f];
      if (p >= 0) theta[p] += features[f] / root(static_cast<size_t>(p));
    }
  }

  // Converts θ to the kernel's form (float, times √k · unit, in dense rows and lists) and back.
  void load(const double* theta) { weights_.load(layout_, theta); }
  void store(double* theta) const {
    for (size_t i = 0; i < layout_.scale.size(); ++i)
      theta[i] = static_cast<double>(weights_(layout_, i)) / layout_.scale[i];
  }
  void multiply(float factor) {
    for (float& w : weights_.dense) w *= factor;
    for (float& w : weights_.sparse) w *= factor;
  }

  // Stochastic steps shrink all weights by one factor, which stands for the penalty in a unit of 1.
  // Multiplies the others by what is missing, where exp(-shrunk) was that factor.
  void shrink_by_unit(double shrunk) {
    for (size_t i = 0; i < layout_.unit.size(); ++i)
      if (layout_.unit[i] != 1)
        weights_.at(layout_, i) *=
            static_cast<float>(std::exp(-shrunk * (1 / (layout_.unit[i] * layout_.unit[i]) - 1)));
  }
  // How many numbers the positions first .. last - 1 read, and how many shrink_by_unit does.
  int64_t work(int64_t first, int64_t last) const {
    const auto from = static_cast<size_t>(first), to = static_cast<size_t>(last);
    return (layout_.row_ptr[to] - layout_.row_ptr[from]) * layout_.padded + layout_.sparse_ptr[to] -
           layout_.sparse_ptr[from];
  }
  int64_t work_by_unit() const { return static_cast<int64_t>(layout_.unit.size()); }

  LinearTable<const float> weights() const { return {weights_.dense.data(), weights_.sparse.data()}; }
  LinearTable<float> weights() { return {weights_.dense.data(), weights_.sparse.data()}; }

  LinearTable<const float> copy_weights(ParameterTable<float>& to) const {
    to = weights_;
    return {to.dense.data(), to.sparse.data()};
  }

  // Returns sums, set to zero, in the kernel's form.
  LinearSums zeros(GroupSums& sums) const { return sums.reset(layout_); }

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
    f.row_events = layout_.row_plan.events();
    f.sparse_events = layout_.sparse_plan.events();
    return f;
  }

  // out[i] = the sums' entry for parameter i, times its scale^power, for parameters from .. to-1.
  // sum_of(fn) adds fn(sums) over the blocks, in their order. Only what is in float: add_settled adds the
  // rest.
  template <class SumOf>
  void collect(double* out, int64_t from, int64_t to, int power, SumOf&& sum_of) const {
    for (int64_t i = from; i < to; ++i) {
      const double sum = sum_of([&](const GroupSums& sums) {
        return static_cast<double>(sums.recent(layout_, static_cast<size_t>(i)));
      });
      const double scale = layout_.scale[static_cast<size_t>(i)];
      out[i] = sum * (power == 1 ? scale : scale * scale);
    }
  }

  // out[i] += what the plans have moved to double, times scale^power.
  template <class SumOf>
  void add_settled(double* out, int power, SumOf&& sum_of) const {
    auto add = [&](size_t parameter, size_t at, std::vector<double> GroupSums::* settled) {
      const double scale = layout_.scale[parameter];
      out[parameter] += sum_of([&](const GroupSums& sums) { return (sums.*settled)[at]; }) *
                        (power == 1 ? scale : scale * scale);
    };
    for (const auto& [parameter, at] : settled_rows_) add(parameter, at, &GroupSums::dense);
    for (const auto& [parameter, at] : settled_lists_) add(parameter, at, &GroupSums::sparse);
  }

 private:
  double root(size_t i) const { return layout_.scale[i] / layout_.unit_of(i); }

  // Pairs up the parameters that the plans move with their places in GroupSums.
  void find_settled() {
    const auto width = static_cast<size_t>(layout_.padded), n_dense = layout_.slots.size();
    for (size_t i = 0; i < n_dense; ++i) {
      const auto at = static_cast<size_t>(layout_.slots[i]);
      const int32_t slot = layout_.row_plan.slot_of[at / width];
      if (slot >= 0) settled_rows_.emplace_back(i, static_cast<size_t>(slot) * width + at % width);
    }
    for (size_t i = 0; i < layout_.sparse_plan.slot_of.size(); ++i)
      if (const int32_t slot = layout_.sparse_plan.slot_of[i]; slot >= 0)
        settled_lists_.emplace_back(n_dense + i, static_cast<size_t>(slot));
  }

  LinearLayout layout_;
  ParameterTable<float> weights_;
  std::vector<std::pair<size_t, size_t>> settled_rows_, settled_lists_;  // parameter, place
};

}  // namespace crfkit
