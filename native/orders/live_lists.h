// The n-grams and states that are possible at a position: those all of whose labels are permitted where they
// stand. If few labels are permitted, few of them are.
#pragma once

#include <algorithm>

#include "orders/ngram_scores.h"

namespace crfkit {

// Lists in the order of numbers, cut into one list per permitted label.
class LiveLists {
 public:
  struct List {
    const int32_t *first, *last;
    const int32_t* begin() const { return first; }
    const int32_t* end() const { return last; }
  };

  void forget() { t_ = -1; }

  // Finds what is possible at position t >= 0, if that is not known already.
  void find(const LabelNgrams& a, const PermittedLabels& labels, int64_t t) {
    if (t == t_) return;
    t_ = t;
    n_ = labels.size(t);
    bool all = t >= a.order;
    for (int64_t u = t - a.order; all && u <= t; ++u) all = labels.size(u) == a.L;
    if (all) {
      nodes_ = states_ = a.every.data();
      node_ptr_ = a.group.data(), state_ptr_ = a.state_group.data();
      return;
    }
    found_nodes_.clear(), found_states_.clear();
    own_node_ptr_.assign(1, 0), own_state_ptr_.assign(1, 0);
    for (const int32_t* l = labels.begin(t); l < labels.end(t); ++l) {
      visit(a.below, a.first, labels, a.group[static_cast<size_t>(*l)], t - 1, found_nodes_);
      visit(a.state_below, a.state_first, labels, a.state_group[static_cast<size_t>(*l)], t - 1,
            found_states_);
      own_node_ptr_.push_back(static_cast<int32_t>(found_nodes_.size()));
      own_state_ptr_.push_back(static_cast<int32_t>(found_states_.size()));
    }
    nodes_ = found_nodes_.data(), states_ = found_states_.data();
    node_ptr_ = own_node_ptr_.data(), state_ptr_ = own_state_ptr_.data();
  }

  // Those that end in the i-th permitted label; the label alone comes first.
  List nodes(int64_t i) const { return {nodes_ + node_ptr_[i], nodes_ + node_ptr_[i + 1]}; }
  List states(int64_t i) const { return {states_ + state_ptr_[i], states_ + state_ptr_[i + 1]}; }
  List nodes() const { return {nodes_, nodes_ + node_ptr_[n_]}; }
  List states() const { return {states_, states_ + state_ptr_[n_]}; }
  int64_t n_labels() const { return n_; }

 private:
  // Adds v and everything possible that is longer and ends in v, whose next label before it is at position t.
  static void visit(const IntLists& below, const std::vector<int32_t>& first, const PermittedLabels& labels,
                    int32_t v, int64_t t, std::vector<int32_t>& out) {
    out.push_back(v);
    if (t < 0) return;
    const int32_t* at = below.begin(v);
    const int32_t* end = below.end(v);
    for (const int32_t* k = labels.begin(t); k < labels.end(t) && at < end; ++k) {
      at = std::lower_bound(at, end, *k, [&](int32_t longer, int32_t wanted) {
        return first[static_cast<size_t>(longer)] < wanted;
      });
      if (at < end && first[static_cast<size_t>(*at)] == *k) visit(below, first, labels, *at, t - 1, out);
    }
  }

  int64_t t_ = -1, n_ = 0;
  const int32_t *nodes_ = nullptr, *states_ = nullptr, *node_ptr_ = nullptr, *state_ptr_ = nullptr;
  std::vector<int32_t> found_nodes_, found_states_, own_node_ptr_, own_state_ptr_;
};

}  // namespace crfkit
