"""The common part of all fitted models: labels, probabilities and n-best lists from scores.

A subclass implements how X becomes scores (``prepare``); what follows from them depends on the structure and
is in ``answers``: a chain's by default. Decoding, calibration, constraints and n-best lists are here.
Nothing here imports scikit-learn, so that tagging starts quickly.
"""

from __future__ import annotations

import math
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from typing import IO, TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, TypeVar

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IdArray, IntArray
from crfkit.data.labels import Labels, decode_labels, encode_labels, label_lists
from crfkit.exceptions import InputError, InputWarning
from crfkit.inference import Constraints, permitted_labels
from crfkit.inference.lattice import ScoredSequences
from crfkit.io.model_arrays import ModelArrays, open_model
from crfkit.io.model_file import COMPACT, NGRAMS, VERSION, Arrays, Source, write_model
from crfkit.io.shown_list import ShownList, ShownLists
from crfkit.models.answers import CHAIN_ANSWERS, Answers
from crfkit.models.calibration import Calibration
from crfkit.models.results import Labellings, PredictedSegment
from crfkit.warn import warn

if TYPE_CHECKING:
    from crfkit.inference import SegmentRules, Segments
    from crfkit.models.analysis import SequenceAnalysis
    from crfkit.models.explanation import Reasons

_Self = TypeVar("_Self", bound="FittedModel")


class Piece(NamedTuple):
    """The scores of some sequences of a batch."""

    lattice: Any  # the scores, in the form of the model's structure: a ``Lattice`` for a chain
    forced: IdArray | None  # [ΣT] labels that are certain, -1: none


class Prepared(NamedTuple):
    """A batch that has been read, to be scored piece by piece."""

    offsets: IntArray  # [N+1]
    score: Callable[[int, int], Piece]  # scores the sequences start..stop-1


class Scored(NamedTuple):
    """The scores of a batch."""

    lattice: ScoredSequences
    forced: IdArray | None  # [ΣT] labels that are certain, -1: none
    known: bool  # whether the batch contains anything that the model knows


class Decoded(NamedTuple):
    """A labelling of each sequence of a batch."""

    labels: IdArray  # [ΣT]
    marginals: FloatArray | None  # [ΣT, L], if requested
    log_probability: (
        FloatArray | None
    )  # [N] of the labellings, if requested; probabilities may be 0 as floats


