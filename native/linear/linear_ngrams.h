// The settings of the linear objective, and its chain: tables of transitions, or label n-grams.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "linear/linear_layout.h"
#include "orders/ngram_chain.h"
#include "orders/ngram_posterior.h"

namespace crfkit {

struct LinearSettings {
  int labels, order, threads;
  std::vector<int64_t> offsets;      // [N + 1]
  const int32_t* targets;            // [ΣT]; this and the next two belong to the caller
  const uint8_t* allowed = nullptr;  // [ΣT, L] or null
  const uint8_t* likely = nullptr;   // [ΣT, (L + 7) / 8] bits of the labels that Z sums over; or null
  const int32_t* kinds = nullptr;    // [ΣT] which table of permitted pairs holds; or null
  std::vector<double> weights;       // [N] or empty
  std::vector<float> log_cost;       // [L] or empty
  std::vector<uint8_t> free;         // [L, L] which transitions are parameters; the others stay 0
  std::vector<int32_t> ngrams;       // [rows, order + 1] longer runs of labels that are
  bool tables = false;               // whether transitions must be in tables
  std::vector<uint8_t> permitted;    // [M, L, L] or empty
  std::string scratch;               // directory for everything that grows with the data; "": memory
};

inline NgramRows ngram_rows(const LinearSettings& s) {
  return {s.ngrams.data(), static_cast<int64_t>(s.ngrams.size()) / (s.order + 1), s.order + 1};
}

// Tables in single precision are so much faster than those of inference.
constexpr int64_t kTableSpeed = 2;

// Chooses between tables, which have no model, and n-grams. Pairs that attributes score, or that may be
// forbidden at single positions, must be n-grams. Where few labels are likely, n-grams cost little. pairs: as
// in LinearObjective.
inline NgramModel ngram_model(const LinearSettings& s, const AttributeData* pairs) {
  NgramModel model;
  std::vector<uint8_t> bigrams = s.free;
  if (pairs)
    for (int64_t f = 0; f < pairs->state_indptr[pairs->n_attributes]; ++f)
      bigrams[static_cast<size_t>(pairs->state_labels[f])] = 1;
  if (!s.permitted.empty()) bigrams.assign(bigrams.size(), 1);
  int64_t nodes = s.labels + ngram_rows(s).count;
  for (const uint8_t bigram : bigrams) nodes += bigram;
  // In order 1, tables of pairs at single positions cost about as much as the nodes of all pairs.
  const bool paired = s.order == 1 && (pairs || !s.permitted.empty());
  const bool few = s.likely || ngrams_cost_less(s.labels, s.order, kTableSpeed * nodes);
  if (s.tables || paired || !few) return model;
  model.ngrams = std::make_unique<LabelNgrams>(s.labels, s.order, bigrams.data(), ngram_rows(s));
  return model;
}

inline NgramCalls calls_of(NgramPosterior& own) {
  NgramCalls calls{};
  calls.worker = &own;
  calls.posterior = [](void* worker, int64_t T, float* node, float* pairs, double weight, double* counts) {
    return static_cast<NgramPosterior*>(worker)->run(T, node, pairs, weight, counts);
  };
  calls.transitions = [](void* worker, int64_t T, const int32_t* labels) {
    return static_cast<NgramPosterior*>(worker)->transitions(T, labels);
  };
  return calls;
}

}  // namespace crfkit
