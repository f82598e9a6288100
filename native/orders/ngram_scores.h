// The scores of one sequence under label n-grams, and what is asked for.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "orders/label_ngrams.h"

namespace crfkit {

// The scores that all sequences of a batch share.
struct NgramWeights {
  const LabelNgrams* ngrams;
  std::vector<double> totals;  // [nodes] W
  std::vector<double> factor;  // [nodes] exp(W - top)
  double top = 0;

  // edge: [L, L] or null, if pairs are scored per position; weights: [rows] or null.
  void load(const LabelNgrams& a, const double* edge, const double* weights) {
    ngrams = &a;
    totals.resize(static_cast<size_t>(a.n_nodes()));
    factor.resize(totals.size());
    a.totals(edge, weights, totals.data());
    top = 0;
    for (const double w : totals) top = w > top ? w : top;
    for (size_t v = 0; v < totals.size(); ++v) factor[v] = std::exp(totals[v] - top);
  }
};

// One sequence; -inf forbids.
struct NgramView {
  int64_t length;       // T
  const double* node;   // [T, L]
  const double* start;  // [L] or null
  const double* end;    // [L] or null
  const double* pair;   // [T, L, pair_row] scores of label pairs at each position, or null
  int64_t pair_row;

  double psi(int L, int64_t t, int32_t l) const {
    double score = node[t * L + l];
    if (t == 0 && start) score += start[l];
    if (t == length - 1 && end) score += end[l];
    return score;
  }
  // The score of a node at position t >= 1.
  double step(const NgramWeights& w, int64_t t, int32_t v) const {
    const LabelNgrams& a = *w.ngrams;
    const double score = w.totals[static_cast<size_t>(v)];
    const int32_t k = a.previous[static_cast<size_t>(v)];
    return pair && k >= 0 ? score + pair[(t * a.L + k) * pair_row + a.label[static_cast<size_t>(v)]] : score;
  }
};

// What is asked for; every pointer except log_z may be null.
struct NgramOut {
  double* log_z;
  double* node;  // [T, L] marginals
  double* pair;  // [T, L, pair_row] marginals of (y_{t-1}, y_t); 0 at t = 0
  int64_t pair_row;
  double weight;    // of the sequence, in the counts
  double* nodes;    // [nodes] += weight * how often each node is expected as the longest match
  double* table;    // [L, L] += weight * expected transitions
  double* entropy;  // in log space only
  double* states;   // [T, states] probabilities of the states
};

// The labels that are permitted at each position, ascending.
struct PermittedLabels {
  std::vector<int32_t> labels;
  std::vector<int64_t> ptr;

  void read(int L, const NgramView& x) {
    labels.clear();
    ptr.assign(1, 0);
    for (int64_t t = 0; t < x.length; ++t) {
      for (int32_t l = 0; l < L; ++l)
        if (x.psi(L, t, l) > -HUGE_VAL) labels.push_back(l);
      ptr.push_back(static_cast<int64_t>(labels.size()));
    }
  }
  const int32_t* begin(int64_t t) const { return labels.data() + ptr[static_cast<size_t>(t)]; }
  const int32_t* end(int64_t t) const { return labels.data() + ptr[static_cast<size_t>(t) + 1]; }
  int64_t size(int64_t t) const { return end(t) - begin(t); }
};

}  // namespace crfkit
