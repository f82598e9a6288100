// Limited-memory BFGS curvature in compact form: an inverse Hessian H from the last m steps s and gradient
// changes y.
//
// Byrd, Nocedal and Schnabel, "Representations of quasi-Newton matrices and their use in limited memory
// methods", Mathematical Programming 63 (1994), equation 3.1: with the pairs as rows of S and Y, R the upper
// triangle of S Yᵀ (R_ij = s_i·y_j, i <= j), E = diag(s_i·y_i), and any positive diagonal H0,
//
//   H = H0 + [Sᵀ  H0 Yᵀ] [ R⁻ᵀ (E + Y H0 Yᵀ) R⁻¹   -R⁻ᵀ ] [ S    ]
//                        [ -R⁻¹                      0   ] [ Y H0 ]
//
// so that H g takes two walks through S and Y instead of 4m dependent vector operations. H0 = γ·base with
// γ = s·y / y·(base y) of the newest pair. Pairs are kept in single precision: they are estimates of
// curvature, and half the memory is half the time. Columns are cut into chunks of fixed size, summed in
// order, so that the result does not depend on the number of threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/parallel.h"
#include "simd/training_kernels.h"

namespace crfkit {

class CurvatureHistory {
 public:
  CurvatureHistory(int memory, int64_t n_variables, int threads)
      : memory_(memory),
        n_(n_variables),
        threads_(threads),
        s_(static_cast<size_t>(memory * n_variables)),
        y_(static_cast<size_t>(memory * n_variables)),
        base_(static_cast<size_t>(n_variables), 1.0f),
        work_(static_cast<size_t>(n_variables)),
        scaled_(static_cast<size_t>(n_variables)),
        sy_(static_cast<size_t>(memory * memory), 0.0),
        yby_(static_cast<size_t>(memory * memory), 0.0) {}

  int size() const { return static_cast<int>(order_.size()); }
  int64_t n_variables() const { return n_; }

  // Takes another positive diagonal as the shape of H0.
  void set_base(const double* base) {
    for (int64_t k = 0; k < n_; ++k) base_[static_cast<size_t>(k)] = static_cast<float>(base[k]);
    for (int row : order_) {
      std::copy_n(y_.begin() + row * n_, n_, work_.begin());
      multiply_by_base();
      set_row_and_column(row, products(y_, scaled_.data()));
    }
  }

  // Remembers a step, unless its curvature is not safely positive.
  void add(const double* s, const double* y) {
    double sy = 0, yy = 0;
    for (int64_t k = 0; k < n_; ++k) {
      sy += s[k] * y[k];
      yy += y[k] * y[k];
    }
    if (!(sy > 1e-10 * yy)) return;
    int row = size();
    if (row == memory_) {
      row = order_.front();
      order_.erase(order_.begin());
    }
    order_.push_back(row);
    for (int64_t k = 0; k < n_; ++k) {
      s_[static_cast<size_t>(row * n_ + k)] = static_cast<float>(s[k]);
      work_[static_cast<size_t>(k)] = static_cast<float>(y[k]);
    }
    std::copy(work_.begin(), work_.end(), y_.begin() + row * n_);
    const std::vector<double> with_s = products(s_, work_.data());
    for (int i = 0; i < size(); ++i) at(sy_, i, row) = with_s[static_cast<size_t>(i)];
    multiply_by_base();
    set_row_and_column(row, products(y_, scaled_.data()));
    // In single precision a nearly orthogonal pair may have lost its curvature: then all pairs are dropped.
    if (!(at(sy_, row, row) > 0 && at(yby_, row, row) > 0)) forget();
  }

  // Everything that is remembered: what ``restore`` of another object of the same size takes.
  struct Memory {
    std::vector<float> s, y, base;  // [m, n] rows in use, [m, n], [n]
    std::vector<int32_t> order;     // [m] rows, oldest first
    std::vector<double> sy, yby;    // [memory, memory]
  };
  Memory remembered() const {
    const auto used = static_cast<int64_t>(order_.size()) * n_;
    return {{s_.begin(), s_.begin() + used},
            {y_.begin(), y_.begin() + used},
            base_,
            {order_.begin(), order_.end()},
            sy_,
            yby_};
  }
  // Takes over what another object has remembered; false if its sizes or its rows do not fit this one.
  bool restore(const Memory& from) {
    const size_t m = from.order.size(), used = m * static_cast<size_t>(n_);
    std::vector<int32_t> rows = from.order;
    std::sort(rows.begin(), rows.end());
    for (size_t i = 0; i < m; ++i)
      if (rows[i] != static_cast<int32_t>(i)) return false;
    if (m > static_cast<size_t>(memory_) || from.s.size() != used || from.y.size() != used ||
        from.base.size() != base_.size() || from.sy.size() != sy_.size() || from.yby.size() != yby_.size())
      return false;
    std::copy(from.s.begin(), from.s.end(), s_.begin());
    std::copy(from.y.begin(), from.y.end(), y_.begin());
    base_ = from.base;
    order_.assign(from.order.begin(), from.order.end());
    sy_ = from.sy;
    yby_ = from.yby;
    return true;
  }

