// Rows of features: the mean over each, and a model's rows with some of them replaced by continued training.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace crfkit {

// The features of attributes: row a has indptr[a] .. indptr[a + 1] - 1.
struct FeatureRows {
  int64_t n;              // rows
  const int64_t* indptr;  // [n + 1]
  const int32_t* ids;     // [F]
  const double* weights;  // [F]
};

struct OwnedRows {
  std::vector<int64_t> indptr;
  std::vector<int32_t> ids;
  std::vector<double> weights;
};

// Returns A rows: row rows[i] (ascending) is row i of `fresh`, every other one is that of `old`, and empty
// beyond its end. Runs of old rows between new ones are copied as a whole.
inline OwnedRows replace_rows(const FeatureRows& old, const FeatureRows& fresh, const int64_t* rows,
                              int64_t A) {
  OwnedRows out;
  size_t n_old = 0;
  for (int64_t i = 0; i < fresh.n; ++i)
    if (rows[i] < old.n) n_old += static_cast<size_t>(old.indptr[rows[i] + 1] - old.indptr[rows[i]]);
  const size_t F = static_cast<size_t>(old.indptr[old.n] + fresh.indptr[fresh.n]) - n_old;
  out.indptr.reserve(static_cast<size_t>(A) + 1);
  out.ids.reserve(F);
  out.weights.reserve(F);
  out.indptr.push_back(0);
  auto copy = [&](const FeatureRows& from, int64_t first, int64_t last) {  // rows first .. last - 1
    const int64_t begin = from.indptr[first], end = from.indptr[last];
    const int64_t shift = static_cast<int64_t>(out.ids.size()) - begin;
    for (int64_t a = first; a < last; ++a) out.indptr.push_back(from.indptr[a + 1] + shift);
    out.ids.insert(out.ids.end(), from.ids + begin, from.ids + end);
    out.weights.insert(out.weights.end(), from.weights + begin, from.weights + end);
  };
  int64_t next = 0;  // the first row that is not there yet
  auto copy_old = [&](int64_t last) {
    if (next < std::min(last, old.n)) copy(old, next, std::min(last, old.n));
    out.indptr.resize(static_cast<size_t>(last) + 1, out.indptr.back());
    next = last;
  };
  for (int64_t i = 0; i < fresh.n; ++i) {
    copy_old(rows[i]);
    copy(fresh, i, i + 1);
    next = rows[i] + 1;
  }
  copy_old(A);
  return out;
}

// Writes the mean of each row of values, within 0 .. most; 0 for an empty row.
inline void row_means(int64_t n, const int64_t* indptr, const double* values, double most, float* means) {
  for (int64_t a = 0; a < n; ++a) {
    double sum = 0;
    for (int64_t f = indptr[a]; f < indptr[a + 1]; ++f) sum += values[f];
    const auto length = static_cast<double>(std::max<int64_t>(1, indptr[a + 1] - indptr[a]));
    means[a] = static_cast<float>(std::clamp(sum / length, 0.0, most));
  }
}

}  // namespace crfkit
