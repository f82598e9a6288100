"""X, in any of the shapes users have it, to ``Sequences``.

Objects (lists of lists of strings or dicts, data frames) are read natively, with the attribute names that
python-crfsuite gives them; arrays and sparse matrices have the attributes "0", "1", … for their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any

import numpy as np

from crfkit import _native
from crfkit.arrays import IntArray
from crfkit.data.matrices import is_empty, is_matrix, read_matrices
from crfkit.data.sequences import Sequences, offsets_of
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError


def encode(X: Any, vocabulary: Vocabulary, *, grow: bool, lengths: Any = None) -> Sequences:
    """Converts X to ``Sequences`` over the ids of the vocabulary.

    X is one of

    - an iterable of sequences; a sequence is a list of items; an item is a list, tuple or set of strings, or
      a dict of str to str, bool, number, dict, vector of numbers, or list, tuple or set of strings. A
      generator is read one sequence at a time and nothing of it is kept.
    - an iterable of 2-D arrays or sparse matrices [T, A], or of data frames with T rows; a 3-D array
      [N, T, A]
    - one array, sparse matrix or data frame with ΣT rows, cut into sequences by ``lengths`` [N]

    Zeros are dropped, the values of an attribute repeated within a position are added up, and NaN or infinity
    raises ``InputError`` with the place. ``grow=True`` adds new attributes to the vocabulary (and takes them
    back when it raises); ``grow=False`` drops unknown ones. For arrays the width must be the vocabulary's.
    """
    if lengths is not None:
        return _encode_cut(X, vocabulary, grow, checked_lengths(lengths))
    if is_matrix(X):
        if X.ndim != 3:
            raise InputError(
                f"a single {X.ndim}-D {type(X).__name__} does not say where sequences end: "
                "pass lengths=[…], or a list with one 2-D array a sequence"
            )
        return read_matrices(iter(X), vocabulary, grow)
    if is_frame(X):
        raise InputError(
            "a single data frame does not say where sequences end: pass lengths=[…], or a list of frames"
        )
    if isinstance(X, (str, bytes, Mapping)) or not isinstance(X, Iterable):
        raise InputError(f"X must be a list of sequences, got {type(X).__name__}")

    first, sequences = _peek(X)
    if is_matrix(first):
        return read_matrices(sequences, vocabulary, grow)
    if is_frame(first):
        return _encode_objects(
            (_frame_items(frame, i) for i, frame in enumerate(sequences)), vocabulary, grow
        )
    return _encode_objects(X if isinstance(X, (list, tuple)) else sequences, vocabulary, grow)


def _encode_objects(X: Iterable[Any], vocabulary: Vocabulary, grow: bool) -> Sequences:
    return Sequences(*_native.encode_objects(X, vocabulary.native, grow))


def _encode_cut(X: Any, vocabulary: Vocabulary, grow: bool, lengths: IntArray) -> Sequences:
    """One table of ΣT rows, cut by lengths [N]."""
    total = int(lengths.sum())
    bounds = offsets_of(lengths)  # [N+1]
    if is_matrix(X) and X.ndim == 2:
        _check_rows(X.shape[0], total)
        return read_matrices(iter([X]), vocabulary, grow, bounds)
    if is_frame(X):
        items = _frame_items(X, None)
        _check_rows(len(items), total)
        cut = (items[a:b] for a, b in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True))
        return _encode_objects(cut, vocabulary, grow)
    dimensions = f"{X.ndim}-D " if hasattr(X, "ndim") else ""
    raise InputError(
        "lengths goes with one 2-D array, sparse matrix or data frame that has all positions as rows, "
        f"got X of type {dimensions}{type(X).__name__}"
    )


def _check_rows(rows: int, total: int) -> None:
    if rows != total:
        raise InputError(f"lengths add up to {total} positions, but X has {rows} rows")


def checked_lengths(lengths: Any) -> IntArray:
    """How many rows each sequence has [N]: ints, none of them negative."""
    array = np.asarray(lengths)
    if array.size == 0 and array.ndim == 1:
        return np.zeros(0, dtype=np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise InputError(f"lengths must be a 1-D list of ints, got {array.ndim}-D {array.dtype}")
    if array.min() < 0:
        raise InputError(f"lengths must not be negative, got {array.min()} for sequence {array.argmin()}")
    return array.astype(np.int64)


def _peek(X: Iterable[Any]) -> tuple[Any, Iterator[Any]]:
    """The first sequence that is not empty, and all of them, those looked at included."""
    iterator = iter(X)
    seen: list[Any] = []
    for sequence in iterator:
        seen.append(sequence)
        if not is_empty(sequence):
            return sequence, chain(seen, iterator)
    return None, iter(seen)


def is_frame(X: Any) -> bool:
    """A pandas or polars data frame, told by what it can do; neither is imported."""
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "__getitem__")


def _frame_items(frame: Any, sequence: int | None) -> list[dict[str, Any]]:
    """The rows of a data frame as dicts: a text column c makes "c:text", a number column "c"."""
    where = "X" if sequence is None else f"sequence {sequence}"
    if sequence is not None and is_empty(frame):
        return []
    if not is_frame(frame):
        raise InputError(
            f"{where}: expected a data frame like the first sequence, got {type(frame).__name__}"
        )
    names = [str(column) for column in frame.columns]
    if len(set(names)) != len(names):
        repeated = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{where}: the data frame has two columns called {repeated!r}; rename one")
    columns = [frame[column].to_list() for column in frame.columns]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
