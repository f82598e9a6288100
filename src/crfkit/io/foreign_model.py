"""A model of another tool, read by the native core (``native/foreign/``).

Any error in a file becomes a ``ModelFileError`` with the file's name and the reason.
"""

from __future__ import annotations

import codecs
import io
import os
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.io.model_file import Source

ByteArray = npt.NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class ForeignModel:
    """A first-order linear-chain CRF with the weights of another tool.

    Attribute a has the state features ``state_indptr[a] .. state_indptr[a+1]-1``, for the labels
    ``state_labels``, ascending; and if attributes score label pairs, the features ``pair_indptr[a] ..
    pair_indptr[a+1]-1`` for ``pair_ids = previous label * L + label``, ascending.
    """

    classes: list[str]  # [L]
    attributes: Vocabulary  # A names
    state_indptr: IntArray  # [A+1]
    state_labels: IdArray  # [F]
    state_weights: FloatArray  # [F]
    edge_mask: BoolArray  # [L, L] label pairs that have a weight
    edge_weights: FloatArray  # [L, L]
    pair_indptr: IntArray | None = None  # [A+1]
    pair_ids: IdArray | None = None  # [G]
    pair_weights: FloatArray | None = None  # [G]
    template_text: str | None = None
    template_dialect: str | None = None  # "crf++" or "wapiti"


def read_foreign(source: Source, format: str, encoding: str = "utf-8") -> ForeignModel:
    """Read the model in a file of another tool, with labels and attributes in the file's order.

    ``format`` is one of ``model_formats.FOREIGN``, ``encoding`` that of labels, attributes and template.
    """
    utf8 = _is_utf8(encoding)
    data, name = _read_source(source)
    try:
        labels, arena, offsets, cut, state, mask, edges, pairs, lines, dialect = _native.read_foreign(
            data, format
        )
        if utf8:
            attributes = Vocabulary.from_native(_native.vocabulary_of(arena, offsets, cut))
        elif cut:
            raise ValueError(
                f"its patterns match bytes, so they would match {encoding} and UTF-8 differently"
            )
        else:
            content, ends = arena.tobytes(), offsets.tolist()
            attributes = _vocabulary([content[a:b] for a, b in pairwise(ends)], encoding)
        classes = _vocabulary(labels, encoding).strings()
        template = "".join(f"{_text_of(line, encoding)}\n" for line in lines)
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"cannot read the model {name}: {error}") from error
    pair_indptr, pair_ids, pair_weights = (None, None, None) if pairs is None else pairs
    return ForeignModel(
        classes,
        attributes,
        *state,
        mask.view(np.bool_),
        edges,
        pair_indptr,
        pair_ids,
        pair_weights,
        template or None,
        dialect,
    )


def _read_source(source: Source) -> tuple[bytes, str]:
    """Return the bytes of a path, file object or bytes and its name for messages."""
    if isinstance(source, (bytes, bytearray, memoryview)):
        return bytes(source), "<bytes>"
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return file.read(), os.fspath(source)
    content: Any = source.read()
    if not isinstance(content, (bytes, bytearray)):
        raise ModelFileError("the file object must be opened in binary mode ('rb')")
    return bytes(content), str(getattr(source, "name", "<stream>"))


def _vocabulary(names: list[bytes], encoding: str) -> Vocabulary:
    """Return the names as a vocabulary; they must be text and all different."""
    decoded: dict[str, int] = {}
    for i, name in enumerate(names):
        try:
            text = name.decode(encoding)
        except UnicodeDecodeError as error:
            hint = "pass encoding='…' if the model was made from text in another encoding"
            raise ValueError(f"name {i} is not {encoding.upper()}; {hint}") from error
        if decoded.setdefault(text, i) != i:
            raise ValueError(f"name {i} comes twice")
    return Vocabulary(decoded)


def _text_of(line: bytes, encoding: str) -> str:
    """Decode a template line."""
    try:
        return line.decode(encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"its template is not {encoding} text; pass encoding='…' if it was made in another encoding"
        ) from error


def _is_utf8(encoding: str) -> bool:
    try:
        name = codecs.lookup(encoding).name
        io.TextIOWrapper(
            io.BytesIO(), name
        )  # raises for encodings of something else than text, such as "hex"
        return name == "utf-8"
    except (LookupError, TypeError, ValueError):
        raise InputError(
            f"encoding must be the name of a text encoding such as 'utf-8', got {encoding!r}"
        ) from None
