// Label n-grams that have a weight, as an automaton: the states of a chain of any order.
//
// Ye, Lee, Chieu and Wu, "Conditional random fields with high-order features for sequence labeling" (NIPS
// 2009). All other n-grams weigh 0, so that two histories that end in the same longest known one need not be
// told apart. The n-grams are closed under taking parts, and all single labels belong to them:
//
//   node v = z l     an n-gram: history z, new label l; z may be empty
//   fail(v)          v without its first label: the shorter n-gram that weighs in as well
//   state            a history that some n-gram continues, or a single label; `dest(v)` is the longest suffix
//                    of v that is a state
//   W(v) = w(v) + W(fail(v))    everything that counts when v is the longest n-gram that matches
//
// Nodes and states are numbered in the order of their reversed labels. So fail(v) < v, all n-grams that end
// in the same labels are neighbours, and those with the new label l are one range: a step of the chain falls
// into parts, one per label.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <vector>

namespace crfkit {

// n-grams of three labels or more, one per row, right-aligned, -1 in front of them.
struct NgramRows {
  const int32_t* labels;  // [count, width]
  int64_t count;
  int width;
};

// Lists of numbers, one after the other.
struct IntLists {
  std::vector<int32_t> ptr, items;

  // Collects i under owner[i]; owners without a number (negative) own nothing.
  void collect(const std::vector<int32_t>& owner, size_t n_owners) {
    ptr.assign(n_owners + 1, 0);
    for (const int32_t o : owner)
      if (o >= 0) ++ptr[static_cast<size_t>(o) + 1];
    for (size_t o = 0; o < n_owners; ++o) ptr[o + 1] += ptr[o];
    items.resize(static_cast<size_t>(ptr.back()));
    std::vector<int32_t> at(ptr.begin(), ptr.end() - 1);
    for (size_t i = 0; i < owner.size(); ++i)
      if (owner[i] >= 0)
        items[static_cast<size_t>(at[static_cast<size_t>(owner[i])]++)] = static_cast<int32_t>(i);
  }
  const int32_t* begin(int32_t owner) const { return items.data() + ptr[static_cast<size_t>(owner)]; }
  const int32_t* end(int32_t owner) const { return items.data() + ptr[static_cast<size_t>(owner) + 1]; }
  int64_t size(int32_t owner) const { return end(owner) - begin(owner); }
};

class LabelNgrams {
 public:
  // bigrams: [L, L] which pairs are n-grams; rows: longer ones.
  LabelNgrams(int labels, int order, const uint8_t* bigrams, const NgramRows& rows)
      : L(labels), order(order), base_(static_cast<uint64_t>(labels) + 1), width_(order + 1) {
    top_ = 1;
    for (int i = 0; i < order; ++i) {
      if (top_ > UINT64_MAX / base_ / base_)
        throw std::invalid_argument("order is too high for so many labels");
      top_ *= base_;
    }
    std::vector<uint64_t> keys;
    for (int l = 0; l < L; ++l) keys.push_back(digit(l, 0));
    for (int k = 0; k < L; ++k)
      for (int l = 0; l < L; ++l)
        if (bigrams[static_cast<int64_t>(k) * L + l]) keys.push_back(digit(l, 0) + digit(k, 1));
    std::vector<uint64_t> wanted(static_cast<size_t>(rows.count));
    for (int64_t r = 0; r < rows.count; ++r)
      add_parts(rows.labels + r * rows.width, rows.width, keys, wanted[static_cast<size_t>(r)]);
    std::sort(keys.begin(), keys.end());
    keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
    if (keys.size() > INT32_MAX) throw std::invalid_argument("too many label n-grams");
    keys_ = std::move(keys);
    make_nodes();
    row_of_node.assign(keys_.size(), -1);
    for (const uint64_t key : wanted) {
      row_of_node[static_cast<size_t>(find(key))] = static_cast<int32_t>(node_of_row.size());
      node_of_row.push_back(find(key));
    }
  }

  const int L, order;
  int64_t n_nodes() const { return static_cast<int64_t>(label.size()); }
  int64_t n_states() const { return static_cast<int64_t>(state_fail.size()); }

  // Of each node:
  std::vector<int32_t> label, previous;  // its last label, and the one before it; -1: none
  std::vector<int32_t> first;            // its first label
  std::vector<int32_t> fail;             // the node without its first label; -1 for single labels
  std::vector<int32_t> parent;           // the state without its last label; -1: the empty history
  std::vector<int32_t> dest;             // the state after it
  std::vector<int32_t> group;            // [L+1] the nodes that end in label l: group[l] .. group[l+1]-1
  IntLists below;                        // the nodes whose `fail` is this one
  // Of each state:
  std::vector<int32_t> state_fail;   // the longest shorter history; -1: the empty one
  std::vector<int32_t> state_group;  // [L+1] states that end in label l; the first of them is the label alone
  std::vector<int32_t> state_label, state_first;  // the last label, and the first
  IntLists state_below;                           // the states whose state_fail is this one
  IntLists children;                 // the nodes that continue this state, in the order of their labels
  std::vector<int32_t> node_of_row;  // [rows] the node of each given row
  std::vector<int32_t> row_of_node;  // -1: it is there because it is a part of others
  std::vector<int32_t> every;        // [nodes] their numbers

