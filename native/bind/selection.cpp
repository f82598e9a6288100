// Gains of candidate features. All bounds are checked here; the core trusts them.
#include "bind.h"
#include "selection/candidate_gain.h"

namespace crfkit {

namespace {

// The model that candidates extend: its probabilities at every position of the data.
class CandidateGains {
 public:
  CandidateGains(Array<const int64_t> offsets, Array<const int32_t> labels,
                 std::optional<Array<const double>> weights, Array<const double, 2> node,
                 Array<const double, 2> edge, double c2, int n_threads)
      : c2_(c2), threads_(n_threads) {
    const size_t positions = node.shape(0), L = node.shape(1);
    require(L >= 1 && edge.shape(0) == L && edge.shape(1) == L, "edge must be [labels, labels]");
    require(n_threads >= 1, "n_threads must be positive");
    require(labels.shape(0) == positions, "labels does not fit node");
    check_bounds(offsets, positions, "offsets does not fit node");
    check_ids(labels, 0, static_cast<int64_t>(L), "a label is out of range");
    if (weights) require(weights->shape(0) + 1 == offsets.shape(0), "weights does not fit offsets");
    chain_.labels = static_cast<int>(L);
    chain_.offsets.assign(offsets.data(), offsets.data() + offsets.shape(0));
    chain_.targets.assign(labels.data(), labels.data() + positions);
    if (weights) chain_.weights.assign(weights->data(), weights->data() + weights->shape(0));
    const Unlocked release;
    sequence_of_.resize(positions);
    for (size_t i = 0; i + 1 < chain_.offsets.size(); ++i)
      for (int64_t t = chain_.offsets[i]; t < chain_.offsets[i + 1]; ++t)
        sequence_of_[static_cast<size_t>(t)] = static_cast<int32_t>(i);
    fill_candidate_chain(chain_, node.data(), edge.data(), threads_);
  }

  // Candidate k has the label to[k]. If from[k] < 0, it is active at the positions of attribute[k], which are
  // positions[indptr[a]:indptr[a+1]], else after the label from[k]. weights: initial λ, then the best.
  void best(Array<const int32_t> from, Array<const int32_t> to, Array<const int32_t> attribute,
            Array<const int64_t> indptr, Array<const int64_t> positions,
            std::optional<Array<const double>> values, bool approximate, Array<double> gains,
            Array<double> weights) const {
    const size_t n = to.shape(0);
    require(from.shape(0) == n && attribute.shape(0) == n && gains.shape(0) == n && weights.shape(0) == n,
            "from, to, attribute, gains and weights must have one entry per candidate");
    check_bounds(indptr, positions.shape(0), "indptr does not fit positions");
    const auto sites = static_cast<int64_t>(chain_.targets.size()),
               A = static_cast<int64_t>(indptr.shape(0)) - 1;
    if (values) require(values->shape(0) == positions.shape(0), "values does not fit positions");
    for (size_t a = 0; a < static_cast<size_t>(A); ++a)
      for (auto i = static_cast<size_t>(indptr(a)); i < static_cast<size_t>(indptr(a + 1)); ++i)
        require(positions(i) >= 0 && positions(i) < sites &&
                    (i == static_cast<size_t>(indptr(a)) || positions(i) > positions(i - 1)),
                "an attribute's positions must ascend and lie in the data");
    for (size_t k = 0; k < n; ++k)
      require(to(k) >= 0 && to(k) < chain_.labels && from(k) < chain_.labels &&
                  (from(k) >= 0 || (attribute(k) >= 0 && attribute(k) < A)),
              "a candidate is out of range");
    const Unlocked release;
    const int blocks = static_cast<int>(std::min<size_t>(n, 4096));
    parallel_for(blocks, threads_, [&](int block, int) {
      CandidateGain gain(chain_, sequence_of_.data(), c2_);
      for (size_t k = n * static_cast<size_t>(block) / static_cast<size_t>(blocks);
           k < n * (static_cast<size_t>(block) + 1) / static_cast<size_t>(blocks); ++k) {
        Candidate f{from(k), to(k), 0, nullptr, nullptr};
        if (f.from < 0) {
          const auto a = static_cast<size_t>(attribute(k));
          f.n = indptr(a + 1) - indptr(a);
          f.positions = positions.data() + indptr(a);
          f.values = values ? values->data() + indptr(a) : nullptr;
        }
        const Gain found = gain.best(f, weights(k), approximate);
        gains(k) = found.gain;
        weights(k) = found.weight;
      }
    });
  }

 private:
  CandidateChain chain_;
  std::vector<int32_t> sequence_of_;  // [ΣT]
  double c2_;
  int threads_;
};

}  // namespace

void bind_selection(nb::module_& m) {
  nb::class_<CandidateGains>(m, "CandidateGains")
      .def(nb::init<Array<const int64_t>, Array<const int32_t>, std::optional<Array<const double>>,
                    Array<const double, 2>, Array<const double, 2>, double, int>(),
           "offsets"_array, "labels"_array, "weights"_array, "node"_array, "edge"_array, "c2"_a,
           "n_threads"_a)
      .def("best", &CandidateGains::best, "previous"_array, "to"_array, "attribute"_array, "indptr"_array,
           "positions"_array, "values"_array, "approximate"_a, "gains"_array, "weights"_array);
}

}  // namespace crfkit
