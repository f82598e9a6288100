"""The kinds of models. A new one is a subfolder of this folder and an entry in ``KINDS``.

Classes are imported on first use, so that tagging with one kind does not import the others. For each folder
the command line has a module ``cli/inspect_<folder>.py`` that shows its models and, if ``crfkit train``
supports them, a module ``cli/train_<folder>.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

from crfkit.upper_floors import fetch

if TYPE_CHECKING:
    from crfkit.io.model_arrays import ModelArrays
    from crfkit.models.fitted_model import FittedModel
    from crfkit.models.sequence_labeller import SequenceLabeller


class Kind(NamedTuple):
    """A kind of model: its names and its classes."""

    name: str  # on the command line
    words: str  # description for help texts
    in_files: str  # value of "model" in the header of a model file
    folder: str  # subfolder of this folder
    estimator_at: str  # module and class there
    tagger_at: str
    view_at: str = ""  # the class that shows what a model has learnt, in a higher room: see upper_floors.py
    trained_by_command: bool = True  # whether 'crfkit train' supports it

    @property
    def estimator(self) -> type[SequenceLabeller[Any]]:
        found: type[SequenceLabeller[Any]] = self._fetch(self.estimator_at)
        return found

    @property
    def tagger(self) -> type[FittedModel]:
        """The tagger class, which reads model files."""
        found: type[FittedModel] = self._fetch(self.tagger_at)
        return found

    @property
    def view(self) -> Any:
        """The class that shows models of this kind in a report."""
        return fetch(self.view_at)

    def _fetch(self, at: str) -> Any:
        module, name = at.split(".")
        return getattr(import_module(f"crfkit.models.{self.folder}.{module}"), name)


KINDS = {
    kind.name: kind
    for kind in (
        Kind(
            "linear",
            "weights on attributes and transitions",
            "linear-chain CRF",
            "linear",
            "crf.CRF",
            "tagger.LinearTagger",
            "crfkit.report.kinds.linear:LinearView",
        ),
        Kind(
            "constrained",
            "linear, with the constraint that validation parts of the data are labelled without mistakes",
            "linear-chain CRF",
            "linear",
            "constrained_crf.ConstrainedCRF",
            "tagger.LinearTagger",
            "crfkit.report.kinds.linear:LinearView",
        ),
        Kind(
            "kernel",
            "similarities to selected positions",
            "kernel CRF",
            "kernels",
            "kernel_crf.KernelCRF",
            "tagger.KernelTagger",
            "crfkit.report.kinds.kernels:KernelView",
        ),
        Kind(
            "trees",
            "boosted trees over a window of the columns",
            "tree CRF",
            "trees",
            "tree_crf.TreeCRF",
            "tagger.TreeTagger",
            "crfkit.report.kinds.trees:TreeView",
        ),
        Kind(
            "segments",
            "weights on whole segments, with their lengths",
            "semi-Markov CRF",
            "segments",
            "semi_crf.SemiCRF",
            "tagger.SegmentTagger",
            "crfkit.report.kinds.segments:SegmentView",
        ),
        Kind(
            "graphs",
            "weights on attributes of nodes and edges of graphs",
            "graph CRF",
            "graphs",
            "graph_crf.GraphCRF",
            "tagger.GraphTagger",
        ),
    )
}


def tagger_of(header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None) -> FittedModel:
    """Return the tagger in a crfkit model file of any kind; its header names the kind."""
    known = {kind.in_files: kind for kind in KINDS.values()}
    name = header.get("model")
    if not isinstance(name, str) or name not in known:
        raise arrays.wrong(f"expected a {' or a '.join(known)}, got {name!r}")
    return known[name].tagger.of_file(header, arrays, n_jobs)


def kind_of(tagger: FittedModel) -> Kind:
    """Return the kind of a tagger; that of a constrained model is linear."""
    return next(kind for kind in KINDS.values() if kind.in_files == tagger.in_files)
