"""Checks that true and predicted labels belong together, once for all metrics."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence

from crfkit.exceptions import InputError

LabelSequences = Sequence[Sequence[Hashable]]


def check_pairs(y_true: LabelSequences, y_pred: LabelSequences) -> tuple[LabelSequences, LabelSequences]:
    """Return both as given; raise an ``InputError`` unless they have the same shape and hold only labels."""
    for name, y in (("y_true", y_true), ("y_pred", y_pred)):
        if isinstance(y, str) or not hasattr(y, "__len__"):
            raise InputError(f"{name} must be a list of label sequences, got {type(y).__name__}")
    if len(y_true) != len(y_pred):
        raise InputError(
            f"y_true has {len(y_true)} sequences but y_pred has {len(y_pred)}; "
            "pass predictions for the same sequences"
        )
    for i, (true, pred) in enumerate(zip(y_true, y_pred, strict=True)):
        for name, sequence in (("y_true", true), ("y_pred", pred)):
            if isinstance(sequence, str) or not hasattr(sequence, "__len__"):
                raise InputError(
                    f"{name}[{i}] is {sequence!r}, but each sequence must be a list of labels; "
                    "put a single sequence in a list of its own: [labels]"
                )
            if None in sequence:
                raise InputError(
                    f"{name}[{i}][{list(sequence).index(None)}] is None: metrics need a label at every "
                    "position; leave sequences with missing labels out"
                )
        if len(true) != len(pred):
            raise InputError(
                f"sequence {i}: y_true has {len(true)} labels but y_pred has {len(pred)}; "
                "both must have one label per position"
            )
    return y_true, y_pred


def flatten(y: LabelSequences) -> list[Hashable]:
    """All labels in one list, sequence after sequence."""
    return [label for sequence in y for label in sequence]


def sorted_labels(labels: Iterable[Hashable]) -> list[Hashable]:
    """Distinct labels in a stable order; labels of several types are ordered by type name, then value."""
    return sorted(set(labels), key=lambda label: (type(label).__name__, label))
