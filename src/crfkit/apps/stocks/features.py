"""A stock as a sequence to label: Raise or Fall of the smoothed price, from the changes of the days before.

The features of Chen, Chen, Brent and Tenney (KDD 2009): the ratio by which the smoothed price changed is
divided into ranges, an atom says that it lies in one of them, and a feature of order 3 is the conjunction of
the atoms of the last three days. With 10 ranges that makes 1,000 conjunctions, 2,000 features with two
labels. To these are added conjunctions of the last two days and of the last one, to fall back on where three
days were hardly seen, and the same changes as numbers: a range does not tell how near to its limit a change
was. A number is the change in units of what the price has moved in a day lately, because that decides how
easily it turns.

What a day is predicted from is known the evening before: position t has the change ratios of t-1, t-2, t-3.
The ranges are fitted to the days before the first prediction. Zero is always a limit between two of them.

Training is that of each label given the one before it ("day"), or that of the paper, the likelihood of all
labels of the past together ("chain"). The former is what a forecast is asked for, because today's label is
known; in a chain the changes of tomorrow help to explain the label of today, which no forecast can use. By
the day, every day is a sequence of its own, and today's label one of its attributes.

In place of the change ratio one may observe the distance of the price to its threshold (``smoothing.py``), as
a share of the price. For ema the two are the same but for a factor; for other smoothers the distance is what
decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from crfkit.apps.stocks.prices import Prices
from crfkit.apps.stocks.smoothing import Smoothed, smooth, warm_up_days
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.sequences import Sequences
from crfkit.exceptions import InputError

_LONGER = 0.3  # factor on a conjunction's value for each further day
_BESIDE_NUMBERS = 0.1  # value of the shortest conjunction if there are numbers, which matter more
_MOST_NUMBERS = 250
_LATELY = 60  # days, the span of the average daily move

FALL, RAISE = 0, 1
LABELS = ("Fall", "Raise")


@dataclass(frozen=True)
class Settings:
    """Settings for smoothing, features and labels."""

    smoothing: str = "ema"
    span: int = 10  # days
    ranges: int = 10  # of change ratios; even
    orders: tuple[int, ...] = (1, 2, 3)  # days in a conjunction; the paper's model has (3,)
    observe: str = "change"  # of the smoothed price; or "distance" of the price to its threshold
    training: str = "day"  # each label given the one before; or "chain": all together, as in the paper
    numbers: int = 3  # days whose change is told as a number, too; 0: ranges alone, as in the paper

    def __post_init__(self) -> None:
        if self.ranges < 2 or self.ranges % 2:
            raise InputError(
                f"ranges must be an even number of at least 2 (half of them for falls), got {self.ranges}"
            )
        if self.observe not in ("change", "distance"):
            raise InputError(f"observe must be 'change' or 'distance', got {self.observe!r}")
        if self.training not in ("chain", "day"):
            raise InputError(f"training must be 'chain' or 'day', got {self.training!r}")
        warm_up_days(self.smoothing, self.span)  # raises an error for unknown methods and bad spans
        if not self.orders or min(self.orders) < 1 or len(set(self.orders)) < len(self.orders):
            raise InputError(f"orders must be different numbers of days from 1 on, got {self.orders}")
        if not 0 <= self.numbers <= _MOST_NUMBERS:
            raise InputError(f"numbers must be 0 to {_MOST_NUMBERS} days, got {self.numbers}")
        if self.n_attributes > 1_000_000:
            raise InputError(
                f"{self.ranges} ranges over {max(self.orders)} days make {self.n_attributes:,} conjunctions; "
                "take fewer"
            )

    @property
    def n_attributes(self) -> int:
        """Return A: all conjunctions, seen or not; numbers; today's label if days are trained separately."""
        return self.n_conjunctions + self.numbers + (2 if self.training == "day" else 0)

    @property
    def n_conjunctions(self) -> int:
        """Return the number of conjunctions of ranges, of all orders."""
        return sum(self.ranges**order for order in self.orders)

    @property
    def days(self) -> int:
        """Return how many days the attributes look back."""
        return max(*self.orders, self.numbers)

    @property
    def first(self) -> int:
        """Return the first day of a stock with a label and all its attributes."""
        return warm_up_days(self.smoothing, self.span) + self.days

    @property
    def conjunction_values(self) -> list[float]:
        """Return one value per order; longer conjunctions have smaller values, so the penalty is stronger."""
        shortest = min(self.orders)
        largest = _BESIDE_NUMBERS if self.numbers else 1.0
        return [largest * _LONGER ** (order - shortest) for order in self.orders]


