"""Confidence intervals of scores, and tests of the difference of two taggers, by resampling sequences.

- ``bootstrap``: an interval for a score (Efron and Tibshirani 1993, percentile intervals).
- ``bootstrap_difference``: an interval and a p-value for the difference of two taggers on the same sequences
  (the paired bootstrap; Berg-Kirkpatrick, Burkett and Klein 2012).
- ``randomisation_test``: a p-value for the same, by swapping the two taggers' labels at random (Noreen 1989,
  Yeh 2000).

Sequences are drawn, not tokens, because errors within a sentence are correlated: intervals from single tokens
are too narrow. crfkit's metrics are resampled as sums of counts (:mod:`crfkit.metrics.additive`); any other
function of (y_true, y_pred) works as well, but more slowly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.label_codes import LabelSequences
from crfkit.exceptions import InputError
from crfkit.io.shown_table import ShownTable, TabularRecords
from crfkit.metrics.resampled import Level, Metric, scores_to_resample

RandomState = int | np.random.Generator | None


class _OneRow(TabularRecords):
    """Numbers as a table of one row; the resampled scores are left out."""

    samples: FloatArray  # [n]

    def _records(self) -> list[dict[str, float]]:
        return [{name: value for name, value in vars(self).items() if name != "samples"}]

    def _shown(self) -> ShownTable:
        (record,) = self._records()
        signed = ("value", "low", "high") if "b" in record else ()
        cells = []
        for name, value in record.items():
            if name == "confidence":
                cells.append(f"{100 * value:g} %")
            elif name == "p_value":
                cells.append(f"{value:.4g}")
            else:
                cells.append(f"{value:+.4f}" if name in signed else f"{value:.4f}")
        names = {"value": "a - b" if signed else "score", "p_value": "p"}
        words = f"{len(self.samples):,} resamples"
        return ShownTable([names.get(name, name) for name in record], [[cells]], [words])


@dataclass(frozen=True, repr=False)
class Interval(_OneRow):
    """A score and the interval in which it lies with the given confidence; prints as a table."""

    value: float
    low: float
    high: float
    confidence: float
    samples: FloatArray  # [n] the score of each resampled data set


@dataclass(frozen=True, repr=False)
class Difference(_OneRow):
    """The scores of two taggers, ``value`` = a - b with its interval, and the p-value of the difference."""

    a: float
    b: float
    value: float
    low: float
    high: float
    confidence: float
    p_value: float  # two-sided
    samples: FloatArray  # [n] a - b on each resampled data set


@dataclass(frozen=True, repr=False)
class RandomisationTest(_OneRow):
    """The scores of two taggers, ``value`` = a - b, and the p-value of the difference."""

    a: float
    b: float
    value: float
    p_value: float  # two-sided
    samples: FloatArray  # [n] a - b after each swapping


def bootstrap(
    y_true: LabelSequences,
    y_pred: LabelSequences,
    metric: Metric = "segment_f1",
    *,
    n: int = 1000,
    level: Level = "sequence",
    confidence: float = 0.95,
    random_state: RandomState = None,
    **options: Any,
) -> Interval:
    """Return an interval for a score: the middle of its values on ``n`` data sets drawn from this one.

    ``metric`` is the name of one of crfkit's metrics (``"token_accuracy"``, ``"token_f1"``,
    ``"sequence_accuracy"``, ``"segment_f1"``, ``"segment_precision"``, ``"segment_recall"``,
    ``"strict_segment_f1"``), the function itself, or any function of (y_true, y_pred). It gets ``options``.
    ``level="token"`` draws tokens, for metrics of tokens.
    """
    _check_confidence(confidence)
    scores = scores_to_resample(metric, options, level, y_true, y_pred)
    samples = scores.resample(n, _generator(n, random_state))[0]
    return Interval(float(scores.values[0]), *_middle(samples, confidence), confidence, samples)


def bootstrap_difference(
    y_true: LabelSequences,
    y_a: LabelSequences,
    y_b: LabelSequences,
    metric: Metric = "segment_f1",
    *,
    n: int = 1000,
    level: Level = "sequence",
    confidence: float = 0.95,
    random_state: RandomState = None,
    **options: Any,
) -> Difference:
    """Return by how much tagger a is better than tagger b, on the same ``n`` data sets drawn from this one.

    The p-value is the share of draws whose difference deviates from the observed one by at least as much as
    the observed one from zero: how often equally good taggers would differ this much. Parameters are those of
    ``bootstrap``.
    """
    _check_confidence(confidence)
    scores = scores_to_resample(metric, options, level, y_true, y_a, y_b)
    samples_a, samples_b = scores.resample(n, _generator(n, random_state))
    a, b = map(float, scores.values)
    samples = samples_a - samples_b
    p_value = _p_value(samples - (a - b), a - b)
    return Difference(a, b, a - b, *_middle(samples, confidence), confidence, p_value, samples)


def randomisation_test(
    y_true: LabelSequences,
    y_a: LabelSequences,
    y_b: LabelSequences,
    metric: Metric = "segment_f1",
    *,
    n: int = 1000,
    level: Level = "sequence",
    random_state: RandomState = None,
    **options: Any,
) -> RandomisationTest:
    """Test whether taggers a and b differ: swap their labels in a random half of the sequences, ``n`` times.

    If they were equally good, swapping would not matter. The p-value is the share of swaps with a difference
    at least as large as the observed one. Parameters are those of ``bootstrap``.
    """
    scores = scores_to_resample(metric, options, level, y_true, y_a, y_b)
    samples = scores.swap(n, _generator(n, random_state))
    a, b = map(float, scores.values)
    return RandomisationTest(a, b, a - b, _p_value(samples, a - b), samples)


def _middle(samples: FloatArray, confidence: float) -> tuple[float, float]:
    low, high = np.quantile(samples, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def _p_value(samples: FloatArray, observed: float) -> float:
    """Return the share of samples at least as large as the observed one, which is included: never 0."""
    beyond = int(np.count_nonzero(np.abs(samples) >= abs(observed) - 1e-12))  # allows for rounding
    return (beyond + 1) / (len(samples) + 1)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise InputError(f"confidence must be between 0 and 1, got {confidence!r}")


def _generator(n: int, random_state: RandomState) -> np.random.Generator:
    if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
        raise InputError(f"n, the number of samples, must be a whole number above 0; got {n!r}")
    return np.random.default_rng(random_state)
