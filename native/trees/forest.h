// Sums of regression trees over a window of each position: node_t(v) = Σ_m h_m^v(w_t), and if trees look at
// the previous label as well (Dietterich, Ashenfelter and Bulatov, ICML 2004), edge_t(u, v) = Σ_m h_m^v(u,
// w_t). The window is read in place: feature j is column j % K of the position j / K - before away. A tree is
// walked once per position for all previous labels; the walk splits only at nodes that test that label.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "base/parallel.h"

namespace crfkit {

// Trees in flat arrays. A child >= 0 is an inner node, and comes after its parent; a child < 0 is leaf
// ~child.
struct Trees {
  static constexpr uint8_t kCategory = 1;     // left: categories in the node's set; all others go right
  static constexpr uint8_t kMissingLeft = 2;  // a missing number goes left

  const int32_t* feature;     // [I]
  const double* threshold;    // [I] left: number <= threshold; of categories: the number of the set
  const uint8_t* flags;       // [I]
  const int32_t* left;        // [I]
  const int32_t* right;       // [I]
  const int64_t* set_indptr;  // [C + 1]
  const uint32_t* set_words;  // bit b of word w: category 32 w + b
  const double* leaf;         // [V]
  const int32_t* root;        // [M]
  const int32_t* label;       // [M] whose score a tree adds to
};

// The columns of all positions, and the window.
struct WindowedTable {
  const double* values;    // [ΣT, K]; NaN: missing
  const double* outside;   // [K] values before the first and after the last position
  const int64_t* offsets;  // [N + 1]
  int64_t n_sequences;
  int64_t n_columns;  // K
  int64_t before;     // positions
  int64_t width;      // of the window
};

class TreeWalk {
 public:
  TreeWalk(const Trees& trees, const WindowedTable& table, int n_labels)
      : trees_(trees), table_(table), labels_(n_labels), contexts_(static_cast<size_t>(n_labels)) {}

  // Adds tree m to the scores of one position t of the sequence [start, stop). out: [L], or with contexts
  // first..first+n-1 (labels before t; L stands for the start) [n, L].
  void add(int64_t m, int64_t t, int64_t start, int64_t stop, int first, int n, double* out) {
    t_ = t, start_ = start, stop_ = stop, first_ = first;
    out_ = out + trees_.label[m];
    for (int i = 0; i < n; ++i) contexts_[static_cast<size_t>(i)] = first + i;
    walk(trees_.root[m], 0, n);
  }

 private:
  void walk(int32_t place, int low, int high) {
    const int64_t context = table_.width * table_.n_columns;
    while (place >= 0) {
      if (trees_.feature[place] == context) {
        int* all = contexts_.data();
        int* middle = std::partition(all + low, all + high,
                                     [&](int u) { return in_set(place, static_cast<double>(u)); });
        const int cut = static_cast<int>(middle - all);
        if (cut > low && cut < high) walk(trees_.left[place], low, cut);
        place = cut == high ? trees_.left[place] : trees_.right[place];
        if (cut < high) low = cut;
        continue;
      }
      place = goes_left(place) ? trees_.left[place] : trees_.right[place];
    }
    const double value = trees_.leaf[~place];
    for (int i = low; i < high; ++i)
      out_[static_cast<int64_t>(contexts_[static_cast<size_t>(i)] - first_) * labels_] += value;
  }

  bool goes_left(int32_t place) const {
    const int64_t j = trees_.feature[place], K = table_.n_columns;
    const int64_t around = t_ + j / K - table_.before;
    const double value =
        around >= start_ && around < stop_ ? table_.values[around * K + j % K] : table_.outside[j % K];
    if (trees_.flags[place] & Trees::kCategory) return in_set(place, value);
    if (std::isnan(value)) return (trees_.flags[place] & Trees::kMissingLeft) != 0;
    return value <= trees_.threshold[place];
  }

  bool in_set(int32_t place, double category) const {
    const auto set = static_cast<int64_t>(trees_.threshold[place]);
    const int64_t first = trees_.set_indptr[set], bits = 32 * (trees_.set_indptr[set + 1] - first);
    if (!(category >= 0 && category < static_cast<double>(bits))) return false;  // missing, too
    const auto c = static_cast<int64_t>(category);
    return (trees_.set_words[first + c / 32] >> (c % 32)) & 1;
  }

  const Trees& trees_;
  const WindowedTable& table_;
  int labels_;
  std::vector<int> contexts_;
  int64_t t_ = 0, start_ = 0, stop_ = 0;
  int first_ = 0;
  double* out_ = nullptr;
};

// Adds trees m0..m1-1 to node [ΣT, L] and, if they look at the previous label (edge is given), to edge [ΣT,
// L, L]: node then gets the scores of first positions only.
inline void add_tree_scores(const Trees& trees, int64_t m0, int64_t m1, const WindowedTable& table,
                            int n_labels, int n_threads, double* node, double* edge) {
  constexpr int64_t kBlock = 256;  // positions, at least, of whole sequences
  std::vector<int64_t> cuts{0};    // sequences
  for (int64_t i = 0; i < table.n_sequences; ++i)
    if (table.offsets[i + 1] - table.offsets[cuts.back()] >= kBlock || i + 1 == table.n_sequences)
      cuts.push_back(i + 1);
  const int64_t L = n_labels;
  parallel_for(static_cast<int>(cuts.size()) - 1, n_threads, [&](int b, int) {
    TreeWalk walk(trees, table, n_labels);
    for (int64_t m = m0; m < m1; ++m)
      for (int64_t i = cuts[static_cast<size_t>(b)]; i < cuts[static_cast<size_t>(b) + 1]; ++i) {
        poll(50 * (table.offsets[i + 1] - table.offsets[i]));
        const int64_t start = table.offsets[i], stop = table.offsets[i + 1];
        for (int64_t t = start; t < stop; ++t) {
          if (edge && t > start)
            walk.add(m, t, start, stop, 0, n_labels, edge + t * L * L);
          else
            walk.add(m, t, start, stop, n_labels, 1, node + t * L);
        }
      }
  });
}

}  // namespace crfkit
