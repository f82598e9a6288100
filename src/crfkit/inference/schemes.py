"""Constraints from a label scheme, and from the transitions in training data.

With :func:`scheme_constraints` every labelling is legal in IOB2, IOBES or a related scheme: no ``I-LOC``
after ``O``. With :func:`seen_constraints` only transitions seen in the data are permitted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

import numpy as np

from crfkit.data.labels import encode_labels, label_lists
from crfkit.data.relabel import label_schemes
from crfkit.data.schemes import SCHEMES, legal_steps, scheme_called
from crfkit.exceptions import InputError
from crfkit.inference.constraints import Constraints


def scheme_constraints(
    labels: Sequence[str], scheme: str = "auto", *, unusable: Literal["error", "forbid"] = "error"
) -> Constraints:
    """Return the constraints of a label scheme: IOB1, IOB2, IOE1, IOE2, IOBES or BILOU.

    ``labels`` are the model's classes, in the model's order. ``"auto"`` chooses the scheme by them: IOB2
    rather than IOB1, unless there is an ``I-X`` without ``B-X``, and IOE2 rather than IOE1. It is safer to
    name the scheme; ``crfkit.metrics.detect_scheme(y_train)`` can tell these schemes apart.

    A label that occurs in no legal sequence (in IOB2, ``I-LOC`` without any ``B-LOC``) is an error, because
    the scheme is wrong or the training data illegal; ``unusable="forbid"`` forbids the label instead.
    """
    names = checked_names(labels)
    if unusable not in ("error", "forbid"):
        raise InputError(f"unusable must be 'error' or 'forbid', got {unusable!r}")
    found = scheme_called(_likeliest(names) if scheme == "auto" else scheme)
    steps = legal_steps(names, found)
    lost = [name for name, fine in zip(names, steps.usable, strict=True) if not fine]
    if lost and (unusable == "error" or len(lost) == len(names)):
        shown = ", ".join(map(repr, lost[:5])) + (", …" if len(lost) > 5 else "")
        fitting = label_schemes(names)
        hint = f"these labels fit {' and '.join(fitting)}" if fitting else "repair_labels mends training data"
        raise InputError(
            f"no legal sequence of the scheme {found.name} has {shown}: the labels that must come before or "
            f"after it are not among the {len(names)} labels; {hint}"
            + (
                ""
                if len(lost) == len(names)
                else "; scheme_constraints(…, unusable='forbid') does without them"
            )
        )
    transitions = steps.transitions & steps.usable[:, None] & steps.usable[None, :]  # [L, L]
    return Constraints(
        transitions=transitions, starts=steps.starts & steps.usable, ends=steps.ends & steps.usable
    )


def seen_constraints(y: Iterable[Any], classes: Sequence[Any], *, min_count: int = 1) -> Constraints:
    """Permit the transitions, first and last labels that occur at least ``min_count`` times in y.

    ``classes`` are the model's labels, in the model's order. If a label in y is missing or one of several,
    its transitions are not counted. If a sequence has no labelling under these constraints (for example a
    single token, while no label was both first and last), decoding it raises ``NoPathError``.
    """
    if isinstance(min_count, bool) or not isinstance(min_count, (int, np.integer)) or min_count < 1:
        raise InputError(f"min_count must be a whole number above 0, got {min_count!r}")
    sequences = label_lists(y)
    n = len(classes)
    offsets = np.zeros(len(sequences) + 1, dtype=np.int64)  # [N+1]
    np.cumsum([len(sequence) for sequence in sequences], out=offsets[1:])
    ids = encode_labels(sequences, classes, offsets).ids.astype(np.int64)  # [ΣT]; -1: not known
    if not np.any(ids >= 0):
        raise InputError("y shows no labels, so everything would be forbidden; pass the training labels")
    inner = np.ones(len(ids), dtype=np.bool_)  # [ΣT] not the first of a sequence
    filled = np.diff(offsets) > 0  # [N]
    inner[offsets[:-1][filled]] = False
    before, here = ids[:-1][inner[1:]], ids[1:][inner[1:]]
    known = (before >= 0) & (here >= 0)
    pairs = np.bincount(before[known] * n + here[known], minlength=n * n).reshape(n, n)
    first, last = ids[offsets[:-1][filled]], ids[offsets[1:][filled] - 1]
    return Constraints(
        transitions=pairs >= min_count,
        starts=np.bincount(first[first >= 0], minlength=n) >= min_count,
        ends=np.bincount(last[last >= 0], minlength=n) >= min_count,
    )


def checked_names(labels: Sequence[Any]) -> list[str]:
    """Return the labels as a list; raise unless they are distinct strings."""
    if isinstance(labels, str):
        raise InputError(f"labels must be a list of strings, got the string {labels!r}")
    names = list(labels)
    for name in names:
        if not isinstance(name, str):
            raise InputError(
                f"these constraints need labels that are strings, got {type(name).__name__} {name!r}; "
                "for others give masks: Constraints(transitions=..., starts=..., ends=...)"
            )
    if not names or len(set(names)) < len(names):
        raise InputError(f"labels must be distinct, and at least one; got {names!r:.80}")
    return names


def _likeliest(names: list[str]) -> str:
    fitting = label_schemes(names)
    if not fitting:
        shown = ", ".join(map(repr, names[:10])) + (", …" if len(names) > 10 else "")
        raise InputError(
            f"the labels ({shown}) fit none of the schemes {', '.join(SCHEMES)}; name the scheme to learn "
            "which of them do not"
        )
    return fitting[0]
