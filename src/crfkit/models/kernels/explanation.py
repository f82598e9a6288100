"""The reasons of a kernel model for a label and against its rival (``models/explanation.py``).

A clique j adds K(x_j, x_t) (α_j(l) - α_j(r)) to the log odds of the label l against its rival r; edge cliques
add terms of the same kind for the pairs of labels that change.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.positions import Positions
from crfkit.models.explanation import Reason, transition_reasons
from crfkit.models.kernels.cliques import Clique
from crfkit.models.kernels.tagger import KernelTagger


class KernelReasons:
    """The reasons of a model at the positions of a batch."""

    def __init__(self, tagger: KernelTagger, positions: Positions, cliques: list[Clique]) -> None:
        self._tagger, self._terms = tagger, tagger.potential.terms
        self._values: list[FloatArray] = [  # [ΣT, m] of each term
            np.asarray(term.kernel.between(term.kernel.represent(positions.rows), term.support))
            for term in self._terms
        ]
        self._names = [self._named(k, values.shape[1], cliques) for k, values in enumerate(self._values)]

    def __call__(self, labels: IntArray, start: int, stop: int, t: int, rival: int) -> Iterator[Reason]:
        potential, chosen = self._tagger.potential, int(labels[t])
        bias = float(potential.bias[chosen] - potential.bias[rival])
        if bias:
            yield Reason("bias", bias)
        for term, values, names in zip(self._terms, self._values, self._names, strict=True):
            sums = np.zeros(values.shape[1])  # [m]
            if term.vertex is not None:
                sums += values[t] * (term.vertex[:, chosen] - term.vertex[:, rival])
            if term.edge is not None and t > start:
                before = int(labels[t - 1])
                sums += values[t] * (term.edge[:, before, chosen] - term.edge[:, before, rival])
            if term.edge is not None and t + 1 < stop:
                after = int(labels[t + 1])
                sums += values[t + 1] * (term.edge[:, chosen, after] - term.edge[:, rival, after])
            for j in np.flatnonzero(sums).tolist():
                yield Reason(f"{names[j]} (K = {values[t, j]:.3g})", float(sums[j]))
        tables = (potential.transitions, None)
        yield from transition_reasons(
            self._tagger.classes, tables, (None, None), labels[start:stop], t - start, rival
        )

    def _named(self, k: int, size: int, cliques: list[Clique]) -> list[str]:
        """Return the names of the positions of a term: where they are in the training data, if known."""
        kernel = self._terms[k].kernel.name
        several = sum(term.kernel.name == kernel for term in self._terms) > 1
        found = sorted({(c.sequence, c.position) for c in cliques if c.kernel == kernel})
        if several or len(found) != size:
            return [f"clique {j} ({kernel})" for j in range(size)]
        return [f"sequence {i}, position {t}" for i, t in found]
