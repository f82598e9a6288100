"""The colours of label types: the same type has the same colour everywhere.

There are ten colours for light pages and ten for dark ones. The edge of a span on a light page has the fill
of a dark page, and the other way round. The colours were found by a search for the largest distance between
any two of them, as people with normal sight and with protanopia, deuteranopia and tritanopia see them
(Machado, Oliveira and Fernandes 2009), among the colours on which text is readable (WCAG 2, level AA). Types
beyond the tenth have the same colours with other lines below them. A span always names its type as well.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple
from zlib import crc32


class Paper(NamedTuple):
    """The colours of a light or a dark page."""

    background: str
    text: str
    dim: str  # of less important text
    fills: tuple[str, ...]  # of spans
    edges: tuple[str, ...]


_BRIGHT = (
    *("#b5d1f5", "#cd872c", "#3ecf91", "#bd86a2", "#f6cb5c"),
    *("#9290ce", "#a6fbea", "#f27063", "#e5f29f", "#2c99ff"),
)
_DEEP = (
    *("#3567c5", "#a4560c", "#08422f", "#5b2356", "#885b2d"),
    *("#4c2377", "#056b4c", "#c03658", "#42390e", "#66659e"),
)
LIGHT = Paper("#ffffff", "#17171a", "#5c5c63", _BRIGHT, _DEEP)
DARK = Paper("#17181b", "#f4f4f6", "#a9a9b1", _DEEP, _BRIGHT)
N_COLOURS = len(_BRIGHT)

# Types that occur in many corpora, so that they never compete for a colour.
_USUAL = {
    **{"PER": 4, "PERSON": 4, "LOC": 0, "GPE": 0, "ORG": 7, "MISC": 2, "DATE": 8, "TIME": 6},
    **{"NP": 0, "VP": 4, "PP": 2, "ADVP": 7, "SBAR": 5, "ADJP": 8, "PRT": 3, "CONJP": 6, "INTJ": 9, "LST": 1},
}


def places_of(types: Iterable[str]) -> dict[str, int]:
    """Return the place of each type in the list of colours; from ``N_COLOURS`` on, colours repeat.

    A place depends on the name alone, unless two types would have the same one: then the one that comes later
    in the alphabet takes the next free place.
    """
    places: dict[str, int] = {}
    taken: set[int] = set()
    for name in sorted(set(types), key=lambda name: (name not in _USUAL, name)):
        first = _USUAL.get(name, crc32(name.encode("utf-8", "surrogatepass")) % N_COLOURS)
        around = (
            len(taken) // N_COLOURS * N_COLOURS
        )  # each turn through the colours is filled before the next
        place = next(
            around + (first + step) % N_COLOURS
            for step in range(N_COLOURS)
            if around + (first + step) % N_COLOURS not in taken
        )
        taken.add(place)
        places[name] = place
    return places
