"""Colours of labels: one hue per type, the same on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

_GOLDEN = 137.5  # degrees: colours of neighbours in the list of types are far apart


class ColouredLabel(NamedTuple):
    """A label as text, and the hue of its type in degrees; None for ``O``, which is grey."""

    name: str
    hue: int | None


class LabelColours:
    """The colours of a set of labels; labels of one type, such as ``B-NP`` and ``I-NP``, have one colour."""

    def __init__(self, labels: Iterable[Any]) -> None:
        types = sorted({type_of(str(label)) for label in labels})
        self._hues = {kind: round(40 + i * _GOLDEN) % 360 for i, kind in enumerate(types)}

    def __call__(self, label: Any) -> ColouredLabel:
        name = str(label)
        return ColouredLabel(name, None if name == "O" else self._hues.get(type_of(name), 0))


def type_of(label: str) -> str:
    """Return the type of a label, ``NP`` of ``B-NP``; a plain label is its own type."""
    head, dash, rest = label.partition("-")
    return rest if dash and len(head) == 1 and rest else label
