// What the binding files share: array types with their dtype and layout, and each file's entry point.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace crfkit {

namespace nb = nanobind;

// C-contiguous CPU arrays; nb::ndarray's dtype and rank are checked, nothing is converted silently
// (bind every such argument with nb::arg("name").noconvert()).
template <class T, int Rank>
struct ArrayOf;
template <class T>
struct ArrayOf<T, 1> {
  using type = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
};
template <class T>
struct ArrayOf<T, 2> {
  using type = nb::ndarray<T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
};
template <class T>
struct ArrayOf<T, 3> {
  using type = nb::ndarray<T, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
};
template <class T, int Rank = 1>
using Array = typename ArrayOf<T, Rank>::type;

// A vector as a NumPy array that owns it.
template <class T>
nb::object to_numpy(std::vector<T>&& values) {
  values.reserve(1);  // an address even where there is nothing
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner));
}

void bind_chain(nb::module_& m);       // inference on lattices
void bind_linear(nb::module_& m);      // linear potentials and their objective
void bind_validation(nb::module_& m);  // constraints of validation sets
void bind_optim(nb::module_& m);       // vector work of the optimisers
void bind_ingest(nb::module_& m);      // Python objects to sparse attributes; vocabularies
void bind_columns(nb::module_& m);     // column files
void bind_templates(nb::module_& m);   // templates over column tables
void bind_item_text(nb::module_& m);   // item files to sparse attributes and back
void bind_foreign(nb::module_& m);     // model files of other tools
void bind_genes(nb::module_& m);       // gene structures
void bind_mining(nb::module_& m);      // association rules
void bind_selection(nb::module_& m);   // gains of candidate features
void bind_trees(nb::module_& m);       // scores of boosted trees

}  // namespace crfkit
