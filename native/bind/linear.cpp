// Linear potentials: the training objective and the scores of a fitted model. All bounds are checked here;
// the core trusts them.
#include <nanobind/stl/string.h>

#include "bind.h"
#include "linear/linear_objective.h"
#include "linear/linear_scores.h"
#include "linear/replace_rows.h"
#include "linear/state_features.h"

namespace crfkit {

namespace {

template <class T>
std::vector<T> copy(const Array<const T>& a) {
  return std::vector<T>(a.data(), a.data() + a.shape(0));
}

void check_features(const Array<const int64_t>& state_indptr, const Array<const int32_t>& state_labels,
                    int n_labels) {
  check_bounds(state_indptr, state_labels.shape(0), "state_indptr does not fit state_labels");
  check_ids(state_labels, 0, n_labels, "a feature's label is out of range");
}

// Checks everything except the features, which have been checked before.
AttributeData attribute_data(const Array<const int64_t>& indptr, const Array<const int32_t>& indices,
                             const std::optional<Array<const double>>& values,
                             const Array<const int64_t>& state_indptr,
                             const Array<const int32_t>& state_labels) {
  check_bounds(indptr, indices.shape(0), "indptr does not fit indices");
  AttributeData x{};
  x.n_positions = static_cast<int64_t>(indptr.shape(0)) - 1;
  x.n_attributes = static_cast<int64_t>(state_indptr.shape(0)) - 1;
  check_ids(indices, 0, x.n_attributes, "an attribute index is out of range");
  if (values) require(values->shape(0) == indices.shape(0), "values does not fit indices");
  x.indptr = indptr.data();
  x.indices = indices.data();
  x.values = values ? values->data() : nullptr;
  x.state_indptr = state_indptr.data();
  x.state_labels = state_labels.data();
  return x;
}

// Feature lists, checked once, so that tagging a single sentence costs only that sentence.
struct LinearScorer {
  Array<const int64_t> state_indptr;  // [A + 1]
  Array<const int32_t> state_labels;  // [F]
  int n_labels;

  LinearScorer(Array<const int64_t> indptr, Array<const int32_t> labels, int L)
      : state_indptr(indptr), state_labels(labels), n_labels(L) {
    check_features(state_indptr, state_labels, n_labels);
  }

  void scores(Array<const int64_t> indptr, Array<const int32_t> indices,
              std::optional<Array<const double>> values, Array<const double> weights, Array<double, 2> node,
              int n_threads) const {
    const AttributeData x = data(indptr, indices, values, weights.shape(0), node.shape(0), node.shape(1));
    const Unlocked release;
    linear_scores(x, weights.data(), n_labels, n_threads, node.data());
  }

  void backward(Array<const int64_t> indptr, Array<const int32_t> indices,
                std::optional<Array<const double>> values, Array<const double, 2> d_node,
                Array<double> gradient) const {
    const AttributeData x =
        data(indptr, indices, values, gradient.shape(0), d_node.shape(0), d_node.shape(1));
    const Unlocked release;
    linear_backward(x, d_node.data(), n_labels, gradient.data());
  }

