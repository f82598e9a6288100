"""Properties of p(y|x): log Z, marginals, expected counts, entropy, and decoding by marginals."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import Lattice, native_batch, require_paths
from crfkit.inference.paths import viterbi


class Marginals(NamedTuple):
    """Probabilities of labels and of label pairs."""

    node: FloatArray  # [ΣT, L] p(y_t = l)
    edge: FloatArray | None  # [ΣT, L, L] p(y_{t-1} = k, y_t = l); 0 at a sequence's first position
    log_z: FloatArray  # [N]


class ExpectedCounts(NamedTuple):
    """Expected numbers of labels and transitions: sums of probabilities over the batch."""

    node: FloatArray  # [L]
    start: FloatArray  # [L] at first positions
    end: FloatArray  # [L] at last positions
    edge: FloatArray  # [L, L]
    edge2: FloatArray | None  # [L, L, L], for lattices with a table of triples
    log_z: FloatArray  # [N]
    ngrams: FloatArray | None = None  # [M], for lattices with n-grams


class Expectations(NamedTuple):
    """Expected counts in the shapes of a lattice's scores: the gradient of Σ weight log Z.

    Counts of scores that all positions share are summed over the positions. Counts of scores per position
    are per position, and 0 where the score is ignored.
    """

    node: FloatArray  # [ΣT, L]
    edge: FloatArray  # [L, L] or [ΣT, L, L], as the lattice's
    edge2: FloatArray | None  # [L, L, L] or [ΣT, L, L, L], as the lattice's
    start: FloatArray | None  # [L], if the lattice has start scores
    end: FloatArray | None  # [L], if the lattice has end scores
    log_z: FloatArray  # [N]
    ngrams: FloatArray | None = None  # [M], if the lattice has n-grams


class MaxMarginal(NamedTuple):
    """The most probable label of each position."""

    labels: IdArray  # [ΣT]
    posterior: FloatArray | None  # [ΣT, L], if requested


def log_partition(lattice: Lattice, *, n_jobs: int | None = None) -> FloatArray:
    """Return log Z of each sequence [N]; 0 for an empty one.

    Rounding errors are about 1e-15 times the size of the scores per position.
    """
    return _posterior(lattice, n_jobs)


def dead_sequences(lattice: Lattice, *, n_jobs: int | None = None) -> IntArray:
    """Return the numbers of the sequences that have no permitted path."""
    dead = np.full(lattice.n_sequences, -1, dtype=np.int64)
    log_z = np.zeros(lattice.n_sequences)
    batch, threads = native_batch(lattice, n_jobs)
    _native.lattice_posterior(batch, log_z, dead, threads)
    return np.flatnonzero(dead >= 0)


def marginals(lattice: Lattice, *, edge: bool = False, n_jobs: int | None = None) -> Marginals:
    """Return the probabilities of labels and, with ``edge=True``, of neighbouring label pairs.

    Rounding errors are about 1e-15 times the size of the scores per position: below 1e-6 times the number of
    positions at the largest scores that a :class:`Lattice` takes, 1e9.
    """
    shape = lattice.node.shape
    node = np.empty(shape)  # [ΣT, L]
    pair = np.empty((*shape, shape[1])) if edge else None  # [ΣT, L, L]
    log_z = _posterior(lattice, n_jobs, node=node, pair=pair)
    return Marginals(node, pair, log_z)


def expected_counts(
    lattice: Lattice, *, weights: npt.ArrayLike | None = None, n_jobs: int | None = None
) -> ExpectedCounts:
    """Return expected numbers of labels and transitions, summed over the sequences with ``weights`` [N].

    In order 2, ``edge`` counts transitions and ``edge2`` triples of consecutive labels.
    """
    factors, ends, tables = _weights(lattice, weights), np.zeros((3, lattice.n_labels)), _tables(lattice)
    runs = None if lattice.ngrams is None else np.zeros(len(lattice.ngrams))
    log_z = _posterior(lattice, n_jobs, tables, weights=factors, ends=ends, ngrams=runs)
    edge2 = None if lattice.edge2 is None else tables[1]
    return ExpectedCounts(ends[0], ends[1], ends[2], tables[0], edge2, log_z, runs)


def expectations(
    lattice: Lattice, *, weights: npt.ArrayLike | None = None, n_jobs: int | None = None
) -> Expectations:
    """Return the expected count of each score of the lattice, times the ``weights`` [N].

    The results have the shapes of the scores: expected minus observed counts are the gradient of the
    negative log-likelihood with respect to the scores.
    """
    factors = _weights(lattice, weights)
    labels = np.empty(lattice.node.shape)
    edge = np.empty(lattice.edge.shape) if lattice.edge.ndim == 3 else None
    edge2 = None
    if lattice.edge2 is not None and lattice.edge2.ndim == 4:
        edge2 = np.empty(lattice.edge2.shape)
    runs = None if lattice.ngrams is None else np.zeros(len(lattice.ngrams))
    summed = edge is None or (lattice.edge2 is not None and edge2 is None)
    tables = _tables(lattice) if summed else []
    bounded = lattice.start is not None or lattice.end is not None
    ends = np.zeros((3, lattice.n_labels)) if bounded else None
    log_z = _posterior(
        lattice,
        n_jobs,
        tables,
        weights=factors,
        node=labels,
        pair=edge,
        window=None if edge2 is None else edge2.reshape(-1),
        ends=ends,
        ngrams=runs,
    )
    if factors is not None:  # the sums are weighted already
        per_position = np.repeat(factors, np.diff(lattice.offsets))  # [ΣT]
        for filled in (labels, edge, edge2):
            if filled is not None:
                filled *= per_position.reshape(-1, *[1] * (filled.ndim - 1))
    if edge is None:
        edge = tables[0]
    if lattice.edge2 is not None and edge2 is None:
        edge2 = tables[1]
    start = None if ends is None or lattice.start is None else ends[1]
    end = None if ends is None or lattice.end is None else ends[2]
    return Expectations(labels, edge, edge2, start, end, log_z, runs)


def entropy(lattice: Lattice, *, n_jobs: int | None = None) -> FloatArray:
    """Return the entropy of p(y|x) of each sequence [N] in nats; 0 for an empty sequence (one path)."""
    result = np.zeros(lattice.n_sequences)
    _posterior(lattice, n_jobs, entropy=result)
    return result


def max_marginal(lattice: Lattice, *, posterior: bool = False, n_jobs: int | None = None) -> MaxMarginal:
    """Return the most probable label at each position (posterior decoding); ties go to the smaller label.

    This minimises the expected number of wrong labels. If transitions are forbidden (-inf), the labels are
    those of the permitted path with the largest sum of marginals.
    """
    probabilities = marginals(lattice, n_jobs=n_jobs).node
    if not lattice.forbids_transitions:
        labels = probabilities.argmax(axis=1).astype(np.int32)
    else:
        ngrams = lattice.ngrams
        legal = lattice.changed(
            node=np.where(lattice.node > -np.inf, probabilities, -np.inf),
            edge=_mask(lattice.edge),
            start=None if lattice.start is None else _mask(lattice.start),
            end=None if lattice.end is None else _mask(lattice.end),
            edge2=None if lattice.edge2 is None else _mask(lattice.edge2),
            ngrams=None if ngrams is None else ngrams.permitted(),
        )
        labels = viterbi(legal, n_jobs=n_jobs).labels
    return MaxMarginal(labels, probabilities if posterior else None)


def _mask(scores: FloatArray) -> FloatArray:
    """Return 0 where the scores permit, and -inf where they forbid."""
    return np.where(scores > -np.inf, 0.0, -np.inf)


def _weights(lattice: Lattice, weights: npt.ArrayLike | None) -> FloatArray | None:
    """Check the weights of the sequences [N]."""
    if weights is None:
        return None
    n, factors = lattice.n_sequences, np.ascontiguousarray(weights, dtype=np.float64)
    if factors.shape != (n,) or not np.isfinite(factors).all():
        raise InputError(
            f"weights must be {n} finite numbers, one per sequence; got an array of shape {factors.shape}"
        )
    return factors


def _tables(lattice: Lattice) -> list[FloatArray]:
    """Return zeros to add expected counts to: [L, L], and [L, L, L] if there is a table of triples."""
    return [np.zeros((lattice.n_labels,) * (2 + k)) for k in range(1 if lattice.edge2 is None else 2)]


def _posterior(
    lattice: Lattice,
    n_jobs: int | None,
    tables: Sequence[FloatArray] = (),
    **outputs: FloatArray | None,
) -> FloatArray:
    """Fill tables and outputs (see ``_native.lattice_posterior``), and return log Z [N]."""
    log_z = np.zeros(lattice.n_sequences)
    dead = np.full(lattice.n_sequences, -1, dtype=np.int64)
    flat = [table.reshape(-1) for table in tables]
    batch, threads = native_batch(lattice, n_jobs)
    _native.lattice_posterior(batch, log_z, dead, threads, tables=flat, **outputs)
    require_paths(lattice, dead)
    return log_z
