"""The lattice: scores of a batch of sequences, checked once.

The score of a path y through a sequence of T positions is

    S(y) = start[y_0] + end[y_{T-1}] + Σ_t node[t, y_t] + Σ_{t>=1} edge[t, y_{t-1}, y_t]
           (order 2:)                + Σ_{t>=2} edge2[t, y_{t-2}, y_{t-1}, y_t]
           (order n:)                + Σ_t Σ over the label n-grams that end at t of their scores

and p(y) = exp(S(y)) / Z. A score of -inf forbids. Any other score may be at most 10⁹ in size.

Sums are in float64. An error of a probability is at most about 10⁻¹⁵ times the size of the scores, for each
position that the sequence has: nothing at ordinary scores, and 10⁻⁶ at scores of 10⁹. Larger scores would
give wrong probabilities, and are refused.
"""

from copy import copy
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IntArray
from crfkit.exceptions import InputError, NoPathError
from crfkit.inference.label_ngrams import LabelNgrams
from crfkit.threads import thread_count

_Self = TypeVar("_Self", bound="ScoredSequences")

LARGEST_SCORE = 1e9  # rounding errors of probabilities are then below 10⁻⁶ or so
_WORDS = ("sequence", "position")


class ScoredSequences:
    """Base class of scores: N sequences, laid end to end.

    Fields are the arguments of ``__init__``; the arrays of float64 among them are scores.
    """

    offsets: IntArray  # [N+1]
    first_sequence = 0  # number of its first sequence in a batch of which it is a piece, for messages

    @property
    def n_sequences(self) -> int:
        return len(self.offsets) - 1

    @property
    def n_positions(self) -> int:
        return int(self.offsets[-1])

    def numbered_from(self: _Self, first_sequence: int) -> _Self:
        """Return the same scores; messages call the first sequence by this number."""
        if first_sequence == self.first_sequence:
            return self
        numbered = copy(self)
        object.__setattr__(numbered, "first_sequence", first_sequence)
        return numbered

    def changed(self: _Self, **given: Any) -> _Self:
        """Return the same scores with other fields, checked."""
        mine = {name: value for name, value in vars(self).items() if name != "first_sequence"}
        return type(self)(**{**mine, **given}).numbered_from(self.first_sequence)

    def scaled(self: _Self, factor: float) -> _Self:
        """Return the same scores, all multiplied by a factor above 0; the forbidden stays forbidden."""
        if factor == 1:
            return self
        mine = vars(self).items()
        scaled = {k: v * factor for k, v in mine if getattr(v, "dtype", None) == np.float64}
        runs = {k: v.with_scores(v.scores * factor) for k, v in mine if isinstance(v, LabelNgrams)}
        return self.changed(**scaled, **runs)


