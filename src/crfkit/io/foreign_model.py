"""A model of another tool, and functions that the readers of such models share.

Nothing in a file is trusted: counts and offsets are checked against its size before anything is allocated,
and any error becomes a ``ModelFileError`` with the file's name and the reason.
"""

from __future__ import annotations

import codecs
import contextlib
import os
from collections.abc import Iterator
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

_LABEL_TABLE = 1 << 25  # bytes that label pairs may always take; the limit grows with the file
_LABEL_TABLE_GROWTH = 16


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


class Damage(ValueError):
    """An error in a file; ``naming`` adds the file's name."""


@contextlib.contextmanager
def naming(name: str) -> Iterator[None]:
    """Turn exceptions of a parser into a ``ModelFileError`` that names the file."""
    try:
        yield
    except (ValueError, OverflowError) as error:
        raise ModelFileError(f"cannot read the model {name}: {error}") from error


def read_source(source: Source, encoding: str) -> tuple[ByteArray, str]:
    """Check the encoding, and return the bytes of a path, file object or bytes and its name for messages."""
    _is_utf8(encoding)
    if isinstance(source, (bytes, bytearray, memoryview)):
        return np.frombuffer(bytes(source), np.uint8), "<bytes>"
    if isinstance(source, (str, os.PathLike)):
        with open(source, "rb") as file:
            return np.frombuffer(file.read(), np.uint8), os.fspath(source)
    content: Any = source.read()
    if not isinstance(content, (bytes, bytearray)):
        raise ModelFileError("the file object must be opened in binary mode ('rb')")
    return np.frombuffer(bytes(content), np.uint8), str(getattr(source, "name", "<stream>"))


def vocabulary_of(arena: ByteArray, offsets: IntArray, encoding: str, *, cut: bool = False) -> Vocabulary:
    """Return the names arena [bytes], offsets [n+1] as a vocabulary; they must be text and all different.

    ``cut=True`` permits names that begin or end within a character: each of its remaining bytes is written as
    ``\\x`` and two digits, as in templates.
    """
    if _is_utf8(encoding):
        try:
            return Vocabulary.from_native(_native.vocabulary_of(arena, offsets, cut))
        except ValueError as error:
            hint = "; pass encoding='…' if the model was made from text in another encoding"
            raise Damage(f"{error}{hint if 'UTF-8' in str(error) else ''}") from error
    if cut:
        raise Damage(f"its patterns match bytes, so they would match {encoding} and UTF-8 differently")
    content, ends = arena.tobytes(), offsets.tolist()
    pieces = (content[a:b] for a, b in pairwise(ends))
    names = [piece.decode(encoding) for piece in pieces]
    vocabulary = Vocabulary(names)
    if len(vocabulary) != len(names):
        raise Damage("a name comes twice")
    return vocabulary


def text_of(content: bytes, encoding: str) -> str:
    """Decode text such as a template."""
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        raise Damage(
            f"its template is not {encoding} text; pass encoding='…' if it was made in another encoding"
        ) from error


def _is_utf8(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name == "utf-8"
    except LookupError:
        raise InputError(
            f"encoding must be the name of a text encoding such as 'utf-8', got {encoding!r}"
        ) from None


def check_label_count(n_labels: int, file_size: int) -> None:
    """Raise if a table of label pairs would be out of proportion to the file."""
    if n_labels < 1:
        raise Damage("it has no labels")
    if 8 * n_labels**2 > max(_LABEL_TABLE, _LABEL_TABLE_GROWTH * file_size):
        raise Damage(
            f"it has {n_labels} labels, whose pairs would take {8 * n_labels**2 >> 20} MiB, out of all "
            f"proportion to a file of {file_size} bytes"
        )


def check_finite(weights: FloatArray) -> None:
    """Raise if a weight is NaN or infinite."""
    if not np.isfinite(weights).all():
        raise Damage("it has weights that are not finite")


def rows_of(keys: IntArray, width: int, n_rows: int) -> tuple[IntArray, IdArray]:
    """Convert ascending keys ``row * width + column`` [n] to row bounds [n_rows+1] and columns [n]."""
    if len(keys) and not (keys[1:] > keys[:-1]).all():
        raise Damage("it has a feature twice")
    rows = keys // width
    indptr = np.zeros(n_rows + 1, np.int64)
    np.cumsum(np.bincount(rows, minlength=n_rows), out=indptr[1:])
    return indptr, (keys - rows * width).astype(np.int32)


def model_of_blocks(
    classes: list[str],
    attributes: Vocabulary,
    state_starts: IntArray,
    pair_starts: IntArray,
    places: IntArray,
    weights: FloatArray,
    template_lines: list[str],
    dialect: str,
) -> ForeignModel:
    """Make the model of a tool in which each attribute has a block of weights, per label or per label pair.

    Parameters
    ----------
    state_starts, pair_starts : [A] where the blocks of an attribute begin in the list of all weights; -1:
        it has none. Pairs are ordered by the previous label.
    places, weights : [n] the weights that are not zero, and their places in the list of all weights.
    template_lines : the template. Its first edge line without a macro (a bare ``B``) stands for plain label
        transitions, so the weights of that attribute become the transition table.
    """
    L, A = len(classes), len(attributes)
    check_finite(weights)
    with_state, with_pairs = np.flatnonzero(state_starts >= 0), np.flatnonzero(pair_starts >= 0)
    starts = np.concatenate((state_starts[with_state], pair_starts[with_pairs]))  # [K] of all blocks
    sizes = np.repeat([L, L * L], [len(with_state), len(with_pairs)])  # [K]
    order = np.argsort(starts, kind="stable")
    ends = starts[order] + sizes[order]
    if (starts[order][1:] < ends[:-1]).any():
        raise Damage("the weights of two attributes overlap")
    block = np.searchsorted(starts[order], places, side="right") - 1  # [n]
    if len(places) and (block.min() < 0 or (places >= ends[block]).any()):
        raise Damage("it has weights that belong to no attribute")
    block = order[block]
    column = places - starts[block]
    paired = block >= len(with_state)  # [n]
    owner = np.concatenate((with_state, with_pairs))[block]

    edges, mask = np.zeros(L * L), np.zeros((L, L), np.bool_)
    letter = "B" if dialect == "crf++" else "b"  # begins the lines for attributes of label pairs alone
    plain = [line for line in template_lines if line[0] == letter and "%" not in line]
    if plain:
        mask[:] = True
        attribute = int(attributes.lookup(plain[:1])[0])
        if attribute >= 0:
            own = paired & (owner == attribute)
            edges[column[own]] = weights[own]
            if plain.count(plain[0]) == 1:  # any further such line is an attribute like others
                kept = ~own
                owner, column, weights, paired = owner[kept], column[kept], weights[kept], paired[kept]
    state = _sorted_rows(owner[~paired], column[~paired], weights[~paired], L, A)
    pairs: tuple[IntArray | None, IdArray | None, FloatArray | None] = (None, None, None)
    if paired.any():
        pairs = _sorted_rows(owner[paired], column[paired], weights[paired], L * L, A)
    return ForeignModel(
        classes,
        attributes,
        *state,
        mask,
        edges.reshape(L, L),
        *pairs,
        "\n".join(template_lines) + "\n" if template_lines else None,
        dialect if template_lines else None,
    )


def _sorted_rows(
    rows: IntArray, columns: IntArray, weights: FloatArray, width: int, n_rows: int
) -> tuple[IntArray, IdArray, FloatArray]:
    keys = rows * width + columns
    order = np.argsort(keys, kind="stable")
    return *rows_of(keys[order], width, n_rows), weights[order]
