"""The semi-Markov CRF as a scikit-learn estimator (Sarawagi and Cohen, NIPS 2004)."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from crfkit import parameters as rule
from crfkit.data.labels import cut_labels, label_lists
from crfkit.exceptions import ConvergenceWarning, InputError, ModelFileError
from crfkit.features.extraction import LostExtraction, fitted_extraction, is_extractor
from crfkit.features.span_features import LostFeatures, SpanFeatures, is_span_features, span_features_of
from crfkit.features.template import Template
from crfkit.inference import Constraints
from crfkit.io.model_file import Source
from crfkit.io.shown_list import ShownList
from crfkit.metrics.segment_rules import RUNS
from crfkit.models.checkpoint import Checkpoint, continuing
from crfkit.models.linear.data_frames import LinearFrames
from crfkit.models.segments.label_codec import in_own_scheme
from crfkit.models.segments.tagger import SegmentTagger, lost_boundaries, piece_of
from crfkit.models.segments.training import trained
from crfkit.models.sequence_labeller import SequenceLabeller
from crfkit.threads import thread_count
from crfkit.warn import warn

if TYPE_CHECKING:
    from crfkit.inference.lattice import ScoredSequences
    from crfkit.models.explanation import Reasons

_Self = TypeVar("_Self", bound="SemiCRF")


class SemiCRF(LinearFrames, SequenceLabeller[SegmentTagger]):
    """Semi-Markov conditional random field: it labels segments, not positions.

    A labelling is a sequence of segments. Besides attributes of positions and pairs of neighbouring labels,
    it has weights on the lengths of segments and on attributes of whole segments, such as being in a list of
    names. Minimises ``-Σ weight · log p(y | x) + c2·‖w‖² + c1·‖w‖₁``.

    In y, a segment of X is ``B-X I-X I-X`` and ``O`` is outside, or, if labels have no tags, a segment is a
    run of one label (``O``: single positions outside). Tags of IOB1, IOBES and other schemes are read;
    predicted labels have the tags B, I and O.

    Parameters
    ----------
    c1, c2
        Weights of the L1 and L2 penalties. c1 > 0 gives a sparse model.
    max_length
        Lengths from 1 to this one have weights of their own, for each label. None: up to the longest segment
        of the training data (and at most 32 with ``longer="tail"``).
    longer
        What longer segments are: "tail": each further position adds a weight of the label, so that lengths
        have a geometric tail; "forbidden": there are none. If max_length is None, "forbidden" limits each
        label to its own longest segment.
    segment_features
        Attributes of whole segments: :class:`crfkit.features.Gazetteers`, or a function (items, begin, end)
        that returns a list of names, or a dict of name to number, for the positions begin..end-1 of a
        sequence of X. A function is asked for every stretch up to the longest length; attributes that a
        segment of the training data has get a weight.
    last_attributes
        Whether the attributes of a segment's last position have weights as such. (Those of its first one
        always have, as the attributes of the others have.)
    boundaries
        A function of a sequence of X that says where segments may begin, go on and end: a dict with any of
        "breaks" (positions to which no segment goes on), "starts" and "ends" ({label: permitted positions}).
    scheme
        How labels are read: None (told by the labels), "runs", or a scheme of tags such as "IOB2", "IOBES".
    min_freq
        Features seen at fewer training positions (or segments) than this are left out.
    all_possible_states
        Also give a weight to pairs of an attribute and a label that do not occur in training.
    class_weight
        {label: weight} or "balanced": weight of an error at a position with this true label.
    template, extractor
        What makes attributes of positions, as in :class:`crfkit.CRF`.
    max_iterations, tol
        Of L-BFGS (with c1 > 0: OWL-QN), as in :class:`crfkit.CRF`: from 500 sequences on it starts with
        stochastic epochs.
    patience
        With a dev set: stop after this many iterations without a better dev accuracy.
    n_jobs
        Threads; -1 for all cores; None for all cores, or OMP_NUM_THREADS, which joblib sets in its workers.
    random_state
        Seed of the stochastic epochs. None: a fixed one.
    verbose
        "auto", False, True or 2, as in :class:`crfkit.CRF`.

    Attributes
    ----------
    classes_ : list
        The labels of positions, sorted.
    objective_, history_, n_iter_, converged_
        As in :class:`crfkit.CRF`.
    state_features_, transition_features_, length_features_, last_features_, segment_features_ : dict
        The weights that are not 0: {(attribute, label): weight} of positions, {(label, next label): weight}
        of neighbouring segments, {(label, length): weight} (length None: each position of the tail),
        {(attribute, label): weight} of last positions and of whole segments.
    tagger_ : crfkit.models.segments.tagger.SegmentTagger
        The fitted model.

    Examples
    --------
    >>> from crfkit import SemiCRF
    >>> X = [[["in"], ["New"], ["York"]], [["in"], ["York"]]]
    >>> y = [["O", "B-LOC", "I-LOC"], ["O", "B-LOC"]]
    >>> SemiCRF(c2=0.1).fit(X, y).predict([[["in"], ["New"], ["York"]]])
    [['O', 'B-LOC', 'I-LOC']]
    """

    _tagger = SegmentTagger
    _rules: ClassVar[dict[str, rule.Rule]] = {
        "c1": rule.number(0),
        "c2": rule.number(0),
        "max_length": rule.optional(rule.whole_number(1)),
        "longer": rule.one_of("tail", "forbidden"),
        "segment_features": (
            "None, a function (items, begin, end) or a crfkit.features.Gazetteers",
            is_span_features,
        ),
        "last_attributes": rule.flag(),
        "boundaries": ("None or a function of a sequence", lambda v: v is None or callable(v)),
        "scheme": ("None, 'runs' or the name of a scheme", lambda v: v is None or isinstance(v, str)),
        "min_freq": rule.number(0),
        "all_possible_states": rule.flag(),
        "class_weight": rule.optional(rule.either(rule.one_of("balanced"), rule.mapping())),
        "extractor": ("None, crfkit.features.token_features, a Features or a function", is_extractor),
        "max_iterations": rule.optional(rule.whole_number(1)),
        "tol": rule.number(0),
        "patience": rule.whole_number(1),
        "random_state": rule.optional(rule.whole_number(0)),
        "verbose": rule.verbosity(),
    }

    def __init__(
        self,
        c1: float = 0.0,
        c2: float = 0.1,
        max_length: int | None = None,
        longer: str = "tail",
        segment_features: Callable[[Any, int, int], Any] | SpanFeatures | None = None,
        last_attributes: bool = False,
        boundaries: Callable[[Any], Any] | None = None,
        scheme: str | None = None,
        min_freq: float = 0,
        all_possible_states: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        template: Template | str | None = None,
        extractor: Any = None,
        max_iterations: int | None = None,
        tol: float = 1e-5,
        patience: int = 10,
        n_jobs: int | None = None,
        random_state: int | None = None,
        verbose: bool | int | str = "auto",
    ) -> None:
        self.c1 = c1
        self.c2 = c2
        self.max_length = max_length
        self.longer = longer
        self.segment_features = segment_features
        self.last_attributes = last_attributes
        self.boundaries = boundaries
        self.scheme = scheme
        self.min_freq = min_freq
        self.all_possible_states = all_possible_states
        self.class_weight = class_weight
        self.template = template
        self.extractor = extractor
        self.max_iterations = max_iterations
        self.tol = tol
        self.patience = patience
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    # ---- training

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        label: str | None = None,
        sequence: str | Sequence[str] | None = None,
        group: str | None = None,
        lengths: Any = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> SemiCRF:
        """Train on sequences X with labels y.

        X and y are as in :meth:`crfkit.CRF.fit`: in y a label may be None (unknown) or a set (one of these);
        ``sample_weight`` is one number per sequence; with ``X_dev``, ``y_dev`` training stops when the dev
        accuracy no longer rises; ``checkpoint`` is a path or a :class:`crfkit.Checkpoint`. One data frame can
        take the place of X and y: ``label`` and ``sequence`` name its columns of labels and of sequence ids.
        """
        if self._is_table(label, sequence, group):
            more = {"sample_weight": sample_weight, "lengths": lengths, "checkpoint": checkpoint}
            return self._fit_table(X, y, label, sequence, group, X_dev, **more)
        rule.check_parameters(self, self._rules)
        thread_count(self.n_jobs)
        if (X_dev is None) != (y_dev is None):
            raise InputError("X_dev and y_dev go together: give both or neither")
        saved = Checkpoint.of(checkpoint)
        with continuing(saved):
            found = trained(self, X, y, sample_weight, X_dev, y_dev, lengths, saved)
        outcome = found.outcome
        self.tagger_, self.classes_ = found.tagger, found.tagger.classes
        self.objective_, self.converged_ = outcome.value, outcome.converged
        self.history_, self.n_iter_ = ShownList(outcome.history), len(outcome.history)
        if outcome.interrupted:
            raise KeyboardInterrupt(outcome.message)
        if found.saving is not None:
            found.saving.end()
        if not outcome.converged:
            warn(outcome.message, ConvergenceWarning)
        return self

    def partial_fit(self, X: Any, y: Any = None, **more: Any) -> SemiCRF:
        """Refuse: a ``SemiCRF`` is fitted on all data at once."""
        raise InputError(
            "a SemiCRF cannot continue training with new data: fit it again on all data, or use a CRF"
        )

    @property
    def _has_folds(self) -> bool:
        return False

    def _labelled(self, X: Any, y: Any, lengths: Any) -> tuple[Any, Any, Any]:
        X, y, lengths = super()._labelled(X, y, lengths)
        if self.scheme == RUNS or isinstance(y, (str, bytes, Mapping)) or not isinstance(y, Iterable):
            return X, y, lengths  # an error, if it is one, comes later
        y = list(cut_labels(y, lengths))
        known = [i for i, labels in enumerate(y) if labels is not None]
        spelt = in_own_scheme(label_lists([y[i] for i in known]), self.scheme)
        for i, labels in zip(known, spelt, strict=True):
            y[i] = labels
        return X, y, lengths

    # ---- using the fitted model

    @property
    def state_features_(self) -> dict[tuple[str, str], float]:
        return self._fitted().named_weights("state")

    @property
    def last_features_(self) -> dict[tuple[str, str], float]:
        return self._fitted().named_weights("last")

    @property
    def segment_features_(self) -> dict[tuple[str, str], float]:
        return self._fitted().named_weights("span")

    @property
    def transition_features_(self) -> dict[tuple[Any, Any], float]:
        tagger = self._fitted()
        types, edge = tagger.codec.types, tagger.weights.edge
        return {(types[k], types[y]): float(edge[k, y]) for k, y in np.argwhere(edge).tolist()}

    @property
    def length_features_(self) -> dict[tuple[Any, int | None], float]:
        tagger = self._fitted()
        types, weights = tagger.codec.types, tagger.weights
        found: dict[tuple[Any, int | None], float] = {
            (types[y], d + 1): float(weights.lengths[y, d]) for y, d in np.argwhere(weights.lengths).tolist()
        }
        for y in np.flatnonzero(weights.tail).tolist():
            found[types[y], None] = float(weights.tail[y])
        return found

    def _reasoned(
        self, X: Any, lengths: Any, constraints: Constraints | None, known: Any
    ) -> Iterator[tuple[ScoredSequences, Reasons]]:
        from crfkit.models.segments.explanation import SegmentReasons

        tagger = self._fitted()
        batch = tagger.encode(X, lengths)
        prepared = tagger.prepare_encoded(batch)
        for start, stop, lattice in tagger.constrained_pieces(prepared, constraints, known):
            yield lattice, SegmentReasons(tagger, piece_of(batch, start, stop), lattice)

    # ---- files

    @classmethod
    def load(
        cls: type[_Self],
        source: Source,
        *,
        n_jobs: int | None = None,
        mmap: bool | None = None,
        extractor: Any = None,
        segment_features: Any = None,
        boundaries: Any = None,
    ) -> _Self:
        """Load a model from a path, from bytes, or from a binary file object.

        ``extractor``, ``segment_features`` and ``boundaries`` are functions of yours, which no file can hold:
        give those that the model was trained with. Otherwise as
        :meth:`crfkit.models.sequence_labeller.SequenceLabeller.load`.
        """
        if not is_span_features(segment_features):
            raise InputError(f"segment_features must be {cls._rules['segment_features'][0]}")
        if boundaries is not None and not callable(boundaries):
            raise InputError(f"boundaries must be {cls._rules['boundaries'][0]}")
        model = super().load(source, n_jobs=n_jobs, mmap=mmap)
        tagger = model.tagger_
        if extractor is not None:
            record = None if tagger.encoder.extraction is None else tagger.encoder.extraction.to_record()
            tagger.encoder = tagger.encoder.with_extraction(fitted_extraction(extractor, record))
            model.set_params(template=None, extractor=extractor)
        elif isinstance(tagger.encoder.extraction, LostExtraction):
            raise ModelFileError(tagger.encoder.extraction.explanation)
        if segment_features is not None:
            tagger.span_features = span_features_of(segment_features)
            model.set_params(segment_features=segment_features)
        elif isinstance(tagger.span_features, LostFeatures):
            raise ModelFileError(tagger.span_features.explanation)
        if boundaries is not None:
            tagger.boundaries = boundaries
            model.set_params(boundaries=boundaries)
        elif isinstance(tagger.boundaries, str):
            raise ModelFileError(lost_boundaries(tagger.boundaries))
        return model

    @classmethod
    def _parameters_of(cls, tagger: SegmentTagger, header: Mapping[str, Any]) -> dict[str, Any]:
        encoder = tagger.encoder
        own = {"template": encoder.template, "extractor": encoder.extraction}
        return {
            **super()._parameters_of(tagger, header),
            **own,
            "segment_features": tagger.span_features,
        }
