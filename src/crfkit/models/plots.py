"""Pictures of a fitted model, as matplotlib's axes: what all sequence labellers can draw.

Each method draws into ``ax``, or into new axes that ``pyplot`` does not know, and returns the axes.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.io.axes import draw_matrix, new_axes
from crfkit.models.fitted_model import FittedModel
from crfkit.optional import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WIDE = 50.0  # objectives whose largest is this many times the smallest are drawn on a log scale


class Plots:
    """The plots of an estimator that labels sequences. They need matplotlib."""

    history_: list[dict[str, Any]]

    @abstractmethod
    def _fitted(self) -> FittedModel: ...

    @abstractmethod
    def _given(self, X: Any, lengths: Any = None) -> tuple[Any, Any, Any]: ...

    @abstractmethod
    def _labelled(self, X: Any, y: Any, lengths: Any) -> tuple[Any, Any, Any]: ...

    def plot_transitions(self, ax: Axes | None = None, *, X: Any = None, lengths: Any = None) -> Axes:
        """Draw the scores of label pairs: previous labels in rows, next ones in columns.

        Empty cells are pairs without a score of their own. A ``TreeCRF`` in the joint form scores pairs by
        the input, so it needs X: it draws the mean over the positions of X, minus the mean of each column.
        """
        fitted = self._fitted()
        scores = fitted.pair_scores()
        if scores is None:
            if X is None:
                raise InputError(
                    "this model scores label pairs by the input: plot_transitions(X=…) draws the mean over X"
                )
            X, lengths, _ = self._given(X, lengths)
            scores = _mean_pairs(fitted, X, lengths)
        ax = draw_pairs(scores, fitted.classes, ax)
        ax.set_xlabel("next label")
        ax.set_ylabel("label")
        return ax

    def plot_confusion(
        self, X: Any, y: Any = None, ax: Axes | None = None, *, lengths: Any = None, normalise: bool = True
    ) -> Axes:
        """Draw how often each true label is given which label: see ``ConfusionMatrix.plot``."""
        from crfkit.metrics import confusion_matrix

        X, y, lengths = self._labelled(X, y, lengths)
        found = self._fitted().predict(X, lengths=lengths)
        return confusion_matrix(y, found).plot(ax, normalise=normalise)

    def plot_reliability(
        self,
        X: Any,
        y: Any = None,
        ax: Axes | None = None,
        *,
        of: Literal["labels", "segments"] = "labels",
        lengths: Any = None,
        n_bins: int = 15,
        label: str | None = None,
    ) -> Axes:
        """Draw which share of the predictions is right against their probability: see ``Reliability.plot``.

        ``of``: the most probable label of each position, or the predicted segments. Use held-out data.
        """
        from crfkit.metrics import reliability, segment_outcomes, token_outcomes

        X, y, lengths = self._labelled(X, y, lengths)
        fitted = self._fitted()
        if of == "labels":
            outcomes = token_outcomes(y, fitted.predict_marginals(X, lengths=lengths))
        elif of == "segments":
            outcomes = segment_outcomes(y, fitted.predict_segments(X, lengths=lengths))
        else:
            raise InputError(f"of must be 'labels' or 'segments', got {of!r}")
        return reliability(*outcomes, n_bins=n_bins).plot(ax, label=label)

    def plot_history(self, ax: Axes | None = None) -> Axes:
        """Draw the objective over the iterations of training, and the accuracy on dev data if known."""
        self._fitted()
        return draw_history(self.history_, ax)


def _mean_pairs(fitted: FittedModel, X: Any, lengths: Any) -> FloatArray:
    """Return the mean scores [L, L] of label pairs, around the mean of each next label."""
    L = len(fitted.classes)
    total, number = np.zeros((L, L)), 0
    for lattice in (piece.lattice for piece in fitted.pieces(X, lengths)):
        inner = np.ones(lattice.n_positions, np.bool_)
        inner[lattice.offsets[:-1][np.diff(lattice.offsets) > 0]] = False
        total += lattice.edge[inner].sum(axis=0)
        number += int(inner.sum())
    if not number:
        raise InputError("X has no sequence of two positions or more, so there are no label pairs to draw")
    mean = total / number
    centred: FloatArray = mean - mean.mean(axis=0)
    return centred


def draw_pairs(scores: FloatArray, classes: Sequence[Any], ax: Axes | None = None) -> Axes:
    """Draw scores [L, L] of pairs of labels; NaN: an empty cell."""
    names = [str(label) for label in classes]
    tenths = np.round(scores, 1) + 0.0  # without -0.0
    written = [["" if np.isnan(score) else f"{score:.1f}" for score in row] for row in tenths.tolist()]
    return draw_matrix(scores, names, names, ax, signed=True, written=written, name="score")


def draw_shares(names: Sequence[str], shares: FloatArray, n: int, ax: Axes | None = None) -> Axes:
    """Draw the n largest of some shares as bars, the largest on top."""
    largest = np.argsort(-shares, kind="stable")[:n]
    ax = new_axes((6.0, 0.8 + 0.26 * len(largest))) if ax is None else ax
    bars = ax.barh(range(len(largest)), 100 * shares[largest], color="C0")
    ax.bar_label(bars, fmt="%.1f", padding=2, fontsize=8)
    ax.set_yticks(range(len(largest)), [names[k] for k in largest.tolist()], parse_math=False, fontsize=9)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.margins(x=0.1)
    return ax


def draw_history(history: Sequence[Mapping[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw the objective (or risk) of each record, and the dev accuracy at the right side."""
    if not history:
        raise InputError("there is no history of training to draw: the model was trained by another tool")
    ax = new_axes() if ax is None else ax
    name = "objective" if "objective" in history[0] else "risk"
    steps = [record.get("iteration", k) for k, record in enumerate(history, start=1)]
    values = [float(record[name]) for record in history]
    cuts = [
        0,
        *(k for k in range(1, len(steps)) if steps[k] <= steps[k - 1]),
        len(steps),
    ]  # of several members
    for start, stop in pairwise(cuts):
        marker = "." if stop - start < 60 else ""
        ax.plot(steps[start:stop], values[start:stop], color="C0", marker=marker)
    if min(values) > 0 and max(values) > _WIDE * min(values):
        ax.set_yscale("log")
    ax.set_xlabel("iteration" if "iteration" in history[0] else "round")
    ax.set_ylabel(name, color="C0")
    ax.xaxis.set_major_locator(
        needed("matplotlib.ticker", "a plot").MaxNLocator(integer=True, steps=[1, 2, 5, 10])
    )
    known = [(k, record["dev_accuracy"]) for k, record in enumerate(history) if "dev_accuracy" in record]
    if known:
        beside = ax.twinx()
        places = [steps[k] for k, _ in known]
        beside.plot(places, [100 * share for _, share in known], color="C1", linewidth=1.2)
        beside.set_ylabel("dev accuracy, %", color="C1")
    return ax
