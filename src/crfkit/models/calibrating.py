"""Calibration of a fitted model on held-out data: the choice of a temperature or of isotonic maps.

The temperature minimises the log loss of the predicted segments, -Σ log p(right or wrong, as it was). The
isotonic map of segments is fitted to the same segments; that of labels to the probabilities of all labels at
all positions, of which one per position is right.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IdArray
from crfkit.data.labels import label_lists
from crfkit.data.training_data import cut_as
from crfkit.exceptions import InputError
from crfkit.inference import Segments, segment_rules
from crfkit.inference.lattice import ScoredSequences
from crfkit.metrics import Outcomes
from crfkit.metrics.isotonic import IsotonicMap
from crfkit.models.calibration import Calibration
from crfkit.models.fitted_model import FittedModel
from crfkit.optim.one_variable import minimize_between

METHODS = ("temperature", "isotonic")
_LEAST, _MOST = -2.5, 2.5  # logarithms of temperatures


@dataclass(frozen=True)
class _Piece:
    """Some held-out sequences: scores, predicted segments, and what is right."""

    lattice: ScoredSequences
    segments: Segments  # [M] predicted, in sequences whose labels are all known
    right: Any  # [M] bool
    gold: IdArray  # [ΣT] places in the model's labels; -1: unknown, L: a label that the model does not have


class HeldOut:
    """Held-out data, scored by a model."""

    def __init__(self, tagger: FittedModel, scheme: str | None = None) -> None:
        self._tagger, self._scheme = tagger, scheme
        self._rules = tagger.segment_rules(scheme)
        self._pieces: list[_Piece] = []

    def add(self, lattice: ScoredSequences, labels: Sequence[Sequence[Any]]) -> None:
        """Add sequences: their scores and true labels; an unknown label is None or a set."""
        if [len(sequence) for sequence in labels] != np.diff(lattice.offsets).tolist():
            raise InputError("X and y must have the same sequences: their numbers or lengths differ")
        classes = self._tagger.classes
        known = [[_is_label(label) for label in sequence] for sequence in labels]
        place = {label: i for i, label in enumerate(classes)}  # and labels that the model does not have
        gold = np.array(
            [
                place.setdefault(label, len(place)) if is_known else -1
                for label, is_known in zip(chain(*labels), chain(*known), strict=True)
            ],
            np.int32,
        )
        whole = np.array([all(sequence) for sequence in known], np.bool_)
        found = self._rules.find(self._tagger.decode(lattice).labels, lattice.offsets)
        found = found.select(whole[found.sequence])
        truth = segment_rules(list(place), self._scheme or self._tagger.scheme)
        there = set(_keys(truth.find(np.maximum(gold, 0), lattice.offsets), truth.types))
        right = np.array([key in there for key in _keys(found, self._rules.types)], np.bool_)
        self._pieces.append(_Piece(lattice, found, right, np.minimum(gold, len(classes))))

    def segments(self, calibration: Calibration) -> Outcomes:
        """Return the probabilities of the predicted segments, and whether they are right."""
        found = [
            self._tagger.segment_probabilities(piece.lattice, self._rules, piece.segments, calibration)
            for piece in self._pieces
        ]
        right = [piece.right for piece in self._pieces]
        return Outcomes(_joined(found, np.float64), _joined(right, np.bool_))

    def labels(self, calibration: Calibration) -> Outcomes:
        """Return the probabilities of the most probable labels, and whether they are right."""
        node, gold = self.marginals(calibration)
        best = node.argmax(axis=1)
        return Outcomes(node[np.arange(len(best)), best], best == gold)

    def marginals(self, calibration: Calibration) -> tuple[FloatArray, IdArray]:
        """Return p(y_t = l) [M, L] and the true labels [M] of the positions whose label is known."""
        nodes, golds = [np.empty((0, len(self._tagger.classes)))], [np.empty(0, np.int32)]
        for piece in self._pieces:
            nodes.append(self._tagger.marginals(piece.lattice, calibration)[piece.gold >= 0])
            golds.append(piece.gold[piece.gold >= 0])
        return np.concatenate(nodes), np.concatenate(golds)


def fit_calibration(
    tagger: FittedModel,
    X: Any,
    y: Any,
    method: str | None,
    *,
    scheme: str | None = None,
    lengths: Any = None,
) -> Calibration:
    """Return the calibration of a model by a method, on held-out data."""
    if method is None:
        return Calibration()
    if not isinstance(y, Iterable) or isinstance(y, (str, bytes, Mapping)):
        raise InputError(f"y must be a list of sequences of labels, got {type(y).__name__}")
    labels, data, done = label_lists(y, lengths=lengths), HeldOut(tagger, scheme), 0
    for lattice in tagger.constrained(X, cut_as(X, labels, lengths), None, None):
        data.add(lattice, labels[done : done + lattice.n_sequences])
        done += lattice.n_sequences
    if done != len(labels):
        raise InputError(f"X has {done} sequences but y has {len(labels)}")
    return calibrated_on(data, method)


def calibrated_on(data: HeldOut, method: str) -> Calibration:
    """Return the calibration by a method on held-out data."""
    if method not in METHODS:
        raise InputError(
            f"method must be {' or '.join(map(repr, METHODS))}, or None for none; got {method!r}"
        )
    raw = data.segments(Calibration())
    node, gold = data.marginals(Calibration())
    if not len(gold):
        raise InputError("the held-out data has no labels: calibration compares predictions with true labels")
    if method == "isotonic":
        every = node.ravel(), (gold[:, None] == np.arange(node.shape[1])).ravel()
        segments = IsotonicMap.fit(*raw) if len(raw.right) else None
        return Calibration(tokens=IsotonicMap.fit(*every), segments=segments)
    outcomes = data.segments if len(raw.right) else data.labels

    def loss(log_temperature: float) -> float:
        p, right = outcomes(Calibration(math.exp(log_temperature)))
        return -float(np.log(np.maximum(np.where(right, p, 1 - p), 1e-12)).mean())

    return Calibration(math.exp(_minimum(loss, _LEAST, _MOST)))


def _minimum(loss: Callable[[float], float], low: float, high: float) -> float:
    """Return where the loss is least: the best of a coarse grid, refined by golden sections."""
    grid = np.linspace(low, high, 11)
    best = int(np.argmin([loss(float(x)) for x in grid]))
    low, high = float(grid[max(best - 1, 0)]), float(grid[min(best + 1, len(grid) - 1)])
    return minimize_between(loss, low, high, tol=1e-3)


def _keys(found: Segments, types: list[Any]) -> Iterable[tuple[int, int, int, Any]]:
    kinds = [types[kind] for kind in found.kind.tolist()]
    return zip(found.sequence.tolist(), found.start.tolist(), found.stop.tolist(), kinds, strict=True)


def _is_label(label: Any) -> bool:
    return not (label is None or isinstance(label, (set, frozenset, list, tuple)))


def _joined(parts: list[Any], dtype: Any) -> Any:
    return np.concatenate([np.empty(0, dtype), *parts])
