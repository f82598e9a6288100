"""One session of labelling: the next sentence, its answer, undo, and fits in between.

All methods may be called from several threads. ``refit`` computes without holding the lock, so that a person
can go on meanwhile.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from typing import NamedTuple

import numpy as np

from crfkit.annotate.learner import Learner, Proposal
from crfkit.annotate.pool import Pool
from crfkit.annotate.store import Answer, Store
from crfkit.annotate.tag_set import Label, Marks
from crfkit.data.columns import Columns
from crfkit.exceptions import CRFKitError, InputError
from crfkit.io.csv_data import NamedColumns

EVERY = 10  # answers between two fits
_MOST_SCORED = 500_000  # tokens that are scored after a fit: one or two seconds

Rows = tuple[tuple[str, ...], ...]


class OutdatedError(InputError):
    """An answer for a sentence that is not the current one, for example from a second window."""


class Sentence(NamedTuple):
    """The sentence that a person labels now."""

    number: int  # in the data
    rows: Rows
    marks: Marks  # to begin with
    proposal: Proposal | None
    sampled: bool


class Session:
    """Labels sentences of ``columns`` and keeps the answers in ``store``.

    Answers of earlier sessions whose sentences are not in the data are kept, and learnt from.
    """

    def __init__(
        self, columns: Columns, learner: Learner, store: Store, order: str = "total", every: int = EVERY
    ) -> None:
        self.columns, self.learner, self.store, self.every = columns, learner, store, every
        self.pool = Pool(np.diff(columns.offsets), order, store.seed)
        self.fitted_on = 0  # answers
        self.fitting = False
        self.failure = ""  # why the last fit failed
        self._since = 0  # answers since the last fit began
        self._lock = threading.RLock()
        self._rng = np.random.default_rng(store.seed)
        self._current: Sentence | None = None
        self._places = self._matched()
        if learner.has_model:
            self._score(learner, self.pool.to_score(_MOST_SCORED, self._rng))

    def _matched(self) -> list[int | None]:
        """Mark the sentences labelled earlier as taken; return the place of each answer in the data."""
        places: list[int | None] = []
        if self.store.answers:
            where: defaultdict[Rows, list[int]] = defaultdict(list)
            for i, rows in enumerate(self.columns):
                where[tuple(map(tuple, rows))].append(i)
            for answer in self.store.answers:
                found = where[answer.rows]
                places.append(found.pop(0) if found else None)
                if places[-1] is not None:
                    self.pool.take(places[-1])
        self._since = len(places)
        return places

    @property
    def n_elsewhere(self) -> int:
        """Number of answers whose sentences are not in the data."""
        return sum(place is None for place in self._places)

    @property
    def due(self) -> bool:
        """Whether enough was answered for another fit."""
        return self._since >= (self.every if self.fitted_on or self.learner.has_model else 1)

    def current(self) -> Sentence | None:
        """Return the sentence to label; the same until it is answered. None: all are labelled."""
        with self._lock:
            if self._current is None:
                self._current = self._next()
            return self._current

    def _next(self) -> Sentence | None:
        choice = self.pool.next()
        if choice is None:
            return None
        i = choice.sentence
        rows: Rows = tuple(map(tuple, self.columns[i]))
        proposal = None
        if self.learner.has_model:
            proposal = self.learner.propose(self.columns[i : i + 1])
        labels: list[Label] = [None] * len(rows) if proposal is None else list(proposal.labels)
        marks = self.store.tags.marks(labels)
        if proposal is None:
            marks = Marks([], [])
        return Sentence(i, rows, marks, proposal, choice.sampled)

    def answer(self, number: int, marks: Marks) -> None:
        """Keep the labels of the current sentence. When this returns, they are on the disk."""
        with self._lock:
            now = self.current()
            if now is None or now.number != number:
                raise OutdatedError("this sentence is labelled already, perhaps in another window")
            labels = self.store.tags.labels(marks, len(now.rows))
            proposed = None if now.proposal is None else now.proposal.labels
            self.store.append(Answer(now.rows, labels, proposed, now.sampled, self.fitted_on))
            self._places.append(number)
            self.pool.take(number)
            self._since += 1
            self._current = None

    def undo(self) -> bool:
        """Take back the last answer, whose sentence becomes current again; return whether there was one.

        The answer is what the sentence begins with.
        """
        with self._lock:
            answer = self.store.undo()
            if answer is None:
                return False
            place = self._places.pop()
            self._since = max(self._since - 1, 0)
            if place is not None:
                self.pool.give_back(place)
                proposal = None
                if answer.proposed is not None:
                    proposal = Proposal(answer.proposed, [])
                marks = self.store.tags.marks(answer.labels)
                self._current = Sentence(place, answer.rows, marks, proposal, answer.sampled)
            return True

    def choose(self, order: str) -> None:
        """Change the order; the current sentence stays."""
        with self._lock:
            self.pool.order = order

    def refit(self) -> None:
        """Fit on everything labelled so far, and score the sentences that wait."""
        with self._lock:
            if self.fitting:
                return
            self.fitting = True
            self._since = 0
            answers = list(self.store.answers)
            waiting = self.pool.to_score(_MOST_SCORED, self._rng)
        try:
            x = Columns.from_rows([answer.rows for answer in answers])
            if isinstance(self.columns, NamedColumns):
                x = NamedColumns.of(x, self.columns.names)
            if answers and self.learner.fit(x, [answer.labels for answer in answers]):
                self._score(self.learner, waiting)
                self.fitted_on = len(answers)
            self.failure = ""
        except CRFKitError as error:  # the sentences can be labelled all the same
            self.failure = str(error)
        finally:
            self.fitting = False

    def _score(self, learner: Learner, waiting: np.ndarray) -> None:
        scores = learner.uncertainty(self.columns.subset(waiting))
        with self._lock:
            self.pool.uncertainty[waiting] = scores
