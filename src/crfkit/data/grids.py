"""Grids of pixels or cells as graphs."""

from __future__ import annotations

from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.data.graphs import Graph
from crfkit.data.reading import listed
from crfkit.exceptions import InputError

# Steps to the neighbours after a cell, by row and column.
_STEPS = {"right": (0, 1), "down": (1, 0), "down-right": (1, 1), "down-left": (1, -1)}


def grid(cells: Any, neighbours: int = 4) -> Graph:
    """Return a grid as a graph: one node per cell, row by row, and edges between neighbouring cells.

    ``cells`` is an array [H, W] or [H, W, D] of numbers (an image), or H rows of W words or letters, each of
    which is an attribute. ``neighbours`` is 4, or 8 with the diagonals. The type of an edge is its direction:
    right or down, with 8 neighbours also down-right or down-left.

    >>> from crfkit import grid
    >>> grid([[0, 1, 1], [0, 0, 1]])
    <Graph: 6 nodes, 7 edges of the types down, right>
    """
    if not isinstance(neighbours, int) or neighbours not in (4, 8):
        raise InputError(f"neighbours must be 4 or 8, got {neighbours!r}")
    if not isinstance(cells, np.ndarray):
        rows = listed(cells, "cells", "rows")
        cells = [list(row) if isinstance(row, str) else row for row in rows]
    try:
        array = np.asarray(cells)
    except ValueError as error:
        raise InputError(f"cells must be rows of one width: {error}") from error
    if array.ndim not in (2, 3) or array.dtype.kind not in "biufUO" or (array.ndim == 3 and _is_text(array)):
        raise InputError(
            "cells must be an array [H, W] or [H, W, D] of numbers, or rows of words of one width; got "
            f"{array.ndim}-D {array.dtype}"
        )
    height, width = array.shape[:2]
    place: IntArray = np.arange(height * width, dtype=np.int64).reshape(height, width)
    edges, types = [np.zeros((0, 2), np.int64)], []
    for name, (down, right) in list(_STEPS.items())[: neighbours // 2]:
        left = max(0, -right)
        first = place[: height - down, left : width - max(0, right)]
        second = place[down:, left + right : width - max(0, right) + right]
        edges.append(np.stack([first.ravel(), second.ravel()], axis=1))
        types += [name] * first.size
    if _is_text(array):
        found = array.ravel().tolist()
        wrong = next((cell for cell in found if not isinstance(cell, (str, int, float))), "")
        if wrong != "":
            raise InputError(f"cells must be numbers or words, got {type(wrong).__name__}")
        nodes: Any = [str(cell) for cell in found]
    else:
        nodes = array.reshape(height * width, -1 if array.size else 1).astype(np.float64)
    return Graph(nodes, np.concatenate(edges), edge_types=types)


def _is_text(array: Any) -> bool:
    return bool(array.dtype.kind in "UO")
