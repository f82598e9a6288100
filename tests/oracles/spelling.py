"""Label schemes by definition: enumerates all segmentations of a few tokens.

A label sequence is legal in a scheme exactly if it is the spelling of some segmentation. This module does not
use the grammar in crfkit.data.schemes.
"""

from collections.abc import Iterator
from functools import cache
from itertools import product

TAGS = {"IOB1": "BI", "IOB2": "BI", "IOE1": "IE", "IOE2": "IE", "IOBES": "BIES", "BILOU": "BILU"}
SCHEMES = sorted(TAGS)

Segmentation = tuple[tuple[str, int, int], ...]  # (type, start, end) in order


def alphabet(scheme: str, types: str = "XY") -> list[str]:
    return ["O", *(f"{tag}-{kind}" for tag in TAGS[scheme] for kind in types)]


def segmentations(n: int, types: str = "XY", start: int = 0) -> Iterator[Segmentation]:
    """Yield all ways to place segments on n tokens."""
    if start >= n:
        yield ()
        return
    yield from segmentations(n, types, start + 1)  # the first token is outside
    for end, kind in product(range(start + 1, n + 1), types):
        for rest in segmentations(n, types, end):
            yield ((kind, start, end), *rest)


def spell(segments: Segmentation, n: int, scheme: str) -> list[str]:
    labels = ["O"] * n
    for kind, start, end in segments:
        same_before = any(other == kind and stop == start for other, _, stop in segments)
        same_after = any(other == kind and begin == end for other, begin, _ in segments)
        for t in range(start, end):
            first, last = t == start, t == end - 1
            if scheme == "IOB1":
                tag = "B" if first and same_before else "I"
            elif scheme == "IOB2":
                tag = "B" if first else "I"
            elif scheme == "IOE1":
                tag = "E" if last and same_after else "I"
            elif scheme == "IOE2":
                tag = "E" if last else "I"
            else:
                tag = {(1, 0): "B", (0, 0): "I", (0, 1): "E", (1, 1): "S"}[first, last]
                tag = {"E": "L", "S": "U"}.get(tag, tag) if scheme == "BILOU" else tag
            labels[t] = f"{tag}-{kind}"
    return labels


@cache
def legal_sequences(n: int, scheme: str, types: str = "XY") -> set[tuple[str, ...]]:
    return {tuple(spell(segments, n, scheme)) for segments in segmentations(n, types)}
