"""What blocks are written from, piece by piece: data files, Parquet and Arrow files, iterators of sequences.

A source can be read more than once, except an iterator. It names its inputs (``inputs``), so that blocks can
tell whether they are up to date.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from typing import Any

import numpy as np

from crfkit.arrays import IdArray
from crfkit.data.columns import Columns
from crfkit.data.labels import label_lists
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.features.extraction import Extraction, learn_extraction
from crfkit.features.inputs import encode_input, given_template
from crfkit.features.template import Template
from crfkit.io.data_file import DataFile
from crfkit.io.formats import names_of
from crfkit.models.block_builder import Piece
from crfkit.optional import needed

POSITIONS = 1 << 17  # of a piece, about
ARROW = (".parquet", ".arrow", ".feather")


class PieceEncoder:
    """Encodes pieces by a template or an extractor, which learns from the first piece."""

    def __init__(self, template: Any, extractor: Any, n_jobs: int | None) -> None:
        self.template: Template | None = given_template(template)
        self.extraction: Extraction | None = None
        if self.template is not None and extractor is not None:
            raise InputError("template= and extractor= both make attributes: give one of them")
        self._extractor, self._n_jobs = extractor, n_jobs

    def __call__(self, X: Any, entries: list[Any], codes: IdArray, weights: Any, names: Vocabulary) -> Piece:
        """Return some sequences with the ids of a vocabulary, which grows, and their labels."""
        if self._extractor is not None and self.extraction is None:
            self.extraction = learn_extraction(self._extractor, X)
        made_by = (self.template, self.extraction)
        sequences = encode_input(X, names, *made_by, grow=True, n_jobs=self._n_jobs)
        if len(codes) != sequences.n_positions:
            raise InputError(f"X has {sequences.n_positions} positions but y has {len(codes)} labels")
        given = None if weights is None else np.ascontiguousarray(weights, np.float64)
        return Piece(sequences, entries, codes, given)

    @property
    def makes_attributes(self) -> bool:
        return self.template is not None or self._extractor is not None


class BlockSource(ABC):
    """Labelled sequences that are read in pieces."""

    inputs: list[Any]  # what identifies the data, in JSON values; []: nothing does
    record: dict[str, Any] | None = None  # of tables: number of columns, and index of the label column

    @abstractmethod
    def pieces(self, names: Vocabulary, encode: PieceEncoder) -> Iterator[Piece]:
        """Yield the data with the ids of a vocabulary, which grows; it may be cleared between pieces."""


class Files(BlockSource):
    """Data files of the registry's formats."""

    def __init__(
        self,
        paths: Iterable[str],
        open_file: Callable[[str], DataFile],
        describe: Callable[[DataFile, Columns], tuple[int, dict[str, Any]]],  # label column, and record
        unknown: str | None = None,  # the label that means that a label is unknown
    ) -> None:
        self._paths, self._open = list(paths), open_file
        self._describe, self._unknown = describe, unknown
        self.inputs = [_stamp(path) for path in self._paths]

    def pieces(self, names: Vocabulary, encode: PieceEncoder) -> Iterator[Piece]:
        for path in self._paths:
            with self._open(path) as file:
                if file.format.is_table:
                    yield from self._of_tables(file, names, encode)
                else:
                    yield from self._of_examples(file, names, encode)

    def _of_tables(self, file: DataFile, names: Vocabulary, encode: PieceEncoder) -> Iterator[Piece]:
        place = None
        for table in file.tables(POSITIONS):
            if table.n_positions == 0:
                continue
            if place is None:
                place, record = self._describe(file, table)
                self._note(file, record)
            x = table.without(place)
            if not encode.makes_attributes:
                raise InputError(
                    f"{file.name}: {file.format.name} data has columns, which need something that makes "
                    "attributes: give template= or extractor="
                )
            texts, codes = table.codes(place)
            entries = [None if text == self._unknown else text for text in texts]
            yield encode(x, entries, codes, None, names)
        if place is None:
            raise InputError(f"{file.name}: the file is empty")

    def _of_examples(self, file: DataFile, names: Vocabulary, encode: PieceEncoder) -> Iterator[Piece]:
        if encode.makes_attributes:
            raise InputError(
                f"{file.name}: {file.format.name} data already has attributes: leave out the template or "
                f"extractor; they are for {names_of(tables=True)}"
            )
        self._note(file, None)
        for piece in file.example_pieces(names, grow=True, labelled=True, positions=POSITIONS):
            yield Piece(piece.sequences, [str(name) for name in piece.names], piece.ids, piece.weights)

    def _note(self, file: DataFile, record: dict[str, Any] | None) -> None:
        if getattr(self, "_noted", False) and record != self.record:
            raise InputError(f"{file.name}: its columns differ from those of the other files")
        self.record, self._noted = record, True


