"""JSON lines: one sequence per line, as lists of tokens and labels, or as a text with labelled spans.

    {"tokens": ["EU", "rejects"], "tags": ["B-ORG", "O"]}                    as Hugging Face exports them
    {"text": "EU rejects", "label": [[0, 2, "ORG"]]}                          doccano
    {"text": "EU rejects", "spans": [{"start": 0, "end": 2, "label": "ORG"}]} Prodigy
    {"data": {"text": …}, "annotations": [{"result": [{"value": {…}}]}]}      Label Studio

A text is split into tokens by ``crfkit.data.tokenize``; its spans become labels in the IOB2 scheme. A file
that is one JSON array of such objects, as Label Studio exports it, is read as well. Other keys are kept and
written back. ``read_text`` reads plain text as such objects, ``{"text": …}``, one per line.
"""

from __future__ import annotations

import json
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.data import tokenizer
from crfkit.data.columns import Columns
from crfkit.data.tokenizer import Span, Token, labels_of_spans, tokenize
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.csv_data import NamedColumns
from crfkit.io.opening import Source, open_input, source_name
from crfkit.io.text_lines import text_lines
from crfkit.io.writing import open_output

_TOKENS = ("tokens", "words")
_TAGS = ("tags", "ner_tags", "labels", "pos_tags")
_SPANS = ("spans", "label", "labels", "entities")
PREDICTED = "predicted"
_POSITIONS = 65536


class Record(NamedTuple):
    """One sequence of a file."""

    content: dict[str, Any]  # the JSON object
    tokens: list[Token] | None  # with their places in the text; None if the object has tokens itself
    text: str = ""
    key: str | None = None  # of its labels or spans; None if it has none


@dataclass(frozen=True, eq=False, repr=False)
class JsonColumns(NamedColumns):
    """The columns ``token`` and, if there are labels, ``label``, with the objects that they come from."""

    records: tuple[Record, ...] = ()  # [N]

    def select(self, places: Sequence[int]) -> NamedColumns:
        """Return the columns at these places; the objects belong to the whole table only."""
        return NamedColumns.of(Columns.select(self, places), tuple(self.names[k] for k in places))

    def subset(self, sequence_ids: Sequence[int] | npt.NDArray[np.integer]) -> JsonColumns:
        """Return the given sequences, in the given order; a sequence may come more than once."""
        some = Columns.subset(self, sequence_ids)
        records = tuple(self.records[i] for i in np.asarray(sequence_ids, np.int64).tolist())
        return JsonColumns(
            some.cells, some.ids, some.offsets, some.lines, some.source, names=self.names, records=records
        )

    def __reduce__(self) -> tuple[type[Columns], tuple[object, ...]]:
        _, fields = super().__reduce__()
        return (JsonColumns, (*fields, self.records))

    @property
    def tokenizer(self) -> str | None:
        """The rule that made the tokens; None if the file has tokens."""
        return tokenizer.NAME if any(record.tokens is not None for record in self.records) else None

    def labelled(
        self,
        labels: Sequence[Sequence[str]],
        segments: Callable[[], Sequence[Sequence[tuple[int, int, str, float]]]],
    ) -> bytes:
        """Return the lines with ``predicted``: a label per token, or the spans of a text.

        ``segments`` returns (start, stop, type, probability) of each sequence, in tokens.
        """
        lines = []
        texts = any(record.tokens is not None for record in self.records)
        for record, found, spans in zip(
            self.records, labels, segments() if texts else [()] * len(labels), strict=True
        ):
            predicted: list[Any] = list(found)
            if record.tokens is not None:
                predicted = [
                    {
                        "start": record.tokens[start].start,
                        "end": record.tokens[stop - 1].end,
                        "label": label,
                        "text": record.text[record.tokens[start].start : record.tokens[stop - 1].end],
                        "probability": round(probability, 6),
                    }
                    for start, stop, label, probability in spans
                ]
            lines.append(line_of({**record.content, PREDICTED: predicted}))
        return b"".join(lines)


def read_jsonl(source: Source, *, label_key: str | None = None, snap: bool = False) -> JsonColumns:
    """Read all sequences. ``label_key`` names the key of the labels; None finds the usual ones.

    ``snap`` widens spans that cut tokens to whole tokens, and warns with their number; otherwise they are an
    error.
    """
    pieces = list(stream_jsonl(source, label_key=label_key, snap=snap, positions=sys.maxsize))
    return pieces[0] if pieces else _columns([], [], [], source_name(source))