 private:
  AttributeData data(Array<const int64_t> indptr, Array<const int32_t> indices,
                     std::optional<Array<const double>> values, size_t features, size_t positions,
                     size_t labels) const {
    const AttributeData x = attribute_data(indptr, indices, values, state_indptr, state_labels);
    require(features == state_labels.shape(0), "weights does not fit state_labels");
    require(static_cast<int64_t>(positions) == x.n_positions && labels == static_cast<size_t>(n_labels),
            "node must be [positions, labels]");
    return x;
  }
};

FeatureRows feature_rows(const Array<const int64_t>& indptr, const Array<const int32_t>& ids,
                         const Array<const double>& weights) {
  check_bounds(indptr, ids.shape(0), "indptr does not fit the ids");
  require(weights.shape(0) == ids.shape(0), "weights does not fit the ids");
  return {static_cast<int64_t>(indptr.shape(0)) - 1, indptr.data(), ids.data(), weights.data()};
}

auto with_rows(Array<const int64_t> indptr, Array<const int32_t> ids, Array<const double> weights,
               Array<const int64_t> rows, Array<const int64_t> new_indptr, Array<const int32_t> new_ids,
               Array<const double> new_weights, int64_t n_rows) {
  const FeatureRows old = feature_rows(indptr, ids, weights);
  const FeatureRows fresh = feature_rows(new_indptr, new_ids, new_weights);
  require(static_cast<int64_t>(rows.shape(0)) == fresh.n, "there must be one number per new row");
  for (int64_t i = 0; i < fresh.n; ++i)
    require(rows(i) > (i > 0 ? rows(i - 1) : -1) && rows(i) < n_rows, "rows must ascend within n_rows");
  require(n_rows >= old.n, "no row can be left out");
  OwnedRows out = unlocked([&] { return replace_rows(old, fresh, rows.data(), n_rows); });
  return std::tuple(to_numpy(std::move(out.indptr)), to_numpy(std::move(out.ids)),
                    to_numpy(std::move(out.weights)));
}

Numpy<float> means_of_rows(Array<const int64_t> indptr, Array<const double> values, double most) {
  check_bounds(indptr, values.shape(0), "indptr does not fit the values");
  std::vector<float> out(indptr.shape(0) - 1);
  row_means(static_cast<int64_t>(out.size()), indptr.data(), values.data(), most, out.data());
  return to_numpy(std::move(out));
}

template <class Real>
void add_at(Array<double> whole, Array<const int64_t> places, Array<const Real> own) {
  require(places.shape(0) == own.shape(0), "there must be one number per place");
  const Unlocked release;
  const auto n = static_cast<int64_t>(whole.shape(0));
  const bool inside = std::all_of(places.data(), places.data() + places.shape(0),
                                  [n](int64_t place) { return place >= 0 && place < n; });
  if (!inside) throw std::invalid_argument("a place is out of range");
  for (size_t i = 0; i < places.shape(0); ++i) whole(static_cast<size_t>(places(i))) += double{own(i)};
}

void make_objective(LinearObjective* self, Array<const int64_t> offsets, Array<const int64_t> indptr,
                    Array<const int32_t> indices, std::optional<Array<const double>> values,
                    Array<const int64_t> state_indptr, Array<const int32_t> state_labels,
                    Array<const int32_t> labels, std::optional<Array<const uint8_t, 2>> allowed,
                    std::optional<Array<const double>> weights, std::optional<Array<const float>> log_cost,
                    Array<const uint8_t> free_edges, Array<const int32_t, 2> ngrams,
                    std::optional<Array<const int64_t>> pair_indptr,
                    std::optional<Array<const int32_t>> pair_ids, std::optional<Array<const int32_t>> kinds,
                    std::optional<Array<const uint8_t>> permitted, std::optional<Array<const double>> units,
                    std::optional<Array<const uint8_t, 2>> likely, int n_labels, int n_threads, bool as_given,
                    const std::string& scratch, bool tables) {
  require(n_labels >= 1 && n_labels <= 1 << 15, "n_labels must be in 1..32768");
  require(n_threads >= 1, "n_threads must be positive");
  check_features(state_indptr, state_labels, n_labels);
  AttributeData x = attribute_data(indptr, indices, values, state_indptr, state_labels);
  x.as_given = as_given;
  if (units) {
    require(static_cast<int64_t>(units->shape(0)) == x.n_attributes, "units does not fit state_indptr");
    for (size_t a = 0; a < units->shape(0); ++a) require((*units)(a) > 0, "a unit must be positive");
    x.units = units->data();
  }
  const auto positions = static_cast<size_t>(x.n_positions), L = static_cast<size_t>(n_labels);
  check_bounds(offsets, positions, "offsets does not fit indptr");
  require(labels.shape(0) == positions, "labels does not fit indptr");
  for (size_t t = 0; t < positions; ++t)
    require(labels(t) < n_labels && (labels(t) >= 0 || allowed), "a label is out of range");
  if (allowed)
    require(allowed->shape(0) == positions && allowed->shape(1) == L, "allowed must be [positions, labels]");
  if (weights) require(weights->shape(0) + 1 == offsets.shape(0), "weights must have one entry per sequence");
  if (log_cost) require(log_cost->shape(0) == L, "log_cost must have one entry per label");
  require(free_edges.shape(0) == L * L, "free_edges must be [labels * labels]");
  require(ngrams.shape(1) >= 2 && (ngrams.shape(1) > 2 || ngrams.shape(0) == 0),
          "ngrams must be [rows, order + 1]");
  require(!tables || ngrams.shape(1) <= 3, "tables need order 1 or 2");
  const auto order = static_cast<int>(ngrams.shape(1)) - 1;
  for (size_t i = 0; i < ngrams.size(); ++i)
    require(ngrams.data()[i] >= (order > 2 ? -1 : 0) && ngrams.data()[i] < n_labels,
            "a label of ngrams is out of range");
  AttributeData pairs = x;
  require(pair_indptr.has_value() == pair_ids.has_value(), "pair_indptr and pair_ids must be given together");
  if (pair_indptr) {
    require(n_labels <= 8192, "features on label pairs need at most 8192 labels");
    check_features(*pair_indptr, *pair_ids, n_labels * n_labels);
    require(pair_indptr->shape(0) == state_indptr.shape(0), "pair_indptr does not fit state_indptr");
    pairs.state_indptr = pair_indptr->data();
    pairs.state_labels = pair_ids->data();
  }

  require(kinds.has_value() == permitted.has_value(), "kinds and permitted must be given together");
  if (kinds) {
    require(n_labels <= 8192, "permitted label pairs need at most 8192 labels");
    require(kinds->shape(0) == positions, "kinds does not fit indptr");
    require(permitted->shape(0) > 0 && permitted->shape(0) % (L * L) == 0,
            "permitted must be [kinds * labels * labels]");
    check_ids(*kinds, 0, static_cast<int64_t>(permitted->shape(0) / (L * L)), "a kind is out of range");
  }

  LinearSettings s;
  s.labels = n_labels;
  s.order = order;
  s.tables = tables;
  s.threads = n_threads;
  s.offsets = copy<int64_t>(offsets);
  s.targets = labels.data();
  if (allowed) s.allowed = allowed->data();
  if (likely) {
    require(likely->shape(0) == positions && likely->shape(1) == (L + 7) / 8,
            "likely must have a bit per label");
    s.likely = likely->data();
  }
  if (weights) s.weights = copy<double>(*weights);
  if (log_cost) s.log_cost = copy<float>(*log_cost);
  s.free = copy<uint8_t>(free_edges);
  s.ngrams.assign(ngrams.data(), ngrams.data() + ngrams.size());
  if (kinds) {
    s.kinds = kinds->data();
    s.permitted = copy<uint8_t>(*permitted);
  }
  s.scratch = scratch;
  const Unlocked release;
  new (self) LinearObjective(x, pair_indptr ? &pairs : nullptr, std::move(s));
}

void check_sequences(const LinearObjective& self, const Array<const int32_t>& ids) {
  check_ids(ids, 0, self.n_sequences(), "a sequence index is out of range");
}

double evaluate(LinearObjective& self, Array<const double> theta, Array<double> gradient,
                std::optional<Array<const int32_t>> ids, std::optional<Array<double>> diagonal) {
  const auto P = static_cast<size_t>(self.n_parameters());
  require(theta.shape(0) == P && gradient.shape(0) == P && (!diagonal || diagonal->shape(0) == P),
          "theta, gradient and diagonal must have n_parameters entries");
  int64_t n = self.n_sequences();
  const int32_t* subset = nullptr;
  if (ids) {
    check_sequences(self, *ids);
    n = static_cast<int64_t>(ids->shape(0));
    subset = ids->data();
  }
  const Unlocked release;
  return self.evaluate(theta.data(), subset, n, gradient.data(), diagonal ? diagonal->data() : nullptr);
}

// The parts of a vector with a weight per feature: edges | ngrams | pairs | state.
template <class Real>
struct FeatureWeights {
  Real* edges;
  Real* ngrams;
  Real* pairs;
  Real* state;

