"""The fitted kernel CRF: kernels, selected positions, coefficients; and its form in the model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.columns import Columns
from crfkit.data.positions import Positions, Rows, read_objects, read_positions
from crfkit.data.table_numbers import TableNumbers
from crfkit.exceptions import InputError
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.kernels.graph_map import GraphMap, Spectrum
from crfkit.kernels.mercer import NAMES, SCALED, Kernel, MercerKernel, Precomputed
from crfkit.models.fitted_model import FittedModel, Piece, Prepared, Scored
from crfkit.models.kinds import KINDS
from crfkit.optional import needed
from crfkit.potentials.kernel import KernelPotential, KernelTerm


class KernelTagger(FittedModel):
    """A tagger with coefficients on selected cliques. ``decode`` uses the method ``decoding``."""

    in_files = KINDS["kernel"].in_files
    piece_scores = 1 << 22  # with kernel values
    # How the cells of text files become columns of X; None: they are numbers, as in pickles of before.
    cells: TableNumbers | None = None

    def __init__(
        self,
        classes: list[Any],
        potential: KernelPotential,
        width: int | None,
        *,
        decode: str = "marginal",
        boundary_gain: float = 0.0,
        cells: TableNumbers | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(classes, n_jobs)
        self.potential = potential
        self.width = width  # columns of X; None: any objects
        self.cells = cells
        self.decoding = decode
        self.boundary_gain = boundary_gain

    @property
    def n_columns(self) -> int | None:
        """Number of columns of a text file, or of X; None if positions are objects."""
        return self.width if self.cells is None else self.cells.schema.width

    @property
    def scores_per_position(self) -> int:
        """Number of scores and kernel values computed per position."""
        return max(1, self.potential.scores_per_position)

    def positions(self, X: Any, lengths: Any = None) -> Positions:
        """Return X in the form of training: tables of numbers, or objects even if they look like numbers."""
        if self.cells is not None and isinstance(X, Columns):
            return self.cells.encode(X)
        if self.width is None and lengths is None:
            return read_objects(X)
        return read_positions(X, lengths, width=self.width)

    def scored(self, X: Any) -> Scored:
        positions = self.positions(X)
        return Scored(self.potential.scores(positions), None, True)

    def prepare(self, X: Any, lengths: Any = None) -> Prepared:
        positions = self.positions(X, lengths)

        def score(start: int, stop: int) -> Piece:
            chosen = positions
            if stop - start < positions.n_sequences:
                chosen = positions.subset(np.arange(start, stop))
            return Piece(self.potential.scores(chosen), None)

        return Prepared(positions.offsets, score)

    def facts(self) -> dict[str, str]:
        kernels = [term.kernel for term in self.potential.terms]
        return {
            "kernels": ", ".join(str(getattr(kernel, "name", "graph")) for kernel in kernels) or "none",
            "positions compared with": f"{sum(len(term.support) for term in self.potential.terms):,}",
        }

    def pair_scores(self) -> FloatArray:
        return self.potential.transitions

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        arrays: Arrays = {"transitions": self.potential.transitions, "bias": self.potential.bias}
        specifications = []
        for i, term in enumerate(self.potential.terms):
            specifications.append(_store_kernel(term.kernel, f"{i}.kernel", arrays))
            _store_rows(term.support, f"{i}.support", arrays)
            if term.vertex is not None:
                arrays[f"{i}.vertex"] = term.vertex
            if term.edge is not None:
                arrays[f"{i}.edge"] = term.edge
        own: dict[str, Any] = {
            "kernels": specifications,
            "width": self.width,
            "decode": self.decoding,
            "boundary_gain": float(self.boundary_gain),
        }
        if self.cells is not None:
            own["cells"] = self.cells.to_header()
        return own, arrays

    @classmethod
    def from_parts(
        cls, classes: list[Any], header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None
    ) -> KernelTagger:
        kernels, width = header.get("kernels"), header.get("width")
        decode, gain = header.get("decode"), header.get("boundary_gain")
        if (
            not isinstance(kernels, list)
            or not (width is None or (type(width) is int and width >= 0))
            or decode not in ("marginal", "viterbi")
            or not isinstance(gain, float)
            or not 0 <= gain < np.inf
        ):
            raise arrays.wrong("its header is malformed")
        cells = None
        if header.get("cells") is not None:
            cells = TableNumbers.from_header(header["cells"], arrays.name)
            if cells.width != width:
                raise arrays.wrong(f"its columns have {cells.width} numbers, but its kernels {width}")
        take, L = arrays.take, len(classes)
        terms = []
        for i, specification in enumerate(kernels):
            kernel = _load_kernel(specification, f"{i}.kernel", arrays)
            support, m = _load_support(kernel, f"{i}.support", width, arrays)
            vertex = take(f"{i}.vertex", np.float64, (m, L)) if f"{i}.vertex" in arrays else None
            edge = take(f"{i}.edge", np.float64, (m, L, L)) if f"{i}.edge" in arrays else None
            terms.append(KernelTerm(kernel, support, vertex, edge))
        transitions, bias = take("transitions", np.float64, (L, L)), take("bias", np.float64, (L,))
        potential = KernelPotential(L, terms, transitions, bias)
        return cls(classes, potential, width, decode=decode, boundary_gain=gain, cells=cells, n_jobs=n_jobs)


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
