"""Selection by gain: how far the objective falls when the weight of one candidate alone is optimised.

Della Pietra, Della Pietra and Lafferty, PAMI 19 (1997); McCallum, UAI 2003. The arithmetic is in
native/selection/candidate_gain.h.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from crfkit import _native
from crfkit import parameters as rule
from crfkit.arrays import FloatArray, IntArray
from crfkit.exceptions import InputError
from crfkit.objectives.linear_likelihood import physical_memory
from crfkit.potentials.linear import LinearPotential
from crfkit.selection.forward import Scorer
from crfkit.selection.gradient import GradientSelector
from crfkit.selection.search import Search

_BYTES = 32  # of memory per position and label: scores, forward and backward probabilities
_PIECE = 4096  # candidates between two checks for Ctrl-C


class GainScorer:
    """A scorer by gain, which keeps the weights of all candidates as initial values of the next round."""

    def __init__(self, search: Search, approximate: bool, screen: int | None) -> None:
        pool = search.local
        if pool.index.order != 1 or pool.index.has_pairs:
            raise InputError(
                "gains are for first-order models without attributes on pairs: use GradientSelector"
            )
        if pool.labels.allowed is not None:
            raise InputError(
                "gains need every label, but y has unknown ones: use GradientSelector for partial labels"
            )
        if pool.permitted is not None:
            raise InputError("gains are over all labellings, not over permitted ones: use GradientSelector")
        T, L, memory = pool.sequences.n_positions, pool.index.n_labels, physical_memory()
        needed = _BYTES * T * L
        if memory is not None and needed > memory:
            raise InputError(
                f"gains with {L:,} labels at {T:,} positions need {needed / 1e9:.3g} GB, but this machine "
                f"has {memory / 1e9:.3g} GB: select on fewer sequences, or use GradientSelector"
            )
        self._approximate: bool = approximate
        self._screen: int | None = screen
        self._weights: FloatArray = np.zeros(0)  # [K] the weight at each gain; NaN: not known yet

    def __call__(self, search: Search) -> tuple[FloatArray, FloatArray | None]:
        """Return gains [K] and the weights that reach them."""
        pool, settings = search.local, search.settings
        K = pool.n_candidates
        self._weights = np.concatenate((self._weights, np.full(K - len(self._weights), np.nan)))
        lattice = LinearPotential(*search.model).scores(pool.sequences, n_jobs=settings.n_jobs)
        gains = _native.CandidateGains(
            pool.sequences.offsets,
            pool.labels.ids,
            pool.weights,
            lattice.node,
            lattice.edge,
            settings.c2,
            settings.n_threads,
        )
        open_ones = np.setdiff1d(np.arange(K), search.chosen)
        scores = np.full(K, -np.inf)
        if self._approximate:
            scores[open_ones], self._weights[open_ones] = self._best(search, gains, open_ones, True)
            return scores, self._weights
        unknown = open_ones if self._screen is not None else open_ones[np.isnan(self._weights[open_ones])]
        rough = np.full(K, -np.inf)
        starts = self._weights.copy()
        if len(unknown):
            rough[unknown], found = self._best(search, gains, unknown, True)
            new = np.isnan(starts[unknown])
            starts[unknown[new]] = found[new]
        if self._screen is not None and len(open_ones) > self._screen:
            open_ones = np.sort(open_ones[np.argsort(-rough[open_ones], kind="stable")[: self._screen]])
        scores[open_ones], self._weights[open_ones] = self._best(
            search, gains, open_ones, False, starts[open_ones]
        )
        return scores, self._weights

    def _best(
        self,
        search: Search,
        gains: _native.CandidateGains,
        candidates: IntArray,
        approximate: bool,
        starts: FloatArray | None = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the gain and the weight of each candidate."""
        index, occurrences = search.pool.index, search.occurrences
        n_edges, L = search.pool.first_state, search.pool.index.n_labels
        edges = np.flatnonzero(index.edges)
        keys = index.state_keys()
        is_edge = candidates < n_edges
        key = np.where(
            is_edge,
            _taken(edges, np.where(is_edge, candidates, 0)),
            _taken(keys, np.where(is_edge, 0, candidates - n_edges)),
        )
        previous = np.where(is_edge, key // L, -1).astype(np.int32)
        attribute = np.where(is_edge, -1, key // L).astype(np.int32)
        label = (key % L).astype(np.int32)
        found, weights = np.zeros(len(candidates)), np.zeros(len(candidates))
        if starts is not None:
            weights[:] = starts
        for first in range(0, len(candidates), _PIECE):
            part = slice(first, first + _PIECE)
            gains.best(
                previous[part],
                label[part],
                attribute[part],
                occurrences.indptr,
                occurrences.positions,
                occurrences.values,
                approximate,
                found[part],
                weights[part],
            )
        return found, weights


def _taken(values: IntArray, places: IntArray) -> IntArray:
    """Return values[places]; zeros if there are no values."""
    return values[places] if len(values) else np.zeros(len(places), np.int64)


class GainSelector(GradientSelector):
    """A selector of features by gain, with one optimisation per candidate.

    Parameters are those of :class:`GradientSelector`, and

    method
        "exact", with forward-backward passes; or "approximate", McCallum's approximation by independent
        positions with fixed marginals.
    screen
        With "exact": the number of candidates to evaluate, the best ones by the approximation. None: all.
    """

    _rules: ClassVar[dict[str, rule.Rule]] = {
        **GradientSelector._rules,
        "method": rule.one_of("exact", "approximate"),
        "screen": rule.optional(rule.whole_number(1)),
    }

    def __init__(
        self,
        n_features: int | None = None,
        *,
        method: str = "exact",
        screen: int | None = None,
        **shared: Any,
    ) -> None:
        super().__init__(n_features, **shared)
        self.method = method
        self.screen = screen

    def _scorer(self, search: Search) -> Scorer:
        return GainScorer(search, self.method == "approximate", self.screen)
