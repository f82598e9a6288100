"""How good a model is: scores with intervals by type, confusions, reliability, errors of parts of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.metrics.additive import label_counts
from crfkit.metrics.calibration import Outcomes, reliability
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.report import Score
from crfkit.metrics.resampled import drawn_sums
from crfkit.metrics.segment_counts import count_forgiving
from crfkit.metrics.segments import SegmentSpans, reading_for
from crfkit.metrics.tokens import right_sequences
from crfkit.report.charts import Chart, share_chart
from crfkit.report.heat import Heat, confusion_heat
from crfkit.report.predictions import Predictions, Spans

_LENGTHS = (1, 3, 6, 11, 21, 31, 51, 101, 1001)  # first lengths of the bins
_SEGMENT_LENGTHS = (1, 2, 3, 4, 5, 9)


class Ranged(NamedTuple):
    """A score from 0 to 1 with its interval."""

    value: float
    low: float
    high: float


class TypeRow(NamedTuple):
    """The scores of one type of segments, or of one label."""

    name: str
    n_true: int
    n_found: int
    precision: Ranged
    recall: Ranged
    f1: Ranged


class Bar(NamedTuple):
    """A share of errors as a bar: of what, how large, and of how many."""

    name: str
    value: float
    n: int


class Bars(NamedTuple):
    """Bars of one kind, one below the other."""

    title: str
    counted: str  # what n counts
    bars: list[Bar]

    @property
    def longest(self) -> float:
        return max((bar.value for bar in self.bars), default=0.0) or 1.0


class Goodness(NamedTuple):
    """Everything that the first section of a report shows about scores."""

    unit: str  # "segment" or "token"
    headline: list[tuple[str, Ranged]]
    overall: TypeRow
    rows: list[TypeRow]
    confusion: Heat
    reliability: list[Chart]
    parts: list[Bars]


def goodness(
    found: Predictions,
    words: Sequence[Sequence[str]],
    known: set[str] | None,
    known_from: str,
    resamples: int,
    seed: int,
) -> Goodness:
    """Score predictions; ``known`` are the words that are not new to the model, None if that is not known."""
    pairs, spans = found.pairs, found.spans
    if spans is not None:
        counted = count_forgiving(pairs, reading_for(pairs.names, found.scheme))
        names, counts = counted.type_names, counted.by_sequence(pairs.n_sequences)  # [N, K, 3]
    else:
        names, counts = [str(name) for name in pairs.names], label_counts(pairs)
    others = _whole_counts(pairs)  # [N, 4]
    tables = [counts.reshape(len(counts), -1).astype(np.float64), others]
    draws = drawn_sums(tables, np.ones(len(counts), np.int64), resamples, np.random.default_rng(seed))
    rows, overall = _rows(names, counts, draws[0])
    return Goodness(
        "token" if spans is None else "segment",
        _headline(spans is None, overall, rows, others, draws, len(names)),
        overall,
        rows,
        confusion_heat(pairs),
        _reliability(found),
        [
            *_by_length(found, counts, spans),
            *_by_news(found, words, known, known_from),
        ],
    )


def _rows(names: Sequence[str], counts: IntArray, draws: FloatArray) -> tuple[list[TypeRow], TypeRow]:
    """Return the rows of the types that occur, most frequent first, and that of all together."""
    n = len(names)
    sums, drawn = counts.sum(axis=0), draws.reshape(len(draws), n, 3)  # [K, 3] and [B, K, 3]
    order = sorted(range(n), key=lambda k: (-int(sums[k, 2]), names[k]))
    rows = [_row(names[k], sums[k], drawn[:, k]) for k in order if sums[k, 1:].any()]
    return rows, _row("all", sums.sum(axis=0), drawn.sum(axis=1))


def _row(name: str, sums: IntArray, drawn: FloatArray) -> TypeRow:
    score = Score(*sums.tolist())
    correct, predicted, true = drawn.T  # [B] each
    return TypeRow(
        name,
        score.true,
        score.predicted,
        _ranged_share(score.precision, correct, predicted),
        _ranged_share(score.recall, correct, true),
        _ranged_share(score.f1, 2 * correct, predicted + true),
    )


def _ranged_share(value: float, above: FloatArray, below: FloatArray) -> Ranged:
    """Return a share with its interval, from the resamples in which it is defined."""
    there = below > 0
    return _ranged(value, above[there] / below[there]) if there.any() else Ranged(value, value, value)


def _ranged(value: float, samples: FloatArray) -> Ranged:
    low, high = np.quantile(samples, [0.025, 0.975])
    return Ranged(value, float(low), float(high))


def _ratio(above: FloatArray, below: FloatArray) -> FloatArray:
    return np.divide(above, below, out=np.zeros_like(above), where=below > 0)


def _whole_counts(pairs: Pairs) -> FloatArray:
    """Return right tokens, tokens, right sequences and sequences of each sequence [N, 4]."""
    right = np.bincount(pairs.sequence_of, weights=pairs.right, minlength=pairs.n_sequences)
    ones = np.ones(pairs.n_sequences)
    return np.stack(
        [right, pairs.lengths.astype(np.float64), right_sequences(pairs).astype(np.float64), ones], axis=1
    )


def _headline(
    plain: bool,
    overall: TypeRow,
    rows: list[TypeRow],
    others: FloatArray,
    draws: list[FloatArray],
    n_types: int,
) -> list[tuple[str, Ranged]]:
    sums = others.sum(axis=0)
    tokens = _ranged(sums[0] / max(sums[1], 1), _ratio(draws[1][:, 0], draws[1][:, 1]))
    whole = _ranged(sums[2] / sums[3], _ratio(draws[1][:, 2], draws[1][:, 3]))
    if not plain:
        return [
            *(("F1", overall.f1), ("precision", overall.precision), ("recall", overall.recall)),
            *(("token accuracy", tokens), ("sequences without a mistake", whole)),
        ]
    drawn = draws[0].reshape(len(draws[0]), n_types, 3)
    f1 = _ratio(2 * drawn[..., 0], drawn[..., 1] + drawn[..., 2])  # [B, K]
    there = drawn[..., 1] + drawn[..., 2] > 0
    macro = _ranged(
        float(np.mean([row.f1.value for row in rows])),
        _ratio((f1 * there).sum(axis=1), there.sum(axis=1).astype(float)),
    )
    return [
        ("token accuracy", tokens),
        ("mean F1 of the labels", macro),
        ("sequences without a mistake", whole),
    ]


def _reliability(found: Predictions) -> list[Chart]:
    charts = []
    for title, outcomes in (("segments", found.segments), ("labels of positions", found.tokens)):
        if outcomes is not None and len(outcomes.right):
            charts.append(_reliable(title, outcomes))
    return charts


def _reliable(title: str, outcomes: Outcomes) -> Chart:
    table = reliability(*outcomes, n_bins=10)
    dots: list[tuple[float, float, float, str]] = [
        (
            float(table.probability[k]),
            float(table.accuracy[k]),
            float(table.counts[k]),
            f"probability {table.probability[k]:.2f}: {100 * table.accuracy[k]:.1f} % of "
            f"{table.counts[k]:,} right",
        )
        for k in np.flatnonzero(table.counts).tolist()
    ]
    words = f"expected calibration error {table.ece:.3f}, Brier score {table.brier:.3f}"
    return share_chart(title, words, dots)


def _by_length(found: Predictions, counts: IntArray, spans: Spans | None) -> list[Bars]:
    pairs = found.pairs
    place = np.searchsorted(_LENGTHS, pairs.lengths, side="right") - 1  # [N]
    bars = []
    for k, name in enumerate(_bin_names(_LENGTHS)):
        chosen = place == k
        if chosen.any():
            score = Score(*counts[chosen].sum(axis=(0, 1)).tolist())
            bars.append(Bar(name, 1 - score.f1, int(chosen.sum())))  # of tokens, F1 is the accuracy
    title = f"by length of the sequence ({'100 − F1' if spans is not None else 'wrong positions'})"
    parts = [Bars(title, "sequences", bars)]
    if spans is not None and len(spans.true.starts):
        place = np.searchsorted(_SEGMENT_LENGTHS, spans.true.ends - spans.true.starts, side="right") - 1
        groups = [(name, place == k) for k, name in enumerate(_bin_names(_SEGMENT_LENGTHS))]
        parts.append(_not_found("by length of the segment (not found)", right_segments(pairs, spans), groups))
    return parts


def _by_news(
    found: Predictions, words: Sequence[Sequence[str]], known: set[str] | None, known_from: str
) -> list[Bars]:
    """Return the errors at words that are new to the model, and at others."""
    if known is None:
        return []
    pairs, spans = found.pairs, found.spans
    new = np.array([word not in known for i in found.numbers.tolist() for word in words[i]], np.bool_)
    if not new.any() or new.all():
        return []
    bars = [
        Bar(name, float(1 - pairs.right[chosen].mean()), int(chosen.sum()))
        for name, chosen in (("seen words", ~new), ("new words", new))
    ]
    parts = [Bars(f"at new words, {known_from} (wrong positions)", "words", bars)]
    if spans is not None and len(spans.true.starts):
        before = np.concatenate([[0], np.cumsum(new)])
        with_new: BoolArray = before[spans.true.ends] > before[spans.true.starts]
        groups = [("seen words only", ~with_new), ("with a new word", with_new)]
        parts.append(
            _not_found("of segments with new words (not found)", right_segments(pairs, spans), groups)
        )
    return parts


def _not_found(title: str, right: BoolArray, groups: Sequence[tuple[str, BoolArray]]) -> Bars:
    bars = [Bar(name, float(1 - right[some].mean()), int(some.sum())) for name, some in groups if some.any()]
    return Bars(title, "true segments", bars)


def right_segments(pairs: Pairs, spans: Spans) -> BoolArray:
    """Return whether each true segment was found [M]."""

    def keys(side: SegmentSpans) -> Any:
        return (side.starts * (pairs.n_tokens + 1) + side.ends) * len(spans.types) + side.types

    return np.isin(keys(spans.true), keys(spans.found))


def _bin_names(firsts: Sequence[int]) -> list[str]:
    names = []
    for k, first in enumerate(firsts):
        if k + 1 == len(firsts):
            names.append(f"{first} and more")
        else:
            last = firsts[k + 1] - 1
            names.append(str(first) if first == last else f"{first}–{last}")
    return names
