"""Labels on the colour of their type, as in coloured spans; ``chip`` in ``macros.html`` draws them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from crfkit.report.colours import DARK, LIGHT, N_COLOURS, places_of

# What the templates of spans need to write their style sheet.
PALETTE = {"light": LIGHT, "dark": DARK, "n": N_COLOURS}


class ColouredLabel(NamedTuple):
    """A label as text, and the classes of its colour; empty for ``O``, which is grey."""

    name: str
    shade: str


class LabelColours:
    """The colours of a set of labels; labels of one type, such as ``B-NP`` and ``I-NP``, have one colour."""

    def __init__(self, labels: Iterable[Any]) -> None:
        self.places = places_of(type_of(str(label)) for label in labels if str(label) != "O")

    def __call__(self, label: Any) -> ColouredLabel:
        name = str(label)
        place = None if name == "O" else self.places.get(type_of(name))
        if place is None:
            return ColouredLabel(name, "")
        turn = f" turn{(place // N_COLOURS - 1) % 3 + 1}" if place >= N_COLOURS else ""
        return ColouredLabel(name, f"k{place % N_COLOURS}{turn}")


def type_of(label: str) -> str:
    """Return the type of a label, ``NP`` of ``B-NP``; a plain label is its own type."""
    head, dash, rest = label.partition("-")
    return rest if dash and len(head) == 1 and rest else label
