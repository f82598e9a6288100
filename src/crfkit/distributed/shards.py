"""What the workers hold: encoded training data, one shard per worker process.

The functions here are tasks. Their results are recomputed from the partitions if a worker is lost.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray
from crfkit.data.labels import Labels, encode_labels, label_lists, label_set
from crfkit.data.sequences import Sequences
from crfkit.data.training_data import cut_as, sequence_weights, with_unlabelled
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import CRFKitError, InputError
from crfkit.features.extraction import Extraction, learn_extraction
from crfkit.features.inputs import encode_input
from crfkit.features.template import Template
from crfkit.io.data_file import DataFile
from crfkit.models.input_encoder import InputEncoder
from crfkit.selection.selected import Selection

_ANY = object()  # a label beside the others: a position that permits it is one of which nothing is known


class HowToRead(NamedTuple):
    """What makes attributes of a partition: parameters of ``CRF``."""

    template: Template | None
    features: Selection | None


@dataclass(frozen=True)
class Shard:
    """Encoded sequences over a vocabulary and labels of their own."""

    sequences: Sequences
    labels: Labels
    unknown: BoolArray | None  # [ΣT] positions that may have any label; None: none of them
    classes: list[Any]
    vocabulary: Vocabulary
    weights: FloatArray | None  # [N]; None: all 1

    def __sizeof__(self) -> int:
        """Return the bytes, by which Dask plans where tasks run and when memory is short."""
        s, labels = self.sequences, self.labels
        arrays = (s.offsets, s.indptr, s.indices, s.values, labels.ids, labels.allowed, self.weights)
        return sum(array.nbytes for array in arrays if array is not None) + 40 * len(self.vocabulary)

    def labels_among(self, classes: list[Any]) -> Labels:
        """Return the labels as places in a list that has all of them."""
        if classes == self.classes:
            return self.labels
        ids = label_ids(self.classes, classes)
        moved = np.append(ids, np.int32(-1))[self.labels.ids]
        if self.labels.allowed is None:
            return Labels(moved, None)
        allowed = np.zeros((len(moved), len(classes)), np.bool_)
        allowed[:, ids] = self.labels.allowed
        allowed[self.unknown] = True
        return Labels(moved, allowed)


def label_ids(classes: list[Any], among: list[Any]) -> IdArray:
    """Return the place of each label in another list [L]."""
    place = {label: i for i, label in enumerate(among)}
    return np.array([place[label] for label in classes], np.int32)


# ---- tasks


def read_file(path: str) -> Any:
    """Read a file of any format: rows of cells with the labels in the last column, or attributes."""
    with DataFile(path) as file:
        if file.format.is_table:
            table = file.table()
            return table.without(-1), table.column(-1)
        from crfkit.data.sequences import Encoded

        vocabulary = Vocabulary()
        examples = file.examples(vocabulary, grow=True)
        return Encoded(examples.sequences, vocabulary), examples.labels, examples.weights


def paired(xs: Any, ys: Any) -> Any:
    """Return a partition of X and the same partition of y."""
    return list(xs), list(ys)


def labelled(given: Any) -> tuple[Any, Any, Any]:
    """Return X, y and the weights of a partition: (X, y), (X, y, weights), or a list of pairs (x, y)."""
    if isinstance(given, tuple) and len(given) in (2, 3):
        X, y, weights = (*given, None)[:3]
        return X, y, weights
    if hasattr(given, "__iter__") and not isinstance(given, (str, bytes, dict)):
        pairs = list(given)  # a partition of a bag may be an iterator
        if all(isinstance(pair, (tuple, list)) and len(pair) == 2 for pair in pairs):
            return [x for x, _ in pairs], [y for _, y in pairs], None
    raise InputError(
        "expected a tuple (X, y) or (X, y, weights), or a list of pairs (x, y), one per sequence; got "
        f"{type(given).__name__} {given!r:.60}"
    )


def learnt(given: Any, extractor: Any) -> Extraction | None:
    """Return what an extractor is after learning from the first partition."""
    if extractor is None:
        return None
    with naming_partition(0):
        X, y, _ = labelled(given)
        return learn_extraction(extractor, X, cut_as(X, label_lists(y), None))


def encoded(number: int, given: Any, how: HowToRead, extraction: Extraction | None) -> Shard:
    """Encode a partition."""
    with naming_partition(number):
        return _encoded(*labelled(given), how, extraction)


@contextlib.contextmanager
def naming_partition(number: int) -> Iterator[None]:
    """Let errors name the partition."""
    try:
        yield
    except CRFKitError as error:
        raise InputError(f"partition {number} (counted from 0): {error}") from error


def _encoded(X: Any, y: Any, weights: Any, how: HowToRead, extraction: Extraction | None) -> Shard:
    y = label_lists(with_unlabelled(X, y, None))
    vocabulary = Vocabulary()
    lengths = cut_as(X, y, None)
    sequences = encode_input(X, vocabulary, how.template, extraction, grow=True, lengths=lengths, n_jobs=1)
    classes = label_set(y)
    labels, unknown = encode_labels(y, [*classes, _ANY], sequences.offsets), None
    if labels.allowed is not None:
        unknown = np.ascontiguousarray(labels.allowed[:, -1])
        labels = Labels(labels.ids, np.ascontiguousarray(labels.allowed[:, :-1]))
    encoder = InputEncoder(vocabulary, how.template, extraction=extraction)
    if how.features is not None:
        encoder = encoder.with_conjunctions(how.features.conjunctions)
    found, _ = encoder.learn(X, sequences, labels, classes, None, 1)
    n = sequences.n_sequences
    return Shard(found.sequences, labels, unknown, classes, vocabulary, sequence_weights(weights, n))


def joined(*shards: Shard) -> Shard:
    """Lay partitions end to end, over one vocabulary."""
    if len(shards) == 1:
        return shards[0]
    vocabulary, sequences = Vocabulary(), []
    for shard in shards:
        ids = vocabulary.add(shard.vocabulary.strings())
        sequences.append(replace(shard.sequences, indices=ids[shard.sequences.indices]))
    classes = label_set([shard.classes for shard in shards])
    labels = [shard.labels_among(classes) for shard in shards]
    allowed = unknown = weights = None
    if any(one.allowed is not None for one in labels):
        allowed = np.concatenate([one.permitted(len(classes)) for one in labels])
        unknown = np.concatenate(
            [np.zeros(len(s.labels.ids), np.bool_) if s.unknown is None else s.unknown for s in shards]
        )
    if any(shard.weights is not None for shard in shards):
        weights = np.concatenate(
            [np.ones(s.sequences.n_sequences) if s.weights is None else s.weights for s in shards]
        )
    return Shard(
        Sequences.end_to_end(sequences, len(vocabulary)),
        Labels(np.concatenate([one.ids for one in labels]), allowed),
        unknown,
        classes,
        vocabulary,
        weights,
    )
