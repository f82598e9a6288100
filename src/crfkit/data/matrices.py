"""Dense arrays and sparse matrices to ``Sequences``: column j is the attribute "j"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.reading import is_empty, is_matrix, place, refuse_masked
from crfkit.data.sequences import Sequences, offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError

_BLOCK = 1 << 20  # entries of a dense matrix that are processed together
_Rows = tuple[IntArray, IdArray, FloatArray]


def read_matrices(
    matrices: Iterator[Any],
    vocabulary: Vocabulary,
    grow: bool,
    offsets: IntArray | None = None,
) -> Sequences:
    """Read sequences from one matrix [T, A] each, or from one with all rows, cut at offsets [N+1]."""
    width: int | None = None
    row_counts: list[IntArray] = []  # each [T]
    indices: list[IdArray] = []
    values: list[FloatArray] = []
    lengths: list[int] = []
    for i, matrix in enumerate(matrices):
        where = "X" if offsets is not None else f"sequence {i}"
        if offsets is None and is_empty(matrix):
            lengths.append(0)
            continue
        if not is_matrix(matrix) or matrix.ndim != 2:
            raise InputError(
                f"{where}: expected a 2-D array or sparse matrix of numbers, got {_kind(matrix)}"
            )
        if matrix.dtype.kind == "c":
            raise InputError(f"{where}: values must be real numbers, got {matrix.dtype}")
        if width is None:
            width = matrix.shape[1]
            _check_width(width, vocabulary, grow)
        if matrix.shape[1] != width:
            raise InputError(f"{where}: expected {width} columns like sequence 0, got {matrix.shape[1]}")
        refuse_masked(matrix, where)
        lengths.append(matrix.shape[0])
        for counts, columns, entries in _nonzero(matrix):
            row_counts.append(counts)
            indices.append(columns)
            values.append(entries)
    if offsets is None:
        offsets = offsets_of(lengths)
    indptr = offsets_of(np.concatenate([*row_counts, np.empty(0, dtype=np.int64)]))
    all_indices = np.concatenate([*indices, np.empty(0, dtype=np.int32)])
    all_values = np.concatenate([*values, np.empty(0)])
    finite = np.isfinite(all_values)
    if not finite.all():
        entry = int(np.argmin(finite))
        raise InputError(
            f"{place(offsets, np.searchsorted(indptr, entry, side='right') - 1)}: feature "
            f"'{all_indices[entry]}': expected a finite number, got {all_values[entry]}"
        )
    if grow and len(vocabulary) == 0 and width is not None:
        vocabulary.add_columns(width)
    return Sequences(
        offsets=offsets,
        indptr=indptr,
        indices=all_indices,
        values=None if bool((all_values == 1.0).all()) else all_values,
        n_attributes=len(vocabulary),
    )


def _nonzero(matrix: Any) -> Iterator[_Rows]:
    """Yield how many entries each row has [T], and the columns and values of all entries [nnz], row by row.

    A dense matrix is processed in blocks of rows: the places of all its entries could take several times its
    own memory.
    """
    if isinstance(matrix, np.ndarray):
        dense = np.asarray(matrix)  # [T, A]
        height = max(1, _BLOCK // max(1, dense.shape[1]))
        for top in range(0, dense.shape[0], height):
            yield _nonzero_dense(dense[top : top + height])
    else:
        yield _nonzero_sparse(matrix)


def _nonzero_dense(block: npt.NDArray[Any]) -> _Rows:
    present = block != 0  # [T, A]
    rows, width = block.shape
    if present.all():  # embeddings and the like
        columns = np.tile(np.arange(width, dtype=np.int32), rows)
        return np.full(rows, width, dtype=np.int64), columns, block.astype(np.float64).reshape(-1)
    counts = np.count_nonzero(present, axis=1).astype(np.int64)
    return counts, np.nonzero(present)[1].astype(np.int32), block[present].astype(np.float64)


def _nonzero_sparse(matrix: Any) -> _Rows:
    csr = matrix.tocsr()
    if not csr.has_canonical_format:
        csr = csr.copy()  # the user's own matrix stays as it is
        csr.sum_duplicates()
    counts = np.diff(csr.indptr).astype(np.int64)
    present = csr.data != 0  # [nnz]
    if not present.all():
        rows = np.repeat(np.arange(counts.size), counts)
        counts = np.bincount(rows[present], minlength=counts.size).astype(np.int64)
        return counts, csr.indices[present].astype(np.int32), csr.data[present].astype(np.float64)
    return counts, csr.indices.astype(np.int32), csr.data.astype(np.float64)


def _check_width(width: int, vocabulary: Vocabulary, grow: bool) -> None:
    if width > np.iinfo(np.int32).max:
        raise InputError(f"at most {np.iinfo(np.int32).max} columns are possible, got {width}")
    if grow and len(vocabulary) == 0:
        return
    if not vocabulary.names_columns():
        raise InputError(
            "X is an array or sparse matrix, but the attributes known so far have names "
            f"(such as {vocabulary.strings(0, 1)[0]!r}): pass X as before, as lists of strings or dicts"
        )
    if len(vocabulary) != width:
        raise InputError(f"X has {width} columns, but {len(vocabulary)} were expected, as in training")


def _kind(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.ndim}-D {value.dtype} array"
    return type(value).__name__
