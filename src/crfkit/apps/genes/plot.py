"""Plot of a locus: annotated and predicted structures, and the posterior of coding and intron."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.apps.genes.transcripts import Transcript
from crfkit.optional import needed

if TYPE_CHECKING:
    from crfkit.apps.genes.search import Posterior


def plot_locus(
    begin: int,
    end: int,
    predicted: Sequence[Transcript],
    *,
    true: Sequence[Transcript] = (),
    posterior: Mapping[str, Posterior] | None = None,
    title: str = "",
) -> Any:
    """Return a matplotlib figure of the bases begin .. end-1 of a contig; ``posterior`` is of these bases."""
    plots = needed("matplotlib.figure", "a plot")
    rows = [("annotated", true, "#4c72b0"), ("predicted", predicted, "#dd8452")]
    rows = [row for row in rows if row[1] or row[0] == "predicted"]
    n_tracks = len(posterior or {})
    figure = plots.Figure(figsize=(11, 1.2 * len(rows) + 1.3 * n_tracks + 0.8), layout="constrained")
    axes = figure.subplots(
        1 + n_tracks, 1, sharex=True, squeeze=False, height_ratios=[1.2 * len(rows), *[1.3] * n_tracks]
    )[:, 0]
    names = [f"{label} {strand}" for label, *_ in rows for strand in "+-"]
    for i, (_, transcripts, colour) in enumerate(rows):
        for transcript in transcripts:
            y = len(names) - 1 - (2 * i + "+-".index(transcript.strand))
            axes[0].plot([transcript.start, transcript.end], [y, y], color=colour, linewidth=1, zorder=1)
            axes[0].broken_barh(
                [(a, b - a) for a, b in transcript.exons], (y - 0.3, 0.6), color=colour, zorder=2
            )
    axes[0].set_yticks(range(len(names)), names[::-1])
    axes[0].set_ylim(-0.6, len(names) - 0.4)
    axes[0].set_title(title, parse_math=False)
    for axis, (strand, track) in zip(axes[1:], (posterior or {}).items(), strict=True):
        at = np.arange(begin, end)
        axis.fill_between(at, track.coding, step="mid", color="#55a868", alpha=0.8, label="coding")
        axis.plot(at, track.intron, color="#8172b3", linewidth=0.8, label="intron")
        axis.set_ylim(0, 1.02)
        axis.set_ylabel(f"posterior {strand}")
        axis.legend(loc="upper right", fontsize="small", frameon=False)
    axes[-1].set_xlim(begin, end)
    axes[-1].set_xlabel("base")
    return figure
