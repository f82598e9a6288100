"""Reader of Wapiti's text models.

    #mdl#2#12              type (0 maxent, 1 MEMM, 2 CRF) and number of weights; old files have no type
    #rdr#1/1/0             template lines, columns they need, whether attributes get a u in front
    11:u:w:%x[0,0],        the template lines, as netstrings
    #qrk#4                 labels
    4:B-NP,
    #qrk#31                attributes ("observations")
    7:u:w:the,
    4=0x1.798de8dfed4d8p-1 weights that are not zero

An attribute that begins with ``u`` has a weight for each label, one with ``b`` for each pair of labels, one
with ``*`` first the former, then the latter; the weights are in the order of the attributes.

A maximum-entropy model is scored like a CRF and read as one. A MEMM is refused: its scores are normalised at
each position, which no CRF weights can express.
"""

from __future__ import annotations

import contextlib
import re
from itertools import pairwise

import numpy as np

from crfkit import _native
from crfkit.arrays import IntArray
from crfkit.io.foreign_model import (
    ByteArray,
    Damage,
    ForeignModel,
    check_label_count,
    model_of_blocks,
    naming,
    read_source,
    text_of,
    vocabulary_of,
)
from crfkit.io.model_file import Source

MAGIC = b"#mdl#"
_TYPES = (0, 1, 2)  # maximum entropy, MEMM, CRF
_MEMM = 1
_BIGGEST_LINE = 64  # bytes of a line that is not a netstring


def is_wapiti_model(start: bytes) -> bool:
    """Tell whether a file with these first bytes is a model of Wapiti."""
    return start.startswith(MAGIC)


def read_wapiti_model(source: Source, *, encoding: str = "utf-8") -> ForeignModel:
    """Read the model in a file that ``wapiti train`` wrote, with its template.

    ``encoding`` is that of the training data.
    """
    data, name = read_source(source, encoding)
    with naming(name):
        return _parse(data, encoding)


class _Lines:
    """A reader of a model's lines, in order."""

    def __init__(self, data: ByteArray) -> None:
        self.data = data
        self.at = 0

    def numbers(self, pattern: bytes, what: str) -> list[int]:
        """Return the numbers of a line such as ``#mdl#2#12``."""
        piece = self.data[self.at : self.at + _BIGGEST_LINE].tobytes()
        # At most 18 digits for the number of weights and 9 for all others: no overflow later.
        found = re.compile(rb"\s*" + pattern.replace(b"#N", rb"#([0-9]{1,18})") + rb"\s").match(piece)
        if not found:
            shown = piece.split(b"\n")[0].decode("latin-1")
            raise Damage(f"expected {what}, got {shown!r}")
        self.at += found.end()
        return [int(number) for number in found.groups() if number is not None]

    def strings(self, n: int) -> tuple[ByteArray, IntArray]:
        """Read n netstrings, as arena and offsets."""
        arena, offsets, self.at = _native.netstrings(self.data, self.at, n)
        return arena, offsets


def _parse(data: ByteArray, encoding: str) -> ForeignModel:
    lines = _Lines(data)
    *kind, n_weights = lines.numbers(rb"#mdl(?:#N)?#N", "the first line of a Wapiti model, #mdl#type#weights")
    if kind and kind[0] not in _TYPES:
        raise Damage(f"it is of type {kind[0]}, which Wapiti does not have")
    if kind == [_MEMM]:
        raise Damage(
            "it is a maximum-entropy Markov model (MEMM), whose scores are normalised at each position, "
            "which a CRF cannot do. Train it again with --type crf"
        )
    n_lines, _, *flags = lines.numbers(rb"#rdr#N/([0-9]{1,9})(?:/([01]))?", "#rdr#lines/columns/flag")
    template = [text_of(line, encoding) for line in _split(*lines.strings(n_lines))]
    n_labels = lines.numbers(rb"#qrk#N", "#qrk#labels")[0]
    labels = lines.strings(n_labels)
    check_label_count(n_labels, len(data))
    arena, offsets = lines.strings(lines.numbers(rb"#qrk#N", "#qrk#attributes")[0])
    places, weights, others, lines.at = _native.text_weights(data, lines.at, n_weights)
    for which, begin, end in others.reshape(-1, 3).tolist():
        weights[which] = _number(data[begin:end].tobytes())
    rest = data[lines.at :].tobytes()
    if not rest:  # every line has an end; without it, the last number may lack digits
        raise Damage("it is cut off within its last line")
    if rest.strip():
        raise Damage(f"{len(rest)} bytes follow its {n_weights} weights")

    if (np.diff(offsets) == 0).any():
        raise Damage("it has an empty attribute")
    letters = arena[offsets[:-1]]  # [A]
    if not np.isin(letters, np.frombuffer(b"ub*", np.uint8)).all():
        raise Damage("it has an attribute that begins with none of u, b and *")
    with_state, with_pairs = letters != ord("b"), letters != ord("u")
    L = n_labels
    sizes = with_state * L + with_pairs * L * L  # [A]
    if L * L * len(letters) >= 1 << 62:
        raise Damage("it has an impossible number of weights")
    starts = np.cumsum(sizes) - sizes
    if flags == [1]:  # Wapiti has put the letter before the attributes; it is not part of them
        arena, offsets = np.delete(arena, offsets[:-1]), offsets - np.arange(len(offsets))
    order = np.argsort(places, kind="stable")
    return model_of_blocks(
        vocabulary_of(*labels, encoding).strings(),
        # Patterns match bytes, so a match may be a part of a character.
        vocabulary_of(arena, offsets, encoding, cut=any(re.search("%[mMtT]", line) for line in template)),
        np.where(with_state, starts, -1),
        np.where(with_pairs, starts + with_state * L, -1),
        places[order],
        weights[order],
        [_template_line(line) for line in template],
        "wapiti",
    )


def _split(arena: ByteArray, offsets: IntArray) -> list[bytes]:
    content, ends = arena.tobytes(), offsets.tolist()
    return [content[a:b] for a, b in pairwise(ends)]


def _template_line(line: str) -> str:
    # More than one line, or a comment, would become a different template when parsed again.
    if not line or "\n" in line or "#" in line:
        raise Damage(f"{line!r:.60} is not a template line")
    return line[0].lower() + line[1:]


def _number(word: bytes) -> float:
    """Parse a weight that is not in the hexadecimal form that Wapiti writes, but that C can read."""
    text = word.decode("latin-1")
    for read in (float, float.fromhex):
        with contextlib.suppress(ValueError):
            return read(text)
    raise Damage(f"expected a weight, got {text!r:.40}")
