"""CRFsuite's data files: one position per line, fields separated by TABs, the label first.

A field is ``name`` or ``name:value``; docs/formats.md has all the rules.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import IO, Any, Literal

from crfkit.data.examples import Examples
from crfkit.data.vocabulary import Vocabulary
from crfkit.io.item_text import POSITIONS, read_items, stream_items, write_items
from crfkit.io.opening import Source


def read_crfsuite(
    source: Source, vocabulary: Vocabulary, *, grow: bool, labels: bool | Literal["optional"] = True
) -> Examples:
    r"""Read all sequences of a CRFsuite data file: a path (gzipped or not), ``-``, or a binary file object.

    ``grow=True`` adds new attributes to the vocabulary, ``grow=False`` drops unknown ones. With
    ``labels="optional"`` a line that begins with a TAB has no label; with ``labels=False`` there is no label
    field, and every field is an attribute. The values of an attribute that is repeated in a line are
    added up, and zeros dropped. Any error in the file raises ``InputError`` with path and line.
    """
    return read_items("crfsuite", source, vocabulary, grow=grow, labels=labels)


def stream_crfsuite(
    source: Source,
    vocabulary: Vocabulary,
    *,
    grow: bool,
    labels: bool | Literal["optional"] = True,
    positions: int = POSITIONS,
    prompt: bool = False,
) -> Iterator[Examples]:
    """Yield the sequences in pieces of whole sequences with about ``positions`` positions, in bounded memory.

    Label ids mean the same in all pieces. ``prompt=True`` yields every sequence as soon as the empty line
    after it has been read, for interactive input.
    """
    return stream_items(
        "crfsuite", source, vocabulary, grow=grow, labels=labels, positions=positions, prompt=prompt
    )


def write_crfsuite(
    path: str | os.PathLike[str] | IO[bytes],
    X: Any,
    y: Any = None,
    weights: Any = None,
    *,
    vocabulary: Vocabulary | None = None,
) -> None:
    r"""Write a CRFsuite data file. After an error, a file at a path is as it was before.

    X is as in ``CRF.fit`` (with the same names of attributes), ``y`` its labels and ``weights`` [N] the
    weights of the sequences. With ``vocabulary``, X is ``Sequences``, or ``Examples`` or an iterator of them
    (such as ``stream_crfsuite``), which have their own labels and weights. Without ``y``, lines begin with a
    TAB: crfkit reads them with ``labels="optional"``; CRFsuite itself cannot read data without labels.

    Colons and backslashes are escaped, and values written in full precision. What the format cannot hold (an
    empty sequence, a TAB or line feed in a name, a label that begins with @, a missing label) raises
    ``InputError`` with the place.
    """
    write_items("crfsuite", path, X, y, weights, vocabulary)
