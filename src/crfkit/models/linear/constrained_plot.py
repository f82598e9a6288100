"""Plots of training under constraints: the outer steps, and accuracy over passes. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.exceptions import CRFKitError, InputError
from crfkit.io.axes import AxesRow, new_row
from crfkit.optional import needed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_SHOWN = 10  # up to this many sets, each has its own colour and legend entry


def draw_search(
    history: Sequence[Mapping[str, Any]], tau: float, axes: Sequence[Axes] | None = None
) -> list[Axes]:
    """Draw objective, violations and penalties over the outer steps of ``outer_history_``."""
    if not history:
        raise CRFKitError("there are no outer steps to draw: the model was not trained under constraints")
    panes = new_row(3) if axes is None else AxesRow(axes)
    if len(panes) != 3:
        raise InputError(f"axes must be three, for objective, violations and penalties, got {len(panes)}")
    objective, violations, penalties = panes
    steps = [record["step"] for record in history]
    objective.plot(steps, [record["objective"] for record in history], marker=".", color="C0")
    objective.set_ylabel("objective")
    for ax, name in ((violations, "violations"), (penalties, "penalties")):
        values = np.array([record[name] for record in history])  # [steps, V]
        for j, column in enumerate(values.T):
            named = values.shape[1] <= _SHOWN
            ax.plot(
                steps,
                column,
                marker="." if named else "",
                linewidth=1.5 if named else 0.5,
                color=f"C{j % 10}" if named else "0.5",
                label=f"set {j}" if named else None,
            )
        ax.set_ylabel(name)
    violations.axhline(tau, color="C3", linewidth=1, linestyle="--", label=f"τ = {tau:g}")
    violations.set_yscale("symlog", linthresh=max(tau, 1e-12))
    violations.set_ylim(bottom=0)
    violations.legend(fontsize=8)
    for ax in (objective, violations, penalties):
        ax.set_xlabel("outer step")
        ax.set_xticks(steps[:: 1 + len(steps) // 12])
    return panes


def draw_accuracies(curves: Mapping[str, Mapping[str, Sequence[tuple[float, float]]]]) -> Figure:
    """Draw accuracy in % over passes: for each data set the (passes, accuracy) of each model."""
    axes = new_row(len(curves))
    ticker = needed("matplotlib.ticker", "drawing")
    for ax, (data, models) in zip(axes, curves.items(), strict=True):
        for i, (name, points) in enumerate(models.items()):
            passes, accuracy = zip(*points, strict=True)
            ax.plot(passes, 100 * np.array(accuracy), color=f"C{i}", linewidth=1.3, label=name)
        ax.set_title(data)
        ax.set_xlabel("passes over the data")
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter(ticker.ScalarFormatter())
        ax.xaxis.set_minor_formatter(ticker.NullFormatter())
    axes[0].set_ylabel("accuracy, %")
    axes[-1].legend(fontsize=8)
    figure: Figure = axes[0].figure
    return figure
