"""What a model says about labelled data: its labels and how sure it is, in a few numbers per position.

Sequences are scored in pieces, and their scores are not kept, so that 10⁵ sentences need little memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.sequences import gather, offsets_of
from crfkit.exceptions import InputError
from crfkit.inference import segment_rules
from crfkit.inference.lattice import ScoredSequences
from crfkit.metrics.calibration import Outcomes
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.segments import SegmentSpans, are_plain, forgiving_spans, reading_for
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.models.calibrating import HeldOut
from crfkit.models.fitted_model import FittedModel

_LEAST = -1e9  # log probability of a labelling that the model cannot give


@dataclass(frozen=True)
class Spans:
    """The segments of both labellings; starts and ends are positions of the batch."""

    types: list[str]
    true: SegmentSpans
    found: SegmentSpans


@dataclass(frozen=True)
class Predictions:
    """Predictions of N sequences whose labels are all known."""

    pairs: Pairs  # true and predicted labels
    numbers: IntArray  # [N] of the sequences in the data
    n_left_out: int  # sequences whose labels are not all known
    p_found: FloatArray  # [ΣT] probability of the predicted label
    p_true: FloatArray  # [ΣT] probability of the true label
    log_true: FloatArray  # [N] log probability of the true labelling
    tokens: Outcomes  # the most probable labels
    segments: Outcomes | None  # the predicted segments; None: the labels have none
    scheme: str | None

    @cached_property
    def spans(self) -> Spans | None:
        """The segments; None if the labels have none, and are scored token by token."""
        return spans_of(self.pairs, self.scheme)


def predict(model: Any, data: LabelledSequences, scheme: str | None = None) -> Predictions:
    """Label all sequences of the data, and compare."""
    tagger: FittedModel = model._fitted()
    X, lengths, _ = model._given(data.x, np.diff(data.offsets) if data.has_rows and not data.names else None)
    codes = _codes(data, tagger.classes)
    prepared = tagger.prepare(X, lengths)
    if not np.array_equal(prepared.offsets, data.offsets):
        raise InputError("X and y must have the same sequences: their numbers or lengths differ")
    segmented = _has_segments(tagger.classes, scheme)
    parts: list[_Part] = []
    for start, stop, lattice in tagger.constrained_pieces(prepared, None, None):
        here = slice(int(data.offsets[start]), int(data.offsets[stop]))
        parts.append(_part(tagger, lattice, codes.ids[here], data.y[start:stop], segmented, scheme))
    return _joined(codes, data.offsets, parts, scheme)


def spans_of(pairs: Pairs, scheme: str | None) -> Spans | None:
    """Return the segments of both labellings; None if the labels cannot be read as segments."""
    if scheme is None and are_plain(pairs.names):
        return None
    try:
        true, found, types = forgiving_spans(pairs, reading_for(pairs.names, scheme))
    except InputError:  # some labels have a tag, others not
        if scheme is not None:
            raise
        return None
    return Spans(types, true, found)


def _has_segments(classes: list[Any], scheme: str | None) -> bool:
    """Return whether the labels of a model can be read as segments."""
    if scheme is None and are_plain(classes):
        return False
    try:
        segment_rules(classes, scheme)
    except InputError:
        if scheme is not None:
            raise
        return False
    return True


@dataclass(frozen=True)
class _Codes:
    names: list[Any]  # labels of the model, then those that only the data has
    ids: IntArray  # [ΣT] -1: not known, or not a single label
    n_labels: int  # of the model


@dataclass(frozen=True)
class _Part:
    found: IntArray  # [ΣT] of a piece
    p_found: FloatArray
    p_true: FloatArray
    log_true: FloatArray  # [N]
    best: FloatArray  # [ΣT]
    best_right: Any  # [ΣT] bool
    segments: Outcomes | None


def _codes(data: LabelledSequences, classes: list[Any]) -> _Codes:
    place = {label: i for i, label in enumerate(classes)}
    several = (set, frozenset, list, tuple)
    ids = [
        -1 if label is None or isinstance(label, several) else place.setdefault(label, len(place))
        for label in chain.from_iterable(data.y)
    ]
    if all(i < 0 for i in ids):
        raise InputError("a report needs true labels, but the data has none")
    return _Codes(list(place), np.array(ids, np.int64), len(classes))


def _part(
    tagger: FittedModel, lattice: ScoredSequences, gold: IntArray, y: Any, segmented: bool, scheme: str | None
) -> _Part:
    decoded = tagger.decode(lattice, with_marginals=True)
    node = decoded.marginals
    if node is None:
        raise InputError("the model gives no probabilities")
    found, rows, L = decoded.labels.astype(np.int64), np.arange(len(gold)), len(tagger.classes)
    known = (gold >= 0) & (gold < L)
    safe = np.where(known, gold, 0).astype(np.int32)
    log_true = tagger.log_probability(lattice, safe)
    unknown = offsets_of(~known)  # [ΣT+1]
    possible = unknown[lattice.offsets[1:]] == unknown[lattice.offsets[:-1]]
    best = node.argmax(axis=1)
    outcomes = None
    if segmented:
        held = HeldOut(tagger, scheme)
        held.add(lattice, y)
        outcomes = held.segments(tagger.calibration)
    return _Part(
        found,
        node[rows, found],
        np.where(known, node[rows, safe], 0.0),
        np.where(possible, np.clip(log_true, _LEAST, 0.0), _LEAST),
        node[rows, best],
        best == gold,
        outcomes,
    )


def _joined(codes: _Codes, offsets: IntArray, parts: list[_Part], scheme: str | None) -> Predictions:
    """Put the pieces together, without the sequences whose labels are not all known."""
    unknown = offsets_of(codes.ids < 0)  # [ΣT+1]
    numbers = np.flatnonzero(unknown[offsets[1:]] == unknown[offsets[:-1]])  # [N]
    if not len(numbers):
        raise InputError(
            "a report needs sequences whose labels are all known; every sequence here lacks some"
        )
    kept, rows = gather(offsets, numbers)

    def all_of(field: str) -> Any:
        return np.concatenate([getattr(part, field) for part in parts])

    true, found = codes.ids[rows], all_of("found")[rows]
    used = np.unique(np.concatenate([true, found]))  # labels that do not occur are left out
    names = [codes.names[k] for k in used.tolist()]
    pairs = Pairs(names, np.searchsorted(used, true), np.searchsorted(used, found), kept)
    segments = None
    if all(part.segments is not None for part in parts):
        segments = Outcomes(
            *(np.concatenate(field) for field in zip(*(p.segments or () for p in parts), strict=True))
        )
    return Predictions(
        pairs.with_tokens(),
        numbers,
        len(offsets) - 1 - len(numbers),
        all_of("p_found")[rows],
        all_of("p_true")[rows],
        all_of("log_true")[numbers],
        Outcomes(all_of("best")[rows], all_of("best_right")[rows]),
        segments,
        scheme,
    )