class FittedModel(ABC):
    """A fitted model that labels sequences. ``classes`` are the labels; label ids are places in it.

    If X is one array or sparse matrix with the positions of all sequences, ``lengths`` are the lengths of
    the sequences. ``constraints`` forbid labels and transitions. ``known`` gives labels that are certain, in
    the form of y in training: None if a label is free, a set if it is one of several.
    """

    in_files: ClassVar[str]  # name of the kind in model files
    answers: Answers[Any] = CHAIN_ANSWERS  # labels and probabilities from scores
    scheme: str | None = None  # of the labels, where segments are asked for without a scheme
    calibration = Calibration()  # what is done to probabilities; labels do not depend on it

    def __init__(self, classes: list[Any], n_jobs: int | None = None) -> None:
        self.classes = classes  # [L]
        self.n_jobs = n_jobs

    def save(
        self,
        path: str | os.PathLike[str] | IO[bytes],
        header: Mapping[str, Any],
        *,
        compact: bool = False,
        drop_below: float = 0.0,
    ) -> None:
        """Write the model file; ``header`` has the estimator's additional entries."""
        own, arrays = self.compact_parts(drop_below) if compact else self.to_parts()
        own |= self.calibration.to_header()
        if compact and "history" in header:
            header = {**header, "history": []}
        content = {"model": self.in_files, "classes": self.classes, **own, **header}
        version = NGRAMS if "ngrams.labels" in arrays else COMPACT if compact else VERSION
        write_model(path, content, arrays, version=version)

    @classmethod
    def load(
        cls: type[_Self], source: Source, n_jobs: int | None = None, *, mmap: bool | None = None
    ) -> tuple[_Self, dict[str, Any]]:
        """Return the tagger in a model file and the file's header; ``mmap`` as in ``read_model``."""
        header, arrays = open_model(source, mmap=mmap)
        return cls.of_file(header, arrays, n_jobs), header

    @classmethod
    def of_file(
        cls: type[_Self], header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None
    ) -> _Self:
        """Return the tagger in an opened model file; check its kind and its labels."""
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
        tagger = cls.from_parts(classes, header, arrays, n_jobs)
        try:
            tagger.calibration = Calibration.of_header(header)
        except InputError as error:
            raise arrays.wrong(str(error)) from error
        return tagger

    @abstractmethod
    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        """Return a model file's content except kind and labels: JSON values for its header, and arrays."""

    @classmethod
    @abstractmethod
    def from_parts(
        cls: type[_Self],
        classes: list[Any],
        header: Mapping[str, Any],
        arrays: ModelArrays,
        n_jobs: int | None = None,
    ) -> _Self:
        """Return the tagger with these labels from the result of ``to_parts``."""

    def compact_parts(self, drop_below: float) -> tuple[dict[str, Any], Arrays]:
        """Return the content in the compact form, without weights below ``drop_below``."""
        raise InputError(f"a {self.in_files} has no compact form; only a linear-chain CRF has one")

    piece_scores: ClassVar[int] = 1 << 20  # computed at once: they stay in the cache until they are read
    decoding = "viterbi"  # default method of ``decode``; or "marginal"
    boundary_gain = 0.0  # gain of a right boundary in "marginal"

    @property
    @abstractmethod
    def n_columns(self) -> int | None:
        """Number of table columns that the model uses; None if it takes no tables."""

    @property
    @abstractmethod
    def scores_per_position(self) -> int:
        """Number of scores per position of a lattice."""

    @abstractmethod
    def scored(self, X: Any) -> Scored:
        """Return the scores of a batch, all at once."""

    def scored_under(
        self,
        X: Any,
        constraints: Constraints | None = None,
        allowed: BoolArray | None = None,  # [ΣT, L]
    ) -> Scored:
        """Return the scores of a batch with constraints and known labels applied."""
        scored = self.scored(X)
        lattice = scored.lattice
        if allowed is not None:
            lattice = self.answers.constrain(lattice, permitted_labels(allowed))
        if constraints is None and scored.forced is None:
            return scored._replace(lattice=lattice)
        return scored._replace(lattice=self.permit(lattice, constraints, scored.forced))

    def facts(self) -> dict[str, str]:
        """Return what to show about the model besides its labels, by name."""
        return {}

    def pair_scores(self) -> FloatArray | None:
        """Return the scores [L, L] of label pairs, NaN for pairs without; None if they depend on X."""
        return None

    def analyse(self, items: Any) -> SequenceAnalysis:
        """Return one sequence with its scores, for questions about probabilities; without warnings."""
        from crfkit.models.analysis import SequenceAnalysis  # which uses this class

        return SequenceAnalysis(self, items)

    def reasons(self, X: Any, lattice: Any, header: Mapping[str, Any]) -> Reasons:
        """Return the reasons for labels of X with these scores; ``header`` is that of the model's file."""
        raise InputError(f"the labels of this model cannot be explained: it is a {self.in_files}")

    @abstractmethod
    def prepare(self, X: Any, lengths: Any = None) -> Prepared:
        """Read a batch of sequences, to be scored in pieces."""

    def pieces(self, X: Any, lengths: Any = None) -> Iterator[Piece]:
        """Yield the scores of a batch of sequences, in pieces of bounded size."""
        prepared = self.prepare(X, lengths)
        for start, stop in self.cuts(prepared.offsets):
            yield prepared.score(start, stop)

    def cuts(self, offsets: IntArray) -> list[tuple[int, int]]:
        """Return the first sequence of each piece of a batch, and the one after its last."""
        n = len(offsets) - 1
        size = max(1, self.piece_scores // max(1, self.scores_per_position))  # positions
        if offsets[-1] <= size:
            return [(0, n)]
        starts = np.flatnonzero(np.diff(offsets[:-1] // size, prepend=-1)).tolist()
        return list(zip(starts, [*starts[1:], n], strict=True))

    def decode(
        self,
        lattice: ScoredSequences,
        *,
        how: Literal["viterbi", "marginal"] | None = None,
        with_marginals: bool = False,
        with_probability: bool = False,
    ) -> Decoded:
        """Return the labels of a batch, and the requested probabilities.

        ``how`` is "viterbi" (the most probable path), "marginal" (the most probable label of each position),
        or None for the model's ``decoding``, which may have a gain for boundaries (see
        ``crfkit.inference.max_expected_gain``).
        """
        gain = 0.0 if how is not None else self.boundary_gain
        plain = with_marginals and self.calibration.is_none
        labels, node = self.answers.decode(
            lattice, how or self.decoding, gain, with_marginals=plain, n_jobs=self.n_jobs
        )
        if with_marginals and node is None:
            node = self.marginals(lattice)
        return Decoded(labels, node, self.log_probability(lattice, labels) if with_probability else None)

    def log_probability(self, lattice: ScoredSequences, labels: IdArray) -> FloatArray:
        """Return log p [N] of a labelling [ΣT], calibrated if the model is."""
        tempered = self.calibration.tempered(lattice)
        score = self.answers.score(tempered, labels, n_jobs=self.n_jobs)
        return _log_probability(score, self.answers.log_partition(tempered, n_jobs=self.n_jobs))

    def marginals(self, lattice: ScoredSequences, calibration: Calibration | None = None) -> FloatArray:
        """Return p(y_t = l | x) [ΣT, L], calibrated if the model is or a calibration is given."""
        chosen = calibration or self.calibration
        return chosen.of_tokens(self.answers.marginals(chosen.tempered(lattice), n_jobs=self.n_jobs))

    def segment_rules(self, scheme: str | None = None) -> SegmentRules:
        """Return where segments of the model's labels start and end, by a scheme or the model's own."""
        from crfkit.inference import segment_rules  # only needed here

        return segment_rules(self.classes, scheme or self.scheme)

    def segments(
        self, lattice: ScoredSequences, labels: IdArray, scheme: str | None = None
    ) -> tuple[SegmentRules, Segments, FloatArray]:
        """Return the segments of a labelling and their probabilities [M], calibrated if the model is."""
        rules = self.segment_rules(scheme)
        found = rules.find(labels, lattice.offsets)
        return rules, found, self.segment_probabilities(lattice, rules, found)

    def segment_probabilities(
        self,
        lattice: ScoredSequences,
        rules: SegmentRules,
        found: Segments,
        calibration: Calibration | None = None,
    ) -> FloatArray:
        """Return the probabilities of segments [M], calibrated if the model is or a calibration is given."""
        chosen = calibration or self.calibration
        tempered = chosen.tempered(lattice)
        return chosen.of_segments(
            self.answers.segment_probabilities(tempered, rules, found, n_jobs=self.n_jobs)
        )

    def decode_several(self, lattice: ScoredSequences, k: int) -> Iterator[list[tuple[IdArray, float]]]:
        """Yield the k most probable paths through each sequence with their log probabilities, best first."""
        lattice = self.calibration.tempered(lattice)
        best = self.answers.nbest(lattice, k, n_jobs=self.n_jobs)
        log_z = self.answers.log_partition(lattice, n_jobs=self.n_jobs)
        for i in range(lattice.n_sequences):
            logs = _log_probability(best.scores_of(i), log_z[i])
            yield list(zip(best.paths_of(i), logs.tolist(), strict=True))

    def predict(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[Any]]:
        """Return the labels of each sequence, by the model's decoding."""
        return self._predict(None, X, lengths, constraints, known)

    def predict_posterior(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[Any]]:
        """Return the most probable label of each position (max-marginal decoding)."""
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
        """Return p(y_t = l | x), one array [T, L] per sequence."""
        arrays: list[FloatArray] = []
        for lattice in self.constrained(X, lengths, constraints, known):
            node = self.marginals(lattice)
            arrays += [node[start:stop] for start, stop in pairwise(lattice.offsets.tolist())]
        return arrays

    def predict_marginals(
        self, X: Any, *, lengths: Any = None, constraints: Constraints | None = None, known: Any = None
    ) -> list[list[dict[Any, float]]]:
        """Return p(y_t = l | x), one dict {label: probability} per position."""
        arrays = self.marginal_arrays(X, lengths=lengths, constraints=constraints, known=known)
        return [[dict(zip(self.classes, row, strict=True)) for row in array.tolist()] for array in arrays]

    def predict_segments(
        self,
        X: Any,
        *,
        scheme: str | None = None,
        min_probability: float = 0.0,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
    ) -> list[list[PredictedSegment]]:
        """Return the segments of each sequence's labels with their probabilities."""
        result = ShownLists()
        for lattice in self.constrained(X, lengths, constraints, known):
            result += self.segment_lists(lattice, self.decode(lattice).labels, scheme, min_probability)
        return result

    def segment_lists(
        self,
        lattice: ScoredSequences,
        labels: IdArray,
        scheme: str | None = None,
        min_probability: float = 0.0,
    ) -> list[list[PredictedSegment]]:
        """Return the segments of each sequence of a labelling, with their probabilities."""
        rules, found, probability = self.segments(lattice, labels, scheme)
        lists: list[list[PredictedSegment]] = [ShownList() for _ in range(lattice.n_sequences)]
        for i, start, stop, kind, p in zip(*(part.tolist() for part in (*found, probability)), strict=True):
            if p >= min_probability:
                lists[i].append(PredictedSegment(start, stop, rules.types[kind], p))
        return lists

    def predict_nbest(
        self,
        X: Any,
        k: int,
        *,
        lengths: Any = None,
        constraints: Constraints | None = None,
        known: Any = None,
        log: bool = False,
    ) -> list[list[tuple[list[Any], float]]]:
        """Return the k most probable labellings of each sequence with their probabilities, best first.

        ``log``: with log probabilities.
        """
        names = np.empty(len(self.classes), dtype=object)  # [L]
        names[:] = self.classes
        return ShownLists(
            Labellings((names[path].tolist(), value if log else math.exp(value)) for path, value in paths)
            for lattice in self.constrained(X, lengths, constraints, known)
            for paths in self.decode_several(lattice, k)
        )

    def constrained(
        self,
        X: Any,
        lengths: Any,
        constraints: Constraints | None,
        known: Any,
    ) -> Iterator[ScoredSequences]:
        """Yield the lattices of X, in pieces, with constraints and known labels applied."""
        for _, _, lattice in self.constrained_pieces(self.prepare(X, lengths), constraints, known):
            yield lattice

    def constrained_pieces(
        self, prepared: Prepared, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[int, int, ScoredSequences]]:
        """Yield start, stop and the lattice of the sequences start..stop-1, with constraints applied."""
        if constraints is not None and not isinstance(constraints, Constraints):
            raise InputError(
                f"constraints must be a crfkit.inference.Constraints, got {type(constraints).__name__}"
            )
        offsets, labels = prepared.offsets, None
        if known is not None:
            labels = encode_labels(label_lists(known, "known"), self.classes, offsets)
        for start, stop in self.cuts(offsets):
            lattice, forced = prepared.score(start, stop)
            here = slice(int(offsets[start]), int(offsets[stop]))
            if labels is not None:
                ids, allowed = labels.ids[here], labels.allowed
                rows = Labels(ids, None if allowed is None else allowed[here]).permitted(len(self.classes))
                lattice = self.answers.constrain(lattice, permitted_labels(rows))
            rules = None if constraints is None else constraints.at(here, int(offsets[-1]))
            yield start, stop, self.permit(lattice.numbered_from(start), rules, forced)

    def permit(
        self,
        lattice: ScoredSequences,
        constraints: Constraints | None,
        forced: IdArray | None,  # [ΣT]
    ) -> ScoredSequences:
        """Return a lattice with constraints and forced labels (those that X makes certain).

        Forced labels are ignored in a sequence where they would leave no path.
        """
        if constraints is not None:
            lattice = self.answers.constrain(lattice, constraints)
        return lattice if forced is None else self.answers.force(lattice, forced, n_jobs=self.n_jobs)


def warn_of_unknown_data(what: str) -> None:
    """Warn that a batch tells the model nothing."""
    warn(
        f"X {what}: its labels are guesses from transitions alone. Was the model trained on such data?",
        InputWarning,
    )


def _log_probability(score: FloatArray, log_z: FloatArray) -> FloatArray:
    return np.minimum(score - log_z, 0.0)  # rounding must not make the probability more than 1
