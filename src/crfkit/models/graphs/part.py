"""The part of a graph model that differs between potentials: features, scores, and its part of a file."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, Protocol

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.inference.graph_scores import GraphScores
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.explanation import Reason
from crfkit.models.graphs.names import GraphNames


class GraphPart(Protocol):
    """Features and scores of graphs. A batch of encoded graphs has ``offsets``, ``layout`` and ``subset``."""

    name: ClassVar[str]  # of the potential
    names: GraphNames

    def encode(self, X: Any) -> Any:
        """Return X as a batch."""

    def scores(self, batch: Any, *, n_jobs: int | None = None) -> GraphScores:
        """Return the scores of a batch."""

    def unknown(self, batch: Any) -> str | None:
        """Return what a batch lacks if it tells the model nothing; None if it does."""

    @property
    def tables(self) -> FloatArray:
        """The scores of label pairs that do not depend on features, for each type of edge [R, L, L]."""

    def facts(self) -> dict[str, str]:
        """Return what to show about the model, by name."""

    def node_reasons(
        self, batch: Any, scores: GraphScores, v: int, label: int, rival: int
    ) -> Iterable[Reason]:
        """Return the terms of a node's score for a label and against its rival."""

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return the content of a model file: entries of its header, and arrays."""

    @classmethod
    def of_parts(cls, n_labels: int, header: Mapping[str, Any], arrays: ModelArrays) -> GraphPart:
        """Return the part in an opened model file."""


# Potentials by name: module and class.
PARTS = {
    "linear": "linear_part.LinearPart",
    "trees": "tree_part.TreePart",
    "kernel": "kernel_part.KernelPart",
}


def part_class(name: str) -> type[GraphPart]:
    """Return the class of a part, imported on first use."""
    module, own = PARTS[name].split(".")
    found: type[GraphPart] = getattr(import_module(f"crfkit.models.graphs.{module}"), own)
    return found


def whole_node(scores: FloatArray, v: int, label: int, rival: int) -> Iterator[Reason]:
    """Yield the difference of a node's scores [ΣV, L] as one reason."""
    difference = float(scores[v, label] - scores[v, rival])
    if difference and np.isfinite(difference):
        yield Reason("the node", difference)
