"""How far probabilities can be trusted: reliability, expected calibration error, Brier score, thresholds.

Probabilities are calibrated if of all predictions with probability 0.8, four in five are right. The functions
here take the probability of each prediction and whether it was right. ``segment_outcomes`` and
``token_outcomes`` get both from predictions and true labels.

Naeini, Cooper and Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning" (AAAI 2015);
Guo et al., "On calibration of modern neural networks" (ICML 2017); Brier (1950).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.label_codes import LabelCodes, LabelSequences
from crfkit.exceptions import InputError
from crfkit.io.axes import new_axes
from crfkit.io.shown_table import ShownTable, TabularRecords
from crfkit.metrics.segment_rules import segment_rules

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Binning = Literal["width", "count"]


class Outcomes(NamedTuple):
    """The probability of each prediction, and whether it was right."""

    probability: FloatArray  # [M]
    right: BoolArray  # [M]


class Threshold(NamedTuple):
    """A threshold on the probability, and the predictions that reach it on the data it was chosen on."""

    probability: float
    precision: float  # share of them that is right
    kept: float  # share of all predictions that is at or above it
    recall: float  # share of all right predictions that is at or above it


@dataclass(frozen=True, repr=False)
class Reliability(TabularRecords):
    """Predictions by probability: in each bin their number, mean probability and share that is right."""

    edges: FloatArray  # [K+1] of the bins
    counts: IntArray  # [K]
    probability: FloatArray  # [K] mean; NaN if the bin is empty
    accuracy: FloatArray  # [K] share that is right; NaN if the bin is empty
    brier: float

    @property
    def ece(self) -> float:
        """Expected calibration error: the mean of ``|probability - accuracy|``, weighted by counts."""
        gaps = np.abs(self.probability - self.accuracy)[self.counts > 0]
        return float(gaps @ self.counts[self.counts > 0] / self.counts.sum())

    def _shown(self) -> ShownTable:
        rows = [
            [
                f"{self.edges[k]:.3f}–{self.edges[k + 1]:.3f}",
                *(f"{self.counts[k]:,}", f"{self.probability[k]:.3f}", f"{self.accuracy[k]:.3f}"),
            ]
            for k in np.flatnonzero(self.counts).tolist()
        ]
        words = f"expected calibration error {self.ece:.4f}, Brier score {self.brier:.4f}"
        return ShownTable(["probability", "number", "mean", "right"], [rows], [words])

    def _records(self) -> Iterable[dict[str, Any]]:
        for k in np.flatnonzero(self.counts).tolist():
            yield {
                "from": self.edges[k],
                "to": self.edges[k + 1],
                "number": self.counts[k],
                "probability": self.probability[k],
                "accuracy": self.accuracy[k],
            }

    def __str__(self) -> str:
        lines = [f"{'probability':>13}  {'number':>8}  {'mean':>6}  {'right':>6}"]
        for k in np.flatnonzero(self.counts).tolist():
            bounds = f"{self.edges[k]:.3f}–{self.edges[k + 1]:.3f}"
            lines.append(
                f"{bounds:>13}  {self.counts[k]:>8,}  {self.probability[k]:>6.3f}  {self.accuracy[k]:>6.3f}"
            )
        lines.append(f"expected calibration error {self.ece:.4f}, Brier score {self.brier:.4f}")
        return "\n".join(lines)

    def plot(self, ax: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the share that is right against the probability; the diagonal is perfect. Needs matplotlib.

        The area of a point shows the number of predictions. ``ax.figure`` is the figure; several calls with
        the same ``ax`` draw several curves.
        """
        if ax is None:
            ax = new_axes((4.6, 4.4))
        if not ax.lines:
            ax.plot([0, 1], [0, 1], color="0.7", linewidth=1)
            ax.set_xlabel("probability")
            ax.set_ylabel("share that is right")
        kept = self.counts > 0
        words = f"{'' if label is None else f'{label}: '}ECE {self.ece:.3f}"
        (line,) = ax.plot(self.probability[kept], self.accuracy[kept], linewidth=1.3, label=words)
        share = self.counts[kept] / self.counts.sum()
        ax.scatter(
            self.probability[kept], self.accuracy[kept], 8 + 300 * share, color=line.get_color(), alpha=0.5
        )
        ax.legend(fontsize=8, loc="upper left")
        return ax


def reliability(
    probability: npt.ArrayLike, right: npt.ArrayLike, *, n_bins: int = 15, binning: Binning = "width"
) -> Reliability:
    """Return the reliability table of predictions: their probabilities [M], and whether they were right [M].

    ``binning``: bins of equal "width", as is usual, or of equal "count".

    >>> reliability([0.9, 0.9, 0.9, 0.9], [True, True, True, False]).ece
    0.15
    """
    p, good = _checked(probability, right)
    if isinstance(n_bins, bool) or not isinstance(n_bins, (int, np.integer)) or n_bins < 1:
        raise InputError(f"n_bins must be a whole number above 0, got {n_bins!r}")
    if binning == "width":
        edges = np.linspace(0, 1, n_bins + 1)
        place = np.minimum((p * n_bins).astype(np.int64), n_bins - 1)
    elif binning == "count":
        order = np.argsort(p, kind="stable")
        place = np.empty(len(p), np.int64)
        place[order] = np.arange(len(p)) * n_bins // len(p)
        first = np.searchsorted(place[order], np.arange(n_bins))
        edges = np.append(p[order][np.minimum(first, len(p) - 1)], p.max())
    else:
        raise InputError(f"binning must be 'width' or 'count', got {binning!r}")
    counts = np.bincount(place, minlength=n_bins)
    with np.errstate(invalid="ignore"):
        mean = np.bincount(place, weights=p, minlength=n_bins) / counts
        accuracy = np.bincount(place, weights=good, minlength=n_bins) / counts
    return Reliability(edges, counts, mean, accuracy, brier_score(p, good))


