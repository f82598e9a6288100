"""Generated snakes on grids, after the data set of Nowozin et al., "Decision tree fields" (ICCV 2011).

A snake is a walk of ten cells that never meets itself. The colour of a cell is the direction in which the
snake goes on from it (that of the last one is random), and the label its place from head to tail. Colours
near a cell say little about its place; only their sequence along the whole snake does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.exceptions import InputError

LENGTH = 10
_STEPS = {"r": (-1, 0), "g": (1, 0), "y": (0, -1), "c": (0, 1)}  # up, down, left, right; "b": background


def snakes(
    n: int, random_state: int | np.random.Generator | None = None
) -> tuple[list[npt.NDArray[np.str_]], list[npt.NDArray[np.int64]]]:
    """Return n grids of colours [H, W] (letters), and their labels [H, W]: 0 background, 1 head to 10 tail.

    >>> from crfkit.datasets import snakes
    >>> cells, labels = snakes(1, random_state=0)
    >>> sorted(set(labels[0].ravel().tolist())) == list(range(11))
    True
    """
    if n < 0:
        raise InputError(f"n must be 0 or more, got {n}")
    rng = np.random.default_rng(random_state)
    made = [_snake(rng) for _ in range(n)]
    return [cells for cells, _ in made], [labels for _, labels in made]


def _snake(rng: np.random.Generator) -> tuple[Any, Any]:
    walk: list[tuple[int, int]] = []
    colours: list[str] = []
    while len(walk) < LENGTH:
        if not walk:
            walk, colours = [(0, 0)], []
        row, column = walk[-1]
        ways = [
            (colour, (row + a, column + b))
            for colour, (a, b) in _STEPS.items()
            if (row + a, column + b) not in walk
        ]
        if not ways:
            walk = []  # it has met itself: begin again
            continue
        colour, place = ways[int(rng.integers(len(ways)))]
        colours.append(colour)
        walk.append(place)
    colours.append("rgyc"[int(rng.integers(4))])
    places = np.array(walk)
    places -= places.min(axis=0) - 1  # a border of background
    cells = np.full(places.max(axis=0) + 2, "b")
    labels = np.zeros(cells.shape, np.int64)
    for number, ((row, column), colour) in enumerate(zip(places.tolist(), colours, strict=True), start=1):
        cells[row, column], labels[row, column] = colour, number
    return cells, labels
