"""Constraints on labellings: masks that write -inf into a lattice.

Constraints restrict transitions, first and last labels, and the labels of single positions; ``&`` combines
them. A label scheme (BIO and its variants, a grammar of genes) is a function that returns a ``Constraints``
object for a list of label names.
"""

from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from crfkit.arrays import BoolArray, FloatArray
from crfkit.exceptions import InputError
from crfkit.inference.lattice import Lattice
from crfkit.inference.posterior import dead_sequences, log_partition


@dataclass(frozen=True, eq=False)
class Constraints:
    """Masks that are True where something is permitted; None permits everything.

    ``a & b`` permits what both a and b permit.
    """

    transitions: npt.ArrayLike | None = (
        None  # [L, L] from label k to label l; or [ΣT, L, L] likewise, into each position
    )
    transitions2: npt.ArrayLike | None = None  # [L, L, L] label triples; the lattice must be of order 2
    starts: npt.ArrayLike | None = None  # [L] first labels
    ends: npt.ArrayLike | None = None  # [L] last labels
    positions: npt.ArrayLike | None = None  # [ΣT, L] labels at each position of one batch

    def __and__(self, other: "Constraints") -> "Constraints":
        if not isinstance(other, Constraints):
            return NotImplemented
        combined = {}
        for field in fields(Constraints):
            mine, yours = getattr(self, field.name), getattr(other, field.name)
            if mine is None or yours is None:
                combined[field.name] = yours if mine is None else mine
                continue
            a, b = checked_mask(field.name, mine), checked_mask(field.name, yours)
            if field.name == "transitions" and a.shape[-2:] == b.shape[-2:]:
                combined[field.name] = a & b  # one of them may be shared by all positions
                continue
            if a.shape != b.shape:
                raise InputError(
                    f"cannot combine {field.name} of shapes {a.shape} and {b.shape}: they must be equal"
                )
            combined[field.name] = a & b
        return Constraints(**combined)

    def at(self, positions: slice, n_positions: int) -> "Constraints":
        """Return the constraints on some positions of a batch of ``n_positions``."""
        if positions == slice(0, n_positions):
            return self
        parts: dict[str, BoolArray] = {}
        for name, dimensions in (("positions", 2), ("transitions", 3)):
            if np.ndim(getattr(self, name)) != dimensions:
                continue  # the same everywhere, or none
            mask = checked_mask(name, getattr(self, name))
            if len(mask) != n_positions:
                raise InputError(
                    f"{name} must have a row for each of the {n_positions} positions of the batch; "
                    f"got shape {mask.shape}"
                )
            parts[name] = mask[positions]
        return replace(self, **parts)


def forced_labels(labels: npt.ArrayLike, n_labels: int) -> Constraints:
    """Return constraints that fix the label of every position whose entry in ``labels`` [ΣT] is not -1."""
    ids = np.asarray(labels)
    if ids.ndim != 1 or (ids.size and not np.issubdtype(ids.dtype, np.integer)):
        raise InputError(
            f"labels must be a vector of integers, -1 where free; got shape {ids.shape}, type {ids.dtype}"
        )
    outside = np.flatnonzero((ids < -1) | (ids >= n_labels))
    if len(outside):
        raise InputError(
            f"labels must be in -1..{n_labels - 1}, -1 meaning free; got {ids[outside[0]]} "
            f"at position {outside[0]} of the batch"
        )
    return Constraints(positions=(ids[:, None] < 0) | (ids[:, None] == np.arange(n_labels)))  # [ΣT, L]


def permitted_labels(allowed: npt.ArrayLike) -> Constraints:
    """Return constraints that permit at each position only the labels True in ``allowed`` [ΣT, L]."""
    return Constraints(positions=checked_mask("positions", allowed))


