"""Feature programs: sentences of any shape, read column by column, to sequences of attribute ids.

The program itself is native (``native/program``). Here its columns are read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.columns import Columns
from crfkit.data.sequences import Sequences, offsets_of, place_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.cells import as_numbers, as_texts, as_vectors, is_missing
from crfkit.features.program_code import INPUTS
from crfkit.features.sentences import Block, Key, place_in_columns, read_blocks
from crfkit.threads import thread_count

Computed = Callable[[Block], list[Any]]  # from a block to its column [ΣT]


class Input(NamedTuple):
    """A column that a program reads."""

    kind: str  # one of INPUTS
    optional: bool
    computed: bool  # by a function of the user; then the key is its place among them
    key: Key
    title: str  # in messages


class Cells(NamedTuple):
    """The columns of a batch."""

    texts: Vocabulary  # the distinct cells
    ids: IdArray  # [ΣT, K] places in texts; -1: missing
    columns: list[int]  # [inputs] column of ids, or place in matrices
    matrices: list[FloatArray]  # numbers [ΣT, 1] and vectors [ΣT, D]; NaN: missing
    offsets: IntArray  # [N+1]
    place: Callable[[int], str]  # of a position, for messages


class Encoding(NamedTuple):
    """The result of a program."""

    sequences: Sequences
    numeric: npt.NDArray[np.bool_]  # [A] which attributes have values, if the vocabulary grew


@dataclass(frozen=True)
class FeatureProgram:
    """A compiled program. ``stored`` says that it comes from a file; then it has no computed columns."""

    code: bytes
    stored: bool = False

    @cached_property
    def native(self) -> _native.FeatureProgram:
        return _native.FeatureProgram(self.code, self.stored)

    @cached_property
    def inputs(self) -> list[Input]:
        return [
            Input(INPUTS[kind], optional, computed, key, title)
            for kind, optional, computed, key, title in self.native.inputs()
        ]

    def read(
        self,
        X: Any,
        lengths: Any = None,
        sequence_column: Key | None = None,
        computed: Sequence[Computed] = (),
    ) -> Cells:
        """Read the columns of sentences X, in any of the shapes that ``sentences`` knows."""
        if isinstance(X, Columns) and all(one.kind == "text" and not one.computed for one in self.inputs):
            places = [_place(X, one) for one in self.inputs]
            if X.ids.size and X.ids.min() < 0:  # -1 would be a missing cell, which files do not have
                raise IndexError("a cell id is out of range")
            if None not in places:
                return Cells(X.cells, X.ids, places, [], X.offsets, place_in_columns(X))  # type: ignore[arg-type]
        texts = Vocabulary()
        blocks = read_blocks(X, lengths, sequence_column)
        lengths_found: list[int] = []
        columns: list[list[Any]] = [[] for _ in self.inputs]
        for block in blocks:
            lengths_found += block.lengths
            for found, one in zip(columns, self.inputs, strict=True):
                found.append(_column(block, one, texts, computed))
        where = place_in_columns(X) if isinstance(X, Columns) else None
        return self._joined(texts, columns, offsets_of(lengths_found), where)

    def read_block(self, block: Block, computed: Sequence[Computed] = ()) -> Cells:
        """Read the columns of one block of sentences."""
        texts = Vocabulary()
        columns = [[_column(block, one, texts, computed)] for one in self.inputs]
        return self._joined(texts, columns, np.array(block.offsets, np.int64), block.place)

    def _joined(
        self,
        texts: Vocabulary,
        columns: list[list[Any]],  # [inputs][blocks]
        offsets: IntArray,
        place: Callable[[int], str] | None,
    ) -> Cells:
        where = _places(offsets) if place is None else place
        n, places = int(offsets[-1]), []
        ids: list[IdArray] = []
        matrices: list[FloatArray] = []
        for found, one in zip(columns, self.inputs, strict=True):
            if one.kind in ("number", "vector"):
                places.append(len(matrices))
                matrices.append(_stacked(found, n, one, where))
            else:
                places.append(len(ids))
                ids.append(np.concatenate([np.zeros(0, np.int32), *found]))
        table = np.column_stack(ids) if ids else np.zeros((n, 0), np.int32)
        return Cells(texts, np.ascontiguousarray(table), places, matrices, offsets, where)

    def run(
        self,
        cells: Cells,
        vocabulary: Vocabulary,
        *,
        grow: bool,
        keep_zeros: bool = False,
        n_jobs: int | None = None,
    ) -> Encoding:
        """Make the attributes at every position, as ids of the vocabulary.

        ``grow=True`` adds new attributes; their ids do not depend on ``n_jobs``. ``grow=False`` drops unknown
        ones. ``n_jobs=None`` uses all cores.
        """
        try:
            indptr, indices, values, n_attributes, numeric = self.native.encode(
                cells.texts.native,
                cells.ids,
                cells.columns,
                cells.matrices,
                cells.offsets,
                vocabulary.native,
                grow,
                keep_zeros,
                thread_count(n_jobs),
            )
        except InputError as error:
            raise placed(error, cells.place) from error
        return Encoding(
            Sequences(cells.offsets, indptr, indices, values, n_attributes), numeric.astype(np.bool_)
        )

    def __reduce__(self) -> tuple[type[FeatureProgram], tuple[bytes, bool]]:
        return (FeatureProgram, (self.code, self.stored))


def placed(error: InputError, place: Callable[[int], str]) -> InputError:
    """Return an error of the native code with the place that it is about."""
    position = getattr(error, "position", None)
    return error if position is None else InputError(f"{place(position)}: {error}")


def _places(offsets: IntArray) -> Callable[[int], str]:
    def place(position: int) -> str:
        sequence, at = place_of(offsets, position)
        return f"sequence {sequence}, position {at}"

    return place


def _place(columns: Columns, one: Input) -> int | None:
    """Return the place of an input among the columns of a file; None if there is none."""
    names = getattr(columns, "names", ())
    key = names.index(one.key) if one.key in names else one.key
    if isinstance(key, int) and -columns.n_columns <= key < columns.n_columns:
        return key % columns.n_columns
    return None


def _column(block: Block, one: Input, texts: Vocabulary, computed: Sequence[Computed]) -> Any:
    """Return a column of a block: ids [ΣT], numbers [ΣT], or vectors."""
    if one.computed:
        cells = computed[int(one.key)](block)
        if one.kind == "number":
            return _numbers(cells)
        return _ids(["" if cell is True else cell for cell in cells], texts, block)
    cells = block.cells(one.key, one.optional)
    if one.kind == "number":
        return _numbers(as_numbers(cells, block.place, one.title, one.optional))
    if one.kind == "vector":
        return as_vectors(cells, block.place, one.title)
    if one.kind == "gap":
        return _ids(["" if is_missing(cell) else None for cell in cells], texts, block)
    return _ids(as_texts(cells, block.place, one.title, one.optional), texts, block)


def _ids(cells: list[str | None], texts: Vocabulary, block: Block) -> IdArray:
    try:
        return _native.cell_ids(texts.native, cells)
    except InputError as error:
        raise placed(error, block.place) from error


def _numbers(cells: list[float | None]) -> FloatArray:
    return np.array(cells, np.float64)  # None becomes NaN


def _stacked(found: list[Any], n: int, one: Input, place: Callable[[int], str]) -> FloatArray:
    """Return a column of all blocks as a matrix [ΣT, D]."""
    if one.kind == "number":
        return np.concatenate([np.zeros(0), *found]).reshape(n, 1)
    vectors = [vector for block in found for vector in block]
    widths = {len(vector): i for i, vector in reversed(list(enumerate(vectors))) if vector is not None}
    if len(widths) > 1:
        (_, width), (i, other) = sorted((i, width) for width, i in widths.items())[:2]
        raise InputError(f"{place(i)}: {one.title}: expected {width} numbers like the others, got {other}")
    matrix = np.full((n, max(widths, default=0)), np.nan)
    for i, vector in enumerate(vectors):
        if vector is not None:
            matrix[i] = vector
    return matrix
