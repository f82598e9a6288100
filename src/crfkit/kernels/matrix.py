"""The kernel matrix of candidates and training positions, computed in blocks and cached up to a limit.

K [c, n] times the differences between marginals and observations [n, k] gives the derivatives of all c
candidates at once. A small matrix is kept whole. For a large one, blocks of rows are cached in single
precision until the limit is reached; the other blocks are recomputed each time. Single precision is enough
to choose candidates: the chosen columns are computed again in double precision.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Rows, n_rows, take_rows
from crfkit.kernels.mercer import MercerKernel

_BLOCK = 1 << 22  # numbers in a block: 16 MiB in single precision
_RUN = 1 << 10  # terms that are summed in single precision; longer sums would lose digits


class KernelMatrix:
    """K between candidate positions and all positions of a table.

    The first ``n_learn`` positions are those of training. Those of a dev set may follow; only their values
    in the chosen columns are needed.
    """

    def __init__(
        self,
        kernel: MercerKernel,
        rows: Rows,  # represented
        candidates: IntArray,  # [c] places among the rows
        *,
        n_learn: int | None = None,
        limit: float = 1e9,
        own: IntArray | None = None,
    ) -> None:
        self.kernel, self.name = kernel, kernel.name
        self.rows = rows
        self.candidates = candidates
        self.n_positions = n_rows(rows)
        self.n_learn = self.n_positions if n_learn is None else n_learn
        self.limit = limit  # bytes
        self._own = own  # [n] the kernel's numbers of the positions; None: their places
        self._kept: dict[int, npt.NDArray[np.float32]] = {}
        self._ready: dict[int, FloatArray] = {}  # place -> column [n]

    @cached_property
    def _whole(self) -> FloatArray | None:
        """K [n, n] if all positions are candidates and all of it fits."""
        n = self.n_positions
        if n == self.n_learn == len(self.candidates) and 8 * n * n <= self.limit:
            return self.kernel.between(self.rows, self.support(np.arange(n)))
        return None

    def part(
        self, kernel: MercerKernel, places: IntArray, candidates: IntArray, n_learn: int
    ) -> KernelMatrix:
        """Return the matrix of a kernel of the same kind on some of the positions.

        ``candidates`` are places among these; the first ``n_learn`` of them are those of training.
        """
        own = None if self._own is None else self._own[places]
        rows = take_rows(self.rows, places)
        return KernelMatrix(kernel, rows, candidates, n_learn=n_learn, limit=self.limit, own=own)

    def with_kernel(self, kernel: MercerKernel) -> KernelMatrix:
        """Return the matrix of another kernel on the same rows."""
        return KernelMatrix(
            kernel, self.rows, self.candidates, n_learn=self.n_learn, limit=self.limit, own=self._own
        )

    @property
    def n_candidates(self) -> int:
        return len(self.candidates)

    @property
    def kept_bytes(self) -> int:
        """Size of the cached blocks."""
        whole = 0 if self._whole is None else self._whole.nbytes
        return whole + sum(block.nbytes for block in self._kept.values())

    def support(self, places: IntArray) -> object:
        """Return these positions as the kernel's second argument."""
        return self.kernel.support(self.rows, places if self._own is None else self._own[places])

    def columns(self, places: IntArray) -> FloatArray:
        """Return K(·, places) [n, m], in double precision."""
        if self._whole is not None:
            return self._whole[:, places]
        if all(place in self._ready for place in places.tolist()):
            return np.column_stack([self._ready[place] for place in places.tolist()])
        return self.kernel.between(self.rows, self.support(places))

    def prepare(self, places: IntArray) -> None:
        """Compute columns that will probably be needed, all at once; drop those prepared before."""
        self._ready = {}
        if self._whole is None:
            places = places[: max(1, _BLOCK * 4 // self.n_positions)]
            self._ready = dict(zip(places.tolist(), self.columns(places).T.copy(), strict=True))

    def diagonal(self, places: IntArray) -> FloatArray:
        """Return K(x, x) of these positions [m]."""
        size = 64
        pieces = [places[k : k + size] for k in range(0, len(places), size)]
        blocks = [
            np.diagonal(self.kernel.between(take_rows(self.rows, piece), self.support(piece)))
            for piece in pieces
        ]
        return np.concatenate([np.zeros(0), *blocks])

    def product(self, values: FloatArray) -> FloatArray:
        """Return K(candidates, training) @ values: [c, k] from [n_learn, k]."""
        if self._whole is not None:
            return np.asarray(self._whole.T @ values)
        out = np.zeros((self.n_candidates, values.shape[1]))
        single = values.astype(np.float32)
        for start, block in self._blocks():
            for first in range(0, self.n_learn, _RUN):
                run = slice(first, first + _RUN)
                out[start : start + len(block)] += block[:, run] @ single[run]
        return out

    def _blocks(self) -> Iterator[tuple[int, npt.NDArray[np.float32]]]:
        """Yield blocks of rows of K [c, n_learn], from top to bottom."""
        height = max(1, _BLOCK // max(1, self.n_learn))
        learn = (
            take_rows(self.rows, np.arange(self.n_learn)) if self.n_learn < self.n_positions else self.rows
        )
        room = self.limit - self.kept_bytes
        for start in range(0, self.n_candidates, height):
            block = self._kept.get(start)
            if block is None:
                places = self.candidates[start : start + height]
                # The kernel is symmetric: its columns for the candidates are its rows.
                block = np.ascontiguousarray(self.kernel.between(learn, self.support(places)).T, np.float32)
                if block.nbytes <= room:
                    self._kept[start] = block
                    room -= block.nbytes
            yield start, block
