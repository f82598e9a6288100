"""The text of each position, for sentences on a page: words, if the data has any, or else numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from crfkit.data.columns import Columns
from crfkit.data.reading import is_frame
from crfkit.data.sequences import Encoded
from crfkit.exceptions import InputError
from crfkit.features.default_features import word_columns
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.optional import find

# Names of the attribute that holds the word itself, in the order in which they are looked for.
_NAMES = (
    *(
        "word",
        "token",
        "text",
        "form",
        "w",
        "w[0]",
        "word[0]",
        "0:word",
        "word.lower()",
        "word.lower",
        "lower",
    ),
    *("w.lower", "U02", "U00"),
)
_ATTRIBUTE = re.compile(r"([^=:]+)[=:](.+)", re.DOTALL)
_NONE = "·"  # a position without any text


def words_of(data: LabelledSequences, given: Any = None) -> list[list[str]]:
    """Return the text of each position of each sequence: those given, words found in X, or numbers."""
    if given is not None:
        words = [[str(word) for word in sentence] for sentence in given]
        if [len(sentence) for sentence in words] != np.diff(data.offsets).tolist():
            raise InputError("words must have one list per sequence of X, with one word per position")
        return words
    found = found_words(data)
    return [[str(t) for t in range(len(labels))] for labels in data.y] if found is None else found


def found_words(data: LabelledSequences) -> list[list[str]] | None:
    """Return the words of each sequence that are in X; None if it has none, as arrays of numbers."""
    X = data.x
    if isinstance(X, Columns):
        first = word_columns([len(X.codes(k)[0]) for k in range(X.n_columns)])[:1] if X.n_columns else []
        return X.column(first[0]) if first else None
    if isinstance(X, Encoded):
        return _of_encoded(X)
    if data.has_rows:
        return _of_table(data)
    found = [_of_sequence(items) for items in X]
    words = [sentence for sentence in found if sentence is not None]
    return words if len(words) == len(found) else None


def _of_table(data: LabelledSequences) -> list[list[str]] | None:
    """Return the cells of the column of text with the most values."""
    if not hasattr(data.x, "columns"):
        return None
    others = [] if data.names is None else [data.names["label"], *(data.names["sequence"] or [])]
    words = _of_frame(data.x, others)
    if words is None:
        return None
    return [words[a:b] for a, b in pairwise(data.offsets.tolist())]


def _of_frame(frame: Any, others: Sequence[str] = ()) -> list[str] | None:
    """Return the cells of the column of text with the most values; None if there is no such column."""
    narwhals = find("narwhals")
    if narwhals is not None:
        given = narwhals.from_native(frame, eager_only=True, pass_through=True)
        frame = given if isinstance(given, narwhals.DataFrame) else frame
    columns = [frame[name].to_list() for name in frame.columns if name not in others]
    texts = [column for column in columns if any(isinstance(cell, str) for cell in column)]
    if not texts:
        return None
    best = max(texts, key=lambda column: len(set(column)))
    return [cell if isinstance(cell, str) and cell else _NONE for cell in best]


def _of_sequence(items: Any) -> list[str] | None:
    if is_frame(items):
        return _of_frame(items)
    if hasattr(items, "shape") or not isinstance(items, Sequence):
        return None
    found = [_of_item(item) for item in items]
    words = [word for word in found if word is not None]
    return words if len(words) == len(found) else None


def _of_item(item: Any) -> str | None:
    """Return the text of one position: a token, a row of cells, a dict of attributes, or a list of them."""
    if isinstance(item, str):
        return item or _NONE
    if isinstance(item, Mapping):
        return _of_attributes(
            [f"{name}={value}" if isinstance(value, str) else str(name) for name, value in item.items()]
        )
    if isinstance(item, (list, tuple)) and all(isinstance(cell, str) for cell in item):
        return _of_attributes(item)
    return None


def _of_attributes(attributes: Sequence[str]) -> str:
    """Return the value of the attribute that names the word; otherwise the first attribute."""
    found: dict[str, str] = {}
    for attribute in attributes:
        parts = _ATTRIBUTE.fullmatch(attribute)
        if parts is not None:
            found.setdefault(parts[1], parts[2])
    for name in _NAMES:
        if name in found:
            return found[name]
    return attributes[0] if attributes else _NONE


def _of_encoded(X: Encoded) -> list[list[str]]:
    """Return the words of encoded data; attributes that the model does not know are not in it."""
    names, sequences = X.vocabulary.strings(), X.sequences
    rows = [
        _of_attributes([names[a] for a in sequences.indices[start:stop].tolist()])
        for start, stop in pairwise(sequences.indptr.tolist())
    ]
    return [rows[a:b] for a, b in pairwise(sequences.offsets.tolist())]


def all_words(words: Sequence[Sequence[str]]) -> set[str]:
    """Return the distinct words."""
    return set(chain.from_iterable(words))
