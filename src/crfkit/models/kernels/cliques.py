"""The selected cliques of a kernel CRF in readable form, and a plot of the selection path."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labelled_positions import TrainingSet
from crfkit.data.sequences import place_of
from crfkit.exceptions import ModelFileError
from crfkit.io.axes import AxesRow, new_row
from crfkit.models.kernels.clique_selection import Pick
from crfkit.potentials.kernel import KernelPotential

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Clique:
    """A training position (or an edge that ends at it) with which the model compares other positions."""

    kernel: str
    kind: str  # "vertex" or "edge"
    sequence: int  # in the X given to fit
    position: int  # in the sequence; for an edge: its second position
    coefficients: dict[Any, float]  # {label: α}, for an edge {(label, next label): α}
    derivative: float | None = None  # of the risk, when it was chosen; None: all cliques were taken

    def __str__(self) -> str:
        weights = ", ".join(
            f"{'→'.join(map(str, key)) if isinstance(key, tuple) else key}: {value:+.3g}"
            for key, value in self.coefficients.items()
        )
        return f"{self.kind} ({self.kernel}) at sequence {self.sequence}, position {self.position}: {weights}"

    def to_json(self) -> list[Any]:
        pairs = [
            [list(key) if isinstance(key, tuple) else key, value] for key, value in self.coefficients.items()
        ]
        return [self.kernel, self.kind, self.sequence, self.position, pairs, self.derivative]

    @classmethod
    def from_json(cls, record: Any) -> Clique:
        """Return the clique that ``to_json`` wrote; raise ValueError or TypeError if it did not."""
        kernel, kind, sequence, position, pairs, derivative = record
        coefficients = {tuple(key) if isinstance(key, list) else key: float(value) for key, value in pairs}
        return cls(str(kernel), str(kind), int(sequence), int(position), coefficients, derivative)


class CliqueLister:
    """Converts chosen cliques to readable form, with sequences, labels and coefficients."""

    def __init__(
        self,
        data: TrainingSet,
        kernels: Sequence[str],
        potential: KernelPotential,
        places: Mapping[int, IntArray],  # kernel -> of its term [m]
    ) -> None:
        self._data, self._kernels, self._places = data, kernels, places
        self._terms = dict(zip(places, potential.terms, strict=True))

    def name(self, pick: Pick) -> tuple[str, str, int, int, Any]:
        """Return kernel, kind, sequence, position, labels (None: all)."""
        classes, L = self._data.classes, len(self._data.classes)
        sequence, position = place_of(self._data.learn.offsets, pick.place)
        labels: Any = None
        if pick.labeling is not None:
            before, label = divmod(pick.labeling, L)
            labels = (classes[before], classes[label]) if pick.edge else classes[label]
        kind = "edge" if pick.edge else "vertex"
        return self._kernels[pick.kernel], kind, int(self._data.numbers[sequence]), position, labels

    def clique(self, pick: Pick) -> Clique:
        """Return the clique with its final coefficients."""
        kernel, kind, sequence, position, labels = self.name(pick)
        classes = self._data.classes
        term = self._terms[pick.kernel]
        row = int(np.searchsorted(self._places[pick.kernel], pick.place))
        table = term.edge if pick.edge else term.vertex
        values: FloatArray = np.zeros(0) if table is None else table[row].ravel()
        keys: list[Any] = [(a, b) for a in classes for b in classes] if pick.edge else list(classes)
        if labels is not None:
            coefficients = {labels: float(values[pick.labeling or 0])}
        else:
            coefficients = dict(zip(keys, values.tolist(), strict=True))
        return Clique(kernel, kind, sequence, position, coefficients, float(pick.derivative))


_PANELS = (
    ("risk", "regularised risk"),
    ("dev_log_likelihood", "dev log-likelihood per position"),
    ("dev_accuracy", "dev accuracy"),
)


def draw_path(path: Sequence[dict[str, Any]], axes: Sequence[Axes] | Axes | None = None) -> list[Axes]:
    """Draw the risk and, with a dev set, its log-likelihood and accuracy against the number of cliques."""
    panels = [(key, title) for key, title in _PANELS if key in path[-1]]
    if axes is None:
        axes = new_row(len(panels))
    panes = AxesRow(axes) if isinstance(axes, Sequence) else AxesRow([axes])
    numbers = [record["n_cliques"] for record in path]
    for pane, (key, title) in zip(panes, panels, strict=False):
        pane.plot(numbers, [record[key] for record in path], color="C0", marker="." if len(path) < 60 else "")
        pane.set_xlabel("selected cliques")
        pane.set_title(title, fontsize=10)
    return panes


def cliques_of(header: Mapping[str, Any]) -> list[Clique]:
    """Return the selected cliques in the header of a model's file."""
    try:
        return [Clique.from_json(record) for record in header.get("cliques", [])]
    except (TypeError, ValueError) as error:
        raise ModelFileError(f"the model's list of cliques is malformed: {error}") from error
