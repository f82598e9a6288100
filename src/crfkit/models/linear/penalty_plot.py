"""A plot of the search for penalties: the held-out loss, and the penalties of groups. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.optional import needed

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_NAMED = 10  # groups with a name in the plot: those farthest from the common penalty
_CERTIFIED = "certified"


def draw_penalties(history: Sequence[Mapping[str, Any]], names: Sequence[str]) -> Figure:
    """Draw loss and penalties over the steps of ``penalty_history_``; ``names`` [G] are the groups."""
    plots = needed("matplotlib.figure", "drawing")
    figure: Figure = plots.Figure(figsize=(10, 4), layout="constrained")
    loss, penalties = figure.subplots(1, 2)
    search = [record for record in history if _CERTIFIED not in record["stage"]]
    sure = [record for record in history if _CERTIFIED in record["stage"]]
    loss.plot([r["step"] for r in search], [r["loss"] for r in search], marker=".", label="during the search")
    loss.plot(
        [r["step"] for r in sure],
        [r["loss"] for r in sure],
        "k*",
        markersize=10,
        label="trained from the beginning",
    )
    loss.set_ylabel("held-out loss")
    loss.legend(fontsize=8)
    steps = [record["step"] for record in search]
    values = np.array([np.broadcast_to(record["penalties"], len(names)) for record in search])  # [steps, G]
    far = np.abs(np.log(values[-1]) - np.log(values[-1]).mean())
    named = set(np.argsort(-far)[:_NAMED].tolist()) if len(names) > 1 else {0}
    for g, name in enumerate(names):
        shown = g in named
        penalties.plot(
            steps,
            values[:, g],
            marker="." if shown else "",
            linewidth=1.5 if shown else 0.5,
            color=None if shown else "0.7",
            label=name if shown else None,
        )
    penalties.set_yscale("log")
    penalties.set_ylabel("penalty")
    penalties.legend(fontsize=7, loc="center left", bbox_to_anchor=(1.0, 0.5))
    for axes in (loss, penalties):
        axes.set_xlabel("step")
    return figure