@dataclass(frozen=True, eq=False, init=False)
class Lattice(ScoredSequences):
    """Scores of N sequences over L labels; ΣT positions in all, one sequence after the other.

    Parameters
    ----------
    node
        [ΣT, L] score of each label at each position.
    edge
        [L, L], shared by all positions, or [ΣT, L, L]: ``edge[t, k, l]`` is the score of going from label k
        at position t-1 to label l at position t. The row of a sequence's first position is ignored.
    offsets
        [N+1] sequence i has the positions ``offsets[i] .. offsets[i+1]-1``. Sequences may be empty.
    start, end
        [L] scores of the first and of the last label; none by default.
    edge2
        [L, L, L] or [ΣT, L, L, L] makes it a lattice of order 2: ``edge2[t, j, k, l]`` is the score of labels
        j, k, l at positions t-2, t-1, t, used from a sequence's third position on, in addition to ``edge``.
    ngrams
        :class:`LabelNgrams`: scores of runs of three labels and more, for order 2 and higher; instead of
        ``edge2``.

    Arrays of another type are converted to float64. -inf forbids. All other scores must be from -10⁹ to 10⁹:
    beyond that, float64 cannot tell paths apart whose scores differ by a little, and probabilities would be
    wrong. NaN, +inf and larger scores are errors.
    """

    node: FloatArray  # [ΣT, L]
    edge: FloatArray  # [L, L] or [ΣT, L, L]
    offsets: IntArray  # [N+1]
    start: FloatArray | None  # [L]
    end: FloatArray | None  # [L]
    edge2: FloatArray | None  # [L, L, L] or [ΣT, L, L, L]
    ngrams: LabelNgrams | None

    def __init__(
        self,
        node: npt.ArrayLike,
        edge: npt.ArrayLike,
        offsets: npt.ArrayLike,
        start: npt.ArrayLike | None = None,
        end: npt.ArrayLike | None = None,
        edge2: npt.ArrayLike | None = None,
        ngrams: LabelNgrams | None = None,
    ) -> None:
        scores = _floats("node", node)
        if scores.ndim != 2 or scores.shape[1] == 0:
            raise InputError(
                f"node must have shape [ΣT, L] with at least one label; got shape {scores.shape}"
            )
        n_positions, n_labels = scores.shape
        starts = checked_offsets(offsets, n_positions)
        _check_scores("node", scores, starts, 0)
        set_field = object.__setattr__
        set_field(self, "node", scores)
        set_field(self, "offsets", starts)
        set_field(self, "edge", _edge_table("edge", edge, starts, n_positions, n_labels, 2))
        set_field(
            self,
            "edge2",
            None if edge2 is None else _edge_table("edge2", edge2, starts, n_positions, n_labels, 3),
        )
        set_field(self, "start", None if start is None else checked_scores("start", start, (n_labels,)))
        set_field(self, "end", None if end is None else checked_scores("end", end, (n_labels,)))
        set_field(self, "ngrams", None if ngrams is None else _checked_ngrams(ngrams, n_labels, edge2))

    @property
    def order(self) -> int:
        """Number of previous labels that a score may depend on."""
        if self.ngrams is not None:
            return self.ngrams.order
        return 1 if self.edge2 is None else 2

    @property
    def forbids_transitions(self) -> bool:
        """Whether a start, an end or a run of labels is forbidden somewhere."""
        runs = None if self.ngrams is None else self.ngrams.scores
        tables = (self.edge, self.start, self.end, self.edge2, runs)
        return any(table is not None and not (table > -np.inf).all() for table in tables)

    @property
    def n_labels(self) -> int:
        return int(self.node.shape[1])

    def __repr__(self) -> str:
        return (
            f"Lattice(order={self.order}, {self.n_sequences} sequences, {self.n_positions} positions, "
            f"{self.n_labels} labels)"
        )


def native_batch(lattice: Lattice, n_jobs: int | None) -> tuple[_native.LatticeBatch, int]:
    """Return the lattice in the form of the native core, and the number of threads for ``n_jobs``."""
    tables = [lattice.edge] if lattice.edge2 is None else [lattice.edge, lattice.edge2]
    ngrams = lattice.ngrams
    batch = _native.LatticeBatch(
        lattice.node,
        [table.reshape(-1) for table in tables],
        lattice.start,
        lattice.end,
        lattice.offsets,
        None if ngrams is None else ngrams.labels,
        None if ngrams is None else ngrams.scores,
    )
    return batch, thread_count(n_jobs)


def require_paths(lattice: Lattice, dead: IntArray) -> None:
    """Raise if a sequence has no permitted path: ``dead[i]`` is the position where its paths end, or -1."""
    failed = np.flatnonzero(dead >= 0)
    if len(failed) == 0:
        return
    i = int(failed[0])
    number = lattice.first_sequence + i
    others = f" (nor through {len(failed) - 1} other sequences)" if len(failed) > 1 else ""
    error = NoPathError(
        f"no permitted path through sequence {number}{others}: at its position {int(dead[i])} every label is "
        f"forbidden or cannot be reached from the positions before; allow more labels or transitions there"
    )
    error.sequence = number
    raise error


def _checked_ngrams(ngrams: LabelNgrams, n_labels: int, edge2: npt.ArrayLike | None) -> LabelNgrams:
    if edge2 is not None:
        raise InputError("a lattice has edge2 or ngrams: give the scores of three labels as n-grams, too")
    if len(ngrams) and ngrams.labels.max() >= n_labels:
        raise InputError(f"labels of n-grams must be in 0..{n_labels - 1}; got {ngrams.labels.max()}")
    checked_scores("n-gram", ngrams.scores, ngrams.scores.shape)
    return ngrams


