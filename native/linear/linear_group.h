// The parameters of one kind of features: those that score labels, or those that score pairs of labels.
//
// A group owns its weights in the kernel's form (float, dense rows and lists; see LinearLayout) and knows the
// place of its parameters in θ.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <utility>
#include <vector>

#include "linear/linear_layout.h"
#include "linear/linear_problem.h"

namespace crfkit {

// Sets numbers to zero; every pass does this with whole tables, and it is faster than a loop.
template <class Real>
void clear(Real* p, int64_t n) {
  if (n > 0) std::memset(p, 0, static_cast<size_t>(n) * sizeof(Real));
}

// One number per parameter in a layout: dense rows and lists.
template <class Real>
struct ParameterTable {
  std::vector<Real> dense, sparse;

  void reset(const LinearLayout& layout) {
    dense.resize(static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded));
    sparse.resize(static_cast<size_t>(layout.n_sparse));
    for (std::vector<Real>* v : {&dense, &sparse}) clear(v->data(), static_cast<int64_t>(v->size()));
  }
  void fill(const LinearLayout& layout, Real value) {
    dense.assign(static_cast<size_t>(layout.n_rows) * static_cast<size_t>(layout.padded), value);
    sparse.assign(static_cast<size_t>(layout.n_sparse), value);
  }

  // Loads θ of a group, [n_parameters], times √k · unit: what a parameter adds to a score per stored value.
  // Only parameters from .. to - 1.
  void load(const LinearLayout& layout, const double* theta, size_t from, size_t to) {
    const auto n_dense = layout.slots.size();
    for (size_t i = from; i < std::min(to, n_dense); ++i)
      dense[static_cast<size_t>(layout.slots[i])] = static_cast<Real>(theta[i] * layout.scale[i]);
    for (size_t i = std::max(from, n_dense); i < to; ++i)
      sparse[i - n_dense] = static_cast<Real>(theta[i] * layout.scale[i]);
  }
  void load(const LinearLayout& layout, const double* theta) { load(layout, theta, 0, layout.scale.size()); }

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
  FlatArray<float> recent_rows, recent_lists;  // only what is touched is ever set
  Ranges touched_rows, touched_lists;          // dense rows and sparse parameters
  std::vector<double> rows, lists;             // [n_settled, width] of each plan

  // Sets the sums to zero. The run of a pass touches only a part of them; kAnyRun: all of them.
  static constexpr size_t kAnyRun = SIZE_MAX;
  LinearSums reset(const LinearLayout& layout, size_t run) {
    const int64_t padded = layout.padded;
    touched_rows = run == kAnyRun ? Ranges{{0, layout.n_rows}} : layout.touched_rows.of(run);
    touched_lists = run == kAnyRun ? Ranges{{0, layout.n_sparse}} : layout.touched_lists.of(run);
    recent_rows.resize(static_cast<size_t>(layout.n_rows * padded));
    recent_lists.resize(static_cast<size_t>(layout.n_sparse));
    for (const auto& [from, to] : touched_rows)
      clear(recent_rows.data() + from * padded, (to - from) * padded);
    for (const auto& [from, to] : touched_lists) clear(recent_lists.data() + from, to - from);
    const SettlePlan& plan = layout.row_plan;
    rows.assign(static_cast<size_t>(plan.n_settled) * static_cast<size_t>(plan.width), 0.0);
    lists.assign(static_cast<size_t>(layout.sparse_plan.n_settled), 0.0);
    return {{recent_rows.data(), recent_lists.data()}, {rows.data(), lists.data()}};
  }

