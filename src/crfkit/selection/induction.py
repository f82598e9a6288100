"""Feature induction: which conjunctions to propose next (McCallum, UAI 2003).

A conjunction joins an attribute that has been chosen with any other. All pairs are scored at once by the
gradient: with r_t[l] = p(y_t = l) - [y_t = l],

    ∂O/∂w of (a & b, l) = Σ_t value_a(t) value_b(t) r_t[l]
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.inference import constrain
from crfkit.inference.chain import CHAIN
from crfkit.objectives.likelihood import expected_minus_observed
from crfkit.optional import needed
from crfkit.potentials.linear import LinearPotential
from crfkit.selection.search import Search

_MOST_ATOMS = 3  # in a conjunction
_MOST_STEMS = 200  # chosen attributes that are tried with all others: the most recent ones


def propose(search: Search, n: int) -> list[tuple[int, int]]:
    """Return the n most promising pairs of attributes, best first."""
    sparse = needed("scipy.sparse", "the induction of conjunctions")
    pool = search.local
    chosen = pool.attribute_of(search.chosen)
    stems = list(dict.fromkeys(chosen[chosen >= 0][::-1].tolist()))[:_MOST_STEMS]
    if not stems:
        return []
    residuals = _residuals(search)  # [ΣT, L]
    sequences = pool.sequences
    values = np.ones(len(sequences.indices)) if sequences.values is None else sequences.values
    attributes = sparse.csr_matrix(
        (values, sequences.indices, sequences.indptr), shape=(sequences.n_positions, pool.index.n_attributes)
    )
    strings = pool.vocabulary.strings()
    size = np.array([len(pool.conjunctions.get(name, (name,))) for name in strings])  # [A]
    usable = np.diff(pool.index.state_indptr) > 0  # [A]
    tried = {frozenset(atoms) for atoms in pool.conjunctions.values()}
    proposals: list[tuple[float, int, int]] = []
    for stem in stems:
        positions, factors = search.occurrences.of(stem)
        scores = np.abs(attributes[positions].T @ (residuals[positions] * factors[:, None])).max(axis=1)
        scores[~usable | (size + size[stem] > _MOST_ATOMS)] = 0
        scores[stem] = 0
        best = np.argsort(-scores, kind="stable")[:n]
        proposals += [(-float(scores[other]), stem, int(other)) for other in best if scores[other] > 0]
    found: dict[frozenset[str], tuple[int, int]] = {}
    for _, stem, other in sorted(proposals):
        atoms = frozenset(
            atom for k in (stem, other) for atom in pool.conjunctions.get(strings[k], (strings[k],))
        )
        if atoms not in tried and len(atoms) > 1:
            found.setdefault(atoms, (stem, other))
        if len(found) == n:
            break
    return list(found.values())


def _residuals(search: Search) -> FloatArray:
    """Return p(y_t = l) - [y_t = l], times the sequence's weight."""
    pool = search.local
    lattice = LinearPotential(*search.model).scores(pool.sequences, n_jobs=search.settings.n_jobs)
    if pool.permitted is not None:
        lattice = constrain(lattice, pool.permitted.constraints())
    found = expected_minus_observed(
        CHAIN, lattice, pool.labels, weights=pool.weights, n_jobs=search.settings.n_jobs
    )
    return found.d_scores.node
