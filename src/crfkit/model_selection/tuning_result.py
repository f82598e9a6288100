"""The result of a search for parameters: the best model, and everything that was tried."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from crfkit.io.shown_table import ShownTable
from crfkit.io.text_width import pad, width_of
from crfkit.optional import needed

_LONGEST = 30  # characters of a value


@dataclass(frozen=True)
class Trial:
    """One setting, scored by cross-validation on a part of the data or all of it."""

    params: dict[str, Any]  # empty: the estimator as it was given
    scores: tuple[float, ...]  # of the folds; empty if it failed
    n_sequences: int  # that the folds share
    stage: int  # 0, 1, …: each has more data and fewer settings
    seconds: float
    error: str | None = None

    @property
    def score(self) -> float:
        """The mean of the folds; NaN if a fold failed."""
        return float(np.mean(self.scores)) if self.scores else float("nan")

    @property
    def standard_error(self) -> float:
        """The standard error of the mean over folds."""
        n = len(self.scores)
        return float(np.std(self.scores, ddof=1) / n**0.5) if n > 1 else float("nan")


@dataclass(frozen=True)
class TuningResult:
    """What ``tune`` has found. It prints as a table, best first."""

    best_estimator_: Any  # trained on all the data
    best_params_: dict[str, Any]
    best_score_: float  # by cross-validation
    metric: str
    trials: list[Trial]  # in the order in which they were tried
    cv: int
    interrupted: bool = False  # by Ctrl-C: not everything was tried
    value_names: dict[int, str] = field(default_factory=dict)  # names for tables, by ``id`` of the value

    def ranked(self) -> list[Trial]:
        """Return the trials: those with the most data first, and of these the best first."""
        return ranked(self.trials)

    def to_frame(self) -> Any:
        """Return all trials as a pandas data frame, in the order of ``ranked``."""
        rows = [
            {
                **{f"param_{name}": one.params.get(name) for name in self._names()},
                "score": one.score,
                "standard_error": one.standard_error,
                "stage": one.stage,
                "n_sequences": one.n_sequences,
                "seconds": one.seconds,
                "error": one.error,
            }
            for one in self.ranked()
        ]
        return needed("pandas", "to_frame").DataFrame(rows)

    def __str__(self) -> str:
        table = self._table()
        widths = [max(map(width_of, column)) for column in zip(*table, strict=True)]
        n = len(self._names())
        lines = [
            "  ".join(pad(cell, w, right=k >= n) for k, (cell, w) in enumerate(zip(row, widths, strict=True)))
            for row in table
        ]
        return "\n".join([*(line.rstrip() for line in lines), self._words()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self._table()
        return ShownTable(head, [body], [self._words()]).html()

    def _names(self) -> list[str]:
        return list(dict.fromkeys(name for one in self.trials for name in one.params))

    def _words(self) -> str:
        best = ", ".join(
            f"{name}={shown(value, self.value_names)}" for name, value in self.best_params_.items()
        )
        stopped = "; stopped by Ctrl-C" if self.interrupted else ""
        return f"best: {best or 'as given'} ({self.metric} of {self.cv}-fold cross-validation{stopped})"

    def _table(self) -> list[list[str]]:
        names = self._names()
        head = [*names, self.metric, "± s.e.", "sequences", "seconds"]
        return [head, *([*_settings(one, names, self.value_names), *_numbers(one)] for one in self.ranked())]


def ranked(trials: list[Trial]) -> list[Trial]:
    """Return trials by amount of data, then by score; of equal ones the first tried, and failed ones last."""
    found = [one for one in trials if one.scores]
    failed = [one for one in trials if not one.scores]
    return [*sorted(found, key=lambda one: (-one.n_sequences, -one.score)), *failed]


def shown(value: Any, names: dict[int, str]) -> str:
    """Return a value of a parameter as text for tables; ``names`` has names of values, by ``id``."""
    if value is None or id(value) in names:
        return names.get(id(value), "-")
    if isinstance(value, float):
        return f"{value:g}"
    text = value if isinstance(value, str) else getattr(value, "__name__", None) or repr(value)
    text = " ".join(str(text).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _settings(one: Trial, names: list[str], of_values: dict[int, str]) -> list[str]:
    if not one.params:
        return ["as given" if k == 0 else "" for k in range(len(names))]
    return [shown(one.params[name], of_values) if name in one.params else "" for name in names]


def _numbers(one: Trial) -> list[str]:
    scores = [f"{one.score:.4f}", f"{one.standard_error:.4f}"] if one.scores else ["failed", ""]
    return [*scores, f"{one.n_sequences:,}", f"{one.seconds:.1f}"]
