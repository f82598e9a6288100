"""Training data of a kernel CRF: positions with labels, positions without, and a dev set.

Labels may be missing: None at a position, or for a sequence as a whole. ``points`` are positions without
neighbours: each point is a sequence of length 1, with one label in a flat y.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.labels import Labels, cut_labels, encode_labels, label_lists, label_set
from crfkit.data.positions import Positions, read_objects, read_positions
from crfkit.data.reading import listed
from crfkit.data.training_data import require_data, sequence_weights
from crfkit.exceptions import InputError

LabelLists = list[Sequence[Any]]


class LabelledPositions(NamedTuple):
    """Sequences and their labels, some of which may be missing."""

    positions: Positions
    y: LabelLists


@dataclass(frozen=True)
class TrainingSet:
    """Sequences with at least one label, and the positions of all sequences."""

    everything: Positions  # what fit was given as X
    numbers: IntArray  # [N] which of its sequences have labels
    learn: Positions  # the positions of these sequences
    places: IntArray  # [ΣT] where these positions are in everything
    labels: Labels
    classes: list[Any]
    width: int | None  # how many numbers a row has; None: rows are objects
    weights: FloatArray | None = None  # [N]
    unlabeled: Positions | None = None  # X_unlabeled
    dev: LabelledPositions | None = None

    @property
    def labelled(self) -> BoolArray:
        """Which positions of ``learn`` have a label or a partial label [ΣT]."""
        return _known(self.labels)


def read_training(
    X: Any,
    y: Any,
    sample_weight: npt.ArrayLike | None = None,  # [N]
    X_dev: Any = None,
    y_dev: Any = None,
    X_unlabeled: Any = None,
    lengths: Any = None,
    *,
    objects: bool,
    points: bool = False,
) -> TrainingSet:
    """Read the arguments of ``fit``; with ``objects``, positions may be anything."""
    if (X_dev is None) != (y_dev is None):
        raise InputError("X_dev and y_dev go together: give both or neither")
    read, labels_of = (_read_points, _point_labels) if points else (_read_sequences, _sequence_labels)
    y = y if points else cut_labels(y, lengths)
    positions = read(X, y, lengths, objects, None, "X")
    training = _labelled_part(positions, labels_of(y, positions))
    weights = sequence_weights(sample_weight, positions.n_sequences)
    dev = unlabeled = None
    if X_dev is not None:
        held = read(X_dev, y_dev, None, objects, positions.width, "X_dev")
        dev = LabelledPositions(held, labels_of(y_dev, held))
    if X_unlabeled is not None:
        unlabeled = read(X_unlabeled, None, None, objects, positions.width, "X_unlabeled")
    weights = None if weights is None else weights[training.numbers]
    return replace(training, weights=weights, unlabeled=unlabeled, dev=dev)


def _labelled_part(positions: Positions, y: LabelLists) -> TrainingSet:
    """Return the sequences that have a label."""
    classes = label_set(y)
    require_data(positions, classes)
    return labelled_part(positions, encode_labels(y, classes, positions.offsets), classes)


def labelled_part(positions: Positions, labels: Labels, classes: list[Any]) -> TrainingSet:
    """Return the sequences (or graphs) that have a label."""
    bounds = np.concatenate(([0], np.cumsum(_known(labels))))[positions.offsets]  # [N+1]
    numbers = np.flatnonzero(np.diff(bounds) > 0)
    learn = positions.subset(numbers)
    lengths = np.diff(positions.offsets)[numbers]
    starts = positions.offsets[numbers]
    places = np.arange(int(lengths.sum())) + np.repeat(starts - learn.offsets[:-1], lengths)
    labels = labels.subset(numbers, positions.offsets)
    if labels.allowed is not None and (labels.ids >= 0).all():
        labels = Labels(labels.ids, None)
    return TrainingSet(positions, numbers, learn, places.astype(np.int64), labels, classes, positions.width)


def _known(labels: Labels) -> BoolArray:
    """Tell for every position [ΣT] whether it has a label or a partial label."""
    known: BoolArray = labels.ids >= 0
    return known if labels.allowed is None else known | ~labels.allowed.all(axis=1)


# ---- sequences


def _read_sequences(X: Any, y: Any, lengths: Any, objects: bool, width: int | None, name: str) -> Positions:
    """Read sequences; a single table gets the lengths of y's sequences, or is one sequence if y is None."""
    if lengths is None and getattr(X, "ndim", 0) == 2:
        lengths = [X.shape[0]] if y is None else _lengths_of(y)
    return read_positions(X, lengths, objects=objects, width=width, name=name)


def _lengths_of(y: Any) -> list[int] | None:
    given = list(listed(y, "y", "sequences of labels"))
    if any(labels is None for labels in given):
        return None  # read_positions raises an error that asks for lengths
    return [len(labels) for labels in label_lists(given)]


def _sequence_labels(y: Any, positions: Positions) -> LabelLists:
    """Return y as lists; a sequence that is None as a whole has None at each of its positions."""
    if isinstance(y, (str, bytes)) or not hasattr(y, "__iter__"):
        raise InputError(f"y must be a list of sequences of labels, got {type(y).__name__}")
    given = list(y)
    if len(given) != positions.n_sequences:
        raise InputError(f"X has {positions.n_sequences} sequences but y has {len(given)}")
    lengths = np.diff(positions.offsets).tolist()
    return label_lists(
        [[None] * n if labels is None else labels for labels, n in zip(given, lengths, strict=True)]
    )


# ---- points


def read_points(X: Any, objects: bool, width: int | None, name: str, *, fitted: bool = False) -> Positions:
    """Read points, each as a sequence of its own.

    With ``objects`` they may be any objects; if ``fitted``, they are objects even if they look like rows.
    """
    if objects and getattr(X, "ndim", 0) == 1:
        X = X.tolist()
    if objects and isinstance(X, (list, tuple)):
        positions = read_objects([X], name) if fitted else read_positions([X], objects=True, name=name)
    else:
        table = X if hasattr(X, "ndim") or hasattr(X, "columns") else np.asarray(X)
        if getattr(table, "ndim", 2) != 2:
            raise InputError(f"{name} must be a table [n, d], got {table.ndim}-D")
        positions = read_positions(table, [1] * table.shape[0], width=width, name=name)
    return Positions(positions.rows, np.arange(positions.n_positions + 1, dtype=np.int64))


def _read_points(X: Any, y: Any, lengths: Any, objects: bool, width: int | None, name: str) -> Positions:
    return read_points(X, objects, width, name)


def _point_labels(y: Any, positions: Positions) -> LabelLists:
    labels = y.tolist() if hasattr(y, "tolist") else list(y)
    if len(labels) != positions.n_positions:
        raise InputError(f"X has {positions.n_positions} points but y has {len(labels)} labels")
    return [[label] for label in labels]
