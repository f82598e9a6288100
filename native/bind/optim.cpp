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
      .def("remembered",
           [](const CurvatureHistory& self) {
             CurvatureHistory::Memory all = unlocked([&] { return self.remembered(); });
             return std::make_tuple(to_numpy(std::move(all.s)), to_numpy(std::move(all.y)),
                                    to_numpy(std::move(all.base)), to_numpy(std::move(all.order)),
                                    to_numpy(std::move(all.sy)), to_numpy(std::move(all.yby)));
           })
      .def(
          "restore",
          [](CurvatureHistory& self, Array<const float> s, Array<const float> y, Array<const float> base,
             Array<const int32_t> order, Array<const double> sy, Array<const double> yby) {
            auto vector = [](auto& array) { return std::vector(array.data(), array.data() + array.size()); };
            require(
                self.restore({vector(s), vector(y), vector(base), vector(order), vector(sy), vector(yby)}),
                "this is not the memory of a history of this size");
          },
          "s"_array, "y"_array, "base"_array, "order"_array, "sy"_array, "yby"_array)
      .def(
          "set_base",
          [check](CurvatureHistory& self, Array<const double> base) {
            check(self, base.shape(0));
            const Unlocked release;
            self.set_base(base.data());
          },
          "base"_array)
      .def(
          "add",
          [check](CurvatureHistory& self, Array<const double> s, Array<const double> y) {
            check(self, s.shape(0));
            check(self, y.shape(0));
            const Unlocked release;
            self.add(s.data(), y.data());
          },
          "s"_array, "y"_array)
      .def(
          "multiply",
          [check](CurvatureHistory& self, Array<const double> g, Array<double> out) {
            check(self, g.shape(0));
            check(self, out.shape(0));
            const Unlocked release;
            self.multiply(g.data(), out.data());
          },
          "g"_array, "out"_array);
}

}  // namespace crfkit
