"""What a model of segments says about scores, in terms of the labels of positions (``models/answers.py``)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray
from crfkit.exceptions import InputError
from crfkit.inference import (
    SEGMENTATIONS,
    Constraints,
    LabelledSpans,
    NBest,
    SegmentLattice,
    SegmentRules,
    Segments,
)
from crfkit.inference.constraints import checked_mask
from crfkit.models.answers import StructureAnswers
from crfkit.models.segments.label_codec import LabelCodec


class SegmentationAnswers(StructureAnswers[SegmentLattice]):
    """The answers of segmentations, whose ids of positions a codec turns into labels."""

    def __init__(self, codec: LabelCodec) -> None:
        super().__init__(SEGMENTATIONS)
        self.codec = codec

    def best(self, scores: SegmentLattice, n_jobs: int | None) -> IdArray:
        return self.codec.class_of[SEGMENTATIONS.best(scores, n_jobs=n_jobs)]

    def most_right(self, scores: SegmentLattice, marginals: FloatArray, n_jobs: int | None) -> IdArray:
        gains = {name: _mask(table) for name, table in vars(scores).items() if _is_scores(table)}
        gains["node"] += marginals[:, self.codec.class_of]
        return self.best(scores.changed(**gains), n_jobs)

    def marginals(self, scores: SegmentLattice, *, n_jobs: int | None = None) -> FloatArray:
        _, counts = SEGMENTATIONS.expectations(scores, n_jobs=n_jobs)
        found: FloatArray = np.minimum(self.codec.of_ids(counts.node), 1.0)  # rounding may give a little more
        return found

    def score(self, scores: SegmentLattice, labels: IdArray, *, n_jobs: int | None = None) -> FloatArray:
        ids = self.codec.encode(labels, scores.offsets)
        found = SEGMENTATIONS.labelling_score(scores, ids, n_jobs=n_jobs)
        wrong = np.flatnonzero(self.codec.class_of[ids] != labels)  # such as an I-X after an O
        found[np.searchsorted(scores.offsets, wrong, side="right") - 1] = -np.inf
        return found

    def nbest(self, scores: SegmentLattice, k: int, *, n_jobs: int | None = None) -> NBest:
        found = SEGMENTATIONS.nbest(scores, k, n_jobs=n_jobs)
        return replace(found, labels=self.codec.class_of[found.labels])

    def segment_probabilities(
        self, scores: SegmentLattice, rules: SegmentRules, segments: Segments, *, n_jobs: int | None = None
    ) -> FloatArray:
        places = {name: k for k, name in enumerate(self.codec.types) if k != self.codec.background}
        unknown = [name for name in rules.types if name not in places]
        if unknown:
            raise InputError(
                f"the model has no segments of {unknown[0]!r}: a model of segments has its own "
                f"({', '.join(map(str, places))}), so leave out scheme="
            )
        kinds = np.array([places[name] for name in rules.types], np.int32)
        spans = LabelledSpans(segments.sequence, segments.start, segments.stop, kinds[segments.kind])
        p: FloatArray = np.exp(SEGMENTATIONS.log_probabilities(scores, spans, n_jobs=n_jobs))
        return np.minimum(p, 1.0)

    def force(self, scores: SegmentLattice, labels: IdArray, *, n_jobs: int | None = None) -> SegmentLattice:
        raise InputError(
            "a model of segments takes no labels that association rules make certain; use known= or a CRF"
        )

    def constrain(self, scores: SegmentLattice, constraints: Constraints) -> SegmentLattice:
        """Forbid labels of positions, pairs of labels, and first and last labels.

        A pair of labels is a rule for segments if it does not tell the last label of a segment of one
        position (B-X) from that of a longer one (I-X).
        """
        pairs = constraints.transitions
        if constraints.transitions2 is not None or (pairs is not None and np.ndim(pairs) == 3):
            raise InputError(
                "a model of segments takes constraints on positions, on pairs of labels that hold "
                "everywhere, and on first and last labels; triples of labels and pairs by position need a CRF"
            )
        L, C, class_of = self.codec.n_types, len(self.codec.classes), self.codec.class_of
        begin, go_on = class_of[:L], class_of[L:]
        changed: dict[str, FloatArray] = {"node": scores.node}

        def checked(name: str, shape: tuple[int, ...]) -> BoolArray:
            mask = checked_mask(name, getattr(constraints, name))
            if mask.shape != shape:
                raise InputError(f"{name} must have shape {shape} for this model; got {mask.shape}")
            return mask

        if constraints.positions is not None:
            changed["node"] = _forbid(scores.node, checked("positions", (scores.n_positions, C))[:, class_of])
        if constraints.transitions is not None:
            mask = checked("transitions", (C, C))
            after = self._same(scores, "transitions", mask[begin][:, begin], mask[go_on][:, begin])
            changed["edge"] = _forbid(scores.edge, after)
            second, further = mask[begin, go_on], mask[go_on, go_on]  # [L] positions of a segment
            changed["node"] = _forbid(changed["node"], np.concatenate([np.ones(L, np.bool_), second]))
            changed["lengths"] = _forbid(scores.lengths, further[:, None] | (np.arange(scores.longest) < 2))
            if scores.tail is not None:
                changed["tail"] = _forbid(scores.tail, further)
        if constraints.starts is not None:
            may_start = checked("starts", (C,))[begin]
            changed["start"] = _forbid(np.zeros(L) if scores.start is None else scores.start, may_start)
        if constraints.ends is not None:
            mask = checked("ends", (C,))
            may_end = self._same(scores, "ends", mask[begin], mask[go_on])
            changed["end"] = _forbid(np.zeros(L) if scores.end is None else scores.end, may_end)
        return scores.changed(**changed)

    def _same(self, scores: SegmentLattice, name: str, short: BoolArray, long: BoolArray) -> BoolArray:
        """Return a mask whose first axis are types; it must not depend on the length of their segments."""
        can_be_long = (scores.lengths[:, 1:] > -np.inf).any(axis=1)  # [L]
        if scores.tail is not None:
            can_be_long |= scores.tail > -np.inf
        differ = np.flatnonzero((short != long).reshape(len(short), -1).any(axis=1) & can_be_long)
        if len(differ):
            kind = self.codec.types[int(differ[0])]
            raise InputError(
                f"{name} treat {kind!r} differently after a segment of one position and after a longer one: "
                "a model of segments cannot follow such constraints"
            )
        return short


def _is_scores(table: object) -> bool:
    return getattr(table, "dtype", None) == np.float64


def _mask(scores: FloatArray) -> FloatArray:
    """Return 0 where the scores permit, and -inf where they forbid."""
    return np.where(scores > -np.inf, 0.0, -np.inf)


def _forbid(scores: FloatArray, permitted: BoolArray) -> FloatArray:
    return np.where(permitted, scores, -np.inf)
