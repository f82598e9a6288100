"""The contents of a model in python-crfsuite's form: tables by name, and CRFsuite's text dump."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from crfkit.compat.pycrfsuite.errors import TaggerError
from crfkit.models.linear.tagger import LinearTagger

_HEADER = struct.Struct("<4sI4s9I")
_COUNTS = ("version", "num_features", "num_labels", "num_attrs")
_OFFSETS = ("off_features", "off_labels", "off_attrs", "off_labelrefs", "off_attrrefs")
HEADER_SIZE = _HEADER.size


class ParsedDump:
    """A model's parameters by name.

    Attributes
    ----------
    transitions : dict
        ``{(label, next label): weight}``
    state_features : dict
        ``{(attribute, label): weight}``
    header : dict
        The fields of the file's header, as text.
    labels, attributes : dict
        ``{name: number}``, the number as text.
    """

    def __init__(self) -> None:
        self.header: dict[str, str] = {}
        self.labels: dict[str, str] = {}
        self.attributes: dict[str, str] = {}
        self.transitions: dict[tuple[str, str], float] = {}
        self.state_features: dict[tuple[str, str], float] = {}


def read_header(start: bytes, size: int, tagger: LinearTagger) -> dict[str, str]:
    """Return the header of a model of ``size`` bytes, from its first bytes."""
    if start[:4] != b"lCRF":  # crfkit's own file, or another tool's
        index = tagger.index
        counts = (1, index.n_features, index.n_labels, index.n_attributes)
        names = dict(zip(_COUNTS, map(str, counts), strict=True))
        return {"magic": "crfkit", "size": str(size), "type": "linear", **names}
    magic, size, kind, *numbers = _HEADER.unpack(start[:HEADER_SIZE])
    return {
        "magic": magic.decode("latin-1"),
        "size": str(size),
        "type": kind.decode("latin-1"),
        **{name: str(n) for name, n in zip(_COUNTS, numbers[:4], strict=True)},
        **{name: f"0x{n:X}" for name, n in zip(_OFFSETS, numbers[4:], strict=True)},
    }


def parsed_dump(tagger: LinearTagger, header: dict[str, str]) -> ParsedDump:
    """Return the tables of a first-order model."""
    if tagger.index.order != 1 or tagger.index.has_pairs:
        raise TaggerError(
            "this model has features that CRFsuite's tables cannot show (for label triples, or for "
            "attributes with label pairs); crfkit's own model object shows them"
        )
    found = ParsedDump()
    found.header = dict(header)
    found.labels = {label: str(i) for i, label in enumerate(tagger.classes)}
    found.attributes = {name: str(i) for i, name in enumerate(tagger.vocabulary.strings())}
    found.transitions = {(one, two): w for (one, two), w in tagger.transition_features().items()}
    found.state_features = tagger.state_features()
    return found


def dump_lines(dump: ParsedDump) -> Iterator[str]:
    """Yield the lines of CRFsuite's text dump."""
    yield "FILEHEADER = {\n"
    for name, value in dump.header.items():
        yield f"  {name}: {value}\n"
    yield "}\n\n"
    for title, names in (("LABELS", dump.labels), ("ATTRIBUTES", dump.attributes)):
        yield f"{title} = {{\n"
        for name, number in names.items():
            yield f"  {number:>5}: {name}\n"
        yield "}\n\n"
    tables = (("TRANSITIONS", 1, dump.transitions), ("STATE_FEATURES", 0, dump.state_features))
    for title, kind, table in tables:
        yield f"{title} = {{\n"
        for (one, two), weight in table.items():
            yield f"  ({kind}) {one} --> {two}: {weight:f}\n"
        yield "}\n\n"
