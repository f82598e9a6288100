"""What fitted models return: segments, spans of a text, the most probable labellings.

They are lists, which a notebook shows as tables.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from crfkit.io.shown_list import ShownList


class TextSpan(NamedTuple):
    """A labelled stretch of a text: ``text[start:end]``, and its probability."""

    start: int
    end: int
    label: Any
    text: str
    probability: float


class PredictedSegment(NamedTuple):
    """A segment of the positions ``start`` to ``stop`` (not included), and its probability."""

    start: int
    stop: int
    type: Any
    probability: float


class Labellings(ShownList[tuple[list[Any], float]]):
    """The most probable labellings of one sequence with their probabilities, best first."""

    def _records(self) -> Iterator[dict[str, Any]]:
        return (
            {"rank": k, "probability": p, "labels": labels} for k, (labels, p) in enumerate(self, start=1)
        )
