"""``SemiCRF.fit``, step by step: labels to segments, encode, index, objective, dev set, optimiser, model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from crfkit.arrays import BoolArray, FloatArray, IntArray
from crfkit.data.labels import Labels, encode_labels, label_lists, label_set
from crfkit.data.sequences import Sequences, chosen_rows
from crfkit.data.training_data import class_weights, cut_as, with_unlabelled
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, NoPathError
from crfkit.features.index import build_index
from crfkit.features.labelled import LabelledInput, read_labelled
from crfkit.features.span_features import span_features_of
from crfkit.inference import SEGMENTATIONS, LabelledSpans
from crfkit.models.checkpoint import Checkpoint, Saving
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.rare_labels import warn_of_unpredicted
from crfkit.models.segments.label_codec import LabelCodec, in_own_scheme, longest_segments
from crfkit.models.segments.span_attributes import (
    attributes_of_segments,
    readable_twice,
    sequence_items,
)
from crfkit.models.segments.tagger import SegmentTagger, piece_of
from crfkit.models.training import Outcome, train
from crfkit.objectives.dev_set import DevSet
from crfkit.objectives.linear_likelihood import check_values
from crfkit.objectives.segment_likelihood import SegmentLikelihood
from crfkit.optim.penalised import Penalised
from crfkit.potentials.segments import Rows, SegmentFeatures, SegmentInput, SegmentPotential
from crfkit.warn import warn

if TYPE_CHECKING:
    from crfkit.models.segments.semi_crf import SemiCRF

MOST_LENGTHS = 10_000_000  # weights
LONGEST = 32  # lengths with weights of their own, if longer segments have a tail and the user says nothing


class Trained(NamedTuple):
    """A trained model, and how training went."""

    tagger: SegmentTagger
    outcome: Outcome
    saving: Saving | None  # the checkpoint, which is no longer needed once the model is kept


def trained(
    estimator: SemiCRF,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_dev: Any,
    y_dev: Any,
    lengths: Any,
    checkpoint: Checkpoint | None,
) -> Trained:
    """Return a model trained on X and y, with the estimator's parameters."""
    n_jobs, features = estimator.n_jobs, span_features_of(estimator.segment_features)
    needs_items = features is not None or estimator.boundaries is not None
    X = readable_twice(X) if needs_items else X
    y = label_lists(with_unlabelled(X, y, lengths), lengths=lengths)
    data = read_labelled(
        X,
        y,
        template=estimator.template,
        extractor=estimator.extractor,
        lengths=lengths,
        sample_weight=sample_weight,
        n_jobs=n_jobs,
    )
    y = in_own_scheme(y, estimator.scheme)
    codec = LabelCodec.of(label_set(y), estimator.scheme)
    by_position = encode_labels(y, codec.classes, data.sequences.offsets)
    costs = class_weights(estimator.class_weight, by_position, codec.classes)  # [C]
    labels = codec.encode_partial(by_position, data.sequences.offsets)
    check_values(data.sequences)
    items = None
    if needs_items:
        items = sequence_items(X, data.sequences.offsets, is_cut=lengths is not None)
    index, span_names = _index(estimator, codec, data, labels, items)
    potential = SegmentPotential(index)
    encoder = InputEncoder(data.vocabulary, data.template, extraction=data.extraction)
    tagger = SegmentTagger(codec, encoder, potential, features, span_names, estimator.boundaries, n_jobs)
    batch = SegmentInput(data.sequences) if items is None else tagger.with_spans(data.sequences, items)
    _require_segmentations(potential, batch, labels)
    function = SegmentLikelihood(
        potential,
        batch,
        labels,
        weights=data.weights,
        class_weights=None if costs is None else costs[codec.class_of],
        n_jobs=n_jobs,
    )
    l1 = np.full(potential.n_parameters, float(estimator.c1)) if estimator.c1 else None
    objective = Penalised(function, float(estimator.c2), l1)
    dev = None if X_dev is None else _dev_step(X_dev, y_dev, tagger, estimator.scheme)
    saving = None
    if checkpoint is not None:
        saving = checkpoint.begin(estimator, _identity(data, labels, costs, index, batch, span_names, dev))
    outcome = train(
        objective,
        np.zeros(potential.n_parameters),
        algorithm="auto",
        max_iterations=estimator.max_iterations,
        tol=float(estimator.tol),
        dev=dev,
        patience=estimator.patience,
        seed=estimator.random_state,
        verbose=estimator.verbose,
        saving=saving,
    )
    potential.vector = outcome.x
    if outcome.converged:
        warn_of_unpredicted(
            codec.classes,
            by_position,
            data.sequences.offsets,
            lambda some: np.concatenate(
                [tagger.decode(potential.scores(piece_of(batch, i, i + 1))).labels for i in some.tolist()]
            ),
            costs,
        )
    return Trained(tagger.without_zeros() if estimator.c1 else tagger, outcome, saving)


# ---- what has a weight


def _index(
    estimator: SemiCRF, codec: LabelCodec, data: LabelledInput, labels: Labels, items: Any
) -> tuple[SegmentFeatures, Vocabulary]:
    """Return what has a weight, and the names of the attributes of segments."""
    L, x, min_freq = codec.n_types, data.sequences, estimator.min_freq
    longest, tails = _lengths(estimator, codec, labels, x)
    states = build_index(
        x,
        labels,
        2 * L,
        min_freq=min_freq,
        all_possible_states=estimator.all_possible_states,
        transitions=False,
    )
    if len(states.state_labels) == 0 and x.indices.size:
        warn(
            f"no attribute occurs min_freq={min_freq:g} times with a label, so the model ignores X: lower "
            "min_freq"
        )
    segments = _certain_segments(labels.ids, x.offsets, L)
    kinds, last, spans, names = Labels(segments.label, None), None, None, Vocabulary()
    if estimator.last_attributes:
        at = x.offsets[segments.sequence] + segments.end - 1
        last = _rows_of(chosen_rows(x, at), kinds, L, min_freq)
    features = span_features_of(estimator.segment_features)
    if features is not None:
        spans = _rows_of(attributes_of_segments(features, items, segments, names), kinds, L, min_freq)
        if not len(names):
            warn("segment_features: no segment of the training data has an attribute, so they are ignored")
    rows = Rows(states.state_indptr, states.state_labels)
    return SegmentFeatures(codec.neighbours(), longest, rows, last, spans, tails), names


