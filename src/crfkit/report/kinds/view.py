"""The view of a fitted model: facts, what it has learnt, and how to train another one like it.

A view returns parts; ``templates/learnt.html`` draws each by its ``form``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from crfkit.models.fitted_model import FittedModel
from crfkit.report.heat import Heat
from crfkit.report.rules_page import RuleRow

Tagger = TypeVar("Tagger", bound=FittedModel)


class Weight(NamedTuple):
    """A weight with the share that its bar has of the longest."""

    text: str
    value: float
    share: float  # 0 to 1
    note: str = ""


class LabelWeights(NamedTuple):
    """The strongest weights for a label and against it."""

    label: str
    pro: list[Weight]
    con: list[Weight]


class WeightsPart(NamedTuple):
    """Weights by label, as small multiples."""

    title: str
    words: str
    labels: list[LabelWeights]
    form: str = "weights"


class BarsPart(NamedTuple):
    """One list of weights as bars."""

    title: str
    words: str
    weights: list[Weight]
    form: str = "bars"


class HeatPart(NamedTuple):
    """A matrix of labels."""

    title: str
    words: str
    heat: Heat
    form: str = "heat"


class TablePart(NamedTuple):
    """A table, with heads (name, whether it holds numbers) and rows of (text, number to sort by)."""

    title: str
    words: str
    heads: list[tuple[str, bool]]
    rows: list[list[tuple[str, float | None]]]
    form: str = "table"


class RulesPart(NamedTuple):
    """Association rules with examples."""

    title: str
    words: str
    heads: list[tuple[str, bool]]
    rows: list[RuleRow]
    form: str = "rules"


Part = WeightsPart | BarsPart | HeatPart | TablePart | RulesPart


class Illustration(NamedTuple):
    """Some labelled data to illustrate with: X, labels and words of its sequences."""

    X: Any
    y: Sequence[Sequence[Any]]
    words: Sequence[Sequence[str]]


class ModelView(ABC, Generic[Tagger]):
    """The common part of all views."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.tagger: Tagger = model._fitted()

    def facts(self) -> list[tuple[str, str]]:
        """Return facts about the model: a name and a value each."""
        return [("labels", f"{len(self.tagger.classes):,}"), *self.own_facts(), *self._training()]

    @abstractmethod
    def own_facts(self) -> list[tuple[str, str]]:
        """Return the facts that only this kind of model has."""

    @abstractmethod
    def learnt(self, data: Illustration) -> list[Part]:
        """Return what the model has learnt."""

    def known_words(self) -> set[str] | None:
        """Return texts that the model has seen in training; None if it does not remember any."""
        return None

    def fresh(self) -> Any:
        """Return an estimator that is not fitted, with the same parameters and features."""
        params = self.model.get_params(deep=False)
        return type(self.model)(**{**params, **self.own_parameters(), "verbose": 0})

    def own_parameters(self) -> dict[str, Any]:
        """Return parameters that the fitted model knows better than the estimator."""
        return {}

    def _training(self) -> list[tuple[str, str]]:
        found = []
        n = len(getattr(self.model, "history_", ()))
        if n:
            found.append(("iterations", f"{n:,}"))
        calibration = self.tagger.calibration
        if not calibration.is_none:
            found.append(("calibration", str(calibration)))
        return found


def weights_of(pairs: Sequence[tuple[str, float]], longest: float, notes: Sequence[str] = ()) -> list[Weight]:
    """Return weights with the lengths of their bars."""
    return [
        Weight(
            text,
            value,
            round(min(1.0, abs(value) / longest), 3) if longest else 0.0,
            notes[k] if notes else "",
        )
        for k, (text, value) in enumerate(pairs)
    ]
