"""Counts, the scores computed from them, and a report: a table in text, HTML and pandas, or a dict."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from crfkit.exceptions import InputError
from crfkit.io.shown_table import ShownTable, TabularRecords
from crfkit.io.text_width import width_of

Averaging = Literal["micro", "macro", "weighted"]


@dataclass(frozen=True)
class Score:
    """Counts of correct, predicted and true items, and their precision, recall and F1.

    Ratios with an empty denominator are 0, as in conlleval and scikit-learn.
    """

    correct: int
    predicted: int
    true: int

    @property
    def precision(self) -> float:
        """The share of predicted items that are correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """The share of true items that were found."""
        return self.correct / self.true if self.true else 0.0

    @property
    def f1(self) -> float:
        """The harmonic mean of precision and recall."""
        total = self.predicted + self.true
        return 2 * self.correct / total if total else 0.0

    @property
    def percentages(self) -> tuple[float, float, float]:
        """Precision, recall and F1 in percent, in conlleval's arithmetic, to print the same digits."""
        precision, recall = 100 * self.correct / (self.predicted or 1), 100 * self.correct / (self.true or 1)
        total = precision + recall
        return precision, recall, 2 * precision * recall / total if total else 0.0

    def to_dict(self) -> dict[str, float]:
        """Return scores and counts by name; ``support`` is the number of true items."""
        return {
            "precision": self.precision,
            "recall": self.recall,
            "f1": self.f1,
            "support": self.true,
            "predicted": self.predicted,
            "correct": self.correct,
        }


@dataclass(frozen=True)
class Average:
    """Precision, recall and F1 averaged over labels or segment types."""

    precision: float
    recall: float
    f1: float
    support: int

    @property
    def percentages(self) -> tuple[float, float, float]:
        """Precision, recall and F1 in percent."""
        return 100 * self.precision, 100 * self.recall, 100 * self.f1

    def to_dict(self) -> dict[str, float]:
        """Return the four numbers by name."""
        return {"precision": self.precision, "recall": self.recall, "f1": self.f1, "support": self.support}


@dataclass(frozen=True, repr=False)
class Report(TabularRecords):
    """Scores per label or segment type, overall, and averaged.

    It shows as a table at a prompt and in a notebook; ``to_frame()`` gives a pandas DataFrame, ``to_dict()``
    plain numbers for logs.
    """

    unit: str  # "token" or "segment"
    scores: Mapping[Hashable, Score]  # by label or segment type, in display order
    overall: Score  # all types pooled (the micro average)
    n_tokens: int
    n_correct_tokens: int

    @property
    def token_accuracy(self) -> float:
        """The share of tokens with the right label; 0 if there are none."""
        return self.n_correct_tokens / self.n_tokens if self.n_tokens else 0.0

    @property
    def precision(self) -> float:
        return self.overall.precision

    @property
    def recall(self) -> float:
        return self.overall.recall

    @property
    def f1(self) -> float:
        """Overall F1: all types pooled."""
        return self.overall.f1

    @property
    def macro(self) -> Average:
        """The plain mean over types."""
        return self._mean(dict.fromkeys(self.scores, 1))

    @property
    def weighted(self) -> Average:
        """The mean over types, weighted by the number of true items."""
        return self._mean({name: score.true for name, score in self.scores.items()})

    def averaged_f1(self, average: Averaging) -> float:
        """Return F1 of all types pooled (micro), or its mean over types (macro, weighted)."""
        if average not in ("micro", "macro", "weighted"):
            raise InputError(f"average must be 'macro', 'weighted' or 'micro', got {average!r}")
        if average == "micro":
            return self.f1
        return (self.macro if average == "macro" else self.weighted).f1

    def _mean(self, weights: Mapping[Hashable, int]) -> Average:
        total = sum(weights.values())
        if not total:
            return Average(0.0, 0.0, 0.0, self.overall.true)
        return Average(
            sum(weights[name] * score.precision for name, score in self.scores.items()) / total,
            sum(weights[name] * score.recall for name, score in self.scores.items()) / total,
            sum(weights[name] * score.f1 for name, score in self.scores.items()) / total,
            self.overall.true,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return everything as nested dicts of numbers."""
        return {
            "unit": self.unit,
            "token_accuracy": self.token_accuracy,
            "overall": self.overall.to_dict(),
            "macro": self.macro.to_dict(),
            "weighted": self.weighted.to_dict(),
            "scores": {name: score.to_dict() for name, score in self.scores.items()},
        }

    def _rows(self) -> tuple[dict[str, Score | Average], dict[str, Score | Average]]:
        """Return the scores of the types and the overall ones, by their names in the table."""
        totals: dict[str, Score | Average]
        totals = {"overall": self.overall, "macro average": self.macro, "weighted average": self.weighted}
        return {str(name): score for name, score in self.scores.items()}, totals

    def _shown(self) -> ShownTable:
        def cells(name: str, score: Score | Average) -> list[str]:
            support = score.true if isinstance(score, Score) else score.support
            return [name, *(f"{number:.2f}" for number in score.percentages), str(support)]

        groups = [[cells(name, score) for name, score in rows.items()] for rows in self._rows()]
        width = max(width_of(row[0]) for rows in groups for row in rows)  # the accuracy stands below F1
        return ShownTable(
            ["", "precision", "recall", f"{'F1':>6}", f"{self.unit + 's':>9}"],
            groups,
            [f"{'token accuracy':{width}}  {100 * self.token_accuracy:25.2f}"],
        )

    def _records(self) -> Iterator[dict[str, Any]]:
        for rows in self._rows():
            for name, score in rows.items():
                numbers = score.to_dict()
                yield {
                    self.unit: name,
                    **{field: numbers[field] for field in ("precision", "recall", "f1", "support")},
                }

    def to_frame(self) -> Any:
        """Return a pandas DataFrame: one row per label or type, and the overall ones; scores from 0 to 1."""
        return super().to_frame().set_index(self.unit)