def expected_calibration_error(
    probability: npt.ArrayLike, right: npt.ArrayLike, *, n_bins: int = 15, binning: Binning = "width"
) -> float:
    """Return the mean distance of probability and share that is right, over bins weighted by their counts."""
    return reliability(probability, right, n_bins=n_bins, binning=binning).ece


def brier_score(probability: npt.ArrayLike, right: npt.ArrayLike) -> float:
    """Return the mean squared difference of probability and outcome, which is 1 for right, 0 for wrong."""
    p, good = _checked(probability, right)
    return float(np.mean((p - good) ** 2))


def threshold_for_precision(
    probability: npt.ArrayLike, right: npt.ArrayLike, precision: float, *, confidence: float = 0.9
) -> Threshold | None:
    """Return the lowest threshold at which the predictions with at least this probability reach a precision.

    Choose it on held-out data. Other data will have another precision, so the threshold must reach the
    wanted one with some ``confidence``: by the lower end of Wilson's interval, one-sided. 0.5 takes the
    precision on the held-out data itself. If no threshold reaches the precision, the result is None.

    >>> p, right = [0.5, 0.6, 0.7, 0.8, 0.9], [False, True, True, True, True]
    >>> threshold_for_precision(p, right, 0.9, confidence=0.5)
    Threshold(probability=0.6, precision=1.0, kept=0.8, recall=1.0)
    """
    p, good = _checked(probability, right)
    if not 0 < precision <= 1:
        raise InputError(f"precision must be above 0 and at most 1, got {precision!r}")
    if not 0.5 <= confidence < 1:
        raise InputError(f"confidence must be at least 0.5 and below 1, got {confidence!r}")
    order = np.argsort(-p, kind="stable")
    n_right, n = np.cumsum(good[order]), np.arange(1, len(p) + 1)
    share, z2 = n_right / n, NormalDist().inv_cdf(confidence) ** 2
    bound = (share + z2 / (2 * n) - np.sqrt(z2 * (share * (1 - share) + z2 / (4 * n)) / n)) / (1 + z2 / n)
    last = np.append(p[order][1:] < p[order][:-1], True)  # predictions of equal probability stay together
    reached = np.flatnonzero(last & (bound >= precision))
    if not len(reached):
        return None
    k = int(reached[-1])
    recall = float(n_right[k] / max(1, good.sum()))
    return Threshold(float(p[order][k]), float(share[k]), float(n[k] / len(p)), recall)


def segment_outcomes(
    y: LabelSequences, found: Sequence[Iterable[tuple[int, int, Any, float]]], *, scheme: str | None = None
) -> Outcomes:
    """Return the probabilities of predicted segments, and whether y has exactly these segments.

    ``found`` is the result of ``predict_segments``: (start, stop, type, probability) of each segment of each
    sequence. The labels of y are read as :func:`segment_rules` does. If the model has tags that y lacks,
    name the ``scheme``.
    """
    codes = LabelCodes.of(y)
    if len(codes) != len(found):
        raise InputError(f"y has {len(codes)} sequences, but segments were given for {len(found)}")
    rules = segment_rules(codes.names, scheme)
    true = rules.find(codes.ids, codes.offsets)
    there = set(
        zip(
            true.sequence.tolist(),
            true.start.tolist(),
            true.stop.tolist(),
            [rules.types[kind] for kind in true.kind.tolist()],
            strict=True,
        )
    )
    pairs = [
        (probability, (i, start, stop, kind) in there)
        for i, segments in enumerate(found)
        for start, stop, kind, probability in segments
    ]
    return Outcomes(
        np.array([p for p, _ in pairs], np.float64), np.array([good for _, good in pairs], np.bool_)
    )


def token_outcomes(y: LabelSequences, marginals: Sequence[Sequence[Mapping[Any, float]]]) -> Outcomes:
    """Return the probability of each position's most probable label, and whether y has this label.

    ``marginals`` is the result of ``predict_marginals``. Positions whose label in y is None are left out.
    """
    if [len(labels) for labels in y] != [len(rows) for rows in marginals]:
        raise InputError("y and marginals must have the same sequences")
    pairs = []
    for labels, rows in zip(y, marginals, strict=True):
        for label, row in zip(labels, rows, strict=True):
            if label is not None:
                best = max(row, key=row.__getitem__)
                pairs.append((row[best], best == label))
    return Outcomes(
        np.array([p for p, _ in pairs], np.float64), np.array([good for _, good in pairs], np.bool_)
    )


def _checked(probability: npt.ArrayLike, right: npt.ArrayLike) -> tuple[FloatArray, BoolArray]:
    p, good = np.asarray(probability, np.float64), np.asarray(right)
    if p.ndim != 1 or p.shape != good.shape:
        raise InputError(f"expected one probability and outcome each, got shapes {p.shape} and {good.shape}")
    if not len(p):
        raise InputError("there are no predictions, so nothing can be said about their probabilities")
    if not ((p >= 0) & (p <= 1)).all():
        raise InputError(f"probabilities must be from 0 to 1, got {p[~((p >= 0) & (p <= 1))][0]}")
    if good.dtype != np.bool_ and not np.isin(good, (0, 1)).all():
        raise InputError("outcomes must be True or False: whether a prediction was right")
    return p, good.astype(np.bool_)
