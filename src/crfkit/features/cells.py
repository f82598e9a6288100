"""Cells as text or numbers; None and NaN are missing."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np

from crfkit.data.reading import MISSING_HINT
from crfkit.exceptions import InputError, InputWarning
from crfkit.warn import warn

Place = Callable[[int], str]  # the place of the i-th of all cells, for messages

_NO_CELLS = (list, tuple, AbstractSet, Mapping, bytes, bytearray, np.ndarray)


def is_missing(cell: Any) -> bool:
    """Tell whether a cell is None, NaN, or a missing value of pandas."""
    if cell is None:
        return True
    if isinstance(cell, (float, np.floating)):
        return bool(cell != cell)
    return type(cell).__name__ in ("NAType", "NaTType")  # by name, so that pandas need not be imported


def as_texts(cells: list[Any], place: Place, column: str, optional: bool) -> list[str | None]:
    """Return the cells as text; None if a cell is missing. NaN is reported, unless it is ``optional``."""
    if set(map(type, cells)) <= {str, type(None)}:
        return cells
    gap = next((i for i, cell in enumerate(cells) if cell is not None and is_missing(cell)), None)
    if gap is not None and not optional:
        warn(
            f"{place(gap)}: {column}: the text is missing, got {cells[gap]!r}: it makes no attribute. "
            f"{MISSING_HINT}. With column(…, optional=True) there is no warning",
            InputWarning,
        )
    return [cell if type(cell) is str else _as_text(cell, i, place, column) for i, cell in enumerate(cells)]


def _as_text(cell: Any, i: int, place: Place, column: str) -> str | None:
    if is_missing(cell):
        return None
    if isinstance(cell, _NO_CELLS):
        hint = {
            bytes: "decode it first",
            np.ndarray: "for a vector of numbers write .vector()",
        }.get(type(cell), "for several values in a cell write a function of your own")
        raise InputError(f"{place(i)}: {column}: expected text or a number, got {_short(cell)}; {hint}")
    return str(cell.item() if isinstance(cell, np.generic) else cell)


def as_numbers(cells: list[Any], place: Place, column: str, optional: bool) -> list[float | None]:
    """Return the cells as finite numbers; a missing cell is None with ``optional``, otherwise an error."""
    if set(map(type, cells)) <= {float, int, bool}:
        numbers = list(map(float, cells))
        if all(map(math.isfinite, numbers)):
            return numbers  # type: ignore[return-value]  # list is invariant
    return [_as_number(cell, i, place, column, optional) for i, cell in enumerate(cells)]


def _as_number(cell: Any, i: int, place: Place, column: str, optional: bool) -> float | None:
    if is_missing(cell) or (isinstance(cell, str) and not cell.strip()):
        number = math.nan
    else:
        try:
            number = float(cell)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{place(i)}: {column}: expected a number, got {_short(cell)}") from None
    if math.isnan(number):
        if optional:
            return None
        raise InputError(
            f"{place(i)}: {column}: expected a number, but it is missing, got {_short(cell)}; with "
            "column(…, optional=True) the attribute is left out there, and .missing() marks the gap"
        )
    if math.isinf(number):
        raise InputError(f"{place(i)}: {column}: expected a finite number, got {_short(cell)}")
    return number


def as_vectors(cells: list[Any], place: Place, column: str) -> list[Any]:
    """Return the cells as vectors of numbers [D] of the same length; None if a cell is missing."""
    vectors: list[Any] = []
    width: int | None = None
    for i, cell in enumerate(cells):
        if is_missing(cell):
            vectors.append(None)
            continue
        vector = np.asarray(cell)
        if vector.ndim != 1 or vector.dtype.kind not in "biuf":
            raise InputError(f"{place(i)}: {column}: expected a vector of numbers, got {_short(cell)}")
        if width is not None and len(vector) != width:
            raise InputError(
                f"{place(i)}: {column}: expected {width} numbers like the others, got {len(vector)}"
            )
        if not np.isfinite(vector).all():
            raise InputError(
                f"{place(i)}: {column}: expected finite numbers, got {vector[~np.isfinite(vector)][0]}"
            )
        width = len(vector)
        vectors.append(vector)
    return vectors


def _short(cell: Any) -> str:
    text = f"{type(cell).__name__} {cell!r}" if cell is not None else "None"
    return text if len(text) <= 60 else f"{text[:57]}..."
