// Shared by the binding files: array types with their dtype and layout, and each file's entry point.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "bind/gil.h"

namespace crfkit {

namespace nb = nanobind;

// C-contiguous CPU arrays; nb::ndarray checks dtype and rank, and nothing is converted silently (every such
// argument is bound as "name"_array).
template <class T, int Rank = 1>
using Array = nb::ndarray<T, nb::ndim<Rank>, nb::c_contig, nb::device::cpu>;

using namespace nb::literals;  // "name"_a

inline auto operator""_array(const char* name, size_t) { return nb::arg(name).noconvert(); }

// Returned arrays. The result types are in the signatures: the stub is generated from them.
template <class T, int Rank = 1>
using Numpy = nb::ndarray<nb::numpy, T, nb::ndim<Rank>>;

// Returns a vector as a NumPy array that owns it, of the given shape or else one-dimensional.
template <class T, class... Sizes>
auto to_numpy(std::vector<T>&& values, Sizes... shape) {
  values.reserve(1);  // an address even if it is empty
  auto* kept = new std::vector<T>(std::move(values));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  if constexpr (sizeof...(shape) == 0)
    return Numpy<T>(kept->data(), {kept->size()}, owner);
  else
    return Numpy<T, sizeof...(shape)>(kept->data(), {shape...}, owner);
}

// Concatenates all parts.
template <class T>
std::vector<T> joined(const std::vector<std::vector<T>>& parts) {
  std::vector<T> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

inline void require(bool condition, const char* what) {
  if (!condition) throw nb::value_error(what);
}

// Calls check(first, last) for pieces of an array; those that are mapped from a file are let go afterwards.
template <class T, class Check>
void in_pieces(const T* p, size_t n, Check&& check) {
  constexpr size_t kPiece = 1 << 20;
  for (size_t i = 0; i < n; i += kPiece) {
    const size_t count = std::min(kPiece, n - i);
    check(p + i, p + i + count);
    let_go(p + i, static_cast<int64_t>(count));
  }
}

// Checks that offsets ascend from 0 to last.
inline void check_bounds(const Array<const int64_t>& bounds, size_t last, const char* what) {
  const size_t n = bounds.shape(0);
  require(n >= 1 && bounds(0) == 0 && bounds(n - 1) == static_cast<int64_t>(last), what);
  in_pieces(bounds.data() + 1, n - 1,
            [&](const int64_t* first, const int64_t* end) { require(std::is_sorted(first - 1, end), what); });
}

// Checks that ids are in least .. n - 1.
inline void check_ids(const Array<const int32_t>& ids, int32_t least, int64_t n, const char* what) {
  in_pieces(ids.data(), ids.shape(0), [&](const int32_t* first, const int32_t* end) {
    require(std::all_of(first, end, [&](int32_t id) { return id >= least && id < n; }), what);
  });
}

// Calls fn() without the GIL.
template <class Fn>
auto unlocked(Fn&& fn) {
  const Unlocked release;
  return fn();
}

void bind_chain(nb::module_& m);            // inference on lattices
void bind_segmentations(nb::module_& m);    // inference on segmentations
void bind_graphs(nb::module_& m);           // inference on graphs
void bind_linear(nb::module_& m);           // linear potentials and their objective
void bind_validation(nb::module_& m);       // constraints of validation sets
void bind_online(nb::module_& m);           // learning from mistakes
void bind_optim(nb::module_& m);            // vector work of the optimisers
void bind_mapped(nb::module_& m);           // files mapped into memory
void bind_ingest(nb::module_& m);           // Python objects to sparse attributes; vocabularies
void bind_compact(nb::module_& m);          // the compact form of linear models
void bind_columns(nb::module_& m);          // column files
void bind_program(nb::module_& m);          // feature programs over cells
void bind_item_text(nb::module_& m);        // item files to sparse attributes and back
void bind_foreign(nb::module_& m);          // model files of other tools
void bind_mining(nb::module_& m);           // association rules
void bind_selection(nb::module_& m);        // gains of candidate features
void bind_trees(nb::module_& m);            // scores of boosted trees
void bind_tagger(nb::module_& m);           // models that label one sequence per call
void bind_sequence_tagger(nb::module_& m);  // the same with a current sequence

}  // namespace crfkit
