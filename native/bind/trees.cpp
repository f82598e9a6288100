// Boosted trees: their scores. All bounds are checked here; the core trusts them.
#include "bind.h"
#include "trees/forest.h"

namespace crfkit {

namespace {

// Trees, checked once: children come after their parents and exist, and so do sets of categories.
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
  bool context;  // whether feature n_features - 1 is the previous label

  void add_scores(int64_t first, int64_t last, Array<const double, 2> values, Array<const double> outside,
                  Array<const int64_t> offsets, int64_t before, int64_t width, Array<double, 2> node,
                  std::optional<Array<double, 3>> edge, int n_threads) const {
    const size_t positions = values.shape(0), L = static_cast<size_t>(n_labels);
    const auto columns = static_cast<int64_t>(values.shape(1));
    require(0 <= first && first <= last && last <= static_cast<int64_t>(root.shape(0)),
            "expected first <= last within the number of trees");
    require(outside.shape(0) == values.shape(1), "outside must have one entry per column");
    require(width >= 1 && before >= 0 && before < width, "expected before in 0..width-1");
    require(width * columns + (context ? 1 : 0) == n_features, "the trees need other columns");
    require(context == edge.has_value(), "edge must be given exactly if trees look at the previous label");
    const size_t n = offsets.shape(0);
    check_bounds(offsets, positions, "offsets does not fit values");
    require(node.shape(0) == positions && node.shape(1) == L, "node must be [positions, labels]");
    if (edge)
      require(edge->shape(0) == positions && edge->shape(1) == L && edge->shape(2) == L,
              "edge must be [positions, labels, labels]");
    const Trees trees{feature.data(),    threshold.data(), flags.data(), left.data(), right.data(),
                      set_indptr.data(), set_words.data(), leaf.data(),  root.data(), label.data()};
    const WindowedTable table{values.data(), outside.data(), offsets.data(), static_cast<int64_t>(n) - 1,
                              columns,       before,         width};
    const Unlocked release;
    add_tree_scores(trees, first, last, table, n_labels, n_threads, node.data(),
                    edge ? edge->data() : nullptr);
  }
};

void make_forest(Forest* self, Array<const int32_t> feature, Array<const double> threshold,
                 Array<const uint8_t> flags, Array<const int32_t> left, Array<const int32_t> right,
                 Array<const int64_t> set_indptr, Array<const uint32_t> set_words, Array<const double> leaf,
                 Array<const int32_t> root, Array<const int32_t> label, int64_t n_features, int n_labels,
                 bool context) {
  const size_t nodes = feature.shape(0), leaves = leaf.shape(0), sets = set_indptr.shape(0);
  require(n_labels >= 1 && n_labels <= 1 << 15, "n_labels must be in 1..32768");
  require(threshold.shape(0) == nodes && flags.shape(0) == nodes && left.shape(0) == nodes &&
              right.shape(0) == nodes,
          "the arrays of inner nodes differ in length");
  check_bounds(set_indptr, set_words.shape(0), "set_indptr does not fit set_words");
  auto inside = [&](int32_t child, int64_t above) {
    return child >= 0 ? child > above && static_cast<size_t>(child) < nodes
                      : static_cast<size_t>(~child) < leaves;
  };
  for (size_t i = 0; i < nodes; ++i) {
    require(feature(i) >= 0 && feature(i) < n_features, "a tree tests a feature that does not exist");
    require(inside(left(i), static_cast<int64_t>(i)) && inside(right(i), static_cast<int64_t>(i)),
            "a tree points to a node that is not there");
    if (flags(i) & Trees::kCategory)
      require(threshold(i) >= 0 && threshold(i) < static_cast<double>(sets - 1),
              "a tree tests a set of categories that does not exist");
    else
      require(!context || feature(i) != n_features - 1, "labels are categories, not numbers");
  }
  require(root.shape(0) == label.shape(0), "root does not fit label");
  for (size_t m = 0; m < root.shape(0); ++m)
    require(inside(root(m), -1) && label(m) >= 0 && label(m) < n_labels, "a tree is out of range");
  new (self) Forest{feature, threshold, flags, left,       right,    set_indptr, set_words,
                    leaf,    root,      label, n_features, n_labels, context};
}

}  // namespace

void bind_trees(nb::module_& m) {
  nb::class_<Forest>(m, "Forest")
      .def("__init__", &make_forest, "feature"_array, "threshold"_array, "flags"_array, "left"_array,
           "right"_array, "set_indptr"_array, "set_words"_array, "leaf"_array, "root"_array, "label"_array,
           "n_features"_a, "n_labels"_a, "context"_a)
      .def("add_scores", &Forest::add_scores, "first"_a, "last"_a, "values"_array, "outside"_array,
           "offsets"_array, "before"_a, "width"_a, "node"_array, "edge"_array, "n_threads"_a);
}

}  // namespace crfkit
