"""Reader of CRF++'s models, text (``crf_learn -t``) and binary.

Both hold the labels, the template lines, and for each attribute the place of its first weight. An attribute
that begins with ``U`` has one weight per label. One that begins with ``B`` has one weight per pair of labels,
ordered by the previous label.

Text: ``name: value`` lines, labels, template, lines ``place attribute``, weights, with an empty line between.
Binary: version, type, cost factor, number of weights, columns, bytes of the dictionary; labels and template
lines, each list with its size and each string with a NUL; a double array for the attributes
(``native/foreign/double_array.h``); weights in single precision. The byte order is that of the machine, in
practice little-endian.

The cost factor is not used: ``crf_learn`` always writes 1, and ``crf_test`` multiplies scores by its own
option ``-c`` (default 1), not by the value in the file.
"""

from __future__ import annotations

import struct
import warnings
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IntArray
from crfkit.data.sequences import offsets_of
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

_TEXT_MAGIC = b"version: "
_VERSIONS = range(100, 200)  # what CRF++ itself accepts
_BINARY = struct.Struct("<IidIIII")  # version, type, cost factor, weights, columns, dictionary, labels


def is_crfpp_model(start: bytes) -> bool:
    """Tell whether a file with these first bytes is a model of CRF++, text or binary."""
    return start.startswith(_TEXT_MAGIC) or _is_binary(start)


def read_crfpp_model(source: Source, *, encoding: str = "utf-8") -> ForeignModel:
    """Read the model in a file that ``crf_learn`` wrote, text or binary, with its template.

    ``encoding`` is that of the training data.
    """
    data, name = read_source(source, encoding)
    with naming(name):
        is_text = data[: len(_TEXT_MAGIC)].tobytes() == _TEXT_MAGIC
        return _model(_parse_text(data) if is_text else _parse_binary(data), encoding, len(data))


def _is_binary(start: bytes) -> bool:
    if len(start) < _BINARY.size:
        return False
    version, kind, cost_factor, *_ = _BINARY.unpack_from(start)
    return version in _VERSIONS and kind == 0 and 0 < cost_factor < float("inf")


@dataclass(frozen=True, eq=False)
class _Parts:
    """The content of either kind of file."""

    n_weights: int  # as announced
    labels: list[bytes]  # [L]
    template: list[bytes]
    starts: IntArray  # [A] where the weights of each attribute begin
    arena: ByteArray  # the attributes
    offsets: IntArray  # [A+1]
    weights: FloatArray  # [n_weights]


def _parse_text(data: ByteArray) -> _Parts:
    sections = _Sections(data)
    header = dict(line.split(b": ", 1) for line in sections.next() if b": " in line)
    if _number(header, "version") not in _VERSIONS:
        raise Damage(f"it has version {_number(header, 'version')}, expected 100")
    labels, template = sections.next(), sections.next()
    starts, arena, offsets, at = _native.numbered_names(data, sections.at)
    if not sections.content.endswith(b"\n"):  # without it, the last number may lack digits
        raise Damage("it is cut off within its last line")
    with warnings.catch_warnings():
        # At anything that is not a number, NumPy warns (before 2.3) or raises.
        warnings.simplefilter("error")
        try:
            weights = np.fromstring(data[at:].tobytes(), sep="\n")  # [maxid]
        except (DeprecationWarning, ValueError) as error:
            raise Damage("its list of weights is damaged") from error
    return _Parts(
        _number(header, "maxid"),
        labels,
        template,
        starts,
        arena,
        offsets,
        weights,
    )


class _Sections:
    """The first, short sections of a text model: lines up to an empty one."""

    def __init__(self, data: ByteArray) -> None:
        self.content = data.tobytes()
        self.at = 0

    def next(self) -> list[bytes]:
        lines: list[bytes] = []
        while True:
            end = self.content.find(b"\n", self.at)
            if end < 0:
                raise Damage("it is cut off before its list of attributes")
            line = self.content[self.at : end].removesuffix(b"\r")
            self.at = end + 1
            if not line:
                return lines
            lines.append(line)


def _number(header: dict[bytes, bytes], key: str) -> int:
    text = header.get(key.encode(), b"")
    if not text.isdigit() or len(text) > 18:
        raise Damage(f"its header lacks {key!r}")
    return int(text)


def _parse_binary(data: ByteArray) -> _Parts:
    if not _is_binary(data[: _BINARY.size].tobytes()):
        raise Damage("it is not a CRF++ model, or cut off")
    _, _, _, n_weights, _, dictionary, labels_size = _BINARY.unpack_from(data.data)
    template_at = _BINARY.size + labels_size + 4
    template_size = int.from_bytes(data[template_at - 4 : template_at].tobytes(), "little")
    dictionary_at = template_at + template_size
    weights_at = dictionary_at + dictionary
    if weights_at + 4 * n_weights != len(data) or dictionary % 8:
        raise Damage(
            f"it is cut off or damaged: {weights_at + 4 * n_weights} bytes expected, {len(data)} found"
        )
    starts, arena, offsets = _native.double_array_keys(data[dictionary_at:weights_at])
    with np.errstate(invalid="ignore"):  # NaN is refused later, with a message
        weights = np.frombuffer(data, "<f4", n_weights, weights_at).astype(np.float64)  # [maxid]
    return _Parts(
        n_weights,
        _c_strings(data[_BINARY.size : template_at - 4]),
        [line for line in _c_strings(data[template_at:dictionary_at]) if line],  # padded to 4 bytes
        starts,
        arena,
        offsets,
        weights,
    )


def _c_strings(data: ByteArray) -> list[bytes]:
    content = data.tobytes()
    if content and content[-1]:
        raise Damage("a list of strings in it is cut off")
    return content.split(b"\0")[:-1]


def _model(parts: _Parts, encoding: str, size: int) -> ForeignModel:
    L = len(parts.labels)
    check_label_count(L, size)
    if len(parts.weights) != parts.n_weights:
        raise Damage(f"it announces {parts.n_weights} weights and has {len(parts.weights)}")
    if (np.diff(parts.offsets) == 0).any():
        raise Damage("it has an empty attribute")
    letters = parts.arena[parts.offsets[:-1]]  # [A]
    paired = letters == ord("B")
    if not (paired | (letters == ord("U"))).all():
        raise Damage("it has an attribute that begins with neither U nor B")
    ends = parts.starts + np.where(paired, L * L, L)  # [A]
    if len(ends) and ends.max() > parts.n_weights:
        raise Damage("it has an attribute whose weights lie outside the list")
    places = np.flatnonzero(parts.weights)
    return model_of_blocks(
        vocabulary_of(*_names(parts.labels), encoding).strings(),
        vocabulary_of(parts.arena, parts.offsets, encoding),
        np.where(paired, -1, parts.starts),
        np.where(paired, parts.starts, -1),
        places,
        parts.weights[places],
        [_template_line(line, encoding) for line in parts.template],
        "crf++",
    )


def _names(names: list[bytes]) -> tuple[ByteArray, IntArray]:
    arena: npt.NDArray[np.uint8] = np.frombuffer(b"".join(names), np.uint8)
    return arena, offsets_of([len(name) for name in names])


def _template_line(line: bytes, encoding: str) -> str:
    text = text_of(line, encoding)
    if text[0] not in "UB" or "\n" in text:
        raise Damage(f"{text!r:.60} is not a template line")
    return text
