"""The warning that a trained model never predicts some of its labels (docs/imbalance.md)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels
from crfkit.exceptions import InputWarning
from crfkit.warn import warn

UNPREDICTED = "the model never predicts"  # how the warning begins
_POSITIONS = 20_000  # of the training data that are labelled again
_ENOUGH = 30  # positions of a label among them: fewer are too few to blame anything
_NAMED = 5


def spread_sequences(offsets: IntArray, positions: int = _POSITIONS) -> IntArray:
    """Return sequences of at most so many positions, evenly spread over the data; ``offsets``: [N+1]."""
    step = max(1, -(-int(offsets[-1]) // positions))
    chosen: IntArray = np.arange(0, len(offsets) - 1, step)
    return chosen[np.cumsum(offsets[chosen + 1] - offsets[chosen]) <= positions]


def warn_of_unpredicted(
    classes: list[Any],
    labels: Labels,
    offsets: IntArray,  # [N+1]
    predict: Callable[[IntArray], IdArray],  # labels of the given sequences
    class_weights: FloatArray | None = None,  # [L]
) -> None:
    """Warn if a label that the training data has is not predicted there at all.

    Some sequences (``spread_sequences``) are labelled again. Labels with a weight below 1 do
    not count: the user has made their errors cheap.
    """
    chosen = spread_sequences(offsets)
    true = labels.subset(chosen, offsets).ids
    often = np.bincount(true[true >= 0], minlength=len(classes)) >= _ENOUGH  # [L]
    if class_weights is not None:
        often &= class_weights >= 1
    if len(classes) < 2 or not often.any():
        return
    found = np.bincount(predict(chosen), minlength=len(classes))  # [L]
    never = [classes[k] for k in np.flatnonzero(often & (found == 0)).tolist()]
    if never:
        named = ", ".join(map(repr, never[:_NAMED])) + (", …" if len(never) > _NAMED else "")
        warn(
            f"{UNPREDICTED} {named} on its own training data: it is rare, X does not tell it "
            "apart, or the penalty is too strong. class_weight='balanced' makes errors there cost more "
            "(docs/imbalance.md)",
            InputWarning,
        )
