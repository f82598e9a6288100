"""``crfkit tag --why``: the reasons of a model of any kind for its labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.exceptions import ModelFileError

if TYPE_CHECKING:
    from crfkit.cli.batches import Batch
    from crfkit.inference.lattice import ScoredSequences
    from crfkit.models.explanation import Decision
    from crfkit.models.fitted_model import FittedModel
    from crfkit.models.kernels.cliques import Clique


def decisions(
    tagger: FittedModel, header: dict[str, Any], batch: Batch, lattice: ScoredSequences
) -> Iterator[list[Decision]]:
    """Yield the labels of each sequence with their reasons. ``lattice``: with any constraints applied."""
    from crfkit.models.explanation import explained
    from crfkit.models.kernels.tagger import KernelTagger
    from crfkit.models.linear.tagger import LinearTagger
    from crfkit.models.segments.tagger import SegmentTagger
    from crfkit.models.trees.tagger import TreeTagger

    if isinstance(tagger, LinearTagger):
        from crfkit.models.linear.explanation import explain

        return explain(tagger, tagger.encode(batch.x).sequences, lattice)
    if isinstance(tagger, TreeTagger):
        from crfkit.models.trees.explanation import TreeReasons

        return explained(tagger, lattice, TreeReasons(tagger, tagger.encode(batch.x)))
    if isinstance(tagger, KernelTagger):
        from crfkit.models.kernels.explanation import KernelReasons

        reasons = KernelReasons(tagger, tagger.positions(batch.x), cliques_of(header))
        return explained(tagger, lattice, reasons)
    if isinstance(tagger, SegmentTagger):
        from crfkit.models.segments.explanation import SegmentReasons

        return explained(tagger, lattice, SegmentReasons(tagger, tagger.encode(batch.x), lattice))
    raise ModelFileError(f"--why cannot explain the labels of this model: it is a {header.get('model')}")


def cliques_of(header: dict[str, Any]) -> list[Clique]:
    """Return the selected cliques of a kernel model."""
    from crfkit.models.kernels.cliques import Clique

    try:
        return [Clique.from_json(record) for record in header.get("cliques", [])]
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the model's list of cliques is malformed: {error}") from error
