"""Writing blocks: pieces of encoded data are appended to files; labels and rare attributes are settled last.

Classes and counts are known only after the last piece. Until then the file of labels holds the numbers of
different entries of y, in the order in which they came; ``finish`` turns them into places in the sorted
classes, and drops the attributes that are too rare.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.block_files import ArrayFile, array_path, pieces_of, rewritten
from crfkit.data.labels import encode_labels, label_set
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError

_ALWAYS = ("offsets", "indptr", "indices", "labels")
_NAMES = 1 << 17  # names that are copied at once


class Piece(NamedTuple):
    """Some encoded sequences with their labels."""

    sequences: Sequences
    entries: list[Any]  # the different entries of y: labels, None, sets of labels
    codes: IdArray  # [ΣT] places in entries; -1: None
    weights: FloatArray | None  # [N]; None: all 1


class BlockBuilder:
    """The files of a directory of blocks while they are written."""

    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.n_sequences = self.n_positions = self.n_entries = 0
        self._files = {
            name: ArrayFile(directory, name) for name in ("offsets", "indptr", "indices", "labels")
        }
        self._files["offsets"].append(np.zeros(1, np.int64))
        self._files["indptr"].append(np.zeros(1, np.int64))
        self._numbers: dict[Any, int] = {}  # of the entries of y
        self._counts = np.zeros(0, np.int64)  # [A] how often an attribute has come

    def __enter__(self) -> BlockBuilder:
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files.values():
            file.close()

    def add(self, piece: Piece) -> None:
        """Append some sequences."""
        sequences = piece.sequences
        self._optional("values", sequences.values, self.n_entries, sequences.indices.size)
        self._optional("weights", piece.weights, self.n_sequences, sequences.n_sequences)
        self._files["offsets"].append(sequences.offsets[1:] + self.n_positions)
        self._files["indptr"].append(sequences.indptr[1:] + self.n_entries)
        self._files["indices"].append(sequences.indices)
        numbers = [
            self._numbers.setdefault(_entry(one), len(self._numbers)) for one in (*piece.entries, None)
        ]
        self._files["labels"].append(np.array(numbers, np.int32)[piece.codes])  # -1: the last, None
        counts = np.bincount(sequences.indices, minlength=len(self._counts))
        counts[: len(self._counts)] += self._counts
        self._counts = counts
        self.n_sequences += sequences.n_sequences
        self.n_positions += sequences.n_positions
        self.n_entries += sequences.indices.size

    def _optional(self, name: str, given: FloatArray | None, before: int, n: int) -> None:
        """Append to an array that has no file as long as all its numbers are 1."""
        if given is not None and name not in self._files:
            self._files[name] = ArrayFile(self.directory, name)
            for start in range(0, before, 1 << 22):
                self._files[name].append(np.ones(min(1 << 22, before - start)))
        if name in self._files:
            self._files[name].append(np.ones(n) if given is None else given)

    def finish(self, vocabulary: Vocabulary, min_freq: float) -> tuple[list[Any], Vocabulary, dict[str, Any]]:
        """Return the classes, the vocabulary without names that are too rare, and a record of each array."""
        for file in self._files.values():
            file.close()
        classes = label_set([[one] for one in self._numbers if one is not None])
        if not classes:
            raise InputError("there is nothing to learn: every label is None, or there are no sequences")
        found = encode_labels([[one] for one in self._numbers], classes, np.arange(len(self._numbers) + 1))
        if self._is_partial(found.ids):
            rows = (
                found.allowed
                if found.allowed is not None
                else np.eye(len(classes), dtype=np.bool_)[found.ids]
            )
            allowed = self._files["allowed"] = ArrayFile(self.directory, "allowed")
            for codes in pieces_of(array_path(self.directory, "labels"), "labels"):
                allowed.append(rows[codes].view(np.uint8))
            allowed.close()
        self._rewrite("labels", lambda codes: found.ids[codes])
        kept = np.zeros(len(vocabulary), np.bool_)
        kept[: len(self._counts)] = self._counts >= max(1.0, min_freq)
        if not kept.all():
            vocabulary = self._drop(vocabulary, kept)
        return classes, vocabulary, {name: file.record for name, file in self._files.items()}

    def _rewrite(self, name: str, change: Callable[[npt.NDArray[Any]], npt.NDArray[Any]]) -> None:
        self._files[name] = rewritten(self.directory, name, change)

    def _is_partial(self, ids: IdArray) -> bool:
        """Tell whether a position has an entry that is not one label."""
        if (ids >= 0).all():
            return False
        path = array_path(self.directory, "labels")
        return any((ids[codes] < 0).any() for codes in pieces_of(path, "labels"))

    def _drop(self, vocabulary: Vocabulary, kept: BoolArray) -> Vocabulary:
        """Remove the attributes that are not kept, and number the others anew."""
        smaller, old = Vocabulary(), np.flatnonzero(kept)
        for start in range(0, len(old), _NAMES):
            smaller.add(vocabulary.strings_of(old[start : start + _NAMES]))
        ids = np.full(len(kept), -1, np.int32)
        ids[old] = np.arange(len(old), dtype=np.int32)
        self._recount(kept)
        if "values" in self._files:
            masks = self._masks(kept)
            self._rewrite("values", lambda piece: piece[next(masks)])
        self._rewrite("indices", lambda piece: ids[piece[kept[piece]]])
        self._counts = self._counts[kept[: len(self._counts)]]
        return smaller

    def _masks(self, kept: BoolArray) -> Iterator[BoolArray]:
        for piece in pieces_of(array_path(self.directory, "indices"), "indices"):
            yield kept[piece]

    def _recount(self, kept: BoolArray) -> None:
        """Write where the entries of positions begin, if only some are kept."""
        masks = self._masks(kept)
        place = [0, 0]  # entries seen, and kept before them
        before: IntArray = np.zeros(1, np.int64)  # how many are kept before each entry of the current mask

        def change(bounds: IntArray) -> IntArray:
            nonlocal before
            out = np.empty_like(bounds)
            done = 0
            while done < len(bounds):
                end = place[0] + len(before) - 1
                n = int(np.searchsorted(bounds[done:], end, side="right"))
                out[done : done + n] = place[1] + before[bounds[done : done + n] - place[0]]
                done += n
                if done < len(bounds):
                    place[:] = [end, place[1] + int(before[-1])]
                    before = np.concatenate([[0], np.cumsum(next(masks))])
            return out

        self._rewrite("indptr", change)


def _entry(one: Any) -> Any:
    return frozenset(one) if isinstance(one, (set, list, tuple)) else one
