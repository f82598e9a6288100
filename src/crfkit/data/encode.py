"""Conversion of X, in any of the supported shapes, to ``Sequences``.

Objects (lists of lists of strings or dicts, data frames) are read natively, with the attribute names that
python-crfsuite gives them; arrays and sparse matrices have the attributes "0", "1", … for their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

from crfkit import _native
from crfkit.data.matrices import read_matrices
from crfkit.data.reading import cut, cut_rows, frame_columns, is_empty, is_frame, is_matrix, sequences_in
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError


def encode(X: Any, vocabulary: Vocabulary, *, grow: bool, lengths: Any = None) -> Sequences:
    """Convert X to ``Sequences`` over the ids of the vocabulary.

    X is one of

    - an iterable of sequences; a sequence is a list of items; an item is a list, tuple or set of strings, or
      a dict of str to str, bool, number, dict, vector of numbers, or list, tuple or set of strings. A
      generator is read one sequence at a time and is not stored.
    - an iterable of 2-D arrays or sparse matrices [T, A], or of data frames with T rows; a 3-D array
      [N, T, A]
    - one array, sparse matrix or data frame with ΣT rows, cut into sequences by ``lengths`` [N]

    Zeros are dropped, the values of an attribute repeated within a position are added up, and NaN or infinity
    raises ``InputError`` with the place. ``grow=True`` adds new attributes to the vocabulary; they are
    removed after an error. ``grow=False`` drops unknown ones. Arrays must be as wide as the vocabulary.
    """
    if lengths is not None:
        if not is_frame(X):
            return read_matrices(iter([X]), vocabulary, grow, cut(X, lengths))
        items = _frame_items(X, "X")
        offsets = cut_rows(len(items), lengths).tolist()
        return _encode_objects((items[a:b] for a, b in pairwise(offsets)), vocabulary, grow)
    first, sequences = _peek(sequences_in(X))
    if is_matrix(first):
        return read_matrices(sequences, vocabulary, grow)
    if is_frame(first):
        tables = (
            [] if is_empty(frame) else _frame_items(frame, f"sequence {i}")
            for i, frame in enumerate(sequences)
        )
        return _encode_objects(tables, vocabulary, grow)
    return _encode_objects(X if isinstance(X, (list, tuple)) else sequences, vocabulary, grow)


def _encode_objects(X: Iterable[Any], vocabulary: Vocabulary, grow: bool) -> Sequences:
    columns = len(vocabulary) if vocabulary.names_columns() else 0
    found = Sequences(*_native.encode_objects(X, vocabulary.native, grow))
    # Attributes of items may have such names, too: then they are known.
    if columns and found.n_positions and not (found.indices < columns).any():
        raise InputError(
            f"X is lists of items, but the attributes known so far are the {columns} columns of arrays or "
            "sparse matrices: pass X as before, one array [T, A] per sequence"
        )
    return found


def _peek(X: Iterable[Any]) -> tuple[Any, Iterator[Any]]:
    """Return the first sequence that is not empty, and an iterator over all sequences."""
    iterator = iter(X)
    seen: list[Any] = []
    for sequence in iterator:
        seen.append(sequence)
        if not is_empty(sequence):
            return sequence, chain(seen, iterator)
    return None, iter(seen)


def _frame_items(frame: Any, where: str) -> list[dict[str, Any]]:
    """Return the rows of a data frame as dicts: a text column c makes "c:text", a number column "c"."""
    columns = frame_columns(frame, where)
    rows = zip(*(column.to_list() for column in columns.values()), strict=True)
    return [dict(zip(columns, row, strict=True)) for row in rows]
