"""Axes for plots of matplotlib, without its state: nothing to close, no window, no display needed.

New axes belong to a figure that ``pyplot`` does not know. A notebook shows them as a picture when they are
the result of a cell; ``ax.figure.savefig(…)`` writes them to a file.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from io import BytesIO
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.io.pictures import draw_picture
from crfkit.optional import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_NAMES = 60  # labels at a side of a matrix; of more, some are left out
_MOST_NUMBERS = 400  # cells of a matrix that have their numbers in them


class AxesRow(list[Any]):
    """Axes of one figure, side by side; a notebook shows their figure."""

    def _repr_png_(self) -> bytes | None:
        return _png(self[0].figure) if self else None


def new_axes(size: tuple[float, float] = (6.0, 4.0)) -> Axes:
    """Return empty axes of this size in inches."""
    axes: Axes = new_row(1, size)[0]
    return axes


def new_row(n: int, size: tuple[float, float] = (4.2, 3.6)) -> AxesRow:
    """Return n empty axes in a row, each of this size in inches."""
    figure = needed("matplotlib.figure", "a plot").Figure((n * size[0], size[1]), layout="constrained")
    return AxesRow(figure.add_subplot(1, n, k + 1, axes_class=_shown_axes()) for k in range(n))


@cache
def _shown_axes() -> Any:
    """Return the class of axes that show themselves in a notebook."""
    base: Any = needed("matplotlib.axes", "a plot").Axes

    class ShownAxes(base):  # type: ignore[misc]
        def _repr_png_(self) -> bytes:
            return _png(self.figure)

    return ShownAxes


def _png(figure: Any) -> bytes:
    file = BytesIO()
    draw_picture(figure, file, "png", dpi=110)
    return file.getvalue()


def draw_matrix(
    values: FloatArray,  # [K, M] NaN: no value, drawn as an empty cell
    rows: Sequence[str],
    columns: Sequence[str],
    ax: Axes | None = None,
    *,
    signed: bool = False,
    written: Sequence[Sequence[str]] | None = None,
    name: str = "",
) -> Axes:
    """Draw a matrix as coloured cells, with its numbers in them unless there are too many.

    ``signed``: 0 is white, values above it are purple and values below it orange; otherwise larger values are
    darker. ``written`` is the text of the cells, and ``name`` what the scale of colours measures.
    """
    if ax is None:
        side = float(np.clip(0.42 * max(values.shape) + 1.8, 3.6, 9.0))
        ax = new_axes((side + 0.7, side))
    finite = values[np.isfinite(values)]
    most = float(np.abs(finite).max(initial=0.0)) or 1.0
    image = ax.imshow(
        np.ma.masked_invalid(values),
        cmap="PuOr" if signed else "Blues",
        vmin=-most if signed else 0.0,
        vmax=most,
        interpolation="nearest",
    )
    ax.figure.colorbar(image, ax=ax, label=name, shrink=0.8)
    for axis, names in ((ax.yaxis, rows), (ax.xaxis, columns)):
        every = range(0, len(names), 1 + len(names) // _MOST_NAMES)
        axis.set_ticks(list(every))
        axis.set_ticklabels([names[k] for k in every], parse_math=False, fontsize=8)
    ax.tick_params(axis="x", rotation=90 if max(map(len, columns), default=0) > 2 else 0, length=0)
    ax.tick_params(axis="y", length=0)
    ax.spines[:].set_visible(False)
    if max(values.shape) <= _MOST_NAMES:  # white lines between the cells
        ax.set_xticks(np.arange(0.5, values.shape[1] - 1), minor=True)
        ax.set_yticks(np.arange(0.5, values.shape[0] - 1), minor=True)
        ax.grid(which="minor", color="white", linewidth=1)
        ax.tick_params(which="minor", length=0)
    if written is not None and values.size <= _MOST_NUMBERS:
        for i, j in np.argwhere(np.isfinite(values)).tolist():
            red, green, blue, _ = image.cmap(image.norm(values[i, j]))
            ink = "white" if 0.299 * red + 0.587 * green + 0.114 * blue < 0.5 else "black"
            ax.text(j, i, written[i][j], ha="center", va="center", fontsize=7, color=ink)
    return ax