@dataclass(frozen=True)
class Stock:
    """A stock as a sequence: position i is day ``first + i``."""

    prices: Prices
    smoothed: Smoothed
    first: int  # the first day with a label and all its attributes
    observed: FloatArray  # [D] what the ranges are made of: the change, or the distance
    scaled: FloatArray  # [D] what the numbers are: the same in units of what the price has moved in a day
    labels: IdArray  # [D] of each day's smoothed price: RAISE, or FALL where it does not rise
    attributes: IdArray  # [D, K] of the day, known the evening before
    values: FloatArray  # [D, K] of the attributes
    limits: FloatArray  # [ranges - 1]
    settings: Settings

    @property
    def ticker(self) -> str:
        return self.prices.ticker

    @property
    def n_days(self) -> int:
        return len(self.labels)

    def position(self, day: int) -> int:
        """Return the position of a day in the sequence."""
        return day - self.first

    def sequences(self) -> Sequences:
        """Return all days from ``first`` on: one sequence, or one per day if days are trained separately."""
        shown = self.attributes[self.first :]
        n, k = shown.shape
        chain = self.settings.training == "chain"
        return Sequences(
            offsets=np.array([0, n], np.int64) if chain else np.arange(n + 1, dtype=np.int64),
            indptr=np.arange(0, n * k + 1, k, dtype=np.int64),
            indices=np.ascontiguousarray(shown).ravel(),
            values=np.ascontiguousarray(self.values[self.first :]).ravel(),
            n_attributes=self.settings.n_attributes,
        )


def range_limits(ratios: FloatArray, ranges: int) -> FloatArray:
    """Return limits that divide falls and rises each into ranges/2 ranges with equally many days; 0 is one.

    [ranges - 1], rising; a ratio belongs to range i if i limits lie below it.
    """
    shares = np.arange(1, ranges // 2) / (ranges // 2)
    falls, rises = ratios[ratios <= 0], ratios[ratios > 0]
    return np.concatenate(
        [
            np.quantile(falls, shares) if len(falls) else np.zeros(len(shares)),
            [0.0],
            np.quantile(rises, shares) if len(rises) else np.zeros(len(shares)),
        ]
    )


def make_stock(prices: Prices, settings: Settings, fitted_until: int) -> Stock:
    """Return the sequence of a stock; its ranges are fitted to the first ``fitted_until`` days."""
    smoothed = smooth(prices.close, settings.smoothing, settings.span)
    change, distance = smoothed.change, 1 - smoothed.threshold / prices.close
    observed = change if settings.observe == "change" else distance
    first = settings.first
    if not first < fitted_until <= len(prices):
        raise InputError(
            f"{prices.source}: {prices.ticker} has {len(prices)} days, {fitted_until} of them to learn from; "
            f"a span of {settings.span} and features over {settings.days} days need more than {first}"
        )
    limits = range_limits(observed[smoothed.warm_up : fitted_until], settings.ranges)
    ranges = np.searchsorted(limits, observed, side="left")  # [D] how many limits lie below
    labels = np.zeros(len(prices), np.int32)
    labels[1:] = smoothed.values[1:] > smoothed.values[:-1]
    scaled = _scaled(observed, prices.close, slice(first, fitted_until))
    attributes, values = _attributes(ranges, scaled, labels, settings)
    return Stock(prices, smoothed, first, observed, scaled, labels, attributes, values, limits, settings)


def _attributes(
    ranges: IntArray, scaled: FloatArray, labels: IdArray, settings: Settings
) -> tuple[IdArray, FloatArray]:
    """Return the attributes of each day, from the days before it, and their values; both [D, K]."""
    D = len(ranges)
    attributes, values = [_conjunctions(ranges, settings)], [np.tile(settings.conjunction_values, (D, 1))]
    if settings.numbers:
        attributes.append(np.tile(settings.n_conjunctions + np.arange(settings.numbers), (D, 1)))
        values.append(earlier_days(scaled, settings.numbers))
    if settings.training == "day":
        today = np.concatenate([[0], labels[:-1]]) + settings.n_attributes - 2
        attributes.append(today[:, None])
        values.append(np.ones((D, 1)))
    return np.hstack(attributes).astype(np.int32), np.hstack(values)


def earlier_days(series: FloatArray, n: int) -> FloatArray:
    """Return the values of a series 1, 2, …, n days before each day [D, n]; 0 before it begins."""
    found = np.zeros((len(series), n))
    for ago in range(1, n + 1):
        found[ago:, ago - 1] = series[:-ago]
    return found


def _scaled(observed: FloatArray, close: FloatArray, fitted: slice) -> FloatArray:
    """Scale to units of the recent daily move of the price [D]; the spread on the fitted days is 1.

    The recent move is an exponential average of squared moves, corrected for the start of the series.
    """
    moves = np.diff(np.log(close), prepend=np.log(close[0])) ** 2  # [D]
    kept = 1 - 2 / (_LATELY + 1)
    total = weight = 0.0
    scaled = np.zeros(len(close))
    for t in range(1, len(close)):
        total, weight = kept * total + moves[t], kept * weight + 1
        if total > 0:  # 0 if the price has never moved; then there is no change to scale
            scaled[t] = observed[t] / np.sqrt(total / weight)
    return scaled / (float(scaled[fitted].std()) or 1.0)


def _conjunctions(ranges: IntArray, settings: Settings) -> IdArray:
    """Return the number of the conjunction of each order, from the days before [D, K]."""
    found = np.zeros((len(ranges), len(settings.orders)), np.int32)
    base = 0
    for k, order in enumerate(settings.orders):
        number = np.zeros(len(ranges), np.int64)
        for ago in range(1, order + 1):
            earlier = np.concatenate([np.zeros(ago, np.int64), ranges])[: len(ranges)]
            number = number * settings.ranges + earlier
        found[:, k] = base + number
        base += settings.ranges**order
    return found
