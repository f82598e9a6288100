// Boosted trees: their scores. All bounds are checked here; the core trusts them.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bind.h"
#include "trees/forest.h"

namespace crfkit {

namespace {

void require(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

// Trees, checked once: no child points up or out, no set lies outside.
struct Forest {
  Array<const int32_t> feature;
  Array<const double> threshold;
  Array<const uint8_t> flags;
  Array<const int32_t> left, right;
  Array<const int64_t> set_indptr;
  Array<const uint32_t> set_words;
  Array<const double> leaf;
  Array<const int32_t> root, label;
  int64_t n_features;
  int n_labels;
  bool context;  // whether feature n_features - 1 is the label before

  Forest(Array<const int32_t> feature, Array<const double> threshold, Array<const uint8_t> flags,
         Array<const int32_t> left, Array<const int32_t> right, Array<const int64_t> set_indptr,
         Array<const uint32_t> set_words, Array<const double> leaf, Array<const int32_t> root,
         Array<const int32_t> label, int64_t n_features, int n_labels, bool context)
      : feature(feature),
        threshold(threshold),
        flags(flags),
        left(left),
        right(right),
        set_indptr(set_indptr),
        set_words(set_words),
        leaf(leaf),
        root(root),
        label(label),
        n_features(n_features),
        n_labels(n_labels),
        context(context) {
    const size_t nodes = feature.shape(0), leaves = leaf.shape(0), sets = set_indptr.shape(0);
    require(n_labels >= 1 && n_labels <= 1 << 15, "n_labels must be in 1..32768");
    require(threshold.shape(0) == nodes && flags.shape(0) == nodes && left.shape(0) == nodes &&
                right.shape(0) == nodes,
            "the arrays of inner nodes differ in length");
    require(
        sets >= 1 && set_indptr(0) == 0 && set_indptr(sets - 1) == static_cast<int64_t>(set_words.shape(0)),
        "set_indptr does not fit set_words");
    for (size_t c = 1; c < sets; ++c)
      require(set_indptr(c) >= set_indptr(c - 1), "set_indptr does not fit set_words");
    auto inside = [&](int32_t child, int64_t above) {
      return child >= 0 ? child > above && static_cast<size_t>(child) < nodes
                        : static_cast<size_t>(~child) < leaves;
    };
    for (size_t i = 0; i < nodes; ++i) {
      require(feature(i) >= 0 && feature(i) < n_features, "a tree asks for a feature that is not there");
      require(inside(left(i), static_cast<int64_t>(i)) && inside(right(i), static_cast<int64_t>(i)),
              "a tree points to a node that is not there");
      if (flags(i) & Trees::kCategory)
        require(threshold(i) >= 0 && threshold(i) < static_cast<double>(sets - 1),
                "a tree asks for a set of categories that is not there");
      else
        require(!context || feature(i) != n_features - 1, "labels are categories, not numbers");
    }
    require(root.shape(0) == label.shape(0), "root does not fit label");
    for (size_t m = 0; m < root.shape(0); ++m)
      require(inside(root(m), -1) && label(m) >= 0 && label(m) < n_labels, "a tree is out of range");
  }

  void add_scores(int64_t first, int64_t last, Array<const double, 2> values, Array<const double> outside,
                  Array<const int64_t> offsets, int64_t before, int64_t width, Array<double, 2> node,
                  std::optional<Array<double, 3>> edge, int n_threads) const {
    const size_t positions = values.shape(0), L = static_cast<size_t>(n_labels);
    const auto columns = static_cast<int64_t>(values.shape(1));
    require(0 <= first && first <= last && last <= static_cast<int64_t>(root.shape(0)),
            "there are not so many trees");
    require(outside.shape(0) == values.shape(1), "outside must be one a column");
    require(width >= 1 && before >= 0 && before < width, "the window is impossible");
    require(width * columns + (context ? 1 : 0) == n_features, "the table does not fit the trees");
    require(context == edge.has_value(), "edge scores go with trees that look at the label before");
    const size_t n = offsets.shape(0);
    require(n >= 1 && offsets(0) == 0 && offsets(n - 1) == static_cast<int64_t>(positions),
            "offsets does not fit values");
    for (size_t i = 1; i < n; ++i) require(offsets(i) >= offsets(i - 1), "offsets does not fit values");
    require(node.shape(0) == positions && node.shape(1) == L, "node must be [positions, labels]");
    if (edge)
      require(edge->shape(0) == positions && edge->shape(1) == L && edge->shape(2) == L,
              "edge must be [positions, labels, labels]");
    const Trees trees{feature.data(),    threshold.data(), flags.data(), left.data(), right.data(),
                      set_indptr.data(), set_words.data(), leaf.data(),  root.data(), label.data()};
    const WindowedTable table{values.data(), outside.data(), offsets.data(), static_cast<int64_t>(n) - 1,
                              columns,       before,         width};
    nb::gil_scoped_release release;
    add_tree_scores(trees, first, last, table, n_labels, n_threads, node.data(),
                    edge ? edge->data() : nullptr);
  }
};

}  // namespace

void bind_trees(nb::module_& m) {
  nb::class_<Forest>(m, "Forest")
      .def(nb::init<Array<const int32_t>, Array<const double>, Array<const uint8_t>, Array<const int32_t>,
                    Array<const int32_t>, Array<const int64_t>, Array<const uint32_t>, Array<const double>,
                    Array<const int32_t>, Array<const int32_t>, int64_t, int, bool>(),
           nb::arg("feature").noconvert(), nb::arg("threshold").noconvert(), nb::arg("flags").noconvert(),
           nb::arg("left").noconvert(), nb::arg("right").noconvert(), nb::arg("set_indptr").noconvert(),
           nb::arg("set_words").noconvert(), nb::arg("leaf").noconvert(), nb::arg("root").noconvert(),
           nb::arg("label").noconvert(), nb::arg("n_features"), nb::arg("n_labels"), nb::arg("context"))
      .def("add_scores", &Forest::add_scores, nb::arg("first"), nb::arg("last"),
           nb::arg("values").noconvert(), nb::arg("outside").noconvert(), nb::arg("offsets").noconvert(),
           nb::arg("before"), nb::arg("width"), nb::arg("node").noconvert(),
           nb::arg("edge").noconvert().none(), nb::arg("n_threads"));
}

}  // namespace crfkit
