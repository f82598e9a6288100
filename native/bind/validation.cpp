// Constraints of validation sets over the data of a linear objective. Bounds are checked here.
#include "bind.h"
#include "validation/validation_sets.h"

namespace crfkit {

namespace {

void make_sets(ValidationSets* self, LinearObjective& objective, Array<const int64_t> first,
               Array<const int64_t> last, Array<const int32_t> sets, int n_sets, double margin) {
  const size_t n = first.shape(0);
  require(last.shape(0) == n && sets.shape(0) == n, "first, last and sets must have one entry per span");
  require(margin >= 0, "margin must not be negative");
  const std::vector<int64_t>& offsets = objective.offsets();
  for (size_t i = 0; i < n; ++i) {
    require(sets(i) >= 0 && sets(i) < n_sets && (i == 0 || sets(i) >= sets(i - 1)),
            "sets must ascend and be below n_sets");
    require(first(i) >= 0 && first(i) < last(i) && last(i) <= offsets.back(), "a span is out of range");
    const auto end = std::upper_bound(offsets.begin(), offsets.end(), first(i));
    require(last(i) <= *end, "a span must lie within one sequence");
  }
  ValidationSpans spans;
  spans.first.assign(first.data(), first.data() + n);
  spans.last.assign(last.data(), last.data() + n);
  spans.set.assign(sets.data(), sets.data() + n);
  spans.n_sets = n_sets;
  require(objective.in_tables(), "the objective must have tables of transitions");
  new (self) ValidationSets(objective, std::move(spans), margin);
}

void check(const ValidationSets& self, size_t coefficients, size_t parameters) {
  require(coefficients == static_cast<size_t>(self.n_sets()), "expected one coefficient per set");
  require(parameters == static_cast<size_t>(self.n_parameters()), "expected n_parameters entries");
}

}  // namespace

void bind_validation(nb::module_& m) {
  nb::class_<ValidationSets>(m, "ValidationSets")
      .def("__init__", &make_sets, nb::keep_alive<1, 2>(), "objective"_a, "first"_array, "last"_array,
           "sets"_array, "n_sets"_a, "margin"_a)
      .def(
          "decode",
          [](ValidationSets& self, Array<const double> theta, Array<double> h) {
            check(self, h.shape(0), theta.shape(0));
            const Unlocked release;
            self.decode(theta.data(), h.data());
          },
          "theta"_array, "h"_array)
      .def(
          "best",
          [](const ValidationSets& self, Array<int32_t> out) {
            require(out.shape(0) == self.best().size(), "out must have one entry per position of the spans");
            std::copy(self.best().begin(), self.best().end(), out.data());
          },
          "out"_array)
      .def(
          "envelope",
          [](ValidationSets& self, Array<const double> coefficients, Array<double> gradient) {
            check(self, coefficients.shape(0), gradient.shape(0));
            const Unlocked release;
            self.envelope(coefficients.data(), gradient.data());
          },
          "coefficients"_array, "gradient"_array)
      .def(
          "flip",
          [](ValidationSets& self, Array<const double> coefficients, double c, Array<double> gradient) {
            check(self, coefficients.shape(0), gradient.shape(0));
            require(self.order() == 1, "the flip gradient is defined for order 1");
            const Unlocked release;
            self.flip(coefficients.data(), c, gradient.data());
          },
          "coefficients"_array, "c"_a, "gradient"_array)
      .def(
          "smooth",
          [](ValidationSets& self, Array<const double> theta, double temperature,
             Array<const double> coefficients, Array<double> h, Array<double> gradient) {
            check(self, coefficients.shape(0), gradient.shape(0));
            check(self, h.shape(0), theta.shape(0));
            require(temperature > 0, "temperature must be positive");
            const Unlocked release;
            self.smooth(theta.data(), temperature, coefficients.data(), h.data(), gradient.data());
          },
          "theta"_array, "temperature"_a, "coefficients"_array, "h"_array, "gradient"_array);
}

}  // namespace crfkit
