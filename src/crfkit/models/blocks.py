"""Training data encoded once, in a directory, for data larger than memory and for the next training.

A directory of blocks holds the arrays of ``Sequences`` and ``Labels`` as plain files, which training maps
into memory, and one file with the vocabulary, the labels and what makes attributes. It is written in one
streaming pass under another name, and renamed when it is whole (docs/large-data.md).
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from crfkit.arrays import BoolArray, FloatArray
from crfkit.data.block_files import TYPES, mapped_array
from crfkit.data.columns import Columns
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.extraction import fitted_extraction
from crfkit.io.data_file import DataFile
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import read_model, write_model
from crfkit.io.new_directory import new_directory
from crfkit.models.block_builder import BlockBuilder
from crfkit.models.block_sources import ARROW, ArrowFiles, BlockSource, Files, Pairs, PieceEncoder
from crfkit.models.input_encoder import InputEncoder

VERSION = 2  # 1 had no checksums
_KIND = "blocks of training data"
_HEADER = "header.crfkit"


@dataclass(frozen=True)
class Blocks:
    """Encoded training data in a directory: ``CRF().fit(Blocks.open("DIR"))``.

    The arrays are mapped from files: memory holds only what is being read.
    """

    directory: str
    sequences: Sequences
    labels: Labels
    classes: list[Any]
    encoder: InputEncoder  # of all other data, with the vocabulary
    weights: FloatArray | None  # [N] of the sequences; None: all 1
    header: Mapping[str, Any]

    @property
    def n_bytes(self) -> int:
        """The bytes of the files."""
        return sum(entry.stat().st_size for entry in os.scandir(self.directory) if entry.is_file())

    @property
    def collisions(self) -> float | None:
        """The share of rare attributes that hashing could not tell from frequent ones; None: no hashing."""
        found: float | None = self.header.get("collisions")
        return found

    def __repr__(self) -> str:
        return (
            f"<Blocks {self.directory}: {self.sequences.n_sequences:,} sequences, "
            f"{self.sequences.n_positions:,} positions, {self.sequences.n_attributes:,} attributes>"
        )

    @classmethod
    def open(cls, directory: str | os.PathLike[str], *, extractor: Any = None) -> Blocks:
        """Open a directory of blocks.

        ``extractor`` is the one they were written with, if it has Python code, which no file holds.
        """
        place = os.path.abspath(directory)
        path = os.path.join(place, _HEADER)
        if not os.path.exists(path):
            raise ModelFileError(f"{place} has no blocks: there is no file {_HEADER}")
        header, arrays = read_model(path, mmap=True)
        if header.get("model") != _KIND:
            raise ModelFileError(f"{path}: expected {_KIND}, got {header.get('model')!r}")
        if header.get("blocks_version") != VERSION:
            raise ModelFileError(
                f"{place}: these blocks have the version {header.get('blocks_version')!r}, but this crfkit "
                f"reads version {VERSION}: write them again"
            )
        try:
            classes = list(header["classes"])
            encoder = InputEncoder.of_parts(classes, header, ModelArrays(arrays, path))
            found = _mapped(place, header["arrays"], len(encoder.vocabulary), len(classes))
            if extractor is not None:
                record = None if encoder.extraction is None else encoder.extraction.to_record()
                encoder = encoder.with_extraction(fitted_extraction(extractor, record))
            sequences = Sequences(
                found["offsets"],
                found["indptr"],
                found["indices"],
                found.get("values"),
                len(encoder.vocabulary),
                home=place if os.access(place, os.W_OK) else tempfile.gettempdir(),
            )
            labels = Labels(found["labels"], found.get("allowed"))
        except OSError as error:
            raise ModelFileError(f"cannot read the blocks {place}: {error}") from error
        except (KeyError, TypeError, ValueError) as error:
            raise ModelFileError(f"the blocks {place} are damaged: {error}; write them again") from error
        return cls(place, sequences, labels, classes, encoder, found.get("weights"), header)

    @classmethod
    def write(
        cls,
        directory: str | os.PathLike[str],
        source: Any,
        y: Any = None,
        *,
        template: Any = None,
        extractor: Any = None,
        format: str = "auto",
        label_column: str | int = -1,
        min_freq: float = 0,
        buckets: int | None = None,
        n_jobs: int | None = None,
    ) -> Blocks:
        """Encode training data in one pass and write it to a directory; return the blocks.

        Parameters
        ----------
        directory
            Is created, or replaced if it holds blocks.
        source
            A data file or several (every format that ``crfkit train`` reads, also compressed by gzip), or
            Parquet or Arrow files with a row per sequence and columns of lists; or an iterable of pairs
            (x, y) or triples (x, y, weight), one per sequence. Or X, with y beside it.
        template, extractor
            What makes attributes, as in :class:`crfkit.CRF`. An extractor that learns from data learns from
            the first piece of about 131,000 positions.
        format
            The format of data files, by name; "auto": told by their name or content.
        label_column
            The column of labels in files with columns: a number, or a name if columns have names. In Parquet
            and Arrow files -1 is "labels".
        min_freq
            Attributes at fewer positions than this are dropped at the end. A model with the same ``min_freq``
            or a larger one loses nothing.
        buckets
            Bounds the memory for names while ``min_freq`` > 1: a first pass counts hashes of names in so many
            counters of 4 bytes, and a second one keeps names whose counter has reached ``min_freq``. Names
            that share a counter with others may be kept in vain until the end; ``collisions`` says how many.
            The result is the same.
        """
        encode = PieceEncoder(template, extractor, n_jobs)
        given = block_source(source, y, format=format, label_column=label_column)
        return write_blocks(os.fspath(directory), given, encode, min_freq=min_freq, buckets=buckets)


def _mapped(place: str, records: Mapping[str, Any], n_attributes: int, n_labels: int) -> dict[str, Any]:
    """Return the arrays of blocks, checked and mapped from their files."""
    most, largest = np.iinfo(np.int64).max, np.finfo(np.float64).max
    ranges: dict[str, tuple[float, float]] = {
        "offsets": (0, most),
        "indptr": (0, most),
        "indices": (0, n_attributes - 1),
        "values": (-largest, largest),
        "labels": (-1 if "allowed" in records else 0, n_labels - 1),
        "allowed": (0, 1),
        "weights": (0, largest),
    }
    found = {
        name: mapped_array(place, name, int(records[name]["size"]), records[name]["crc32"], *ranges[name])
        for name in TYPES
        if name in records
    }
    if "allowed" in found:
        found["allowed"] = found["allowed"].view(np.bool_).reshape(-1, n_labels)
    T, N = len(found["indptr"]) - 1, len(found["offsets"]) - 1
    for name, n in {"labels": T, "allowed": T, "weights": N}.items():
        if name in found and len(found[name]) != n:
            raise ValueError(f"{name} has {len(found[name])} rows, expected {n}")
    return found


def block_source(source: Any, y: Any, *, format: str, label_column: str | int) -> BlockSource:
    """Return what ``Blocks.write`` has been given, to be read in pieces."""
    if y is not None:
        return Pairs(_Beside(source, y))
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    if isinstance(source, (list, tuple)) and source and isinstance(source[0], (str, os.PathLike)):
        paths = [os.fspath(path) for path in source]
        if all(path.endswith(ARROW) for path in paths):
            return ArrowFiles(paths, "labels" if label_column == -1 else str(label_column))

        def describe(_: DataFile, table: Columns) -> tuple[int, dict[str, Any]]:
            place = _place(table, label_column)
            record: dict[str, Any] = {"columns": table.n_columns, "label_column": place}
            return place, record | ({"names": list(table.names)} if hasattr(table, "names") else {})

        return Files(paths, lambda path: DataFile(path, format), describe)
    if isinstance(source, (str, bytes, Mapping)) or not isinstance(source, Iterable):
        raise InputError(
            f"blocks are written from files or from an iterable of pairs (x, y), got {type(source).__name__}"
        )
    return Pairs(source)


def _place(table: Columns, column: str | int) -> int:
    """Return the index of a column that is given as a number (negative: from the end) or by its name."""
    names = list(getattr(table, "names", ()))
    if isinstance(column, str) and column in names:
        return names.index(column)
    if isinstance(column, int) and -table.n_columns <= column < table.n_columns:
        return column % table.n_columns
    known = ", ".join(names) if names else f"numbered 0 to {table.n_columns - 1}"
    raise InputError(f"{table.source}: there is no column {column!r}; the columns are {known}")


@dataclass(frozen=True)
class _Beside:
    """X and y as pairs, as often as they are asked for."""

    X: Any
    y: Any

    def __iter__(self) -> Iterator[tuple[Any, Any]]:
        if hasattr(self.X, "__len__") and hasattr(self.y, "__len__") and len(self.X) != len(self.y):
            raise InputError(f"X has {len(self.X)} sequences but y has {len(self.y)}")
        return zip(self.X, self.y, strict=True)


def write_blocks(
    directory: str,
    source: BlockSource,
    encode: PieceEncoder,
    *,
    min_freq: float = 0,
    buckets: int | None = None,
    settings: Mapping[str, Any] | None = None,
    watch: Callable[[int], None] | None = None,  # is told the number of positions so far
) -> Blocks:
    """Write a directory of blocks and open it."""
    if buckets is not None and not (min_freq > 1 and buckets >= 1):
        raise InputError("buckets bounds the memory for names that are dropped: give min_freq above 1, too")
    with new_directory(directory, _HEADER, "blocks") as place:
        names = Vocabulary()
        counters = None if buckets is None else _counted(source, encode, buckets, watch)
        admitted = names if counters is None else Vocabulary()
        with BlockBuilder(place) as builder:
            for piece in source.pieces(names, encode):
                if counters is None:
                    builder.add(piece)
                else:
                    kept = counters[_buckets(names, len(counters))] >= min_freq  # [names of the piece]
                    builder.add(piece._replace(sequences=_only(kept, piece.sequences, names, admitted)))
                    names.native.clear()
                if watch is not None:
                    watch(builder.n_positions)
            classes, vocabulary, records = builder.finish(admitted, min_freq)
        encoder = InputEncoder(vocabulary, encode.template, extraction=encode.extraction)
        own, arrays = encoder.to_parts()
        header = {
            "model": _KIND,
            "blocks_version": VERSION,
            "arrays": records,
            "classes": classes,
            "inputs": source.inputs,
            "settings": dict(settings or {}),
            "record": source.record,
            **own,
        }
        if counters is not None:
            header["collisions"] = (len(admitted) - len(vocabulary)) / max(1, len(admitted))
        write_model(os.path.join(place, _HEADER), header, arrays)
    extractor = encode.extraction if encode.extraction is not None and encode.extraction.in_python else None
    return Blocks.open(directory, extractor=extractor)


def _only(kept: BoolArray, sequences: Sequences, names: Vocabulary, admitted: Vocabulary) -> Sequences:
    """Return sequences with only some of their attributes, as ids of another vocabulary, which grows."""
    ids = np.full(len(names), -1, np.int32)
    ids[kept] = admitted.add(names.strings_of(np.flatnonzero(kept)))
    left = sequences.only(kept[sequences.indices])
    return replace(left, indices=ids[left.indices], n_attributes=len(admitted))


def _counted(
    source: BlockSource, encode: PieceEncoder, buckets: int, watch: Callable[[int], None] | None
) -> np.ndarray[Any, np.dtype[np.uint32]]:
    """Return how often names with each hash occur [buckets]."""
    if isinstance(source, Pairs) and iter(source._pairs) is source._pairs:
        raise InputError("buckets reads the data twice, but an iterator can be read only once: give a list")
    counters = np.zeros(buckets, np.uint32)
    names, done = Vocabulary(), 0
    for piece in source.pieces(names, encode):
        n = np.bincount(piece.sequences.indices, minlength=len(names))
        np.add.at(counters, _buckets(names, buckets), n.astype(np.uint32))
        names.native.clear()
        done += piece.sequences.n_positions
        if watch is not None:
            watch(done)
    return counters


def _buckets(names: Vocabulary, n: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return (names.native.hashes() % np.uint64(n)).astype(np.int64)