class ArrowFiles(BlockSource):
    """Parquet and Arrow files with one row per sequence: lists of labels, and lists of cells or of items."""

    def __init__(self, paths: Iterable[str], label_column: str) -> None:
        self._paths, self._label = list(paths), label_column
        self.inputs = [_stamp(path) for path in self._paths]

    def pieces(self, names: Vocabulary, encode: PieceEncoder) -> Iterator[Piece]:
        for path in self._paths:
            for batch in _batches(path):
                columns = batch.to_pydict()
                if self._label not in columns or len(columns) < 2:
                    raise InputError(
                        f"{path}: expected lists of labels in the column {self._label!r}, and other columns "
                        f"of lists, got the columns {', '.join(columns)}; name the labels with label_column="
                    )
                y = columns.pop(self._label)
                yield from _encoded(self._rows(columns, encode), y, None, names, encode, path)

    def _rows(self, columns: dict[str, list[Any]], encode: PieceEncoder) -> list[Any]:
        """Return the sequences: rows of cells if something makes attributes of them, otherwise items."""
        several = list(columns.values())
        if encode.template is not None:
            return [list(zip(*cells, strict=True)) for cells in zip(*several, strict=True)]
        if len(several) == 1:
            return several[0]
        return [
            [dict(zip(columns, cells, strict=True)) for cells in zip(*lists, strict=True)]
            for lists in zip(*several, strict=True)
        ]


class Pairs(BlockSource):
    """An iterable of (x, y) or (x, y, weight), one per sequence."""

    def __init__(self, pairs: Iterable[Any]) -> None:
        self._pairs = pairs
        self.inputs = []

    def pieces(self, names: Vocabulary, encode: PieceEncoder) -> Iterator[Piece]:
        rest, first = iter(self._pairs), 0
        while some := list(_about(rest)):
            for i, one in enumerate(some):
                if not isinstance(one, (tuple, list)) or len(one) not in (2, 3):
                    raise InputError(
                        f"sequence {first + i}: expected a pair (x, y), or (x, y, weight), got "
                        f"{type(one).__name__} {one!r:.60}"
                    )
            weights = [one[2] if len(one) == 3 else 1.0 for one in some]
            X, y = [one[0] for one in some], [one[1] for one in some]
            given = weights if any(len(one) == 3 for one in some) else None
            yield from _encoded(X, y, given, names, encode, f"sequences from {first} on")
            first += len(some)


def _about(pairs: Iterator[Any]) -> Iterator[Any]:
    """Yield sequences of about as many positions as a piece has."""
    n = 0
    for pair in islice(pairs, POSITIONS):
        yield pair
        n += len(pair[1]) if isinstance(pair, (tuple, list)) and len(pair) > 1 and pair[1] is not None else 0
        if n >= POSITIONS:
            return


def _encoded(
    X: list[Any], y: list[Any], weights: Any, names: Vocabulary, encode: PieceEncoder, where: str
) -> Iterator[Piece]:
    try:
        lists = label_lists(y)
        for i, (x, labels) in enumerate(zip(X, lists, strict=True)):
            n = x.shape[0] if hasattr(x, "shape") else len(x)
            if n != len(labels):
                raise InputError(f"sequence {i} has {n} items but {len(labels)} labels")
        numbers: dict[Any, int] = {}
        flat = chain.from_iterable(lists)
        codes = np.fromiter(
            (numbers.setdefault(_hashable(one), len(numbers)) for one in flat), np.int32, sum(map(len, lists))
        )
        piece = encode(X, list(numbers), codes, weights, names)
    except InputError as error:
        raise InputError(f"in {where}: {error}") from error
    yield piece


def _hashable(entry: Any) -> Any:
    return frozenset(entry) if isinstance(entry, (set, list, tuple)) else entry


def _batches(path: str) -> Iterator[Any]:
    arrow = needed("pyarrow", "reading Parquet and Arrow files")
    try:
        if path.endswith(".parquet"):
            with needed("pyarrow.parquet", "reading Parquet files").ParquetFile(path) as file:
                yield from file.iter_batches(4096)
        else:
            with needed("pyarrow.ipc", "reading Arrow files").open_file(path) as reader:
                yield from (reader.get_batch(i) for i in range(reader.num_record_batches))
    except arrow.ArrowInvalid as error:
        raise InputError(f"{path}: {error}") from error


def _stamp(path: str) -> list[Any]:
    """Return what identifies a file: its name, size and time of the last change."""
    status = os.stat(path)
    return [os.path.abspath(path), status.st_size, status.st_mtime_ns]
