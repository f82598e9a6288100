"""The report of a fitted model on labelled data: one HTML file on how good it is, where it errs and why.

``model.report(X, y)`` and ``crfkit report`` call :func:`model_report`; every kind of model has a view of what
it has learnt (``kinds/``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from crfkit.exceptions import InputError
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.models.kinds import kind_of
from crfkit.report.colours import places_of
from crfkit.report.frame import check_engine, render, write_page
from crfkit.report.goodness import Goodness, goodness
from crfkit.report.kinds.view import Illustration, ModelView
from crfkit.report.label_colours import PALETTE, LabelColours
from crfkit.report.model_comparison import Comparison, compare
from crfkit.report.predictions import Predictions, predict
from crfkit.report.sentences import Wrong, wrong_sentences
from crfkit.report.spans import clean, shown_probability
from crfkit.report.training_charts import history_charts, learning_curve
from crfkit.report.words import all_words, found_words, words_of

_ILLUSTRATION = 2000  # sequences in which examples of rules are looked for


@dataclass(frozen=True, repr=False)
class ModelReport:
    """A report as HTML; ``save`` writes it, and a notebook shows it."""

    html: str
    summary: str  # one line

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, completely or not at all; ``-`` is standard output."""
        write_page(self.html, path)

    def _repr_html_(self) -> str:
        return render("report_in_notebook.html", page=self.html, summary=self.summary)

    def __repr__(self) -> str:
        return f"report: {self.summary} (save(path) writes the page, {len(self.html) // 1000:,} kB)"


class Side(NamedTuple):
    """A model and the data in the form that it takes."""

    model: Any
    data: LabelledSequences
    name: str = "the model"


@dataclass(frozen=True)
class Plan:
    """What goes into a report."""

    title: str = "Model report"
    train: LabelledSequences | None = None  # for a learning curve
    other: Side | None = None  # a model to compare with
    words: Sequence[Sequence[str]] | None = None
    scheme: str | None = None  # of the labels
    sentences: int = 150  # at most on the page
    resamples: int = 1000
    seed: int = 0
    told: Callable[[str], None] = field(default=lambda words: None)  # progress


def model_report(
    model: Any,
    X: Any,
    y: Any = None,
    path: str | os.PathLike[str] | None = None,
    *,
    lengths: Any = None,
    words: Sequence[Sequence[str]] | None = None,
    X_train: Any = None,
    y_train: Any = None,
    compare: Any = None,
    title: str | None = None,
    scheme: str | None = None,
    sentences: int = 150,
    resamples: int = 1000,
    random_state: int = 0,
) -> ModelReport:
    """Return a report of a fitted model: see :meth:`crfkit.CRF.report`."""
    check_engine("a report")
    data = _labelled(model, X, y, lengths)
    plan = Plan(
        title or f"{type(model).__name__} on {len(data):,} sequences",
        None if X_train is None else _labelled(model, X_train, y_train, None),
        None if compare is None else Side(compare, _labelled(compare, X, y, lengths), "the other model"),
        words,
        scheme,
        sentences,
        resamples,
        random_state,
    )
    made = make_report(Side(model, data), plan)
    if path is not None:
        made.save(path)
    return made


def make_report(side: Side, plan: Plan) -> ModelReport:
    """Return the report that a plan describes."""
    if plan.sentences < 0 or plan.resamples < 10:
        raise InputError(
            f"sentences must be at least 0 and resamples at least 10, got {plan.sentences} and "
            f"{plan.resamples}"
        )
    model, data, _ = side
    view: ModelView[Any] = kind_of(model._fitted()).view(model)
    plan.told("labelling")
    words, found = words_of(data, plan.words), predict(model, data, plan.scheme)
    known, known_from = _known(view, plan)
    plan.told("scores")
    good = goodness(found, words, known, known_from, plan.resamples, plan.seed)
    plan.told("mistakes")
    wrong = wrong_sentences(model, data, found, words, plan.sentences)
    comparison = None if plan.other is None else _comparison(side, plan.other, plan, found, good, words)
    curve = None
    if plan.train is not None:
        curve = learning_curve(view.fresh, plan.train, data, plan.scheme, plan.seed, plan.told)
    plan.told("what the model has learnt")
    learnt = view.learnt(_illustration(data, words))
    page = render(
        "report.html",
        title=plan.title,
        lead=_lead(found, view),
        facts=view.facts(),
        good=good,
        history=history_charts(model),
        curve=curve,
        wrong=wrong,
        learnt=learnt,
        comparison=comparison,
        colours=LabelColours([*model.classes_, *found.pairs.names]),
        places=places_of(_types(wrong, comparison)),
        clean=clean,
        probability=shown_probability,
        resamples=plan.resamples,
        **PALETTE,
    )
    return ModelReport(page, _summary(good, found))


def _labelled(model: Any, X: Any, y: Any, lengths: Any) -> LabelledSequences:
    record = getattr(model, "table_", None)
    if y is None and record is not None:
        return LabelledSequences.of(X, label=record.label, sequence=list(record.sequence) or None)
    return LabelledSequences.of(X, y, lengths=lengths)


def _known(view: ModelView[Any], plan: Plan) -> tuple[set[str] | None, str]:
    """Return the words that are not new to the model, and where that is known from."""
    if plan.train is not None and plan.words is None:
        seen = found_words(plan.train)
        return None if seen is None else all_words(seen), "not in the training data"
    return view.known_words(), "of which the model has no attribute"


def _comparison(
    side: Side, other: Side, plan: Plan, found: Predictions, good: Goodness, words: Sequence[Sequence[str]]
) -> Comparison:
    plan.told("labelling by the other model")
    second = predict(other.model, other.data, plan.scheme)
    scores = goodness(second, words, None, "", plan.resamples, plan.seed)
    return compare((side.name, other.name), found, second, (good, scores), words, plan.resamples, plan.seed)


def _illustration(data: LabelledSequences, words: Sequence[Sequence[str]]) -> Illustration:
    n = min(len(data), _ILLUSTRATION)
    part = data.part(np.arange(n))
    return Illustration(part.x, part.y, words[:n])


def _types(wrong: Wrong, comparison: Comparison | None) -> set[str]:
    """Return the types of all spans on the page, which get different colours."""
    shown = [one.shown for one in wrong.sentences]
    if comparison is not None:
        shown += [side for one in (*comparison.better_a, *comparison.better_b) for side in (one.a, one.b)]
    return set().union(*(one.types for one in shown))


def _lead(found: Predictions, view: ModelView[Any]) -> str:
    pairs = found.pairs
    text = f"{pairs.n_sequences:,} sequences, {pairs.n_tokens:,} positions, {len(view.tagger.classes)} labels"
    if found.n_left_out:
        text += f"; {found.n_left_out:,} more without all labels left out"
    return text


def _summary(good: Goodness, found: Predictions) -> str:
    name, score = good.headline[0]
    return (
        f"{name} {100 * score.value:.2f} (95 % interval {100 * score.low:.2f} to {100 * score.high:.2f}) on "
        f"{found.pairs.n_sequences:,} sequences"
    )
