"""McNemar's test whether two taggers differ, based on the units where exactly one of them is right.

McNemar (1947); the exact form is the binomial test that each tagger is right in half of these units.
Dietterich (1998) recommends it for comparing classifiers on one test set.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import erfc, exp, lgamma, log, sqrt
from typing import Any, Literal

import numpy as np

from crfkit.arrays import BoolArray, IntArray
from crfkit.data.label_codes import LabelSequences
from crfkit.exceptions import InputError
from crfkit.io.shown_table import ShownTable, TabularRecords
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.segments import SegmentSpans, forgiving_spans, reading_for, strict_spans
from crfkit.metrics.tokens import right_sequences


@dataclass(frozen=True, repr=False)
class McNemar(TabularRecords):
    """How often both taggers, one of them or none is right, and the p-values of the difference."""

    level: str
    both_right: int
    only_a: int
    only_b: int
    both_wrong: int
    p_value: float  # exact binomial, two-sided
    chi2: float  # with continuity correction
    chi2_p_value: float

    def _shown(self) -> ShownTable:
        return ShownTable(
            [f"{self.level}s", "b right", "b wrong"],
            [
                [
                    ["a right", str(self.both_right), str(self.only_a)],
                    ["a wrong", str(self.only_b), str(self.both_wrong)],
                ]
            ],
            [f"p = {self.p_value:.4g} (exact; chi2 = {self.chi2:.4g}, p = {self.chi2_p_value:.4g})"],
        )

    def _records(self) -> list[dict[str, Any]]:
        return [dict(vars(self))]


def mcnemar(
    y_true: LabelSequences,
    y_a: LabelSequences,
    y_b: LabelSequences,
    *,
    level: Literal["token", "sequence", "segment"] = "token",
    scheme: str | None = None,
    strict: bool = False,
) -> McNemar:
    """Compare two taggers on the same sequences.

    ``level`` is the unit that is right or wrong. The test assumes independent units, but tokens of a sentence
    are not: prefer sequences if there are enough of them. With ``"segment"`` the units are all true segments
    and those that a tagger predicted. A tagger is right about a true segment if it predicted it, and about
    any other if it did not. So missed and wrongly predicted segments both count. ``scheme`` and ``strict``
    define how segments are read, as in ``segment_scores`` and ``strict_segment_scores``.
    """
    a, b = Pairs.of(y_true, y_a, ("y_true", "y_a")), Pairs.of(y_true, y_b, ("y_true", "y_b"))
    if level == "token":
        return _test(level, a.right, b.right)
    if level == "sequence":
        return _test(level, right_sequences(a) > 0, right_sequences(b) > 0)
    if level != "segment":
        raise InputError(f"level must be 'token', 'sequence' or 'segment', got {level!r}")
    names = list(dict.fromkeys(a.names + b.names))
    read = []
    for pairs in (a.over(names), b.over(names)):
        if strict:
            read.append(strict_spans(pairs, scheme or "IOB2"))
        else:
            read.append(forgiving_spans(pairs, reading_for(names, scheme)))
    true, found_a, kinds = read[0]
    found_b = read[1][1]
    there, keys_a, keys_b = (_keys(spans, a.n_tokens, len(kinds)) for spans in (true, found_a, found_b))
    every = np.unique(np.concatenate([there, keys_a, keys_b]))
    is_there = np.isin(every, there)
    return _test(level, np.isin(every, keys_a) == is_there, np.isin(every, keys_b) == is_there)


def _keys(spans: SegmentSpans, n_tokens: int, n_types: int) -> IntArray:
    """Return a number for each segment [M], equal for equal segments."""
    return (spans.starts * (n_tokens + 1) + spans.ends) * n_types + spans.types


def _test(level: str, right_a: BoolArray, right_b: BoolArray) -> McNemar:
    only_a, only_b = int(np.sum(right_a & ~right_b)), int(np.sum(right_b & ~right_a))
    unlike = only_a + only_b
    exact = min(1.0, 2 * _tail_of_fair_coin(min(only_a, only_b), unlike)) if unlike else 1.0
    chi2 = max(0, abs(only_a - only_b) - 1) ** 2 / unlike if unlike else 0.0
    return McNemar(
        level,
        int(np.sum(right_a & right_b)),
        only_a,
        only_b,
        int(np.sum(~right_a & ~right_b)),
        exact,
        chi2,
        erfc(sqrt(chi2 / 2)),  # the upper tail of chi-squared with one degree of freedom
    )


def _tail_of_fair_coin(k: int, n: int) -> float:
    """Return P(at most k heads in n throws) = 2⁻ⁿ Σ_i≤k C(n, i), for k up to n/2."""
    largest = exp(lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1) - n * log(2))
    total = term = 1.0  # relative to the largest
    while k > 0 and term > 1e-17 * total:
        term *= k / (n - k + 1)
        total += term
        k -= 1
    return largest * total