def stream_jsonl(
    source: Source,
    *,
    label_key: str | None = None,
    snap: bool = False,
    positions: int = _POSITIONS,
    prompt: bool = False,
) -> Iterator[JsonColumns]:
    """Yield the sequences in pieces with about ``positions`` tokens; with ``prompt`` one by one."""
    return _pieces(source, objects_of, label_key, snap, 1 if prompt else positions)


def read_text(source: Source) -> JsonColumns:
    """Read a plain text: every line that is not blank is a sequence."""
    pieces = list(stream_text(source, positions=sys.maxsize))
    return pieces[0] if pieces else _columns([], [], [], source_name(source))


def stream_text(
    source: Source, *, positions: int = _POSITIONS, prompt: bool = False
) -> Iterator[JsonColumns]:
    """Yield the lines of a plain text in pieces with about ``positions`` tokens, or with ``prompt`` alone."""
    return _pieces(source, _texts_of, None, False, 1 if prompt else positions)


def write_text(path: str | os.PathLike[str] | IO[bytes], tables: Iterable[Columns]) -> None:
    """Write the first column of tables as plain text: a line per sequence, blanks between tokens."""
    with open_output(path) as file:
        for table in tables:
            lines = [" ".join(row[0] for row in rows) for rows in table]
            file.write("".join(f"{line}\n" for line in lines).encode())


def write_jsonl(path: str | os.PathLike[str] | IO[bytes], tables: Iterable[Columns]) -> None:
    """Write tables as JSON lines: the first column as ``tokens``, the last of several as ``tags``."""
    with open_output(path) as file:
        for table in tables:
            for rows in table:
                record: dict[str, Any] = {"tokens": [row[0] for row in rows]}
                if table.n_columns > 1:
                    record["tags"] = [row[-1] for row in rows]
                file.write(line_of(record))


def line_of(content: Mapping[str, Any]) -> bytes:
    """Return a line of a file."""
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()


def _pieces(
    source: Source,
    objects: Callable[[IO[bytes], str], Iterator[tuple[int, Any]]],
    label_key: str | None,
    snap: bool,
    positions: int,
) -> Iterator[JsonColumns]:
    if positions < 1:
        raise InputError(f"positions must be at least 1, got {positions}")
    name = source_name(source)
    records: list[Record] = []
    rows: list[list[list[str]]] = []
    lines: list[int] = []
    count = widened = 0
    names: tuple[str, ...] | None = None
    with open_input(source) as file:
        for line, content in objects(file, name):
            try:
                record, sentence, wide = _sequence(content, label_key, snap)
            except InputError as error:
                raise InputError(f"{name}:{line}: {error}") from error
            if not sentence:
                continue
            own = _names(record)
            if names is not None and names != own:
                raise InputError(
                    f"{name}:{line}: expected {' and '.join(names)} as in the lines above, got "
                    f"{' and '.join(own)}"
                )
            names, widened = own, widened + wide
            records.append(record)
            rows.append(sentence)
            lines.append(line)
            count += len(sentence)
            if count >= positions:
                yield _columns(records, rows, lines, name)
                records, rows, lines, count = [], [], [], 0
    if records:
        yield _columns(records, rows, lines, name)
    if widened:
        warnings.warn(f"{name}: {widened} spans were widened to whole tokens", InputWarning, stacklevel=3)


def _names(record: Record) -> tuple[str, ...]:
    """Return the names of the columns of a sequence."""
    labels = () if record.key is None else ("label",)
    return ("token", *labels, *((PREDICTED,) if PREDICTED in record.content else ()))


def _columns(records: list[Record], rows: list[list[list[str]]], lines: list[int], name: str) -> JsonColumns:
    cells = Vocabulary()
    lengths = [len(sentence) for sentence in rows]
    names = _names(records[0]) if records else ("token",)
    ids = cells.add([cell for sentence in rows for row in sentence for cell in row])
    return JsonColumns(
        cells=cells,
        ids=ids.reshape(sum(lengths), len(names)),
        offsets=np.cumsum([0, *lengths], dtype=np.int64),
        lines=np.repeat(np.array(lines, np.int64), lengths),
        source=name,
        names=names,
        records=tuple(records),
    )


