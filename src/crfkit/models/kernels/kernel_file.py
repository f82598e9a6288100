"""Kernels and the positions they compare with, in a model file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from crfkit.data.positions import Rows
from crfkit.exceptions import InputError
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.kernels.graph_map import GraphMap, Spectrum
from crfkit.kernels.mercer import NAMES, SCALED, Kernel, MercerKernel, Precomputed
from crfkit.optional import needed
from crfkit.potentials.kernel import KernelTerm


def store_terms(terms: Sequence[KernelTerm], arrays: Arrays) -> list[dict[str, Any]]:
    """Add the arrays of kernel terms to those of a model file; return their entries in the header."""
    specifications = []
    for i, term in enumerate(terms):
        specifications.append(_store_kernel(term.kernel, f"{i}.kernel", arrays))
        _store_rows(term.support, f"{i}.support", arrays)
        if term.vertex is not None:
            arrays[f"{i}.vertex"] = term.vertex
        if term.edge is not None:
            arrays[f"{i}.edge"] = term.edge
    return specifications


def load_term(
    i: int, specification: Any, width: int | None, n_labels: int, arrays: ModelArrays
) -> KernelTerm:
    """Return term i of a model file; ``width`` is the expected number of columns of its positions."""
    kernel, L = _load_kernel(specification, f"{i}.kernel", arrays), n_labels
    support, m = _load_support(kernel, f"{i}.support", width, arrays)
    vertex = arrays.take(f"{i}.vertex", np.float64, (m, L)) if f"{i}.vertex" in arrays else None
    edge = arrays.take(f"{i}.edge", np.float64, (m, L, L)) if f"{i}.edge" in arrays else None
    return KernelTerm(kernel, support, vertex, edge)


def _store_kernel(kernel: MercerKernel, key: str, arrays: Arrays) -> dict[str, Any]:
    if isinstance(kernel, Precomputed):
        return {"kind": "precomputed"}
    if isinstance(kernel, GraphMap):
        if kernel.rows is None:
            raise InputError(
                "a graph given as an affinity matrix cannot be extended to new positions, so a model file "
                "of it would be useless: pickle the estimator"
            )
        spectrum = kernel.spectrum
        _store_rows(kernel.rows, f"{key}.rows", arrays)
        arrays |= {
            f"{key}.eigenvalues": spectrum.eigenvalues,
            f"{key}.eigenvectors": np.ascontiguousarray(spectrum.eigenvectors),
            f"{key}.degrees": spectrum.degrees,
            f"{key}.multipliers": spectrum.multipliers,
        }
        return {
            "kind": "graph",
            "n_neighbors": kernel.n_neighbors,
            "normalized": kernel.normalized,
            "metric": kernel.metric,
        }
    if isinstance(kernel, Kernel) and isinstance(kernel.function, str):
        return {
            "kind": "function",
            "function": kernel.function,
            "gamma": kernel.gamma if isinstance(kernel.gamma, str) else float(kernel.gamma),
            "degree": float(kernel.degree),
            "coef0": float(kernel.coef0),
        }
    raise InputError(
        f"the kernel {kernel.name} is a function, which a model file cannot hold: pickle the estimator, or "
        "use kernel='precomputed'"
    )


def _store_rows(rows: Rows, key: str, arrays: Arrays) -> None:
    if hasattr(rows, "tocsr"):
        arrays |= {
            f"{key}.indptr": rows.indptr.astype(np.int64),
            f"{key}.indices": rows.indices.astype(np.int64),
            f"{key}.data": rows.data.astype(np.float64),
            f"{key}.shape": np.array(rows.shape, np.int64),
        }
    else:
        arrays[key] = np.ascontiguousarray(rows)


def _load_rows(key: str, arrays: ModelArrays) -> Rows:
    """Return stored rows, dense or sparse."""
    if key in arrays:
        return arrays.take(key, np.float64, (None, None))
    sparse = needed("scipy.sparse", "this model, which holds sparse rows,")
    shape = arrays.take(f"{key}.shape", np.int64, (2,)).tolist()
    pointers = arrays.take(f"{key}.indptr", np.int64, (None,))
    columns = arrays.take(f"{key}.indices", np.int64, (None,))
    data = arrays.take(f"{key}.data", np.float64, (len(columns),))
    if len(pointers) != shape[0] + 1:
        raise arrays.wrong(f"the sparse matrix {key!r} does not fit together")
    arrays.check_rows(pointers, columns, shape[1], f"the sparse matrix {key!r}")
    return sparse.csr_matrix((data, columns, pointers), shape=tuple(shape))


def _load_kernel(specification: Any, key: str, arrays: ModelArrays) -> MercerKernel:
    kind = specification.get("kind") if isinstance(specification, dict) else None
    if kind == "precomputed":
        return Precomputed()
    if kind == "function":
        function, gamma = specification.get("function"), specification.get("gamma")
        degree, coef0 = specification.get("degree"), specification.get("coef0")
        # The gamma of a kernel that has none is as the user gave it.
        numbers = (degree, coef0, *([] if function not in SCALED and isinstance(gamma, str) else [gamma]))
        if function in NAMES and all(isinstance(value, float) for value in numbers):
            return Kernel(function, gamma, degree, coef0)
    if kind == "graph":
        rows = _load_rows(f"{key}.rows", arrays)
        n = rows.shape[0]
        values = arrays.take(f"{key}.eigenvalues", np.float64, (None,))
        m = len(values)
        spectrum = Spectrum(
            values,
            arrays.take(f"{key}.eigenvectors", np.float64, (n, m)),
            arrays.take(f"{key}.degrees", np.float64, (n,)),
            arrays.take(f"{key}.multipliers", np.float64, (m,)),
        )
        k, normalized, metric = (specification.get(x) for x in ("n_neighbors", "normalized", "metric"))
        if type(k) is int and k > 0 and isinstance(normalized, bool) and isinstance(metric, str):
            return GraphMap(spectrum, rows, np.arange(n, dtype=np.int64), k, normalized, metric)
    raise arrays.wrong(f"its kernel is malformed: {specification!r:.80}")


def _load_support(kernel: MercerKernel, key: str, width: int | None, arrays: ModelArrays) -> tuple[Any, int]:
    """Return the second argument of the kernel, and its number of positions."""
    if isinstance(kernel, Precomputed):
        places = arrays.take(key, np.int64, (None,))
        if len(places) and not (places.min() >= 0 and places.max() < (width or 0)):
            raise arrays.wrong(f"{key!r} names positions that are not there")
        return places, len(places)
    rows = _load_rows(key, arrays)
    expected = len(kernel.spectrum.eigenvalues) if isinstance(kernel, GraphMap) else width
    if rows.shape[1] != expected:
        raise arrays.wrong(f"expected {expected} columns in {key!r}, got {rows.shape[1]}")
    return rows, int(rows.shape[0])
