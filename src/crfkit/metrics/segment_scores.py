"""Precision, recall and F1 of segments: by conlleval's rules, and strictly by a scheme's."""

from __future__ import annotations

from collections.abc import Hashable

from crfkit.data.label_codes import LabelSequences
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.report import Averaging, Report, Score
from crfkit.metrics.segment_counts import SegmentCounts, count_forgiving, count_strict
from crfkit.metrics.segments import reading_for


def segment_scores(y_true: LabelSequences, y_pred: LabelSequences, *, scheme: str | None = None) -> Report:
    """Return precision, recall and F1 of segments, per type and overall: the numbers of conlleval.

    Without ``scheme`` the tags decide: ``S`` means IOBES, ``L`` or ``U`` means BILOU, and all others are read
    as by the script. Pass the scheme if there are few labels: IOBES without any ``S`` is not recognised.

    >>> print(round(segment_scores([["B-X", "I-X", "O"]], [["I-X", "I-X", "O"]]).f1, 2))
    1.0
    """
    pairs = Pairs.of(y_true, y_pred).with_tokens()
    return scores_of(pairs, count_forgiving(pairs, reading_for(pairs.names, scheme)))


def strict_segment_scores(y_true: LabelSequences, y_pred: LabelSequences, *, scheme: str = "IOB2") -> Report:
    """Return precision, recall and F1 of segments by a scheme's strict rules; illegal segments do not count.

    ``scheme="auto"`` detects the scheme of y_true.

    >>> print(round(strict_segment_scores([["B-X", "I-X", "O"]], [["I-X", "I-X", "O"]]).f1, 2))
    0.0
    """
    pairs = Pairs.of(y_true, y_pred).with_tokens()
    return scores_of(pairs, count_strict(pairs, scheme))


def segment_f1(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    *,
    scheme: str | None = None,
    average: Averaging = "micro",
) -> float:
    """Return F1 of segments by conlleval's rules, overall (micro) or averaged over types."""
    return segment_scores(y_true, y_pred, scheme=scheme).averaged_f1(average)


def strict_segment_f1(
    y_true: LabelSequences, y_pred: LabelSequences, *, scheme: str = "IOB2", average: Averaging = "micro"
) -> float:
    """Return F1 of segments by a scheme's strict rules, overall (micro) or averaged over types."""
    return strict_segment_scores(y_true, y_pred, scheme=scheme).averaged_f1(average)


def segment_precision(y_true: LabelSequences, y_pred: LabelSequences, *, scheme: str | None = None) -> float:
    """Return the overall precision of segments by conlleval's rules."""
    return segment_scores(y_true, y_pred, scheme=scheme).precision


def segment_recall(y_true: LabelSequences, y_pred: LabelSequences, *, scheme: str | None = None) -> float:
    """Return the overall recall of segments by conlleval's rules."""
    return segment_scores(y_true, y_pred, scheme=scheme).recall


def scores_of(pairs: Pairs, counts: SegmentCounts) -> Report:
    """Return a report of counted segments, types in alphabetical order."""
    by_type = dict(zip(counts.type_names, counts.by_type().tolist(), strict=True))
    scores: dict[Hashable, Score]
    scores = {kind: Score(*numbers) for kind, numbers in sorted(by_type.items()) if any(numbers[1:])}
    overall = Score(*(len(found.types) for found in (counts.correct, counts.predicted, counts.true)))
    return Report("segment", scores, overall, pairs.n_tokens, int(pairs.right.sum()))