  // out[i] += what is in float for parameter i, from .. to - 1: all of dense rows, or all of lists.
  void add_recent(const LinearLayout& layout, double* out, int64_t from, int64_t to) const {
    const auto n_dense = static_cast<int64_t>(layout.slots.size());
    if (from < n_dense) {
      const int32_t *first = layout.slots.data() + from, *last = layout.slots.data() + to;
      const int64_t low = *first / layout.padded, high = *(last - 1) / layout.padded + 1;
      for_common(touched_rows, low, high, [&](int64_t a, int64_t b) {
        const auto* slot = std::lower_bound(first, last, a * layout.padded);
        const auto* end = std::lower_bound(slot, last, b * layout.padded);
        double* sum = out + (slot - layout.slots.data());
        for (; slot < end; ++slot) *sum++ += static_cast<double>(recent_rows[static_cast<size_t>(*slot)]);
      });
    } else {
      for_common(touched_lists, from - n_dense, to - n_dense, [&](int64_t a, int64_t b) {
        double* sum = out + n_dense;
        const float* recent = recent_lists.data();
        for (int64_t i = a; i < b; ++i) sum[i] += static_cast<double>(recent[i]);
      });
    }
  }

 private:
  // Calls fn(a, b) for what each of the ranges has in common with from .. to - 1.
  template <class Fn>
  static void for_common(const Ranges& ranges, int64_t from, int64_t to, Fn&& fn) {
    auto range = std::upper_bound(ranges.begin(), ranges.end(), from,
                                  [](int64_t x, const auto& r) { return x < r.second; });
    for (; range != ranges.end() && range->first < to; ++range)
      fn(std::max(from, range->first), std::min(to, range->second));
  }
};

class LinearGroup {
 public:
  LinearGroup(const AttributeData& attributes, int padded, const LayoutPlace& place)
      : layout_(make_layout(attributes, padded, place)) {
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
  // load takes parameters from .. to - 1, so that threads can share the work.
  void load(const double* theta, int64_t from, int64_t to) {
    weights_.load(layout_, theta, static_cast<size_t>(from), static_cast<size_t>(to));
  }
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

  // Returns sums, set to zero, in the kernel's form: those of a run of a whole pass, or kAnyRun.
  LinearSums zeros(GroupSums& sums, size_t run) const { return sums.reset(layout_, run); }

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

  // out[i] = the sums' entry for parameter i, times its scale^power, for parameters from .. to - 1. The
  // blocks are added up in their order. Only what is in float: add_settled adds the rest.
  void collect(double* out, int64_t from, int64_t to, int power,
               const std::vector<const GroupSums*>& blocks) const {
    constexpr int64_t kPiece = 4096;  // stays in the cache
    const auto n_dense = static_cast<int64_t>(layout_.slots.size());
    for (int64_t first = from, last; first < to; first = last) {
      last = std::min(first + kPiece, first < n_dense ? std::min(to, n_dense) : to);
      std::fill(out + first, out + last, 0.0);
      for (const GroupSums* sums : blocks) sums->add_recent(layout_, out, first, last);
      const double* scale = layout_.scale.data();
      if (power == 1)
        for (int64_t i = first; i < last; ++i) out[i] *= scale[i];
      else
        for (int64_t i = first; i < last; ++i) out[i] *= scale[i] * scale[i];
    }
  }

  // out[i] += what the plans have moved to double, times scale^power.
  void add_settled(double* out, int power, const std::vector<const GroupSums*>& blocks) const {
    auto add = [&](size_t parameter, size_t at, std::vector<double> GroupSums::* settled) {
      const double scale = layout_.scale[parameter];
      double sum = 0;
      for (const GroupSums* sums : blocks) sum += (sums->*settled)[at];
      out[parameter] += sum * (power == 1 ? scale : scale * scale);
    };
    for (const auto& [parameter, at] : settled_rows_) add(parameter, at, &GroupSums::rows);
    for (const auto& [parameter, at] : settled_lists_) add(parameter, at, &GroupSums::lists);
  }

  // Says that positions from .. to - 1 have been read, or will be soon: for layouts in scratch files.
  void let_go_of(int64_t from, int64_t to) const {
    layout_.for_arrays(from, to, [](const auto* p, int64_t n) { let_go(p, n); });
  }
  void fetch(int64_t from, int64_t to) const {
    layout_.for_arrays(from, to, [](const auto* p, int64_t n) { fetch_ahead(p, n); });
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
