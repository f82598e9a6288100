"""The table of data formats. A new format is a module in this package and an entry in ``FORMATS``.

The module of a format ``x`` has ``read_x``, ``stream_x`` and ``write_x``. They return and take ``Columns`` if
rows have cells, and ``Examples`` over a vocabulary if rows have ready-made attributes. The module is imported
when the format is used, so that help texts can use this table cheaply.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Callable
from importlib import import_module
from typing import Any, NamedTuple

HEAD = 1 << 16  # bytes used to detect the format

# An attribute: a name with a letter in it (12:30 is a time), = or :, and something after it.
_NAMED = re.compile(rb"[^=:A-Za-z_]*[A-Za-z_][^=:]*[=:].")

_WORD_ID = re.compile(rb"\d+([-.]\d+)?")
_JSON = re.compile(rb'(?:\xef\xbb\xbf)?\s*(?:\[\s*)?\{\s*"')


class Head(NamedTuple):
    """What the first bytes of a file look like."""

    is_tagged_csv: bool  # whether it begins like csv written by 'crfkit tag'
    tabs: bool  # whether most rows have tabs
    is_table: bool  # whether most rows are equally long, and few cells are attributes such as w[0]=the
    is_json: bool  # whether it begins with an object, or an array of objects
    is_conllu: bool  # whether rows have ten columns between tabs, the first of which counts words

    @classmethod
    def of(cls, start: bytes) -> Head:
        """Classify the first bytes of a file; with ``HEAD`` bytes or more, the last line may be cut off."""
        lines = start.split(b"\n")
        tagged = b",predicted" in lines[0]
        if len(start) >= HEAD:
            lines.pop()
        rows = [line for line in lines if line.strip()]
        tabs = sum(b"\t" in row for row in rows) > len(rows) / 2
        cells = [row.split(b"\t") if tabs else row.split() for row in rows]
        named = [bool(_NAMED.match(cell)) for row in cells for cell in (row[1:] if tabs else row[:-1])]
        _, most = Counter(map(len, cells)).most_common(1)[0] if rows else (0, 0)
        table = sum(named) <= len(named) / 2 and most >= len(rows) / 2
        words = [row.split(b"\t") for row in rows if not row.startswith(b"#")]
        conllu = bool(words) and all(len(row) == 10 and _WORD_ID.fullmatch(row[0]) for row in words)
        return cls(tagged, tabs, table, bool(_JSON.match(start)), conllu)


class DataFormat(NamedTuple):
    """The properties of a data format."""

    name: str
    words: str  # description for help texts
    module: str
    endings: tuple[str, ...]  # of file names
    is_told_by: Callable[[Head], bool]
    is_table: bool  # whether rows have cells, which a template reads; otherwise they have attributes
    has_header: bool = False  # a table with named columns, one of which may identify sequences
    # Options of readers of tables, and their names there.
    options: tuple[tuple[str, str], ...] = ()
    optional_labels: bool = False  # attributes: whether positions may have no label
    has_labels: bool = True  # whether it can hold labels at all

    @property
    def read(self) -> Callable[..., Any]:
        """The function that reads a whole file."""
        return self._function("read")

    @property
    def stream(self) -> Callable[..., Any]:
        """The function that reads a file in pieces."""
        return self._function("stream")

    @property
    def write(self) -> Callable[..., Any]:
        """The function that writes a file."""
        return self._function("write")

    def _function(self, verb: str) -> Callable[..., Any]:
        function: Callable[..., Any] = getattr(import_module(self.module), f"{verb}_{self.name}")
        return function


# In the order in which a file's content is compared with them.
FORMATS = {
    format.name: format
    for format in (
        DataFormat(
            "jsonl",
            "JSON lines: tokens and tags, or a text with labelled spans",
            "crfkit.io.jsonl_data",
            (".jsonl", ".ndjson", ".json"),
            lambda head: head.is_json,
            is_table=True,
            options=(("label_column", "label_key"), ("snap", "snap")),
        ),
        DataFormat(
            "text",
            "plain text, one text per line, without labels; only to tag",
            "crfkit.io.jsonl_data",
            (),
            lambda head: False,
            is_table=True,
            has_labels=False,
        ),
        DataFormat(
            "conllu",
            "Universal Dependencies; labels in upos, or the column or misc:KEY that --label-column names",
            "crfkit.io.conllu_data",
            (".conllu",),
            lambda head: head.is_conllu,
            is_table=True,
            options=(("label_column", "label_key"), ("trained_label", "default_label")),
        ),
        # Most rows are equally long: a stray line should be a parser's error, not change the detected format.
        DataFormat(
            "columns",
            "one token per line, as CoNLL, CRF++ and Wapiti have it",
            "crfkit.io.columns",
            (".conll", ".bio", ".iob"),
            lambda head: head.is_table and not head.is_tagged_csv,
            is_table=True,
            options=(("separator", "separator"),),
        ),
        DataFormat(
            "csv",
            "a table with a header",
            "crfkit.io.csv_data",
            (".csv",),
            lambda head: head.is_tagged_csv,
            is_table=True,
            has_header=True,
            options=(
                ("separator", "delimiter"),
                ("sequence_column", "sequence_column"),
                ("header", "header"),
                ("keep_sequence_column", "keep_sequence_column"),
            ),
        ),
        DataFormat(
            "crfsuite",
            "ready-made attributes between tabs, behind the label",
            "crfkit.io.crfsuite_data",
            (".crfsuite",),
            lambda head: head.tabs,
            is_table=False,
            optional_labels=True,
        ),
        DataFormat(
            "mallet",
            "ready-made attributes between blanks, before the label",
            "crfkit.io.mallet_data",
            (".mallet",),
            lambda head: True,
            is_table=False,
        ),
    )
}
USUAL_TABLE = FORMATS["columns"]  # the format of tables if nothing else determines it


def format_by_name(path: str) -> DataFormat | None:
    """Return the format of a file's ending; None if no format has this ending."""
    name, ending = os.path.splitext(path.lower())
    if ending in (".gz", ".gzip"):
        ending = os.path.splitext(name)[1]
    return next((format for format in FORMATS.values() if ending in format.endings), None)


def format_by_content(start: bytes, *, tables: bool = False) -> DataFormat:
    """Return the format that the first bytes of a file look like; with ``tables``, one of the tables."""
    head = Head.of(start)
    found = next(format for format in FORMATS.values() if format.is_told_by(head))
    return USUAL_TABLE if tables and not found.is_table else found


def names_of(*, tables: bool, last: str = "or") -> str:
    """Return the names of the formats with cells and labels, or of those with attributes, as text."""
    kind = [format.name for format in FORMATS.values() if format.is_table == tables and format.has_labels]
    return f" {last} ".join([", ".join(kind[:-1]), kind[-1]])
