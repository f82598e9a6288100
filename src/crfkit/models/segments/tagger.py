"""The fitted model of segments: encoder, labels, weights; and its form in the model file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from crfkit import _native
from crfkit.arrays import BoolArray, FloatArray
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.span_features import SpanFeatures, span_features_of_record
from crfkit.inference.lattice import LARGEST_SCORE
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.metrics.segment_rules import RUNS
from crfkit.models.fitted_model import FittedModel, Piece, Prepared, Scored, warn_of_unknown_data
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.kinds import KINDS
from crfkit.models.segments.answers import SegmentationAnswers
from crfkit.models.segments.boundaries import read_boundaries
from crfkit.models.segments.label_codec import LabelCodec
from crfkit.models.segments.span_attributes import readable_twice, sequence_items, spans_of, subset
from crfkit.potentials.segments import (
    Boundaries,
    Rows,
    SegmentFeatures,
    SegmentInput,
    SegmentPotential,
    SegmentWeights,
)

if TYPE_CHECKING:
    from crfkit.models.explanation import Reasons

IN_HEADER = "segments"  # the record in the header of a model file
_PARTS = ("state", "last", "span")


class SegmentTagger(FittedModel):
    """A tagger with weights on attributes of positions and segments, on lengths and on pairs of labels."""

    in_files = KINDS["segments"].in_files

    def __init__(
        self,
        codec: LabelCodec,
        encoder: InputEncoder,
        potential: SegmentPotential,
        span_features: SpanFeatures | None = None,  # what makes attributes of segments
        span_names: Vocabulary | None = None,  # the names of these
        boundaries: Callable[[Any], Any] | str | None = None,  # a function, or the name of one that is lost
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(codec.classes, n_jobs)
        self.codec, self.encoder, self.potential = codec, encoder, potential
        self.span_features, self.boundaries = span_features, boundaries
        self.span_names = Vocabulary() if span_names is None else span_names
        self.answers = SegmentationAnswers(codec)
        self.scheme = RUNS if codec.runs else None

    @property
    def n_columns(self) -> int | None:
        return self.encoder.n_columns

    @property
    def scores_per_position(self) -> int:
        return self.potential.scores_per_position

    @property
    def vocabulary(self) -> Vocabulary:
        return self.encoder.vocabulary

    def encode(self, X: Any, lengths: Any = None) -> SegmentInput:
        """Return X with ids of the vocabulary, and its spans that have attributes."""
        needs_items = self.span_features is not None or self.boundaries is not None
        X = readable_twice(X) if needs_items else X
        sequences = self.encoder.encode(X, lengths, self.n_jobs).sequences
        if not needs_items:
            return SegmentInput(sequences)
        return self.with_spans(sequences, sequence_items(X, sequences.offsets, is_cut=lengths is not None))

    def with_spans(self, sequences: Sequences, items: Any) -> SegmentInput:
        """Return encoded sequences with spans and boundaries; ``items`` are the sequences of X."""
        spans = bounds = None
        of_spans = None
        if self.span_features is not None:
            longest = int(self.potential.features.longest.max())
            spans, of_spans = spans_of(self.span_features, items, longest, self.span_names)
        if isinstance(self.boundaries, str):
            raise InputError(lost_boundaries(self.boundaries))
        if self.boundaries is not None:
            bounds = read_boundaries(self.boundaries, items, sequences.offsets, self.codec)
        return SegmentInput(sequences, spans, of_spans, bounds)

    def reasons(self, X: Any, lattice: Any, header: Mapping[str, Any]) -> Reasons:
        from crfkit.models.segments.explanation import SegmentReasons

        return SegmentReasons(self, self.encode(X), lattice)

    def prepare(self, X: Any, lengths: Any = None) -> Prepared:
        batch = self.encode(X, lengths)
        if not _knows(batch) and not self.vocabulary.names_columns():  # an array may be all 0
            names = ", ".join(map(repr, self.vocabulary.strings(0, min(3, len(self.vocabulary)))))
            warn_of_unknown_data(f"has no attribute that the model knows (such as {names})")
        return self.prepare_encoded(batch)

    def prepare_encoded(self, batch: SegmentInput) -> Prepared:
        """Return encoded data, to be scored in pieces."""

        def score(start: int, stop: int) -> Piece:
            return Piece(self.potential.scores(piece_of(batch, start, stop), n_jobs=self.n_jobs), None)

        return Prepared(batch.sequences.offsets, score)

    def scored(self, X: Any) -> Scored:
        batch = self.encode(X)
        return Scored(self.potential.scores(batch, n_jobs=self.n_jobs), None, _knows(batch))

    # ---- looking inside

    @property
    def weights(self) -> SegmentWeights:
        return self.potential.weights

    def facts(self) -> dict[str, str]:
        features = self.potential.features
        facts = {
            "segments": f"{'runs of a label' if self.codec.runs else 'tags'}: "
            + ", ".join(str(name) for name in self.codec.types[:12]),
            "attributes": f"{len(self.vocabulary):,}",
            "features": f"{features.n_features:,}, {int(np.count_nonzero(self.potential.vector)):,} not 0",
            "lengths": f"1 to {int(features.longest.max())}" + ", longer ones by a tail" * self.has_tail,
        }
        if self.span_features is not None:
            facts["attributes of segments"] = f"{len(self.span_names):,}"
        return facts

    @property
    def has_tail(self) -> bool:
        """Whether segments may be longer than the longest with a weight of its own."""
        return self.potential.features.tails is not None

    def pair_scores(self) -> FloatArray:
        """Return the scores [C, C] of labels at the border of two segments; NaN within a segment."""
        L, class_of = self.codec.n_types, self.codec.class_of
        found = np.full((len(self.classes),) * 2, np.nan)
        edge = np.where(self.potential.features.permitted, self.weights.edge, np.nan)
        for last in (class_of[L:], class_of[:L]):
            found[np.ix_(last, class_of[:L])] = edge
        return found

    def id_names(self) -> list[str]:
        """Return the names of the ids of positions [2L]: a label, or where in a run of a label."""
        if not self.codec.runs:
            return [str(self.classes[c]) for c in self.codec.class_of.tolist()]
        return [f"{name} ({place})" for place in ("first", "next") for name in self.codec.types]

    def named_weights(self, part: str) -> dict[tuple[str, str], float]:
        """Return {(attribute, label): weight}, without the zeros, of "state", "last" or "span"."""
        features = self.potential.features
        rows = {"state": features.states, "last": features.last, "span": features.spans}[part]
        if rows is None:
            return {}
        names = (self.span_names if part == "span" else self.vocabulary).strings()
        labels = self.id_names() if part == "state" else list(map(str, self.codec.types))
        weights: FloatArray = getattr(self.weights, part)
        kept = np.flatnonzero(weights)
        attributes = np.repeat(np.arange(len(names)), np.diff(rows.indptr))[kept]
        return {
            (names[a], labels[k]): w
            for a, k, w in zip(
                attributes.tolist(), rows.ids[kept].tolist(), weights[kept].tolist(), strict=True
            )
        }

    def without_zeros(self) -> SegmentTagger:
        """Return the same tagger without features of positions and segments whose weight is 0."""
        features, weights = self.potential.features, self.weights
        fewer = replace(
            features,
            states=_only(features.states, weights.state != 0),
            last=None if features.last is None else _only(features.last, weights.last != 0),
            spans=None if features.spans is None else _only(features.spans, weights.span != 0),
        )
        vector = [*(w.ravel() for w in weights[:3]), *(w[w != 0] for w in weights[3:])]
        potential = SegmentPotential(fewer, np.concatenate(vector))
        given = self.span_features, self.span_names, self.boundaries, self.n_jobs
        return SegmentTagger(self.codec, self.encoder, potential, *given)

    # ---- files

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        own, arrays = self.encoder.to_parts()
        features, weights = self.potential.features, self.weights
        arrays |= {
            "edge.mask": features.permitted,
            "edge.weights": weights.edge,
            "lengths.longest": features.longest,
            "lengths.weights": weights.lengths,
        }
        if features.tails is not None:
            arrays |= {"tail.mask": features.tails, "tail.weights": weights.tail}
        parts = zip(_PARTS, (features.states, features.last, features.spans), weights[3:], strict=True)
        for name, rows, w in parts:
            if rows is not None:
                arrays |= {f"{name}.indptr": rows.indptr, f"{name}.ids": rows.ids, f"{name}.weights": w}
        record: dict[str, Any] = {"runs": self.codec.runs}
        if self.span_features is not None:
            record["features"] = self.span_features.to_record()
            arrays |= {f"span.names.{name}": array for name, array in self.span_names.to_arrays().items()}
        if self.boundaries is not None:
            lost = self.boundaries
            record["boundaries"] = (
                lost if isinstance(lost, str) else getattr(lost, "__qualname__", repr(lost))
            )
        return {**own, IN_HEADER: record}, arrays

    @classmethod
    def from_parts(
        cls, classes: list[Any], header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None
    ) -> SegmentTagger:
        record, take = header.get(IN_HEADER), arrays.take
        if not isinstance(record, dict) or not isinstance(record.get("boundaries", ""), str):
            raise arrays.wrong("its record of segments is malformed")
        try:
            codec = LabelCodec.of(classes, RUNS if record.get("runs") else None)
            span_features = span_features_of_record(record.get("features"))
        except (InputError, ModelFileError) as error:
            raise arrays.wrong(str(error)) from error
        if codec.classes != classes or codec.runs != bool(record.get("runs")):
            raise arrays.wrong("its labels are not those of segments")
        L = codec.n_types
        longest = take("lengths.longest", np.int64, (L,))
        lengths = take("lengths.weights", np.float64, (L, None))
        if longest.min() < 1 or longest.max() != lengths.shape[1]:
            raise arrays.wrong("its lengths are malformed")
        encoder = InputEncoder.of_parts(classes, header, arrays)
        span_names = Vocabulary()
        if span_features is not None:
            span_names = Vocabulary.from_arrays(arrays.under("span.names."))
        tails = take("tail.mask", np.bool_, (L,)) if "tail.mask" in arrays else None
        sizes = (len(encoder.vocabulary), len(encoder.vocabulary), len(span_names))
        rows: list[Rows | None] = []
        weights = [take("edge.weights", np.float64, (L, L)), lengths]
        if tails is not None:
            weights.append(take("tail.weights", np.float64, (L,)))
        for name, n, width in zip(_PARTS, sizes, (2 * L, L, L), strict=True):
            if name != "state" and f"{name}.indptr" not in arrays:
                rows.append(None)
                continue
            indptr = take(f"{name}.indptr", np.int64, (n + 1,))
            ids = take(f"{name}.ids", np.int32, (None,))
            arrays.check_rows(indptr, ids, width, "its feature index")
            rows.append(Rows(indptr, ids))
            weights.append(take(f"{name}.weights", np.float64, (len(ids),)))
        if not all(_native.scores_fit(w.reshape(-1), LARGEST_SCORE) for w in weights):
            raise arrays.wrong(f"it has weights above {LARGEST_SCORE:g} in size; no score may be that large")
        permitted: BoolArray = take("edge.mask", np.bool_, (L, L))
        states, last, spans = rows
        if states is None:
            raise arrays.wrong("it has no features")
        features = SegmentFeatures(permitted, longest, states, last, spans, tails)
        potential = SegmentPotential(features, np.concatenate([w.ravel() for w in weights]))
        boundaries = record.get("boundaries")
        return cls(codec, encoder, potential, span_features, span_names, boundaries, n_jobs)


def piece_of(batch: SegmentInput, start: int, stop: int) -> SegmentInput:
    """Return the sequences start..stop-1 of a batch."""
    sequences = batch.sequences
    if stop - start == sequences.n_sequences:
        return batch
    spans, of_spans, bounds = batch.spans, batch.of_spans, batch.boundaries
    if spans is not None and of_spans is not None:
        spans, of_spans = subset(spans, of_spans, start, stop)
    if bounds is not None:
        here = slice(int(sequences.offsets[start]), int(sequences.offsets[stop]))
        bounds = Boundaries(bounds.node[here], bounds.last[here])
    return SegmentInput(sequences.subset(np.arange(start, stop)), spans, of_spans, bounds)


def lost_boundaries(name: str) -> str:
    """Return the words about a function that a model file could not hold."""
    return (
        f"where segments may begin and end is told by Python code that a file cannot hold ({name}): pass it "
        "again, SemiCRF.load(path, boundaries=…)"
    )


def _knows(batch: SegmentInput) -> bool:
    """Return whether a batch has an attribute that the model knows, or no positions."""
    return not len(batch.sequences.indptr) > 1 or len(batch.sequences.indices) > 0


def _only(rows: Rows, kept: BoolArray) -> Rows:
    before = np.concatenate([[0], np.cumsum(kept)]).astype(np.int64)
    return Rows(before[rows.indptr], rows.ids[kept])