def _floats(name: str, values: npt.ArrayLike) -> FloatArray:
    try:
        return np.ascontiguousarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} must be an array of numbers: {error}") from error


def checked_offsets(values: npt.ArrayLike, n_positions: int) -> IntArray:
    """Return offsets [N+1] that rise from 0 to the number of positions."""
    array = np.asarray(values)
    if array.ndim != 1 or len(array) == 0 or not np.issubdtype(array.dtype, np.integer):
        raise InputError(
            f"offsets must be a vector of N+1 integers, the first 0; "
            f"got shape {array.shape}, type {array.dtype}"
        )
    offsets = np.ascontiguousarray(array, dtype=np.int64)
    if offsets[0] != 0 or offsets[-1] != n_positions:
        raise InputError(
            f"offsets must begin with 0 and end with the number of positions, {n_positions}; "
            f"got {offsets[0]} and {offsets[-1]}"
        )
    falling = np.flatnonzero(np.diff(offsets) < 0)
    if len(falling):
        i = int(falling[0])
        raise InputError(f"offsets must not fall; sequence {i} runs from {offsets[i]} to {offsets[i + 1]}")
    return offsets


def checked_scores(
    name: str,
    values: npt.ArrayLike,
    shape: tuple[int, ...],
    offsets: IntArray | None = None,
    words: tuple[str, str] = _WORDS,
    axes: tuple[str, ...] | None = None,
) -> FloatArray:
    """Return scores of a known shape as float64.

    With ``offsets``, the first axis are positions; messages call sequence and position by ``words``. The
    other axes are labels, or what ``axes`` says.
    """
    scores = _floats(name, values)
    if scores.shape != shape:
        raise InputError(f"{name} must have shape {shape}; got {scores.shape}")
    _check_scores(name, scores, offsets, None if offsets is None else 0, words, axes)
    return scores


def _edge_table(
    name: str, values: npt.ArrayLike, offsets: IntArray, n_positions: int, n_labels: int, rank: int
) -> FloatArray:
    table = _floats(name, values)
    shared = (n_labels,) * rank
    if table.shape not in (shared, (n_positions, *shared)):
        raise InputError(
            f"{name} must have shape {shared} (shared) or {(n_positions, *shared)} (per position); "
            f"got {table.shape}"
        )
    # the first rank - 1 positions of a sequence have no such transition
    _check_scores(name, table, offsets, rank - 1 if table.ndim > rank else None)
    return table


def _check_scores(
    name: str,
    scores: FloatArray,
    offsets: IntArray | None,
    skip: int | None,
    words: tuple[str, str] = _WORDS,
    axes: tuple[str, ...] | None = None,
) -> None:
    """Raise on scores that are not -inf nor at most ``LARGEST_SCORE`` in size.

    If ``skip`` is given, rows are positions, and a sequence's first ``skip`` may hold anything.
    """
    if _native.scores_fit(scores.reshape(-1), LARGEST_SCORE):
        return
    bad = np.argwhere(~((np.abs(scores) <= LARGEST_SCORE) | (scores == -np.inf)))
    if offsets is None or skip is None:
        place, labels = "", bad[0]
    else:
        sequence = np.searchsorted(offsets, bad[:, 0], side="right") - 1
        position = bad[:, 0] - offsets[sequence]
        counted = np.flatnonzero(position >= skip)
        if len(counted) == 0:
            return
        first = counted[0]
        place = f"in {words[0]} {sequence[first]} at {words[1]} {position[first]}, "
        labels, bad = bad[first, 1:], bad[first:]
    which = f"label {labels[0]}" if len(labels) == 1 else f"labels {' → '.join(map(str, labels))}"
    if axes is not None:
        which = ", ".join(f"{axis} {number}" for axis, number in zip(axes, labels.tolist(), strict=True))
    value = scores[tuple(bad[0])]
    if np.isfinite(value):
        raise InputError(
            f"{name} scores must be at most {LARGEST_SCORE:g} in size, or -inf to forbid; got {value:g} "
            f"{place}{which}; scale the features or the weights they come from"
        )
    raise InputError(f"{name} scores must be finite, or -inf to forbid; got {value} {place}{which}")