  // Drops all pairs; the base stays.
  void forget() { order_.clear(); }

  // out = H g.
  void multiply(const double* g, double* out) {
    for (int64_t k = 0; k < n_; ++k) work_[static_cast<size_t>(k)] = static_cast<float>(g[k]);
    multiply_by_base();
    const auto m = order_.size();
    if (m > 0) {
      const int newest = order_.back();
      const double gamma = at(sy_, newest, newest) / at(yby_, newest, newest);
      const std::vector<double> sg = products(s_, work_.data()), yg = products(y_, scaled_.data());
      // v = R⁻¹ S g, then u = (E + Y H0 Yᵀ) v - Y H0 g, then a = R⁻ᵀ u; rows from the oldest to the newest.
      std::vector<double> v(m), u(m), a(m);
      for (size_t i = m; i-- > 0;) {
        double sum = sg[static_cast<size_t>(order_[i])];
        for (size_t j = i + 1; j < m; ++j) sum -= at(sy_, order_[i], order_[j]) * v[j];
        v[i] = sum / at(sy_, order_[i], order_[i]);
      }
      for (size_t i = 0; i < m; ++i) {
        u[i] = at(sy_, order_[i], order_[i]) * v[i] - gamma * yg[static_cast<size_t>(order_[i])];
        for (size_t j = 0; j < m; ++j) u[i] += gamma * at(yby_, order_[i], order_[j]) * v[j];
      }
      for (size_t i = 0; i < m; ++i) {
        double sum = u[i];
        for (size_t j = 0; j < i; ++j) sum -= at(sy_, order_[j], order_[i]) * a[j];
        a[i] = sum / at(sy_, order_[i], order_[i]);
      }
      std::vector<float> of_s(m), of_y(m);  // by row
      for (size_t i = 0; i < m; ++i) {
        of_s[static_cast<size_t>(order_[i])] = static_cast<float>(a[i]);
        of_y[static_cast<size_t>(order_[i])] = static_cast<float>(-v[i]);
      }
      for_chunks([&](int, int64_t first, int64_t n) {  // γ base (g - Yᵀ v) + Sᵀ a
        float* to = work_.data() + first;
        training_kernels().add_rows(y_.data() + first, n_, static_cast<int>(m), of_y.data(), n, to);
        for (int64_t k = 0; k < n; ++k)
          to[k] *= static_cast<float>(gamma) * base_[static_cast<size_t>(first + k)];
        training_kernels().add_rows(s_.data() + first, n_, static_cast<int>(m), of_s.data(), n, to);
      });
      scaled_.swap(work_);
    }
    for (int64_t k = 0; k < n_; ++k) out[k] = static_cast<double>(scaled_[static_cast<size_t>(k)]);
  }

 private:
  static constexpr int64_t kChunk = 4096;  // columns

  double& at(std::vector<double>& table, int i, int j) { return table[static_cast<size_t>(i * memory_ + j)]; }

  template <class Fn>
  void for_chunks(Fn&& fn) {
    const auto chunks = static_cast<int>((n_ + kChunk - 1) / kChunk);
    // One thread per half a million numbers is worth starting.
    const int threads = static_cast<int>(std::min<int64_t>(threads_, 1 + n_ * memory_ / 500000));
    const int pieces = threads;
    parallel_for<Ending::kWhole>(pieces, threads, [&](int p, int) {
      for (int c = chunks * p / pieces; c < chunks * (p + 1) / pieces; ++c)
        fn(c, c * kChunk, std::min(kChunk, n_ - c * kChunk));
    });
  }

  void multiply_by_base() {  // scaled = base ∘ work
    for (int64_t k = 0; k < n_; ++k)
      scaled_[static_cast<size_t>(k)] = work_[static_cast<size_t>(k)] * base_[static_cast<size_t>(k)];
  }

  // rows · v for every row in use [m].
  std::vector<double> products(const std::vector<float>& rows, const float* v) {
    const auto m = order_.size();
    const auto chunks = static_cast<size_t>((n_ + kChunk - 1) / kChunk);
    std::vector<double> parts(chunks * m), sums(m, 0.0);
    for_chunks([&](int c, int64_t first, int64_t n) {
      training_kernels().row_dots(rows.data() + first, n_, static_cast<int>(m), v + first, n,
                                  parts.data() + static_cast<size_t>(c) * m);
    });
    for (size_t c = 0; c < chunks; ++c)
      for (size_t i = 0; i < m; ++i) sums[i] += parts[c * m + i];
    return sums;
  }

  void set_row_and_column(int row, const std::vector<double>& values) {
    for (int i = 0; i < size(); ++i) at(yby_, i, row) = at(yby_, row, i) = values[static_cast<size_t>(i)];
  }

  int memory_;
  int64_t n_;
  int threads_;
  std::vector<float> s_, y_;          // [m, n], a ring of rows
  std::vector<float> base_;           // [n]
  std::vector<float> work_, scaled_;  // [n]
  std::vector<double> sy_, yby_;      // [m, m] s_i·y_j, y_i·(base y_j)
  std::vector<int> order_;            // rows in use, oldest first
};

}  // namespace crfkit
