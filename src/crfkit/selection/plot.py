"""Plots of a search: accuracy or objective against features; frequencies. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from crfkit.io.axes import new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_NAMED = 10  # features whose names are shown
_SIZE = (7.5, 4.5)  # inches


def draw_path(path: Sequence[dict[str, Any]], ax: Axes | None = None) -> Axes:
    """Draw dev accuracy against features, with the objective in grey; or only the objective."""
    ax = new_axes(_SIZE) if ax is None else ax
    numbers = [record["n_features"] for record in path]
    objective = [record["objective"] for record in path]
    ax.set_xlabel("features")
    large = numbers[-1] > 100 * max(1, numbers[min(1, len(numbers) - 1)])
    if large:
        ax.set_xscale("symlog", linthresh=max(1, numbers[1]))
    if "dev_accuracy" not in path[-1]:
        ax.plot(numbers, objective, marker=".", color="C0")
        ax.set_ylabel("objective")
        _name_picks(ax, path, numbers, objective)
        return ax
    accuracy = [100 * record["dev_accuracy"] for record in path]
    beside = ax.twinx()
    beside.plot(numbers, objective, color="0.75", linewidth=1)
    beside.set_ylabel("objective", color="0.5")
    beside.tick_params(axis="y", colors="0.5")
    ax.set_zorder(beside.get_zorder() + 1)
    ax.patch.set_visible(False)
    ax.plot(numbers, accuracy, marker=".", color="C0")
    ax.set_ylabel("dev accuracy, %", color="C0")
    best = max(range(len(path)), key=accuracy.__getitem__)
    ax.plot(numbers[best], accuracy[best], "o", color="C3", zorder=3)
    ax.annotate(
        f"{accuracy[best]:.2f} % with {numbers[best]:,}",
        (numbers[best], accuracy[best]),
        textcoords="offset points",
        xytext=(-6, 8) if best > len(path) / 2 else (6, 8),
        ha="right" if best > len(path) / 2 else "left",
        color="C3",
        fontsize=9,
    )
    ax.margins(y=0.1)
    _name_picks(ax, path, numbers, accuracy)
    return ax


def _name_picks(ax: Axes, path: Sequence[dict[str, Any]], numbers: list[int], heights: list[float]) -> None:
    """Write the names of the first features, if each round has one feature and there are few rounds."""
    if len(path) > 40 or any(len(record["features"]) != 1 for record in path[1:]):
        return
    for record, x, y in list(zip(path, numbers, heights, strict=True))[1 : _NAMED + 1]:
        ax.annotate(
            str(record["features"][0]),
            (x, y),
            textcoords="offset points",
            xytext=(3, -5),
            rotation=-50,
            rotation_mode="anchor",
            va="top",
            fontsize=7,
            parse_math=False,
        )
    ax.margins(x=0.05, y=0.25)


def draw_frequencies(shares: Sequence[float], threshold: float, ax: Axes | None = None) -> Axes:
    """Draw how often each feature was chosen, the most frequent first, and the threshold."""
    ax = new_axes(_SIZE) if ax is None else ax
    ax.plot(range(1, len(shares) + 1), shares, marker=".", color="C0")
    ax.axhline(threshold, color="C3", linewidth=1)
    ax.set_xlabel("features, the most stable first")
    ax.set_ylabel("share of resamples")
    ax.set_ylim(0, 1.05)
    return ax
