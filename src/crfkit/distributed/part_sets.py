"""One worker's part of validation sets: how far the best labellings of its spans win, and gradients."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.distributed.parts import Part, Partial, Sent
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.objectives.validation_sets import NativeSets, Spans


@dataclass
class PartSets:
    """The spans of a part that are in validation sets. Its native object is built like that of the part."""

    part: Part
    spans: Spans
    margin: float

    def __post_init__(self) -> None:
        self._sets: NativeSets | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__post_init__()

    def __sizeof__(self) -> int:
        """Return the bytes that it needs besides its part, for Dask."""
        return self.spans.first.nbytes * 3

    def sets(self) -> tuple[LinearLikelihood, NativeSets]:
        """Return the native objects; the part's lock must be held while they are used."""
        function = self.part.function()
        if self._sets is None:
            self._sets = function.validation_sets(self.spans, self.margin)
        return function, self._sets


# ---- tasks: what is sent begins with the weights of the part's features


def part_sets(part: Part, spans: Spans, margin: float) -> PartSets:
    """Return the validation sets of a part; the spans are counted from its first position."""
    return PartSets(part, spans, margin)


def violated(own: PartSets, sent: tuple[Sent]) -> Partial:
    """Return h of the sets by Viterbi."""
    with own.part.lock:
        function, sets = own.sets()
        return Partial(sets.violations(function.parameters(sent[0].astype(np.float64, copy=False))), None)


def enveloped(own: PartSets, sent: tuple[Sent, FloatArray]) -> Partial:
    """Return the subgradient along the best paths, for coefficients of the sets."""
    w, coefficients = sent
    with own.part.lock:
        function, sets = own.sets()
        theta = function.parameters(w.astype(np.float64, copy=False))
        gradient = function.weights(sets.envelope(theta, coefficients))
    return Partial(np.zeros(0), gradient.astype(w.dtype, copy=False))


def smoothed(own: PartSets, sent: tuple[Sent, float, FloatArray]) -> Partial:
    """Return h at a temperature, and its gradient for coefficients of the sets."""
    w, temperature, coefficients = sent
    with own.part.lock:
        function, sets = own.sets()
        theta = function.parameters(w.astype(np.float64, copy=False))
        h, gradient = sets.smoothed(theta, temperature, coefficients)
    return Partial(h, function.weights(gradient).astype(w.dtype, copy=False))
