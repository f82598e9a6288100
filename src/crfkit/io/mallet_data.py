"""Data of MALLET's SimpleTagger: one position per line, words, the label last; see docs/formats.md."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any

from crfkit.data.examples import Examples
from crfkit.data.vocabulary import Vocabulary
from crfkit.io.item_text import POSITIONS, read_items, stream_items, write_items
from crfkit.io.opening import Source


def read_mallet(source: Source, vocabulary: Vocabulary, *, grow: bool, labels: bool = True) -> Examples:
    """Read all sequences of a SimpleTagger file: a path (gzipped or not), ``-``, or a binary file object.

    The last word of a line is the label, or with ``labels=False`` an attribute like all others.
    ``grow=True`` adds new attributes to the vocabulary, ``grow=False`` drops unknown ones. An attribute that
    is repeated in a line counts once.
    """
    return read_items("mallet", source, vocabulary, grow=grow, labels=labels)


def stream_mallet(
    source: Source,
    vocabulary: Vocabulary,
    *,
    grow: bool,
    labels: bool = True,
    positions: int = POSITIONS,
    prompt: bool = False,
) -> Iterator[Examples]:
    """Yield the sequences in pieces, as ``stream_crfsuite`` does."""
    return stream_items(
        "mallet", source, vocabulary, grow=grow, labels=labels, positions=positions, prompt=prompt
    )


def write_mallet(
    path: str | os.PathLike[str] | IO[bytes], X: Any, y: Any = None, *, vocabulary: Vocabulary | None = None
) -> None:
    """Write a SimpleTagger file from X and y as in ``write_crfsuite``; without y, a file without labels.

    What the format cannot hold (values other than 1, weights, empty sequences, names that are empty or have
    blanks inside) raises ``InputError`` with the place.
    """
    write_items("mallet", path, X, y, None, vocabulary)
