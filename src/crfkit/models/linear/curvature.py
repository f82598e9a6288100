"""How firmly the data seen so far holds the weights of a linear CRF.

After training, a weight that moves by d raises the loss of the training data by about h·d², where 2h is the
second derivative there. Continued training adds these terms to its objective in place of the data, which is
gone: an online Laplace approximation (Ritter, Botev and Barber, NeurIPS 2018) with a diagonal Hessian.

h is kept as one number per attribute, the mean over its features, and one per transition. A feature that is
new at a known attribute, because its label is new there, is held like the others: the earlier data had
occasion to show it, and did not. So is a new transition, like the average one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IntArray
from crfkit.features.index import FeatureIndex, spread
from crfkit.models.linear.ngram_arrays import in_a_table, table_of
from crfkit.potentials.linear import LinearWeights

Numbers = npt.NDArray[np.float32]
_IN_FILES = ".curvature"
_LARGEST = 1e30  # larger ones hold a weight no better


@dataclass(frozen=True)
class Curvature:
    """Half the second derivatives of the loss of all data so far."""

    edge: Numbers  # [L, L]
    ngrams: Numbers  # [M]
    pair: Numbers  # [A] mean over the pair features of an attribute; [0] if there are none
    state: Numbers  # [A] mean over the state features of an attribute

    @classmethod
    def of(cls, index: FeatureIndex, h: FloatArray) -> Curvature:
        """Return the curvature of a vector with one number per feature."""
        parts = LinearWeights.of(index, h)
        return cls(
            np.maximum(parts.edge, 0).astype(np.float32),
            np.maximum(parts.ngrams, 0).astype(np.float32),
            _native.row_means(index.pair_indptr, parts.pair, _LARGEST)
            if index.has_pairs
            else np.zeros(0, np.float32),
            _native.row_means(index.state_indptr, parts.state, _LARGEST),
        )

    def by_feature(self, index: FeatureIndex) -> FloatArray:
        """Return one number per feature, in the order of ``index.sizes``."""
        pair = np.repeat(self.pair, np.diff(index.pair_indptr)) if len(self.pair) else np.zeros(0)
        if index.has_pairs and not len(self.pair):
            pair = np.zeros(len(index.pair_ids))
        state = np.repeat(self.state, np.diff(index.state_indptr))
        return np.concatenate([self.edge.ravel(), self.ngrams, pair, state], dtype=np.float64)

    def at(self, attributes: IntArray) -> Curvature:
        """Return the curvature of these attributes only; 0 for ids beyond those it has."""
        return replace(
            self,
            pair=_at(self.pair, attributes) if len(self.pair) else self.pair,
            state=_at(self.state, attributes),
        )

    def after(
        self, old: Curvature | None, labels: IntArray, ngrams: IntArray, attributes: IntArray, n: int
    ) -> Curvature:
        """Return the sum with the curvature of earlier data, over n attributes.

        ``labels`` and ``ngrams`` are the places of the old ones among the new ones, ``attributes`` are those
        of this batch among all.
        """
        L, empty = len(self.edge), np.zeros(0, np.float32)
        state, pair = (empty, empty) if old is None else (old.state, old.pair)
        edge, runs = self.edge, self.ngrams.copy()
        if old is not None:
            edge = edge + spread(old.edge, labels, L)
            runs[ngrams] += old.ngrams
        pairs = len(pair) or len(self.pair)
        more = self.pair if len(self.pair) else np.zeros(len(attributes), np.float32)
        return Curvature(
            edge,
            runs,
            _sum(pair, more, attributes, n) if pairs else empty,
            _sum(state, self.state, attributes, n),
        )

    # ---- the model file

    def to_arrays(self, index: FeatureIndex) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of a model file."""
        parts = {"state": self.state, "edge": self.edge}
        if in_a_table(index):
            parts["edge2"] = table_of(index, self.ngrams)
        elif index.order > 1:
            parts["ngrams"] = self.ngrams
        if len(self.pair):
            parts["pair"] = self.pair
        return {name + _IN_FILES: array for name, array in parts.items()}

    @classmethod
    def from_arrays(cls, arrays: Any, index: FeatureIndex) -> Curvature | None:
        """Return the curvature in a model file (``ModelArrays``); None if it has none."""
        if "state" + _IN_FILES not in arrays:
            return None
        L, A = index.n_labels, index.n_attributes

        def take(name: str, *shape: int) -> Numbers:
            array: Numbers = arrays.take(name + _IN_FILES, np.float32, shape)
            if array.size and array.min() < 0:
                raise arrays.wrong(f"{name + _IN_FILES!r} holds negative numbers")
            return array

        return cls(
            take("edge", L, L),
            _of_ngrams(take, index, arrays),
            take("pair", A) if "pair" + _IN_FILES in arrays else np.zeros(0, np.float32),
            take("state", A),
        )


def _of_ngrams(take: Callable[..., Numbers], index: FeatureIndex, arrays: Any) -> Numbers:
    """Return the numbers of n-grams [M] in a model file; files of order 2 may have them as a table."""
    if "edge2" + _IN_FILES in arrays:
        table: Numbers = take("edge2", *(index.n_labels,) * 3)[tuple(index.ngrams.T)]
        return table
    return take("ngrams", len(index.ngrams)) if index.order > 1 else np.zeros(0, np.float32)


def spread_over(table: Numbers, known: npt.NDArray[np.bool_]) -> Numbers:
    """Return the table of transitions with the mean of the known ones wherever none is known."""
    mean = table[known].mean() if known.any() else 0.0
    return np.where(known, table, np.float32(mean)).astype(np.float32)


def _at(numbers: Numbers, attributes: IntArray) -> Numbers:
    out = np.zeros(len(attributes), np.float32)
    known = attributes < len(numbers)
    out[known] = numbers[attributes[known]]
    return out


def _sum(numbers: Numbers, more: Numbers, attributes: IntArray, n: int) -> Numbers:
    out = np.zeros(n, np.float32)
    out[: len(numbers)] = numbers
    out[attributes] = np.minimum(out[attributes] + more, np.float32(_LARGEST))
    return out
