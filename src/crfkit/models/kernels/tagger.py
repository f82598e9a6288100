"""The fitted kernel CRF: kernels, selected positions, coefficients; and its form in the model file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.columns import Columns
from crfkit.data.positions import Positions, read_objects, read_positions
from crfkit.data.table_numbers import TableNumbers
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.fitted_model import FittedModel, Piece, Prepared, Scored
from crfkit.models.kernels.kernel_file import load_term, store_terms
from crfkit.models.kinds import KINDS
from crfkit.potentials.kernel import KernelPotential

if TYPE_CHECKING:
    from crfkit.models.explanation import Reasons


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

    def reasons(self, X: Any, lattice: Any, header: Mapping[str, Any]) -> Reasons:
        from crfkit.models.kernels.cliques import cliques_of
        from crfkit.models.kernels.explanation import KernelReasons

        return KernelReasons(self, self.positions(X), cliques_of(header))

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
        own: dict[str, Any] = {
            "kernels": store_terms(self.potential.terms, arrays),
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
        terms = [load_term(i, one, width, L, arrays) for i, one in enumerate(kernels)]
        transitions, bias = take("transitions", np.float64, (L, L)), take("bias", np.float64, (L,))
        potential = KernelPotential(L, terms, transitions, bias)
        return cls(classes, potential, width, decode=decode, boundary_gain=gain, cells=cells, n_jobs=n_jobs)