  // The node that label l after state s makes: the longest n-gram that matches.
  int32_t step(int32_t s, int32_t l) const {
    for (; s >= 0; s = state_fail[static_cast<size_t>(s)]) {
      const int32_t* end = children.end(s);
      const int32_t* at = std::lower_bound(children.begin(s), end, l, [this](int32_t v, int32_t wanted) {
        return label[static_cast<size_t>(v)] < wanted;
      });
      if (at != end && label[static_cast<size_t>(*at)] == l) return *at;
    }
    return group[static_cast<size_t>(l)];
  }

  // Fills totals [nodes] with W. edge: [L, L] or null; weights: [rows] or null.
  void totals(const double* edge, const double* weights, double* out) const {
    for (size_t v = 0; v < label.size(); ++v)
      out[v] = edge && length_two(v) ? edge[static_cast<int64_t>(previous[v]) * L + label[v]] : 0.0;
    if (weights)
      for (size_t r = 0; r < node_of_row.size(); ++r) out[node_of_row[r]] += weights[r];
    for (size_t v = 0; v < label.size(); ++v)
      if (fail[v] >= 0) out[v] += out[fail[v]];
  }

  // Adds up counts of nodes as longest matches [nodes], in place, to counts of n-grams wherever they match.
  void matched(double* counts) const {
    for (size_t v = label.size(); v-- > 0;)
      if (fail[v] >= 0) counts[fail[v]] += counts[v];
  }

  bool length_two(size_t v) const { return fail[v] >= 0 && fail[static_cast<size_t>(fail[v])] < 0; }

 private:
  uint64_t digit(int32_t l, int place) const {
    uint64_t unit = top_;
    for (int i = 0; i < place; ++i) unit /= base_;
    return (static_cast<uint64_t>(l) + 1) * unit;
  }

  void add_parts(const int32_t* row, int width, std::vector<uint64_t>& keys, uint64_t& whole) const {
    int first = 0;
    while (first < width && row[first] < 0) ++first;
    if (width - first < 3 || width - first > width_)
      throw std::invalid_argument("label n-grams must have 3 to order + 1 labels");
    for (int end = first + 2; end <= width; ++end) {
      uint64_t key = 0;
      for (int i = end - 1; i >= first; --i) {
        if (row[i] < 0 || row[i] >= L) throw std::invalid_argument("a label of an n-gram is out of range");
        key += digit(row[i], end - 1 - i);
        if (end - i >= 2) keys.push_back(key);
      }
      whole = key;
    }
  }

  int32_t find(uint64_t key) const {
    const auto at = std::lower_bound(keys_.begin(), keys_.end(), key);
    return at != keys_.end() && *at == key ? static_cast<int32_t>(at - keys_.begin()) : -1;
  }

  void make_nodes() {
    const size_t V = keys_.size();
    label.resize(V), previous.resize(V), first.resize(V), fail.resize(V), parent.assign(V, -1);
    dest.resize(V), every.resize(V);
    std::iota(every.begin(), every.end(), 0);
    group.assign(static_cast<size_t>(L) + 1, static_cast<int32_t>(V));
    std::vector<int32_t> before(V, -1);  // the node without its last label
    std::vector<uint8_t> is_state(V, 0);
    for (size_t v = 0; v < V; ++v) {
      const uint64_t key = keys_[v];
      label[v] = static_cast<int32_t>(key / top_) - 1;
      const uint64_t rest = key % top_ * base_;
      previous[v] = static_cast<int32_t>(rest / top_) - 1;
      uint64_t unit = 1;  // of the last digit that is not 0: the first label
      while (key / unit % base_ == 0) unit *= base_;
      first[v] = static_cast<int32_t>(key / unit % base_) - 1;
      fail[v] = rest == 0 ? -1 : find(key - key / unit % base_ * unit);
      if (rest != 0) before[v] = find(rest);
      if (rest == 0) {
        group[static_cast<size_t>(label[v])] = static_cast<int32_t>(v);
        is_state[v] = 1;
      } else {
        is_state[static_cast<size_t>(before[v])] = 1;
      }
    }
    std::vector<int32_t> state_of(V, -1);
    for (size_t v = 0; v < V; ++v) {
      if (!is_state[v]) continue;
      state_of[v] = static_cast<int32_t>(state_label.size());
      state_label.push_back(label[v]);
      state_first.push_back(first[v]);
      state_fail.push_back(fail[v] < 0 ? -1 : state_of[static_cast<size_t>(fail[v])]);
    }
    state_group.assign(static_cast<size_t>(L) + 1, static_cast<int32_t>(n_states()));
    for (size_t s = state_label.size(); s-- > 0;)
      state_group[static_cast<size_t>(state_label[s])] = static_cast<int32_t>(s);
    for (size_t v = 0; v < V; ++v) {
      dest[v] = state_of[v] >= 0 ? state_of[v] : dest[static_cast<size_t>(fail[v])];
      if (before[v] >= 0) parent[v] = state_of[static_cast<size_t>(before[v])];
    }
    below.collect(fail, V);
    state_below.collect(state_fail, static_cast<size_t>(n_states()));
    children.collect(parent, static_cast<size_t>(n_states()));
  }

  uint64_t base_, top_;  // an n-gram as a number: its labels + 1, the last one first, are digits
  int width_;
  std::vector<uint64_t> keys_;  // [nodes] ascending
};

}  // namespace crfkit
