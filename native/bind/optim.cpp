// Vector work of the optimisers.
#include "bind.h"
#include "optim/curvature.h"

namespace crfkit {

void bind_optim(nb::module_& m) {
  auto check = [](const CurvatureHistory& h, size_t n) {
    if (static_cast<int64_t>(n) != h.n_variables()) throw nb::value_error("a vector has a wrong length");
  };
  nb::class_<CurvatureHistory>(m, "CurvatureHistory")
      .def(nb::init<int, int64_t, int>(), "memory"_a, "n_variables"_a, "n_threads"_a)
      .def("__len__", &CurvatureHistory::size)
      .def("forget", &CurvatureHistory::forget)
      .def(
          "set_base",
          [check](CurvatureHistory& self, Array<const double> base) {
            check(self, base.shape(0));
            nb::gil_scoped_release release;
            self.set_base(base.data());
          },
          "base"_array)
      .def(
          "add",
          [check](CurvatureHistory& self, Array<const double> s, Array<const double> y) {
            check(self, s.shape(0));
            check(self, y.shape(0));
            nb::gil_scoped_release release;
            self.add(s.data(), y.data());
          },
          "s"_array, "y"_array)
      .def(
          "multiply",
          [check](CurvatureHistory& self, Array<const double> g, Array<double> out) {
            check(self, g.shape(0));
            check(self, out.shape(0));
            nb::gil_scoped_release release;
            self.multiply(g.data(), out.data());
          },
          "g"_array, "out"_array);
}

}  // namespace crfkit
