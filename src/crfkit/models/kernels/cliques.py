"""The selected cliques of a kernel CRF, for people; and a picture of the path that led to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crfkit.selection.plot import new_row

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Clique:
    """A position (or an edge that ends at it) of the training data that the model compares others with."""

    kernel: str
    kind: str  # "vertex" or "edge"
    sequence: int  # of the X that fit was given
    position: int  # in the sequence; of an edge: its second position
    coefficients: dict[Any, float]  # {label: α}, of an edge {(label, next label): α}
    derivative: float | None = None  # of the risk, when it was chosen; None: not chosen, all were taken

    def __str__(self) -> str:
        weights = ", ".join(
            f"{'→'.join(map(str, key)) if isinstance(key, tuple) else key}: {value:+.3g}"
            for key, value in self.coefficients.items()
        )
        return f"{self.kind} ({self.kernel}) at sequence {self.sequence}, position {self.position}: {weights}"

    def to_json(self) -> list[Any]:
        """As JSON values."""
        pairs = [
            [list(key) if isinstance(key, tuple) else key, value] for key, value in self.coefficients.items()
        ]
        return [self.kernel, self.kind, self.sequence, self.position, pairs, self.derivative]

    @classmethod
    def from_json(cls, record: Any) -> Clique:
        """The clique that ``to_json`` wrote; ValueError or TypeError where it did not."""
        kernel, kind, sequence, position, pairs, derivative = record
        coefficients = {tuple(key) if isinstance(key, list) else key: float(value) for key, value in pairs}
        return cls(str(kernel), str(kind), int(sequence), int(position), coefficients, derivative)


_PANELS = (
    ("risk", "regularised risk"),
    ("dev_log_likelihood", "dev log-likelihood a position"),
    ("dev_accuracy", "dev accuracy"),
)


def draw_path(path: Sequence[dict[str, Any]], axes: Sequence[Axes] | Axes | None = None) -> list[Axes]:
    """Risk and, with a dev set, its log-likelihood and accuracy against the number of cliques."""
    panels = [(key, title) for key, title in _PANELS if key in path[-1]]
    if axes is None:
        axes = new_row(len(panels))
    panes = list(axes) if isinstance(axes, Sequence) else [axes]
    numbers = [record["n_cliques"] for record in path]
    for pane, (key, title) in zip(panes, panels, strict=False):
        pane.plot(numbers, [record[key] for record in path], color="C0", marker="." if len(path) < 60 else "")
        pane.set_xlabel("selected cliques")
        pane.set_title(title, fontsize=10)
    return panes
