"""Segments in ``crfkit tag``: their list with probabilities, and the removal of unsure ones.

    0  0  2  NP  0.998215  The dog         sequence, start, stop, type, probability, text

One line per segment, with tabs in between. Sequences and positions count from 0; ``stop`` is the position
after the last. The text is that of the first column; files of attributes have none.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import numpy as np

from crfkit.cli.batches import Batch
from crfkit.cli.messages import UsageError
from crfkit.models.fitted_model import Decoded, FittedModel

if TYPE_CHECKING:
    from crfkit.inference.lattice import ScoredSequences

_OUTSIDE = "O"


class SegmentLines:
    """Finds the segments of each batch; the batches must come in order."""

    def __init__(self, tagger: FittedModel, arguments: argparse.Namespace) -> None:
        self._tagger = tagger
        self._least: float = arguments.min_probability or 0.0
        self._listed: bool = arguments.segments
        self._outside = tagger.classes.index(_OUTSIDE) if _OUTSIDE in tagger.classes else None
        self._done = 0  # sequences
        if not self._listed and self._outside is None:
            raise UsageError(
                f"--min-probability makes the labels of unsure segments {_OUTSIDE!r}, but the model has no "
                "such label: combine it with --segments"
            )

    def of(self, batch: Batch, lattice: ScoredSequences, decoded: Decoded) -> tuple[Decoded, bytes]:
        """Return the labels without unsure segments, and the lines of the others if they are listed."""
        rules, found, probability = self._tagger.segments(lattice, decoded.labels)
        sure = probability >= self._least
        if self._outside is not None and not sure.all():
            labels, unsure = decoded.labels.copy(), found.select(~sure)
            base = lattice.offsets[unsure.sequence]
            for start, stop in zip(base + unsure.start, base + unsure.stop, strict=True):
                labels[start:stop] = self._outside
            decoded = decoded._replace(labels=labels)
        if not self._listed:
            return decoded, b""
        kept = found.select(sure)
        texts = None if batch.table is None else batch.table.column(0)
        lines = []
        for i, start, stop, kind, p in zip(
            *(part.tolist() for part in kept), probability[sure].tolist(), strict=True
        ):
            text = () if texts is None else (" ".join(texts[i][start:stop]),)
            cells = (self._done + i, start, stop, rules.types[kind], f"{p:.6f}", *text)
            lines.append("\t".join(map(str, cells)) + "\n")
        self._done += int(np.size(lattice.offsets)) - 1
        return decoded, "".join(lines).encode()
