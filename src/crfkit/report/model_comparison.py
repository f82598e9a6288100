"""Two models on the same data: how much they differ, whether by chance, and what each alone has right."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crfkit.data.label_codes import LabelCodes
from crfkit.exceptions import InputError
from crfkit.metrics.mcnemar import McNemar, mcnemar
from crfkit.metrics.resampling import Difference, bootstrap_difference
from crfkit.report.goodness import Goodness
from crfkit.report.mistakes import MistakeFinder
from crfkit.report.predictions import Predictions
from crfkit.report.sentences import shown_spans
from crfkit.report.spans import ShownSentence

_SHOWN = 20  # sentences on either side
_LONGEST = 80  # positions


class TypeDifference(NamedTuple):
    """F1 of one type under both models."""

    name: str
    n_true: int
    a: float
    b: float


class Contrast(NamedTuple):
    """A sentence that one model labels better."""

    number: int  # of the sequence in the data, from 1
    a: ShownSentence
    b: ShownSentence
    wrong_a: int  # mistakes
    wrong_b: int


class Comparison(NamedTuple):
    """Everything that the last section of a report shows."""

    names: tuple[str, str]
    differences: list[tuple[str, Difference]]
    tests: list[McNemar]
    types: list[TypeDifference]
    better_a: list[Contrast]
    better_b: list[Contrast]
    n_better: tuple[int, int]


def compare(
    names: tuple[str, str],
    a: Predictions,
    b: Predictions,
    good: tuple[Goodness, Goodness],
    words: Sequence[Sequence[str]],
    resamples: int,
    seed: int,
) -> Comparison:
    """Compare two models' predictions of the same sequences."""
    if not np.array_equal(a.pairs.offsets, b.pairs.offsets):
        raise InputError("both models must label the same sequences")
    true, found_a = _codes(a)
    _, found_b = _codes(b)
    segmented = a.spans is not None and b.spans is not None
    metrics: list[tuple[str, str, dict[str, Any]]] = [
        ("token accuracy", "token_accuracy", {}),
        ("sequences without a mistake", "sequence_accuracy", {}),
    ]
    if segmented:
        metrics.insert(0, ("F1", "segment_f1", {"scheme": a.scheme}))
    how: dict[str, Any] = {"n": resamples, "random_state": seed}
    differences = [
        (name, bootstrap_difference(true, found_a, found_b, metric, **how, **options))
        for name, metric, options in metrics
    ]
    tests = [
        mcnemar(true, found_a, found_b, level="token"),
        mcnemar(true, found_a, found_b, level="sequence"),
    ]
    if segmented:
        tests.insert(0, mcnemar(true, found_a, found_b, level="segment", scheme=a.scheme))
    better_a, better_b, n_better = _contrasts(a, b, words)
    return Comparison(names, differences, tests, _types(*good), better_a, better_b, n_better)


def _codes(found: Predictions) -> tuple[LabelCodes, LabelCodes]:
    pairs = found.pairs
    return LabelCodes(pairs.names, pairs.true, pairs.offsets), LabelCodes(
        pairs.names, pairs.pred, pairs.offsets
    )


def _types(a: Goodness, b: Goodness) -> list[TypeDifference]:
    others = {row.name: row for row in b.rows}
    found = [
        TypeDifference(row.name, row.n_true, row.f1.value, others[row.name].f1.value)
        for row in a.rows
        if row.name in others
    ]
    return sorted(found, key=lambda row: -abs(row.a - row.b) * row.n_true)


def _contrasts(
    a: Predictions, b: Predictions, words: Sequence[Sequence[str]]
) -> tuple[list[Contrast], list[Contrast], tuple[int, int]]:
    """Return sentences in which a has fewer mistakes, then b, the largest differences first; and how many."""
    finders = [MistakeFinder(one.pairs, one.spans) for one in (a, b)]
    wrong = [{i: len(some) for i, some in finder.wrong()} for finder in finders]
    gaps = {i: wrong[1].get(i, 0) - wrong[0].get(i, 0) for i in wrong[0].keys() | wrong[1].keys()}
    order = sorted(gaps, key=lambda i: (-abs(gaps[i]), int(a.pairs.lengths[i]), i))

    def contrast(i: int) -> Contrast:
        number, window = int(a.numbers[i]), (0, int(a.pairs.lengths[i]))
        sides = []
        for finder in finders:
            true, guessed = (shown_spans(some, window) for some in finder.segments(i))
            sides.append(ShownSentence(words[number], guessed, true))
        return Contrast(number + 1, sides[0], sides[1], wrong[0].get(i, 0), wrong[1].get(i, 0))

    better = [[i for i in order if sign * gaps[i] > 0] for sign in (1, -1)]
    shown = [[i for i in some if a.pairs.lengths[i] <= _LONGEST][:_SHOWN] for some in better]
    first, second = ([contrast(i) for i in some] for some in shown)
    return first, second, (len(better[0]), len(better[1]))
