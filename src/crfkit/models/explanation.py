"""Explanations of predicted labels: the evidence for the chosen label and against the next best.

At position t of the predicted labels, with fixed neighbours, let l be the chosen label and r its rival, the
most probable other label. The log odds of l against r are the difference of the scores of the two paths. It
is a sum, and its terms are the reasons. What they are depends on the model: weights of attributes and
transitions, leaves of trees, coefficients of cliques.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.inference.lattice import ScoredSequences
from crfkit.io.shown_table import ShownTable, TabularRecords
from crfkit.models.fitted_model import FittedModel

_SHOWN = 5  # reasons of a position in a table
_MOST = 200  # positions of a table that is shown


@dataclass(frozen=True)
class Reason:
    """One term of the log odds."""

    what: str  # an attribute, a transition such as "B-NP → I-NP", a split of trees, a clique
    weight: float  # above 0: for the label, below 0: for its rival


@dataclass(frozen=True, repr=False)
class Decision(TabularRecords):
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
        chosen, rival = (
            f"{self.label} ({self.probability:.3f})",
            f"{self.rival} ({self.rival_probability:.3f})",
        )
        return f"{chosen}, not {rival}: {_written(self.reasons)}"

    def __repr__(self) -> str:
        return self._shown().text()

    def _shown(self) -> ShownTable:
        rows = [[reason.what, f"{reason.weight:+.3f}"] for reason in self.reasons]
        head = f"{self.label} ({self.probability:.3f}), not {self.rival} ({self.rival_probability:.3f})"
        total = [["log odds", f"{self.log_odds:+.3f}"]]
        return ShownTable([head, "weight"], [rows, total] if rows else [total])

    def _records(self) -> Iterator[dict[str, Any]]:
        for reason in self.reasons:
            yield {"reason": reason.what, "weight": reason.weight}


class Explanations(list[Decision], TabularRecords):
    """The decisions of one sequence: a list that shows as a table."""

    tokens: Sequence[str] | None = None  # of the sequence, if X has tokens

    __str__, __repr__ = TabularRecords.__str__, TabularRecords.__repr__

    def place(self, t: int) -> str:
        """Return the name of position t: its number and its token."""
        return f"{t}" if self.tokens is None else f"{t} {self.tokens[t]}"

    def _shown(self) -> ShownTable:
        return _table((self.place(t), decision) for t, decision in enumerate(self))

    def _records(self) -> Iterator[dict[str, Any]]:
        for t, decision in enumerate(self):
            token = {} if self.tokens is None else {"token": self.tokens[t]}
            yield {"position": t, **token, **_record(decision)}


class ExplainedSequences(list[Explanations], TabularRecords):
    """The decisions of several sequences: a list of lists that shows as a table."""

    __str__, __repr__ = TabularRecords.__str__, TabularRecords.__repr__

    def _shown(self) -> ShownTable:
        return _table(
            (f"{i}:{decisions.place(t)}", decision)
            for i, decisions in enumerate(self)
            for t, decision in enumerate(decisions)
        )

    def with_tokens(self, X: Any) -> ExplainedSequences:
        """Give each sequence its tokens, if the sequences of X are lists of tokens; return self."""
        if isinstance(X, (list, tuple)) and len(X) == len(self):
            for decisions, items in zip(self, X, strict=True):
                if isinstance(items, (list, tuple)) and len(items) == len(decisions):
                    decisions.tokens = items if all(isinstance(item, str) for item in items) else None
        return self

    def _records(self) -> Iterator[dict[str, Any]]:
        for i, decisions in enumerate(self):
            for record in decisions._records():
                yield {"sequence": i, **record}


# The reasons at a position t of the sequence start..stop-1 in a batch with these labels [ΣT], for its rival.
Reasons = Callable[[IntArray, int, int, int, int], Iterable[Reason]]


def explained(tagger: FittedModel, lattice: ScoredSequences, reasons: Reasons) -> Iterator[Explanations]:
    """Yield the decisions of each sequence. ``lattice``: the scores, with any constraints applied."""
    labels = tagger.decode(lattice).labels.astype(np.int64)  # [ΣT]
    probabilities = tagger.marginals(lattice)  # [ΣT, L]
    others = probabilities.copy()
    others[np.arange(len(labels)), labels] = -1.0
    rivals = others.argmax(axis=1)  # [ΣT]
    for start, stop in zip(lattice.offsets[:-1].tolist(), lattice.offsets[1:].tolist(), strict=True):
        decisions = Explanations()
        for t in range(start, stop):
            label, rival = int(labels[t]), int(rivals[t])
            alone = label == rival or probabilities[t, rival] <= 0  # no other label is possible
            found = [] if alone else reasons(labels, start, stop, t, rival)
            decisions.append(
                Decision(
                    tagger.classes[label],
                    float(probabilities[t, label]),
                    None if alone else tagger.classes[rival],
                    0.0 if alone else float(probabilities[t, rival]),
                    sorted(found, key=lambda reason: -abs(reason.weight)),
                )
            )
        yield decisions


def transition_reasons(
    classes: list[Any],
    tables: tuple[FloatArray, FloatArray | None],  # [L, L] and [L, L, L]
    ends: tuple[FloatArray | None, FloatArray | None],  # [L] of first and last labels
    labels: IntArray,  # [T] of one sequence
    t: int,
    rival: int,
) -> Iterator[Reason]:
    """Yield the terms of transitions at position t, whose scores do not depend on the position."""
    changed = labels.copy()
    changed[t] = rival
    for table in tables:
        if table is None:
            continue
        for last in range(max(t, table.ndim - 1), min(t + table.ndim, len(labels))):
            run = slice(last - table.ndim + 1, last + 1)
            difference = float(table[tuple(labels[run])] - table[tuple(changed[run])])
            if difference:
                yield Reason(" → ".join(str(classes[label]) for label in labels[run]), difference)
    for table, here, name in ((ends[0], t == 0, "first"), (ends[1], t == len(labels) - 1, "last")):
        if table is not None and here and table[labels[t]] != table[rival]:
            yield Reason(f"{name} label", float(table[labels[t]] - table[rival]))


def _written(reasons: Iterable[Reason]) -> str:
    return "  ".join(f"{reason.what} {reason.weight:+.2f}" for reason in islice(reasons, _SHOWN))


def _record(decision: Decision) -> dict[str, Any]:
    return {
        "label": decision.label,
        "probability": decision.probability,
        "rival": decision.rival,
        "rival_probability": decision.rival_probability,
        "log_odds": decision.log_odds,
        "reasons": [(reason.what, reason.weight) for reason in decision.reasons],
    }


def _table(decisions: Iterable[tuple[Any, Decision]]) -> ShownTable:
    rows = [
        [
            str(place),
            str(decision.label),
            f"{decision.probability:.3f}",
            "" if decision.rival is None else str(decision.rival),
            "" if decision.rival is None else f"{decision.rival_probability:.3f}",
            "" if decision.rival is None else f"{decision.log_odds:+.2f}",
            _written(decision.reasons),
        ]
        for place, decision in islice(decisions, _MOST + 1)
    ]
    cut = [f"only the first {_MOST} positions are shown"] if len(rows) > _MOST else []
    head = ["position", "label", "p", "rival", "p", "log odds", "main reasons"]
    return ShownTable(head, [rows[:_MOST]], cut, left=True)
