"""Item files of CRFsuite and MALLET: one position per line, read and written natively."""

from __future__ import annotations

import os
import sys
import warnings
from collections.abc import Iterable, Iterator
from typing import IO, Any, Literal, TypeAlias

import numpy as np

from crfkit import _native
from crfkit.arrays import IntArray
from crfkit.data.encode import encode
from crfkit.data.examples import Examples
from crfkit.data.labels import encode_labels, label_lists, label_set
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.opening import Source, open_input, source_name
from crfkit.io.writing import open_output

Format: TypeAlias = Literal["crfsuite", "mallet"]

POSITIONS = 65536  # approximate size of a piece: pieces are whole sequences
_CHUNK = 1 << 18  # bytes read at a time
_LABELS = {True: "required", False: "absent", "optional": "optional"}


def stream_items(
    format: Format,
    source: Source,
    vocabulary: Vocabulary,
    *,
    grow: bool,
    labels: bool | Literal["optional"],
    positions: int,
    prompt: bool,
) -> Iterator[Examples]:
    """Yield pieces of whole sequences; ``names`` of later pieces begin with those of earlier ones."""
    if positions < 1:
        raise InputError(f"positions must be at least 1, got {positions}")
    if labels not in _LABELS or (format == "mallet" and labels == "optional"):
        permitted = ", ".join(repr(known) for known in _LABELS if format == "crfsuite" or known != "optional")
        raise InputError(f"labels must be one of {permitted}, got {labels!r}")
    name = source_name(source)
    text = _native.ItemText(format, _LABELS[labels], name)
    return _pieces(text, name, source, vocabulary, grow, positions, prompt)


def read_items(
    format: Format,
    source: Source,
    vocabulary: Vocabulary,
    *,
    grow: bool,
    labels: bool | Literal["optional"],
) -> Examples:
    """Read a file in one piece; after an error the vocabulary is as it was before."""
    for piece in stream_items(
        format, source, vocabulary, grow=grow, labels=labels, positions=sys.maxsize, prompt=False
    ):
        return piece
    return Examples(encode([], vocabulary, grow=False), [], np.empty(0, dtype=np.int32), None)


def _pieces(
    text: _native.ItemText,
    name: str,
    source: Source,
    vocabulary: Vocabulary,
    grow: bool,
    positions: int,
    prompt: bool,
) -> Iterator[Examples]:
    names: list[str] = []
    said: set[str] = set()
    with open_input(source) as file:
        chunks = iter(lambda: file.read1(_CHUNK), b"")
        while True:
            piece = text.read(chunks, vocabulary.native, grow, positions, prompt)
            _warn(text, name, said)
            if piece is None:
                return
            names += text.label_names(len(names))
            offsets, indptr, indices, values, n_attributes, ids, weights = piece
            sequences = Sequences(offsets, indptr, indices, values, n_attributes)
            yield Examples(sequences, list(names), ids, weights)


def _warn(text: _native.ItemText, name: str, said: set[str]) -> None:
    """Warn once per file about behaviour of CRFsuite that is followed here but rarely wanted."""
    notes = {
        "carriage return": (
            text.carriage_return_line,
            "the line ends in CR LF, and CRFsuite takes the CR for part of the last name, and no line for "
            "empty; so does crfkit. Convert the file to plain line feeds (dos2unix)",
        ),
        "colon": (
            text.colon_label_line,
            "the label has a colon that is not written \\:, and CRFsuite cuts it off there; so does crfkit. "
            "Write \\: for a colon in a label",
        ),
    }
    for key, (line, note) in notes.items():
        if line and key not in said:
            said.add(key)
            warnings.warn(f"{name}:{line}: {note}", InputWarning, stacklevel=3)


def write_items(
    format: Format,
    path: str | os.PathLike[str] | IO[bytes],
    X: Any,
    y: Any,
    weights: Any,
    vocabulary: Vocabulary | None,
) -> None:
    """Write X, in any shape that ``write_crfsuite`` accepts, to an item file."""
    pieces = _examples(X, y, weights, vocabulary)
    with open_output(path) as file:
        _write(format, file, pieces)


def _examples(
    X: Any, y: Any, weights: Any, vocabulary: Vocabulary | None
) -> Iterator[tuple[Examples, Vocabulary, bool]]:
    """Yield pieces with their vocabulary, and whether they have labels."""
    if isinstance(X, Encoded) and vocabulary is None:
        X, vocabulary = X.sequences, X.vocabulary
    ready = isinstance(X, (Sequences, Examples, Iterator))
    if ready != (vocabulary is not None):
        raise InputError(
            f"vocabulary goes with Sequences, Examples or an iterator of Examples, got X of type "
            f"{type(X).__name__} and vocabulary={vocabulary!r}"
        )
    if vocabulary is None:
        vocabulary = Vocabulary()
        X = encode(X, vocabulary, grow=True)
    if isinstance(X, Sequences):
        yield _labelled(X, y, weights), vocabulary, y is not None
        return
    if y is not None or weights is not None:
        raise InputError("Examples have labels and weights already: leave y and weights out")
    pieces: Iterable[Any] = [X] if isinstance(X, Examples) else X
    labelled: bool | None = None  # data read without labels has none at all
    for piece in pieces:
        if not isinstance(piece, Examples):
            raise InputError(f"X must be an iterator of Examples, but it gave {type(piece).__name__}")
        some = bool((piece.ids >= 0).any())
        if some and labelled is False:
            raise InputError("some of the Examples have labels, the ones before have none; write two files")
        labelled = some if labelled is None else labelled
        yield piece, vocabulary, labelled


def _labelled(X: Sequences, y: Any, weights: Any) -> Examples:
    array = None if weights is None else np.ascontiguousarray(weights, dtype=np.float64)  # [N]
    if y is None:
        return Examples(X, [], np.full(X.n_positions, -1, dtype=np.int32), array)
    y = label_lists(y)
    classes = label_set(y)
    names = [str(label) for label in classes]
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"y has two labels that are both written {twice!r}; rename one of them")
    return Examples(X, names, encode_labels(y, classes, X.offsets).ids, array)


def _write(format: Format, file: IO[bytes], pieces: Iterator[tuple[Examples, Vocabulary, bool]]) -> None:
    written = 0  # sequences
    for examples, vocabulary, labelled in pieces:
        names = Vocabulary(examples.names)
        for start, stop in _blocks(examples.sequences.offsets):
            x = examples.sequences
            first, last = int(x.offsets[start]), int(x.offsets[stop])  # positions
            begin, end = int(x.indptr[first]), int(x.indptr[last])  # attributes
            file.write(
                _native.write_items(
                    format,
                    x.offsets[start : stop + 1] - first,
                    x.indptr[first : last + 1] - begin,
                    x.indices[begin:end],
                    None if x.values is None else x.values[begin:end],
                    vocabulary.native,
                    examples.ids[first:last] if labelled else None,
                    names.native,
                    None if examples.weights is None else examples.weights[start:stop],
                    written + start,
                )
            )
        written += examples.sequences.n_sequences


def _blocks(offsets: IntArray) -> Iterator[tuple[int, int]]:
    """Yield ranges of sequences with about ``POSITIONS`` positions, or of one sequence."""
    start, n = 0, offsets.size - 1
    while start < n:
        stop = int(np.searchsorted(offsets, offsets[start] + POSITIONS, side="right")) - 1
        stop = min(n, max(stop, start + 1))
        yield start, stop
        start = stop