  FeatureWeights(const LinearObjective& self, const Array<Real>& weights, size_t theta) {
    require(static_cast<int64_t>(theta) == self.n_parameters(), "theta has a wrong length");
    edges = weights.data();
    ngrams = edges + power(self.dims().labels, 2);
    pairs = ngrams + self.n_ngrams();
    state = pairs + self.n_pair_features();
    require(weights.data() + weights.shape(0) == state + self.n_features(), "weights has the wrong length");
  }
};

void to_features(const LinearObjective& self, Array<const double> theta, Array<double> weights) {
  const FeatureWeights<double> w(self, weights, theta.shape(0));
  self.to_features(theta.data(), w.state, w.edges, w.ngrams, w.pairs);
}

void from_features(const LinearObjective& self, Array<const double> weights, Array<double> theta) {
  const FeatureWeights<const double> w(self, weights, theta.shape(0));
  self.from_features(w.state, w.edges, w.ngrams, w.pairs, theta.data());
}

auto state_features(Array<const int64_t> indptr, Array<const int32_t> indices, Array<const int32_t> labels,
                    std::optional<Array<const uint8_t, 2>> allowed, int64_t n_attributes, int n_labels,
                    int64_t min_count, std::optional<Array<const uint8_t>> counts, int64_t part) {
  check_bounds(indptr, indices.shape(0), "indptr does not fit indices");
  const size_t positions = indptr.shape(0) - 1;
  require(labels.shape(0) == positions, "labels does not fit indptr");
  if (allowed)
    require(allowed->shape(0) == positions && allowed->shape(1) == static_cast<size_t>(n_labels),
            "allowed must be [positions, labels]");
  if (counts)
    require(static_cast<int64_t>(counts->shape(0)) == n_attributes, "counts must be one per attribute");
  require(part >= 1, "part must be positive");
  check_ids(indices, 0, n_attributes, "an attribute index is out of range");
  check_ids(labels, -1, n_labels, "a label is out of range");
  LabelledPositions x{static_cast<int64_t>(positions),
                      n_attributes,
                      n_labels,
                      indptr.data(),
                      indices.data(),
                      labels.data(),
                      allowed ? allowed->data() : nullptr,
                      counts ? counts->data() : nullptr};
  StateFeatures found =
      unlocked([&] { return find_state_features(x, std::max<int64_t>(1, min_count), part); });
  return std::tuple(to_numpy(std::move(found.indptr)), to_numpy(std::move(found.labels)));
}

}  // namespace

void bind_linear(nb::module_& m) {
  nb::class_<LinearObjective>(m, "LinearObjective")
      .def("__init__", &make_objective, "offsets"_array, "indptr"_array, "indices"_array, "values"_array,
           "state_indptr"_array, "state_labels"_array, "labels"_array, "allowed"_array, "weights"_array,
           "log_cost"_array, "free_edges"_array, "ngrams"_array, "pair_indptr"_array, "pair_ids"_array,
           "kinds"_array, "permitted"_array, "units"_array, "likely"_array, "n_labels"_a, "n_threads"_a,
           "as_given"_a = false, "scratch"_a = "", "tables"_a = false,
           // The arrays that grow with the data are not copied: labels, allowed, kinds and likely.
           nb::keep_alive<1, 8>(), nb::keep_alive<1, 9>(), nb::keep_alive<1, 16>(), nb::keep_alive<1, 19>())
      .def_prop_ro("done", &LinearObjective::done, "The share of the present pass that is done.")
      .def_prop_ro("n_parameters", &LinearObjective::n_parameters)
      .def_prop_ro("in_tables", &LinearObjective::in_tables)
      .def(
          "show",
          [](LinearObjective& self, int64_t positions) {
            require(positions >= 0 && positions <= self.n_positions(), "positions must be in 0..n_positions");
            self.show(positions);
          },
          "positions"_a)
      .def(
          "cut_sequences",
          [](LinearObjective& self, int64_t whole, int64_t piece) {
            require(piece >= 1 && whole >= piece + self.order(), "whole must be at least piece + order");
            require(piece % kCountBlock == 0 || self.pairs_in_edges(), "piece must be a multiple of 64");
            self.set_lengths({whole, piece});
          },
          "whole"_a, "piece"_a)
      .def_prop_ro("longest_whole", [](const LinearObjective& self) { return self.lengths().whole; })
      .def(
          "penalty_scale",
          [](const LinearObjective& self, Array<double> out) {
            require(static_cast<int64_t>(out.shape(0)) == self.n_parameters(), "out has the wrong length");
            self.penalty_scale(out.data());
          },
          "out"_array)
      .def("evaluate", &evaluate, "theta"_array, "gradient"_array, "ids"_array = nb::none(),
           "diagonal"_array = nb::none())
      .def(
          "begin_steps",
          [](LinearObjective& self, Array<const double> theta) {
            require(static_cast<int64_t>(theta.shape(0)) == self.n_parameters(), "theta has a wrong length");
            self.begin_steps(theta.data());
          },
          "theta"_array)
      .def(
          "run_steps",
          [](LinearObjective& self, Array<const int32_t> ids, double step0, double c2, double t) {
            check_sequences(self, ids);
            const Unlocked release;
            return self.run_steps(ids.data(), static_cast<int64_t>(ids.shape(0)), step0, c2, t);
          },
          "ids"_array, "step0"_a, "c2"_a, "t"_a)
      .def(
          "end_steps",
          [](LinearObjective& self, Array<double> theta) {
            require(static_cast<int64_t>(theta.shape(0)) == self.n_parameters(), "theta has a wrong length");
            self.end_steps(theta.data());
          },
          "theta"_array)
      .def("to_features", &to_features, "theta"_array, "weights"_array)
      .def("from_features", &from_features, "weights"_array, "theta"_array);
  m.def(
      "ngrams_cost_less",
      [](int n_labels, int order, int64_t nodes) {
        return ngrams_cost_less(n_labels, order, kTableSpeed * nodes);
      },
      "n_labels"_a, "order"_a, "nodes"_a,
      "Return whether training is cheaper over labels and label n-grams, `nodes` in all, than with tables.");
  m.def("state_features", &state_features, "indptr"_array, "indices"_array, "labels"_array, "allowed"_array,
        "n_attributes"_a, "n_labels"_a, "min_count"_a, "counts"_array = nb::none(), "part"_a = 1 << 24,
        "Return (indptr int64 [A + 1], labels int32 [F]): the labels seen min_count times with an attribute. "
        "counts: uint8 [A], which attributes count. part: entries that are counted at once.");
  m.def("replace_rows", &with_rows, "indptr"_array, "ids"_array, "weights"_array, "rows"_array,
        "new_indptr"_array, "new_ids"_array, "new_weights"_array, "n_rows"_a,
        "Return (indptr int64 [n_rows + 1], ids int32 [F], weights float64 [F]): row rows[i] is new row i.");
  m.def("add_at", &add_at<float>, "whole"_array, "places"_array, "own"_array);
  m.def("add_at", &add_at<double>, "whole"_array, "places"_array, "own"_array,
        "Adds numbers to those at their places.");
  m.def("row_means", &means_of_rows, "indptr"_array, "values"_array, "most"_a,
        "Return the mean of each row, float32 [A], within 0 .. most; 0 for an empty row.");
  nb::class_<LinearScorer>(m, "LinearScorer")
      .def(nb::init<Array<const int64_t>, Array<const int32_t>, int>(), "state_indptr"_array,
           "state_labels"_array, "n_labels"_a)
      .def("scores", &LinearScorer::scores, "indptr"_array, "indices"_array, "values"_array, "weights"_array,
           "node"_array, "n_threads"_a)
      .def("backward", &LinearScorer::backward, "indptr"_array, "indices"_array, "values"_array,
           "d_node"_array, "gradient"_array);
}

}  // namespace crfkit
