"""Labelled sequences as item files hold them: attributes, labels and weights, end to end."""

from __future__ import annotations

from dataclasses import dataclass

from crfkit.arrays import FloatArray, IdArray
from crfkit.data.labels import decode_labels
from crfkit.data.sequences import Sequences
from crfkit.exceptions import InputError


@dataclass(frozen=True, eq=False)
class Examples:
    """Sequences, the label of every position, and the weight of every sequence."""

    sequences: Sequences
    names: list[str]  # [L] labels, in order of first appearance
    ids: IdArray  # [ΣT] places in names; -1: there is no label
    weights: FloatArray | None  # [N]; None: all 1

    def __post_init__(self) -> None:
        if self.ids.shape != (self.sequences.n_positions,):
            raise InputError(f"{self.sequences.n_positions} positions, but ids has shape {self.ids.shape}")
        if self.ids.size and not (self.ids.min() >= -1 and self.ids.max() < len(self.names)):
            raise InputError(
                f"ids must be in -1..{len(self.names) - 1}, got {self.ids.min()}..{self.ids.max()}"
            )
        if self.weights is not None and self.weights.shape != (self.sequences.n_sequences,):
            raise InputError(
                f"{self.sequences.n_sequences} sequences, but weights has shape {self.weights.shape}"
            )

    @property
    def labels(self) -> list[list[str | None]]:
        """The labels, one list per sequence, as ``CRF.fit`` takes them; None where a label is missing."""
        return decode_labels(self.ids, self.sequences.offsets, self.names)
