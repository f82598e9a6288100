// What is done to a model's probabilities (models/calibration.py): a temperature by which all scores are
// divided, and rising functions of the probabilities of labels and of segments.
#pragma once

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/names.h"

namespace crfkit {

// A number with or without a fraction.
inline std::optional<double> number_of(const Json& value) {
  if (const auto whole = value.integer()) return static_cast<double>(*whole);
  return value.real();
}

// Linear between the points (x, y), constant outside of them.
class IsotonicMap {
 public:
  explicit IsotonicMap(const Json& points) {
    std::vector<std::vector<double>> axes;
    bool sound = points.is_array();
    if (sound) {
      points.for_each([&](const Json& axis) {
        axes.emplace_back();
        sound &= axis.is_array();
        if (!axis.is_array()) return;
        axis.for_each([&](const Json& value) {
          const double number = number_of(value).value_or(-1);
          sound &= number >= 0 && number <= 1;
          axes.back().push_back(number);
        });
        sound &= std::is_sorted(axes.back().begin(), axes.back().end());
      });
    }
    if (!sound || axes.size() != 2 || axes[0].empty() || axes[0].size() != axes[1].size()) {
      throw Damage("its calibration is malformed");
    }
    x_ = std::move(axes[0]);
    y_ = std::move(axes[1]);
  }

  double operator()(double p) const {
    const auto above = std::upper_bound(x_.begin(), x_.end(), p);
    if (above == x_.begin()) return y_.front();
    if (above == x_.end()) return y_.back();
    const auto i = static_cast<size_t>(above - x_.begin());
    return y_[i - 1] + (y_[i] - y_[i - 1]) * ((p - x_[i - 1]) / (x_[i] - x_[i - 1]));
  }

 private:
  std::vector<double> x_, y_;
};

struct Calibration {
  double temperature = 1;
  std::optional<IsotonicMap> tokens, segments;

  Calibration() = default;
  explicit Calibration(const Json& header) {
    const auto record = header.member("calibration");
    if (!record) return;
    if (!record->is_object()) throw Damage("its calibration is malformed");
    if (const auto found = record->member("temperature")) {
      temperature = number_of(*found).value_or(0);
      if (!(temperature > 0 && temperature < HUGE_VAL)) throw Damage("its calibration is malformed");
    }
    const auto maps = record->member("isotonic");
    if (!maps) return;
    if (!maps->is_object()) throw Damage("its calibration is malformed");
    maps->for_each_member([&](std::string_view name, const Json& points) {
      if (name != "tokens" && name != "segments") throw Damage("its calibration is malformed");
      (name == "tokens" ? tokens : segments).emplace(points);
    });
  }

  // Maps the probabilities of labels [T, L]; those of one position sum to 1 again.
  void apply(std::vector<double>* marginals, size_t L) const {
    if (!tokens) return;
    std::vector<double> row(L);
    for (size_t start = 0; start < marginals->size(); start += L) {
      double sum = 0;
      for (size_t l = 0; l < L; ++l) sum += row[l] = (*tokens)((*marginals)[start + l]);
      for (size_t l = 0; l < L && sum > 0; ++l) (*marginals)[start + l] = row[l] / sum;
    }
  }
};

}  // namespace crfkit
