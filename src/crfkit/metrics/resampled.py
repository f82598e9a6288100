"""Scores of one or two labellings on sequences drawn or swapped at random.

``Summed`` is for crfkit's metrics, which are functions of sums over sequences; ``Rescored`` calls a function
for each sample. Both draw in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.label_codes import LabelCodes, LabelSequences
from crfkit.exceptions import InputError
from crfkit.metrics import segment_scores, tokens
from crfkit.metrics.additive import ADDITIVE, BY_TOKEN, Additive, additive
from crfkit.metrics.pairs import Pairs

Metric = str | Callable[..., float]
Level = Literal["sequence", "token"]

_BLOCK = 1 << 22  # numbers drawn at a time


class Summed:
    """Scores from sums of counts; D labellings, one or two."""

    def __init__(self, labellings: Sequence[Additive], times: IntArray) -> None:
        self._labellings = labellings
        self._times = times  # [N] how often each sequence occurs
        self.values = np.array([one.value(times @ one.counts) for one in labellings])  # [D]

    def resample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return the scores on n data sets drawn with replacement [D, n]."""
        sums = drawn_sums([one.counts for one in self._labellings], self._times, n, rng)
        return np.stack([one.value(drawn) for one, drawn in zip(self._labellings, sums, strict=True)])

    def swap(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return the first score minus the second after each of n swappings of the two labellings [n]."""
        a, b = self._labellings
        sum_a, sum_b = self._times @ a.counts, self._times @ b.counts  # [K]
        samples = np.empty(n)
        for block in _blocks(n, len(self._times)):
            swapped = rng.binomial(self._times, 0.5, size=(block.stop - block.start, len(self._times)))
            moved = swapped.astype(np.float64) @ (b.counts - a.counts)  # [block, K]
            samples[block] = a.value(sum_a + moved) - b.value(sum_b - moved)
        return samples


def drawn_sums(
    tables: Sequence[FloatArray], times: IntArray, n: int, rng: np.random.Generator
) -> list[FloatArray]:
    """Return sums of counts over n data sets drawn with replacement, [n, K] for each table [N, K].

    All tables are summed over the same draws; ``times`` [N] is how often each sequence occurs in the data.
    """
    sums = [np.empty((n, table.shape[1])) for table in tables]
    for block in _blocks(n, len(times)):
        weights = _drawn(times, block.stop - block.start, rng)  # [block, N]
        for total, table in zip(sums, tables, strict=True):
            total[block] = weights @ table
    return sums


def _drawn(times: IntArray, n: int, rng: np.random.Generator) -> FloatArray:
    """Draw how often each sequence occurs in each of n data sets [n, N]."""
    size, total = len(times), int(times.sum())
    if size < total:  # some sequences occur many times
        return rng.multinomial(total, times / total, size=n).astype(np.float64)
    drawn = rng.integers(size, size=(n, size)) + size * np.arange(n)[:, None]
    return np.bincount(drawn.reshape(-1), minlength=n * size).reshape(n, size).astype(np.float64)


class Rescored:
    """Scores by calling a metric; D labellings, one or two."""

    def __init__(self, metric: Callable[..., float], options: dict[str, Any], pairs: Sequence[Pairs]) -> None:
        self._metric, self._options = metric, options
        self._true = LabelCodes(pairs[0].names, pairs[0].true, pairs[0].offsets).lists()  # N of them
        self._labellings = [LabelCodes(pair.names, pair.pred, pair.offsets).lists() for pair in pairs]
        self.values = np.array([self._score(self._true, pred) for pred in self._labellings])  # [D]

    def resample(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return the scores on n data sets drawn with replacement [D, n]."""
        samples = np.empty((len(self._labellings), n))
        for k in range(n):
            drawn = rng.integers(len(self._true), size=len(self._true)).tolist()
            true = [self._true[i] for i in drawn]
            samples[:, k] = [self._score(true, [pred[i] for i in drawn]) for pred in self._labellings]
        return samples

    def swap(self, n: int, rng: np.random.Generator) -> FloatArray:
        """Return the first score minus the second after each of n swappings of the two labellings [n]."""
        both = list(zip(*self._labellings, strict=True))  # N pairs of labels
        samples = np.empty(n)
        for k in range(n):
            swapped = rng.binomial(1, 0.5, size=len(both)).tolist()
            a, b = ([pair[s ^ side] for pair, s in zip(both, swapped, strict=True)] for side in (0, 1))
            samples[k] = self._score(self._true, a) - self._score(self._true, b)
        return samples

    def _score(self, true: LabelSequences, pred: LabelSequences) -> float:
        return float(self._metric(true, pred, **self._options))


def scores_to_resample(
    metric: Metric, options: dict[str, Any], level: Level, y_true: LabelSequences, *y: LabelSequences
) -> Summed | Rescored:
    """Check and score one or two labellings of the same sequences."""
    called = ("y_pred",) if len(y) == 1 else ("y_a", "y_b")
    pairs = [Pairs.of(y_true, labels, ("y_true", name)) for labels, name in zip(y, called, strict=True)]
    if not pairs[0].n_sequences:
        raise InputError("no sequences to score")
    names = list(dict.fromkeys(name for pair in pairs for name in pair.names))
    pairs = [pair.over(names) for pair in pairs]  # counts of both must mean the same to be swapped
    own = _own_name(metric)
    times = np.ones(pairs[0].n_sequences, dtype=np.int64)  # [N]
    if level == "token":
        if own not in BY_TOKEN:
            raise InputError(
                f"level='token' is only for {' and '.join(BY_TOKEN)}, not for {own or metric!r}, which "
                "scores more than one token at a time; use level='sequence'"
            )
        pairs, times = _distinct_tokens([pair.with_tokens() for pair in pairs])
    elif level != "sequence":
        raise InputError(f"level must be 'sequence' or 'token', got {level!r}")
    if own is None and callable(metric):
        return Rescored(metric, options, pairs)
    return Summed([additive(str(own), pair, options) for pair in pairs], times)


def _own_name(metric: Metric) -> str | None:
    """Return the name of one of crfkit's metrics; None for other functions."""
    if callable(metric):
        name = getattr(metric, "__name__", "")
        own = getattr(tokens, name, None) or getattr(segment_scores, name, None)
        return name if name in ADDITIVE and own is metric else None
    if metric not in ADDITIVE:
        raise InputError(f"metric must be a function, or one of {', '.join(ADDITIVE)}; got {metric!r}")
    return metric


def _distinct_tokens(pairs: list[Pairs]) -> tuple[list[Pairs], IntArray]:
    """Return each combination of labels as a sequence of one token, and how often it occurs."""
    n = len(pairs[0].names)
    keys = pairs[0].true  # [ΣT] labels as the digits of a number
    for pair in pairs:
        keys = keys * n + pair.pred
    cells, times = np.unique(keys, return_counts=True)
    digits = [cells // n**k % n for k in range(len(pairs), -1, -1)]  # 1 + D arrays
    offsets = np.arange(len(cells) + 1)
    return [
        replace(pair, true=digits[0], pred=pred, offsets=offsets)
        for pair, pred in zip(pairs, digits[1:], strict=True)
    ], times


def _blocks(n: int, width: int) -> Iterator[slice]:
    step = max(1, _BLOCK // width)
    return (slice(start, min(start + step, n)) for start in range(0, n, step))
