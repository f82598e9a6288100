"""The sentences that wait for labels, and the order in which a person gets them.

A random tenth of all sentences is set aside before anything is labelled. Every tenth sentence comes from it,
in random order; the model's accuracy there is that on the whole data, while its accuracy on sentences chosen
for their uncertainty is too low. The other sentences come in the order that the user chooses.

B. Settles and M. Craven, "An analysis of active learning strategies for sequence labeling tasks", EMNLP 2008.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.exceptions import InputError

SAMPLED = 10  # one sentence out of so many belongs to the random sample


class Order(NamedTuple):
    """An order of sentences: the largest rank comes first."""

    words: str
    rank: Callable[[FloatArray, IntArray], FloatArray] | None  # of uncertainty and length [N]; None: random


ORDERS = {
    "total": Order("least sure sentences first: few sentences", lambda entropy, length: entropy),
    "token": Order("least sure per token: few tokens", lambda entropy, length: entropy / length),
    "random": Order("random", None),
}


class Choice(NamedTuple):
    """A sentence to label, and whether it belongs to the random sample."""

    sentence: int
    sampled: bool


class Pool:
    """N sentences, some of them labelled.

    ``uncertainty`` [N] is the entropy of the model's distribution over the labellings of each sentence, NaN
    where it was never computed. Without a model, all are NaN, and sentences come at random.
    """

    def __init__(self, lengths: IntArray, order: str = "total", seed: int = 0) -> None:
        n = len(lengths)
        self.lengths = lengths  # [N]
        self.open: BoolArray = lengths > 0  # [N] not labelled yet
        self.uncertainty: FloatArray = np.full(n, np.nan)
        self._shuffled = np.random.default_rng(seed).permutation(n)  # [N]
        self._set_aside = self._shuffled[: math.ceil(n / SAMPLED)]
        self._by_order = np.sort(self._shuffled[len(self._set_aside) :])
        self._random_place = np.empty(n, np.int64)
        self._random_place[self._shuffled] = np.arange(n)
        self.order = order
        self.n_taken = 0

    @property
    def order(self) -> str:
        """The name of the order, one of ``ORDERS``."""
        return self._order

    @order.setter
    def order(self, name: str) -> None:
        if name not in ORDERS:
            raise InputError(f"order must be one of {', '.join(ORDERS)}, got {name!r}")
        self._order = name

    def take(self, sentence: int) -> None:
        """Note that a sentence is labelled."""
        self.n_taken += int(self.open[sentence])
        self.open[sentence] = False

    def give_back(self, sentence: int) -> None:
        """Note that a sentence is no longer labelled."""
        self.n_taken -= int(not self.open[sentence])
        self.open[sentence] = True

    def next(self) -> Choice | None:
        """Return the sentence to label next; None if all are labelled."""
        waiting = self._set_aside[self.open[self._set_aside]]  # in random order
        others = self._by_order[self.open[self._by_order]]
        if len(waiting) and (self.n_taken % SAMPLED == SAMPLED - 1 or not len(others)):
            return Choice(int(waiting[0]), True)
        if not len(others):
            return None
        rank = ORDERS[self.order].rank
        known = others if rank is None else others[~np.isnan(self.uncertainty[others])]
        if rank is None or not len(known):
            return Choice(int(others[self._random_place[others].argmin()]), False)
        return Choice(int(known[rank(self.uncertainty[known], self.lengths[known]).argmax()]), False)

    def to_score(self, most: int, rng: np.random.Generator) -> IntArray:
        """Return open sentences with at most about ``most`` tokens, a random part if there are more."""
        chosen = self._by_order[self.open[self._by_order]]
        if self.lengths[chosen].sum() <= most:
            return chosen
        chosen = rng.permutation(chosen)
        n = int(np.searchsorted(np.cumsum(self.lengths[chosen]), most, side="right"))
        return np.sort(chosen[: max(n, 1)])
