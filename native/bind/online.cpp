// Learning from mistakes over the data of a linear objective. Bounds are checked here.
#include "bind.h"
#include "online/mistake_learner.h"

namespace crfkit {

namespace {

void make_learner(MistakeLearner* self, const LinearObjective& objective, Array<const double> theta,
                  double least, double most, double slack, double power, double variance, bool averaged) {
  require(static_cast<int64_t>(theta.shape(0)) == objective.n_parameters(), "theta has a wrong length");
  require(least >= 0 && most >= least && slack >= 0 && variance >= 0, "a setting of the rule is negative");
  require(variance == 0 || slack > 0, "variances need slack > 0");
  require(objective.in_tables(), "the objective must have tables of transitions");
  new (self) MistakeLearner(objective, {least, most, slack, power, variance, averaged}, theta.data());
}

}  // namespace

void bind_online(nb::module_& m) {
  nb::class_<MistakeLearner>(m, "MistakeLearner")
      .def("__init__", &make_learner, nb::keep_alive<1, 2>(), "objective"_a, "theta"_array, "least"_a,
           "most"_a, "slack"_a, "power"_a, "variance"_a, "averaged"_a)
      .def(
          "run",
          [](MistakeLearner& self, Array<const int32_t> ids) {
            check_ids(ids, 0, self.objective().n_sequences(), "a sequence index is out of range");
            const Mistakes found =
                unlocked([&] { return self.run(ids.data(), static_cast<int64_t>(ids.shape(0))); });
            return std::tuple(found.loss, found.share);
          },
          "ids"_array)
      .def("skip", &MistakeLearner::skip, "n"_a)
      .def(
          "store",
          [](const MistakeLearner& self, Array<double> theta) {
            require(static_cast<int64_t>(theta.shape(0)) == self.n_parameters(), "theta has a wrong length");
            self.store(theta.data());
          },
          "theta"_array)
      .def_prop_ro("state_size", &MistakeLearner::state_size)
      .def(
          "state",
          [](const MistakeLearner& self, Array<double> out) {
            require(static_cast<int64_t>(out.shape(0)) == self.state_size(), "out has a wrong length");
            return self.state(out.data());
          },
          "out"_array)
      .def(
          "restore",
          [](MistakeLearner& self, Array<const double> state, double turn) {
            require(static_cast<int64_t>(state.shape(0)) == self.state_size(),
                    "the state has a wrong length");
            self.restore(state.data(), turn);
          },
          "state"_array, "turn"_a);
}

}  // namespace crfkit
