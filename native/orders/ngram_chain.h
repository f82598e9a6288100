// A chain whose transitions that weigh 0 cost nothing, and when it is cheaper than tables of all transitions.
//
// A pass costs O(states + n-grams) per position (ngram_step.h) against L^(n+1) for tables. A number of a
// table is much cheaper, because tables are read in order by SIMD instructions: `kNodeCost` of them cost as
// much as a node. Without pair scores per position, every pair that weighs 0 is no n-gram.
#pragma once

#include <memory>

#include "orders/ngram_scores.h"

namespace crfkit {

struct ChainScores {
  int labels, order;
  const double* edge;     // [L, L]; null: pairs are scored at each position
  const double* edge2;    // [L, L, L] or null
  NgramRows rows;         // longer n-grams, and
  const double* weights;  // their weights [rows]; used if edge2 is null
};

constexpr double kNodeCost = 48;

inline bool ngrams_cost_less(int labels, int order, int64_t nodes) {
  if (order > 2) return true;
  double table = labels;
  for (int i = 0; i < order; ++i) table *= labels;
  return kNodeCost * static_cast<double>(nodes) < table;
}

class NgramChain {
 public:
  // Returns null if tables are cheaper.
  static std::unique_ptr<NgramChain> if_cheaper(const ChainScores& x) {
    const int64_t L = x.labels;
    std::vector<uint8_t> bigrams(static_cast<size_t>(L * L), 1);
    int64_t nodes = L;
    for (int64_t i = 0; i < L * L; ++i) {
      if (x.edge) bigrams[static_cast<size_t>(i)] = x.edge[i] != 0;
      nodes += bigrams[static_cast<size_t>(i)];
    }
    nodes += x.edge2 ? 0 : x.rows.count;
    for (int64_t i = 0; x.edge2 && i < L * L * L; ++i) nodes += x.edge2[i] != 0;
    if (!ngrams_cost_less(x.labels, x.order, nodes)) return nullptr;
    std::vector<int32_t> triples;
    std::vector<double> weights;
    NgramRows rows = x.rows;
    if (x.edge2) {
      for (int64_t i = 0; i < L * L * L; ++i)
        if (x.edge2[i] != 0) {
          for (const int64_t label : {i / L / L, i / L % L, i % L})
            triples.push_back(static_cast<int32_t>(label));
          weights.push_back(x.edge2[i]);
        }
      rows = {triples.data(), static_cast<int64_t>(weights.size()), 3};
    }
    auto chain = std::unique_ptr<NgramChain>(new NgramChain(x.labels, x.order, bigrams.data(), rows));
    chain->weights.load(chain->ngrams, x.edge, x.edge2 ? weights.data() : x.weights);
    return chain;
  }

  LabelNgrams ngrams;
  NgramWeights weights;

 private:
  NgramChain(int labels, int order, const uint8_t* bigrams, const NgramRows& rows)
      : ngrams(labels, order, bigrams, rows) {}
};

// Fills a table of all triples [L, L, L] with the weights of those that have one.
inline std::vector<double> table_of(int64_t L, const NgramRows& rows, const double* weights) {
  std::vector<double> table(static_cast<size_t>(L * L * L), 0.0);
  for (int64_t r = 0; r < rows.count; ++r) {
    const int32_t* y = rows.labels + r * rows.width;
    table[static_cast<size_t>((y[0] * L + y[1]) * L + y[2])] += weights[r];
  }
  return table;
}

}  // namespace crfkit