def _rows_of(x: Sequences, kinds: Labels, n_types: int, min_freq: float) -> Rows:
    found = build_index(x, kinds, n_types, min_freq=min_freq, transitions=False)
    return Rows(found.state_indptr, found.state_labels)


def _lengths(
    estimator: SemiCRF, codec: LabelCodec, labels: Labels, x: Sequences
) -> tuple[IntArray, BoolArray | None]:
    """Return the longest length with a weight of each type [L], and which types have a tail [L]."""
    single = codec.in_background()
    at, kinds, sizes = longest_segments(labels.ids, codec.n_types)
    longest = np.ones(codec.n_types, np.int64)
    np.maximum.at(longest, kinds, sizes)
    limit = estimator.max_length
    if limit is not None and limit * codec.n_types > MOST_LENGTHS:
        raise InputError(
            f"max_length={limit} means {limit * codec.n_types:,} weights of lengths; at most "
            f"{MOST_LENGTHS:,} are possible: lower it, or leave it out"
        )
    if estimator.longer == "tail":
        longest[:] = min(LONGEST, int(longest.max())) if limit is None else limit
        longest[single] = 1
        return longest, ~single
    if limit is not None:
        over = np.flatnonzero(sizes > limit)
        if len(over):
            k = int(over[0])
            i, t = x.place(at[k])
            raise InputError(
                f"sequence {i}, position {t}: a segment of {codec.types[kinds[k]]!r} has {sizes[k]} "
                f"positions, but max_length={limit} (and {len(over) - 1} more such segments); raise "
                "max_length, or permit longer segments with longer='tail'"
            )
        longest[:] = limit
        longest[single] = 1
    return longest, None


def _certain_segments(ids: Any, offsets: IntArray, n_types: int) -> LabelledSpans:
    """Return the segments whose label, begin and end are known."""
    at, kinds, sizes = longest_segments(ids, n_types)
    ends = at + sizes
    after = np.append(ids, 0)[ends]  # known, unless it is open whether the segment goes on there
    sequence = np.searchsorted(offsets, at, side="right") - 1
    sure = (ids[at] >= 0) & ((after >= 0) | (ends == offsets[sequence + 1]))
    begin = at - offsets[sequence]
    found = LabelledSpans(sequence, begin, begin + sizes, kinds.astype(np.int32))
    return LabelledSpans(*(part[sure] for part in found))


def _require_segmentations(potential: SegmentPotential, batch: SegmentInput, labels: Labels) -> None:
    """Raise if no segmentation agrees with the labels of a sequence."""
    scores = potential.scores(batch)
    try:
        if labels.allowed is not None:
            SEGMENTATIONS.log_partition(SEGMENTATIONS.permit(scores, labels))
            return
        found = SEGMENTATIONS.labelling_score(scores, labels.ids)
    except NoPathError as error:
        raise InputError(
            f"the labels of sequence {error.sequence} fit no segmentation: {error}. Segments may be too long "
            "(max_length, longer), or boundaries forbid them"
        ) from error
    forbidden = np.flatnonzero(found == -np.inf)
    if len(forbidden):
        raise InputError(
            f"the labels of sequence {forbidden[0]} (and of {len(forbidden) - 1} more) are forbidden: "
            "boundaries do not permit their segments"
        )


# ---- held-out data and checkpoints


@dataclass(frozen=True)
class _Dev:
    """Held-out data, encoded once: a function that computes the accuracy of parameters on it."""

    tagger: SegmentTagger
    batch: SegmentInput
    labels: DevSet

    def __call__(self, x: FloatArray) -> float:
        scores = self.tagger.potential.scores(self.batch, x, n_jobs=self.tagger.n_jobs)
        return self.labels.share_right(self.tagger.decode(scores).labels)


def _dev_step(X: Any, y: Any, tagger: SegmentTagger, scheme: str | None) -> _Dev:
    try:
        y = in_own_scheme(label_lists(y), scheme)
        batch = tagger.encode(X, cut_as(X, y, None))
        labels = DevSet.of(y, tagger.classes, batch.sequences.offsets)
    except InputError as error:
        raise InputError(f"in the dev set: {error}") from error
    return _Dev(tagger, batch, labels)


def _identity(
    data: LabelledInput,
    labels: Labels,
    costs: FloatArray | None,  # [C]
    index: SegmentFeatures,
    batch: SegmentInput,
    span_names: Vocabulary,
    dev: _Dev | None,
) -> dict[str, Any]:
    """Return everything but the settings that decides the weights, for the fingerprint of a checkpoint."""
    names = "\0".join([*data.vocabulary.strings(), *span_names.strings()])
    held = None if dev is None else (dev.batch.sequences, dev.labels.right, dev.labels.given)
    return {
        "training data": (data.sequences, names, data.weights),
        "labels": (data.classes, labels, costs),
        "features": index,
        "spans and boundaries": (batch.spans, batch.of_spans, batch.boundaries),
        "dev data": held,
    }