def force_where_possible(lattice: Lattice, labels: npt.ArrayLike, *, n_jobs: int | None = None) -> Lattice:
    """Force labels as ``forced_labels`` does, but ignore them in sequences where they would leave no path."""
    forced = np.array(labels, np.int32)  # [ΣT]
    tight = constrain(lattice, forced_labels(forced, lattice.n_labels))
    if (lattice.node > -np.inf).all() and not lattice.forbids_transitions:
        return tight  # if nothing is forbidden, every label can be reached
    dead = dead_sequences(tight, n_jobs=n_jobs)
    if not len(dead):
        return tight
    free = np.zeros(lattice.n_sequences, np.bool_)
    free[dead] = True
    forced[np.repeat(free, np.diff(lattice.offsets))] = -1
    return constrain(lattice, forced_labels(forced, lattice.n_labels))


def constrain(lattice: Lattice, *constraints: Constraints) -> Lattice:
    """Return a lattice in which everything that the constraints forbid has a score of -inf."""
    all_of = Constraints()
    for one in constraints:
        all_of = all_of & one
    n_labels = lattice.n_labels
    if all_of.transitions2 is not None and lattice.order == 1:
        raise InputError(
            "constraints on three labels in a row need a lattice of order 2; "
            "give it edge2=np.zeros((L, L, L)) if there are no such scores"
        )
    node, edge, edge2, start, end = lattice.node, lattice.edge, lattice.edge2, lattice.start, lattice.end
    ngrams = lattice.ngrams
    if all_of.positions is not None:
        node = forbid("positions", node, all_of.positions, node.shape)
    if all_of.transitions is not None:
        shape: tuple[int, ...] = (n_labels,) * 2
        if np.ndim(all_of.transitions) == 3:
            shape = (lattice.n_positions, *shape)
            edge = np.broadcast_to(edge, shape)  # a view
        edge = forbid("transitions", edge, all_of.transitions, shape)
    if all_of.transitions2 is not None and edge2 is not None:
        edge2 = forbid("transitions2", edge2, all_of.transitions2, (n_labels,) * 3)
    if all_of.transitions2 is not None and ngrams is not None:
        mask = checked_mask("transitions2", all_of.transitions2)
        if mask.shape != (n_labels,) * 3:
            raise InputError(f"transitions2 must have shape {(n_labels,) * 3}; got {mask.shape}")
        ngrams = ngrams.forbidding(np.argwhere(~mask))
    if all_of.starts is not None:
        start = forbid("starts", np.zeros(n_labels) if start is None else start, all_of.starts, (n_labels,))
    if all_of.ends is not None:
        end = forbid("ends", np.zeros(n_labels) if end is None else end, all_of.ends, (n_labels,))
    return lattice.changed(node=node, edge=edge, start=start, end=end, edge2=edge2, ngrams=ngrams)


def partial_log_likelihood(
    lattice: Lattice, allowed: npt.ArrayLike, *, n_jobs: int | None = None
) -> FloatArray:
    """Return for each sequence [N] the log probability that every label is ``allowed`` [ΣT, L].

    It is log Z(constrained) - log Z(free): the likelihood of labels that are only partly known. If one label
    is allowed at each position, it is the log probability of that path. If the allowed labels leave no
    permitted path, :class:`~crfkit.exceptions.NoPathError` is raised.
    """
    free = log_partition(lattice, n_jobs=n_jobs)
    restricted = log_partition(constrain(lattice, permitted_labels(allowed)), n_jobs=n_jobs)
    return np.minimum(restricted - free, 0.0)  # rounding must not make a probability above 1


def checked_mask(name: str, values: npt.ArrayLike) -> BoolArray:
    """Return an array of booleans; ``name`` is its name in messages."""
    mask = np.asarray(values)
    if mask.dtype != np.bool_:
        raise InputError(f"{name} must be an array of booleans, True where permitted; got type {mask.dtype}")
    return mask


def forbid(name: str, scores: FloatArray, permitted: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    """Return scores with -inf where a mask of this shape does not permit."""
    mask = checked_mask(name, permitted)
    if mask.shape != shape:
        raise InputError(f"{name} must have shape {shape} for this lattice; got {mask.shape}")
    return np.where(mask, scores, -np.inf)
