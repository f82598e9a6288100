"""What p(y|x) says: log Z, marginals, expected counts, entropy, and decoding by marginals."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray, IntArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import Lattice, native_batch, require_paths
from crfkit.inference.paths import viterbi
from crfkit.threads import thread_count


class Marginals(NamedTuple):
    """Probabilities of labels and of label pairs."""

    node: FloatArray  # [ΣT, L] p(y_t = l)
    edge: FloatArray | None  # [ΣT, L, L] p(y_{t-1} = k, y_t = l); 0 at a sequence's first position
    log_z: FloatArray  # [N]


class ExpectedCounts(NamedTuple):
    """Sums of probabilities over the batch: how often each thing is expected to occur."""

    node: FloatArray  # [L]
    start: FloatArray  # [L] at first positions
    end: FloatArray  # [L] at last positions
    edge: FloatArray  # [L, L]
    edge2: FloatArray | None  # [L, L, L], for lattices of order 2
    log_z: FloatArray  # [N]


class MaxMarginal(NamedTuple):
    """The most probable label of each position."""

    labels: IdArray  # [ΣT]
    posterior: FloatArray | None  # [ΣT, L], when asked for


def log_partition(lattice: Lattice, *, n_jobs: int | None = None) -> FloatArray:
    """Log Z of each sequence [N]; 0 for an empty one."""
    return _posterior(lattice, n_jobs)


def dead_sequences(lattice: Lattice, *, n_jobs: int | None = None) -> IntArray:
    """Numbers of the sequences through which there is no permitted path."""
    _, dead = _run(lattice, n_jobs)
    return np.flatnonzero(dead >= 0)


def marginals(lattice: Lattice, *, edge: bool = False, n_jobs: int | None = None) -> Marginals:
    """Probabilities of labels and, with ``edge=True``, of neighbouring label pairs (in either order)."""
    shape = lattice.node.shape
    node = np.empty(shape)  # [ΣT, L]
    pair = np.empty((*shape, shape[1])) if edge else None  # [ΣT, L, L]
    log_z = _posterior(lattice, n_jobs, node=node, pair=pair)
    return Marginals(node, pair, log_z)


def expected_counts(
    lattice: Lattice, *, weights: npt.ArrayLike | None = None, n_jobs: int | None = None
) -> ExpectedCounts:
    """Expected numbers of labels and transitions, summed over the sequences times their ``weights`` [N].

    In order 2, ``edge`` counts every transition and ``edge2`` every three labels in a row.
    """
    n, n_labels = lattice.n_sequences, lattice.n_labels
    factors = np.ones(n) if weights is None else np.ascontiguousarray(weights, dtype=np.float64)
    if factors.shape != (n,) or not np.isfinite(factors).all():
        raise InputError(
            f"weights must be {n} finite numbers, one a sequence; got an array of shape {factors.shape}"
        )
    log_z = np.zeros(n)
    dead = np.full(n, -1, dtype=np.int64)
    ends = np.zeros((3, n_labels))
    tables = [np.zeros(n_labels ** (k + 2)) for k in range(lattice.order)]
    _native.lattice_expected_counts(
        native_batch(lattice), factors, log_z, ends, tables, dead, thread_count(n_jobs)
    )
    require_paths(lattice, dead)
    edge2 = tables[1].reshape((n_labels,) * 3) if lattice.order == 2 else None
    return ExpectedCounts(ends[0], ends[1], ends[2], tables[0].reshape(n_labels, n_labels), edge2, log_z)


def entropy(lattice: Lattice, *, n_jobs: int | None = None) -> FloatArray:
    """Entropy of p(y|x) of each sequence [N], in nats; 0 for an empty sequence, which has one path."""
    result = np.zeros(lattice.n_sequences)
    _posterior(lattice, n_jobs, entropy=result)
    return result


def max_marginal(lattice: Lattice, *, posterior: bool = False, n_jobs: int | None = None) -> MaxMarginal:
    """Posterior decoding: the most probable label at each position, the smaller of equally probable ones.

    It makes the fewest wrong labels in expectation. Where transitions are forbidden (-inf), the labels are
    those of the permitted path that does so: the one with the largest sum of marginals.
    """
    probabilities = marginals(lattice, n_jobs=n_jobs).node
    tables = [
        table for table in (lattice.edge, lattice.start, lattice.end, lattice.edge2) if table is not None
    ]
    if all((table > -np.inf).all() for table in tables):
        labels = probabilities.argmax(axis=1).astype(np.int32)
    else:
        legal = Lattice(
            np.where(lattice.node > -np.inf, probabilities, -np.inf),
            _mask(lattice.edge),
            lattice.offsets,
            None if lattice.start is None else _mask(lattice.start),
            None if lattice.end is None else _mask(lattice.end),
            None if lattice.edge2 is None else _mask(lattice.edge2),
        )
        labels = viterbi(legal, n_jobs=n_jobs).labels
    return MaxMarginal(labels, probabilities if posterior else None)


def _mask(scores: FloatArray) -> FloatArray:
    """0 where permitted, -inf where forbidden."""
    return np.where(scores > -np.inf, 0.0, -np.inf)


def _posterior(
    lattice: Lattice,
    n_jobs: int | None,
    *,
    node: FloatArray | None = None,
    pair: FloatArray | None = None,
    entropy: FloatArray | None = None,
) -> FloatArray:
    log_z, dead = _run(lattice, n_jobs, node, pair, entropy)
    require_paths(lattice, dead)
    return log_z


def _run(
    lattice: Lattice,
    n_jobs: int | None,
    node: FloatArray | None = None,
    pair: FloatArray | None = None,
    entropy: FloatArray | None = None,
) -> tuple[FloatArray, IntArray]:
    log_z = np.zeros(lattice.n_sequences)
    dead = np.full(lattice.n_sequences, -1, dtype=np.int64)
    _native.lattice_marginals(native_batch(lattice), log_z, node, pair, entropy, dead, thread_count(n_jobs))
    return log_z, dead
