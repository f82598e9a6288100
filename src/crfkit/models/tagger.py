"""A fitted model: everything one can ask of it once scores can be computed.

What the models have in common. A subclass says how X becomes a lattice (``pieces``); decoding, marginals
and n-best lists follow. Nothing here imports scikit-learn, so that tagging starts quickly.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import IO, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray
from crfkit.data.labels import decode_labels, encode_labels, label_lists
from crfkit.exceptions import InputError
from crfkit.inference import (
    Constraints,
    Lattice,
    constrain,
    force_where_possible,
    log_partition,
    marginals,
    max_expected_gain,
    max_marginal,
    nbest,
    path_score,
    permitted_labels,
    viterbi,
)
from crfkit.io.model_arrays import ModelArrays, open_model
from crfkit.io.model_file import Arrays, Source, write_model

_Self = TypeVar("_Self", bound="Tagger")
Piece = tuple[Lattice, IdArray | None]  # scores; labels that are certain [ΣT], -1: none


class Scored(NamedTuple):
    """What a model makes of a batch."""

    lattice: Lattice
    forced: IdArray | None  # [ΣT] labels that are certain, -1: none
    known: bool  # whether there was anything in the batch that the model knows


class Decoded(NamedTuple):
    """A labelling of each sequence of a batch."""

    labels: IdArray  # [ΣT]
    marginals: FloatArray | None  # [ΣT, L], when asked for
    probability: FloatArray | None  # [N] of the labellings, when asked for


class Tagger(ABC):
    """Labels sequences. ``classes`` are the labels; label ids are places in it.

    Wherever X is taken, ``lengths`` goes with one array or sparse matrix that holds the positions of all
    sequences, ``constraints`` with any of them, and ``known`` gives labels that are certain, as y in
    training does: None where a label is free, a set where it is one of several.
    """

    in_files: ClassVar[str]  # what model files call it

    def __init__(self, classes: list[Any], n_jobs: int | None = None) -> None:
        self.classes = classes  # [L]
        self.n_jobs = n_jobs

    def save(self, path: str | os.PathLike[str] | IO[bytes], header: Mapping[str, Any]) -> None:
        """Write the model file; ``header`` holds what the estimator wants to keep beside the model."""
        own, arrays = self.to_parts()
        write_model(path, {"model": self.in_files, "classes": self.classes, **own, **header}, arrays)

    @classmethod
    def load(cls: type[_Self], source: Source, n_jobs: int | None = None) -> tuple[_Self, dict[str, Any]]:
        """The tagger in a model file, mapped into memory, and the file's header."""
        header, arrays = open_model(source)
        return cls.of_file(header, arrays, n_jobs), header

    @classmethod
    def of_file(
        cls: type[_Self], header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None
    ) -> _Self:
        """The tagger in what a model file holds; its kind and its labels are checked here."""
        if header.get("model") != cls.in_files:
            raise arrays.wrong(f"expected a {cls.in_files}, got {header.get('model')!r}")
        classes = header.get("classes")
        if (
            not isinstance(classes, list)
            or not classes
            or not all(isinstance(label, (str, int)) for label in classes)
            or len(set(classes)) < len(classes)
        ):
            raise arrays.wrong("its labels are malformed")
        return cls.from_parts(classes, header, arrays, n_jobs)

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """What a model file holds beside kind and labels: JSON values for its header, and arrays."""

    @classmethod
    @abstractmethod
    def from_parts(
        cls: type[_Self],
        classes: list[Any],
        header: Mapping[str, Any],
        arrays: ModelArrays,
        n_jobs: int | None = None,
    ) -> _Self:
        """The tagger with these labels in what ``to_parts`` gave."""

    decoding = "viterbi"  # how ``decode`` goes about it; or "marginal"
    boundary_gain = 0.0  # what a boundary is worth to the second

    @property
    @abstractmethod
    def n_columns(self) -> int | None:
        """Columns of a table that it looks at; None where it takes no tables."""

    @property
    @abstractmethod
    def scores_per_position(self) -> int:
        """How many numbers a lattice has for each position."""

    @abstractmethod
    def scored(self, X: Any) -> Scored:
        """The scores of a batch, all at once."""

    def scored_under(
        self,
        X: Any,
        constraints: Constraints | None = None,
        allowed: BoolArray | None = None,  # [ΣT, L]
    ) -> Scored:
        """The scores of a batch with everything forbidden that constraints and known labels forbid."""
        scored = self.scored(X)
        lattice = scored.lattice
        if allowed is not None:
            lattice = constrain(lattice, permitted_labels(allowed))
        if constraints is None and scored.forced is None:
            return scored._replace(lattice=lattice)
        return scored._replace(lattice=self.permit(lattice, constraints, None, scored.forced))

    @abstractmethod
    def pieces(self, X: Any, lengths: Any = None, *, whole: bool = False) -> Iterator[Piece]:
        """The scores of a batch of sequences, in pieces of bounded size unless ``whole``."""

    def decode(
        self,
        lattice: Lattice,
        *,
        how: Literal["viterbi", "marginal"] | None = None,
        with_marginals: bool = False,
        with_probability: bool = False,
    ) -> Decoded:
        """The labels of a batch, and the probabilities that are asked for.

        ``how`` is the most probable path, or the most probable label of each position; None: as the model
        does it, which may give boundaries a gain (see ``crfkit.inference.max_expected_gain``).
        """
        node = score = None
        if (how or self.decoding) == "viterbi":
            labels, score = viterbi(lattice, n_jobs=self.n_jobs)
        elif how is None and self.boundary_gain:
            labels = max_expected_gain(lattice, self.boundary_gain, n_jobs=self.n_jobs)
        else:
            labels, node = max_marginal(lattice, posterior=with_marginals, n_jobs=self.n_jobs)
        if with_marginals and node is None:
            node = marginals(lattice, n_jobs=self.n_jobs).node
        if not with_probability:
            return Decoded(labels, node, None)
        if score is None:
            score = path_score(lattice, labels, n_jobs=self.n_jobs)
        return Decoded(labels, node, _probability(score, log_partition(lattice, n_jobs=self.n_jobs)))

    def decode_several(self, lattice: Lattice, k: int) -> Iterator[list[tuple[IdArray, float]]]:
        """The k most probable paths through each sequence with their probabilities, best first."""
        best, log_z = nbest(lattice, k, n_jobs=self.n_jobs), log_partition(lattice, n_jobs=self.n_jobs)
        for i in range(lattice.n_sequences):
            probabilities = _probability(best.scores_of(i), log_z[i])
            yield list(zip(best.paths_of(i), probabilities.tolist(), strict=True))

    def predict(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[Any]]:
        """The labels of each sequence, decoded as the model does it."""
        return self._predict(None, X, lengths, constraints, known)

    def predict_posterior(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[Any]]:
        """The most probable label of each position by itself (max-marginal decoding)."""
        return self._predict("marginal", X, lengths, constraints, known)

    def _predict(
        self,
        how: Literal["marginal"] | None,
        X: Any,
        lengths: Any,
        constraints: Constraints | None,
        known: Any,
    ) -> list[list[Any]]:
        found: list[list[Any]] = []
        for lattice in self.constrained(X, lengths, constraints, known):
            found += decode_labels(self.decode(lattice, how=how).labels, lattice.offsets, self.classes)
        return found

    def marginal_arrays(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[FloatArray]:
        """p(y_t = l | x), an array [T, L] a sequence."""
        arrays: list[FloatArray] = []
        for lattice in self.constrained(X, lengths, constraints, known):
            node = marginals(lattice, n_jobs=self.n_jobs).node
            arrays += [node[start:stop] for start, stop in pairwise(lattice.offsets.tolist())]
        return arrays

    def predict_marginals(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[dict[Any, float]]]:
        """p(y_t = l | x), a dict {label: probability} a position."""
        arrays = self.marginal_arrays(X, lengths=lengths, constraints=constraints, known=known)
        return [[dict(zip(self.classes, row, strict=True)) for row in array.tolist()] for array in arrays]

    def predict_nbest(
        self,
        X: Any,
        k: int,
        *,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
    ) -> list[list[tuple[list[Any], float]]]:
        """The k most probable label sequences of each sequence with their probabilities, best first."""
        names = np.empty(len(self.classes), dtype=object)  # [L]
        names[:] = self.classes
        return [
            [(names[path].tolist(), probability) for path, probability in paths]
            for lattice in self.constrained(X, lengths, constraints, known)
            for paths in self.decode_several(lattice, k)
        ]

    def constrained(
        self,
        X: Any,
        lengths: Any,
        constraints: Constraints | None,
        known: Any,
    ) -> Iterator[Lattice]:
        """The lattices of X with constraints and known labels written into them."""
        whole = constraints is not None or known is not None
        for lattice, forced in self.pieces(X, lengths, whole=whole):
            yield self.permit(lattice, constraints, known, forced)

    def permit(
        self,
        lattice: Lattice,
        constraints: Constraints | None,
        known: Any,
        forced: IdArray | None,  # [ΣT]
    ) -> Lattice:
        """A lattice with constraints, known labels, and labels that X brings along written into it.

        The last give way: a sequence in which they leave no path goes without them.
        """
        if constraints is not None and not isinstance(constraints, Constraints):
            raise InputError(
                f"constraints must be a crfkit.inference.Constraints, got {type(constraints).__name__}"
            )
        if known is not None:
            labels = encode_labels(label_lists(known, "known"), self.classes, lattice.offsets)
            allowed = labels.allowed
            if allowed is None:
                allowed = labels.ids[:, None] == np.arange(len(self.classes))
            lattice = constrain(lattice, permitted_labels(allowed))
        if constraints is not None:
            lattice = constrain(lattice, constraints)
        return lattice if forced is None else force_where_possible(lattice, forced, n_jobs=self.n_jobs)


def _probability(score: FloatArray, log_z: FloatArray) -> FloatArray:
    return np.exp(np.minimum(score - log_z, 0.0))  # rounding must not make it more than 1
