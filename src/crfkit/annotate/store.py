"""The file of annotations: one JSON object per line, only ever appended to.

    {"crfkit": "annotations", "version": 1, "types": ["PER", "LOC"], "scheme": "IOB2", "seed": 7}
    {"rows": [["Ada"], ["slept"]], "labels": ["B-PER", "O"], "proposed": ["O", "O"],
     "sampled": false, "fitted_on": 30}
    {"undo": true}
    {"types": ["PER", "LOC", "ORG"]}

(the second is one line). The first line describes the file. An answer has the cells of its sentence, so that
the file says everything by itself; a label that is unknown is null. ``undo`` takes back the last answer. An
entry is on the disk before ``append`` returns. A process that is killed while it writes leaves a line without
its end, which was never confirmed; the next start removes it. One process at a time has the file: it holds a
lock on it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import IO, Any, NamedTuple

from crfkit.annotate.tag_set import Label, TagSet
from crfkit.exceptions import InputError, OutputError
from crfkit.io.writing import lock

_KIND, _VERSION = "annotations", 1
_FIRST = {"crfkit": _KIND, "version": _VERSION}
_START = json.dumps(_FIRST)[:-1].encode()  # how a file begins


class Answer(NamedTuple):
    """A sentence that a person has labelled."""

    rows: tuple[tuple[str, ...], ...]  # its cells
    labels: list[Label]
    proposed: list[str] | None  # by the model; None: there was no model yet
    sampled: bool  # whether it belongs to the random sample
    fitted_on: int  # number of sentences that the model had learnt from


class Store:
    """An open file of annotations."""

    def __init__(self, path: str, tags: TagSet | None, seed: int = 0) -> None:
        """Open the file, or create it; ``tags`` None: those of the file.

        Types that the file lacks are added to it.
        """
        self.path = path
        if tags is None and not os.path.exists(path):
            raise InputError(f"{path}: there are no annotations yet, so the labels must be named")
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        self._file: IO[bytes] = open(descriptor, "r+b", buffering=0)  # noqa: SIM115
        try:
            if lock(self._file.fileno()) == "held":
                raise InputError(
                    f"{path} is in use by another 'crfkit annotate': stop it, or name another file with -o"
                )
            self.answers: list[Answer] = []
            self.tags = TagSet((), None)
            self.seed = seed
            self.n_removed = 0  # bytes of a line that a killed process had begun
            self._begin(tags)
            self._read()
            self._adopt(tags)
        except BaseException:
            self._file.close()
            raise

    def append(self, answer: Answer) -> None:
        """Add an answer. When this returns, it is on the disk."""
        self._write(answer._asdict())
        self.answers.append(answer)

    def undo(self) -> Answer | None:
        """Take back the last answer, and return it; None if there is none."""
        if not self.answers:
            return None
        self._write({"undo": True})
        return self.answers.pop()

    def close(self) -> None:
        """Close the file, which ends the lock."""
        self._file.close()

    def _write(self, entry: dict[str, Any]) -> None:
        """Append an entry; if that fails, remove what was written of it."""
        end = self._file.seek(0, os.SEEK_END)
        rest = memoryview(_line(entry))
        try:
            while rest:
                rest = rest[self._file.write(rest) or 0 :]
            os.fsync(self._file.fileno())
        except OSError as error:
            self._file.truncate(end)
            words = f"{error.strerror}: the last answer is not in the file, all others are"
            raise OutputError(error.errno, words, self.path) from error

    def _begin(self, tags: TagSet | None) -> None:
        """Write the first line if there is none."""
        start = self._file.read(1 << 16)
        ours = start.startswith(_START) or _START.startswith(start)
        if b"\n" in start or not ours:
            return  # if the file is not ours, ``_read`` says so
        if tags is None:
            raise InputError(f"{self.path}: there are no annotations yet, so the labels must be named")
        self._file.truncate(0)
        self._write({**_FIRST, "types": tags.types, "scheme": tags.scheme, "seed": self.seed})

    def _read(self) -> None:
        """Read all entries, and remove an unfinished last line."""
        self._file.seek(0)
        whole, end, torn = self._file.readall().rpartition(b"\n")  # type: ignore[attr-defined]
        for number, line in enumerate(whole.split(b"\n") if end else [torn], 1):
            where = f"{self.path}:{number}"
            try:
                entry = json.loads(line)
                self._take(entry, number, where)
            except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
                if isinstance(error, InputError):
                    raise
                raise InputError(f"{where}: not a line of crfkit's annotations: {line[:60]!r}") from error
        if torn and end:
            self._file.truncate(len(whole) + 1)
            self.n_removed = len(torn)

    def _take(self, entry: dict[str, Any], number: int, where: str) -> None:
        if number == 1:
            if entry.get("crfkit") != _KIND:
                raise InputError(
                    f"{where}: not a file of crfkit's annotations, and left unchanged; name another with -o"
                )
            if entry["version"] > _VERSION:
                raise InputError(f"{where}: made by a newer crfkit (version {entry['version']} of the file)")
            self.tags = TagSet(tuple(map(str, entry["types"])), entry["scheme"])
            self.seed = int(entry["seed"])
        elif "undo" in entry:
            self.answers.pop()
        elif "types" in entry:
            self.tags = self.tags.with_types(map(str, entry["types"]))
        else:
            rows = tuple(tuple(map(str, row)) for row in entry["rows"])
            for name in ("labels", "proposed"):
                if entry[name] is not None and len(entry[name]) != len(rows):
                    raise InputError(f"{where}: {len(rows)} rows, but {len(entry[name])} {name}")
            self.answers.append(Answer(rows, *(entry[name] for name in Answer._fields[1:])))

    def _adopt(self, tags: TagSet | None) -> None:
        """Add the types that the file lacks."""
        if tags is None:
            return
        if tags.scheme != self.tags.scheme:
            raise InputError(
                f"{self.path} has {_words(self.tags.scheme)}, but this session has {_words(tags.scheme)}: "
                "name another file with -o, or give the model or the labels that the file was begun with"
            )
        if set(tags.types) - set(self.tags.types):
            self.tags = self.tags.with_types(tags.types)
            self._write({"types": self.tags.types})


def conll(answers: Sequence[Answer], unknown: str = "_") -> bytes:
    """Return answers as a column file: the cells and the label, tabs between them, an empty line after each.

    A label that is unknown is written as ``unknown``.
    """
    from crfkit.data.columns import Columns

    rows = [
        [(*row, unknown if label is None else label) for row, label in zip(one.rows, one.labels, strict=True)]
        for one in answers
    ]
    return Columns.from_rows(rows).text() if rows else b""


def _words(scheme: str | None) -> str:
    return "plain labels" if scheme is None else f"labels of the scheme {scheme}"


def _line(entry: dict[str, Any]) -> bytes:
    return (json.dumps(entry, ensure_ascii=False) + "\n").encode("utf-8", "surrogatepass")