def objects_of(file: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
    """Yield the JSON values of a file, each with its line; of a file that is one array, its elements."""
    lines = text_lines(file, name)
    for number, text in lines:
        if not text.strip():
            continue
        if not text.lstrip().startswith("["):
            yield number, _json(text, f"{name}:{number}")
            continue
        content = _json(text + "".join(line for _, line in lines), f"{name}:{number}")
        yield from ((number, element) for element in content)


def _texts_of(file: IO[bytes], name: str) -> Iterator[tuple[int, Any]]:
    """Yield the lines of a plain text as objects."""
    return ((number, {"text": text.rstrip("\r\n")}) for number, text in text_lines(file, name))


def _json(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error}); expected one object per line") from error


def _sequence(content: Any, label_key: str | None, snap: bool) -> tuple[Record, list[list[str]], int]:
    """Return a sequence, its rows, and how many of its spans were widened."""
    if not isinstance(content, dict):
        raise InputError(f"expected an object, got {type(content).__name__}")
    key = next((key for key in _TOKENS if isinstance(content.get(key), list)), None)
    if key is not None:
        tokens, found = _texts(content[key], key), _key_of(content, label_key, _TAGS)
        columns = [tokens]
        for name in (found, PREDICTED if PREDICTED in content else None):
            if name is not None:
                columns.append(_texts(content[name], name))
                if len(columns[-1]) != len(tokens):
                    raise InputError(f"{len(tokens)} {key}, but {len(columns[-1])} {name}")
        return Record(content, None, "", found), [list(row) for row in zip(*columns, strict=True)], 0
    text = content.get("text", _inner(content, "data").get("text"))
    if not isinstance(text, str):
        graphs = "; graphs need 'crfkit train --graphs'" if {"nodes", "cells"} & set(content) else ""
        raise InputError(
            f"expected a key 'tokens' or 'text', got {', '.join(map(repr, content)) or 'no key'}{graphs}"
        )
    places = tokenize(text)
    found = "annotations" if "annotations" in content else _key_of(content, label_key, _SPANS)
    columns, widened = [[token.text for token in places]], 0
    for name in (found, PREDICTED if PREDICTED in content else None):
        if name is not None:
            spans = [_span(each) for each in (_results(content) if name == "annotations" else content[name])]
            labels, n = labels_of_spans(places, spans, text, snap=snap)
            columns.append(labels)
            widened += n
    return Record(content, places, text, found), [list(row) for row in zip(*columns, strict=True)], widened


def _key_of(content: dict[str, Any], named: str | None, usual: tuple[str, ...]) -> str | None:
    """Return the key of the labels of an object; None if it has none."""
    if named is not None and named not in content:
        raise InputError(f"there is no key {named!r}; there are {', '.join(map(repr, content))}")
    found = named or next((key for key in usual if content.get(key) is not None), None)
    if found is not None and not isinstance(content[found], list):
        raise InputError(f"{found} must be a list, got {type(content[found]).__name__}")
    return found


def _texts(values: list[Any], key: str) -> list[str]:
    for i, value in enumerate(values):
        if type(value) not in (str, int) or value == "":
            raise InputError(f"{key}[{i}]: expected text, got {value!r:.60}")
    return list(map(str, values))


def _inner(content: dict[str, Any], key: str) -> dict[str, Any]:
    inner = content.get(key)
    return inner if isinstance(inner, dict) else {}


def _results(content: dict[str, Any]) -> list[Any]:
    """Return the spans of an object of Label Studio."""
    annotations = content["annotations"]
    if not isinstance(annotations, list) or any(not isinstance(each, dict) for each in annotations):
        raise InputError("annotations must be a list of objects")
    results = [result for each in annotations[:1] for result in each.get("result") or []]
    return [result["value"] for result in results if isinstance(result, dict) and "value" in result]


def _span(given: Any) -> Span:
    """Return a span: [start, end, label], or an object with these keys."""
    if isinstance(given, dict):
        label = given.get("label", given.get("labels"))
        start, end = (given.get(key, given.get(f"{key}_offset")) for key in ("start", "end"))
        given = [start, end, label[0] if isinstance(label, list) and len(label) == 1 else label]
    if (
        not isinstance(given, list)
        or len(given) != 3
        or type(given[0]) is not int
        or type(given[1]) is not int
        or not isinstance(given[2], str)
        or not given[2]
    ):
        raise InputError(f"expected a span with start, end and label, got {given!r:.80}")
    return Span(*given)
