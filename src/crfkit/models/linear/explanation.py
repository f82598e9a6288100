"""Explanations of predicted labels: the evidence for the chosen label and against the next best.

At position t of the best path, with fixed neighbours, let l be the chosen label and r its rival, the most
probable other label. If l is replaced by r, the score of the path falls by

    S(… l …) - S(… r …) = Σ_a value_a (w[a, l] - w[a, r])                 attributes of the position
                        + w[y_{t-1}, l] - w[y_{t-1}, r]                    the transition in
                        + w[l, y_{t+1}] - w[r, y_{t+1}]                    the transition out

This is the log odds of l against r. Its terms are the reasons. (Attributes on label pairs and label trigrams
add terms of the same kind.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.data.sequences import Sequences
from crfkit.inference import Lattice, viterbi
from crfkit.models.linear.tagger import LinearTagger


@dataclass(frozen=True)
class Reason:
    """One term of the log odds."""

    what: str  # an attribute, or a transition such as "B-NP → I-NP"
    weight: float  # above 0: for the label, below 0: for its rival


@dataclass(frozen=True)
class Decision:
    """The label of a position, its rival, and the reasons, largest weight first."""

    label: Any
    probability: float  # marginal
    rival: Any  # None if no other label is possible
    rival_probability: float
    reasons: list[Reason]

    @property
    def log_odds(self) -> float:
        """Log odds of the label against its rival, with fixed neighbours."""
        return sum(reason.weight for reason in self.reasons)

    def __str__(self) -> str:
        reasons = "  ".join(f"{reason.what} {reason.weight:+.2f}" for reason in self.reasons[:5])
        chosen, rival = (
            f"{self.label} ({self.probability:.3f})",
            f"{self.rival} ({self.rival_probability:.3f})",
        )
        return f"{chosen}, not {rival}: {reasons}"


def explain(tagger: LinearTagger, sequences: Sequences, lattice: Lattice) -> Iterator[list[Decision]]:
    """Yield the decisions of each sequence. ``lattice``: the scores, with any constraints applied."""
    labels = viterbi(lattice, n_jobs=tagger.n_jobs).labels  # [ΣT]
    probabilities = tagger.marginals(lattice)  # [ΣT, L]
    others = probabilities.copy()
    others[np.arange(len(labels)), labels] = -1.0
    rivals = others.argmax(axis=1)  # [ΣT]
    for start, stop in zip(lattice.offsets[:-1].tolist(), lattice.offsets[1:].tolist(), strict=True):
        decisions = []
        for t in range(start, stop):
            label, rival = int(labels[t]), int(rivals[t])
            alone = label == rival or probabilities[t, rival] <= 0  # no other label is possible
            reasons = [] if alone else list(_reasons(tagger, sequences, labels, start, stop, t, rival))
            decisions.append(
                Decision(
                    tagger.classes[label],
                    float(probabilities[t, label]),
                    None if alone else tagger.classes[rival],
                    0.0 if alone else float(probabilities[t, rival]),
                    sorted(reasons, key=lambda reason: -abs(reason.weight)),
                )
            )
        yield decisions


def _reasons(
    tagger: LinearTagger,
    sequences: Sequences,
    labels: npt.NDArray[np.integer[Any]],
    start: int,
    stop: int,
    t: int,
    rival: int,
) -> Iterator[Reason]:
    """Yield the nonzero terms of the log odds at position t of the sequence start .. stop-1."""
    index, weights, L = tagger.index, tagger.weights, tagger.index.n_labels
    chosen = labels[start:stop].astype(np.int64)  # [T]
    changed = chosen.copy()
    changed[t - start] = rival

    def attribute_term(indptr: Any, ids: Any, w: Any, at: int, good: int, bad: int) -> Iterator[Reason]:
        for i in range(sequences.indptr[at], sequences.indptr[at + 1]):
            a = int(sequences.indices[i])
            row = slice(indptr[a], indptr[a + 1])
            found = dict(zip(ids[row].tolist(), w[row].tolist(), strict=True))
            difference = found.get(good, 0.0) - found.get(bad, 0.0)
            if difference:
                value = 1.0 if sequences.values is None else float(sequences.values[i])
                yield Reason(tagger.vocabulary.strings(a, a + 1)[0], value * difference)

    def transition_term(table: Any, last: int) -> Iterator[Reason]:
        run = slice(last - table.ndim + 1, last + 1)
        difference = float(table[tuple(chosen[run])] - table[tuple(changed[run])])
        if difference:
            yield Reason(" → ".join(str(tagger.classes[label]) for label in chosen[run]), difference)

    yield from attribute_term(index.state_indptr, index.state_labels, weights.state, t, int(labels[t]), rival)
    for table in (weights.edge, weights.edge2):
        if table is not None:
            for last in range(max(t - start, table.ndim - 1), min(t - start + table.ndim, stop - start)):
                yield from transition_term(table, last)
    if index.has_pairs:
        for last in range(max(t - start, 1), min(t - start + 2, stop - start)):
            good, bad = (int(path[last - 1] * L + path[last]) for path in (chosen, changed))
            yield from attribute_term(
                index.pair_indptr, index.pair_ids, weights.pair, start + last, good, bad
            )
