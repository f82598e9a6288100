"""The fitted linear-chain CRF: vocabulary, labels, weights; and its form in the model file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from crfkit import _native
from crfkit.arrays import FloatArray, IdArray
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.conjunctions import Conjunctions
from crfkit.features.extraction import Extraction
from crfkit.features.index import FeatureIndex, rows_of
from crfkit.features.template import Template
from crfkit.inference import Lattice
from crfkit.inference.lattice import LARGEST_SCORE
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays
from crfkit.models.fitted_model import FittedModel, Piece, Prepared, Scored, warn_of_unknown_data
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.kinds import KINDS
from crfkit.models.linear.curvature import Curvature
from crfkit.models.linear.ngram_arrays import ngram_arrays, ngrams_of_file
from crfkit.potentials.linear import LinearPotential, LinearWeights

if TYPE_CHECKING:
    from crfkit.mining.associations import Associations
    from crfkit.models.explanation import Reasons


class LinearTagger(FittedModel):
    """A tagger with weights on attributes and transitions."""

    in_files = KINDS["linear"].in_files
    n_columns: int | None = None  # number of table columns that it uses; None if it takes attributes
    scores_per_position = 0

    def __init__(
        self,
        classes: list[Any],
        encoder: InputEncoder,
        index: FeatureIndex,
        weights: LinearWeights | FloatArray,  # a weight per feature
        n_jobs: int | None = None,
        curvature: Curvature | None = None,  # how firmly the data seen so far holds them; None: not known
    ) -> None:
        super().__init__(classes, n_jobs)
        self.use(encoder)
        self.curvature = curvature
        self.potential = LinearPotential(index, weights)
        self.scores_per_position = self.potential.scores_per_position

    def use(self, encoder: InputEncoder) -> None:
        """Use this encoder from now on."""
        self.encoder = encoder
        self.n_columns = encoder.n_columns

    @property
    def vocabulary(self) -> Vocabulary:
        return self.encoder.vocabulary

    @property
    def template(self) -> Template | None:
        return self.encoder.template

    @property
    def extraction(self) -> Extraction | None:
        """What makes attributes of sentences."""
        return self.encoder.extraction

    @property
    def conjunctions(self) -> Conjunctions:
        """Attributes that occur where all of several others do."""
        return self.encoder.conjunctions

    @property
    def associations(self) -> Associations | None:
        return self.encoder.associations

    @property
    def index(self) -> FeatureIndex:
        return self.potential.index

    @property
    def weights(self) -> LinearWeights:
        return self.potential.weights

    def encode(self, X: Any, lengths: Any = None) -> Encoded:
        """Return X with ids of the vocabulary; attributes unseen in training are ignored."""
        return self.encoder.encode(X, lengths, self.n_jobs)

    def lattice(self, X: Encoded) -> Lattice:
        """Return the scores of encoded data."""
        return self.potential.scores(X.sequences, n_jobs=self.n_jobs)

    def reasons(self, X: Any, lattice: Any, header: Mapping[str, Any]) -> Reasons:
        from crfkit.models.linear.explanation import linear_reasons

        return linear_reasons(self, self.encode(X).sequences)

    def prepare(self, X: Any, lengths: Any = None) -> Prepared:
        encoded = self.encode(X, lengths)
        if (
            not self._knows(encoded.sequences) and not self.vocabulary.names_columns()
        ):  # an array may be all 0
            names = ", ".join(map(repr, self.vocabulary.strings(0, min(3, len(self.vocabulary)))))
            warn_of_unknown_data(f"has no attribute that the model knows (such as {names})")
        return self.prepare_encoded(encoded)

    def prepare_encoded(self, encoded: Encoded) -> Prepared:
        """Return encoded data, to be scored in pieces."""
        sequences, forced = encoded.sequences, self.forced(encoded)

        def score(start: int, stop: int) -> Piece:
            chosen = sequences
            if stop - start < sequences.n_sequences:
                chosen = sequences.subset(np.arange(start, stop))
            lattice = self.potential.scores(chosen, n_jobs=self.n_jobs)
            here = slice(sequences.offsets[start], sequences.offsets[stop])
            return Piece(lattice, None if forced is None else forced[here])

        return Prepared(sequences.offsets, score)

    def scored(self, X: Any) -> Scored:
        """Return the scores of a batch, with the labels that rules make certain."""
        encoded = self.encoder.encode(X, None, self.n_jobs)
        sequences = encoded.sequences
        forced = None if encoded.hints is None else encoded.forced(self.classes)
        return Scored(self.potential.scores(sequences, n_jobs=self.n_jobs), forced, self._knows(sequences))

    def _knows(self, sequences: Sequences) -> bool:
        """Return whether a batch has an attribute that the model knows, or no positions."""
        return not len(sequences.indptr) > 1 or len(sequences.indices) > 0

    def forced(self, X: Encoded) -> IdArray | None:
        """Return the labels that are certain in encoded data, [ΣT]; -1: any label."""
        return X.forced(self.classes)

    def state_features(self) -> dict[tuple[str, Any], float]:
        """Return {(attribute, label): weight}, without the zeros."""
        names = self.vocabulary.strings()
        kept = np.flatnonzero(self.weights.state)
        attributes = (self.index.state_keys() // self.index.n_labels)[kept].tolist()
        labels = self.index.state_labels[kept].tolist()
        weights = self.weights.state[kept].tolist()
        return {
            (names[a], self.classes[label]): w
            for a, label, w in zip(attributes, labels, weights, strict=True)
        }

    def facts(self) -> dict[str, str]:
        index, weights = self.index, self.weights
        facts = {
            "attributes": f"{index.n_attributes:,}",
            "features": f"{len(weights.vector):,}, {int(np.count_nonzero(weights.vector)):,} of them not 0",
        }
        if index.order > 1:
            facts["order"] = str(index.order)
        if self.associations is not None:
            facts["association rules"] = f"{len(self.associations.rules):,}"
        return facts

    def pair_scores(self) -> FloatArray:
        return np.where(self.index.edges, self.weights.edge, np.nan)

    def transition_features(self) -> dict[tuple[Any, ...], float]:
        """Return {(label, next label): weight}, and the longer label n-grams of higher orders, likewise."""
        pairs = np.argwhere(self.index.edges)
        table = _transition_dict(self.classes, pairs, self.weights.edge[self.index.edges])
        return table | _transition_dict(self.classes, self.index.ngrams, self.weights.ngrams)

    def edge_features(self) -> dict[tuple[str, Any, Any], float]:
        """Return {(attribute, label, next label): weight} of attributes on label pairs, without the zeros."""
        names, L = self.vocabulary.strings(), self.index.n_labels
        kept = np.flatnonzero(self.weights.pair)
        keys = self.index.pair_keys()[kept].tolist()
        weights = self.weights.pair[kept].tolist()
        return {
            (names[key // L**2], self.classes[key // L % L], self.classes[key % L]): w
            for key, w in zip(keys, weights, strict=True)
        }

    def compact(self) -> LinearTagger:
        """Return the same tagger without features of weight 0 and attributes without features."""
        L, old, weights = self.index.n_labels, self.index, self.weights
        keys, pair_keys = old.state_keys(), old.pair_keys()
        kept, kept_pairs = weights.state != 0, weights.pair != 0
        used = np.union1d(keys[kept] // L, pair_keys[kept_pairs] // L**2)
        if kept.all() and kept_pairs.all() and len(used) == len(self.vocabulary):
            return self
        names = self.vocabulary.strings()
        numbers = {names[a] for a in used.tolist()}
        conjunctions = {name: atoms for name, atoms in self.conjunctions.atoms.items() if name in numbers}
        needed = [atom for atoms in conjunctions.values() for atom in atoms]
        used = np.union1d(used, self.vocabulary.lookup(needed))
        if self.associations is not None:
            used = np.union1d(used, self.associations.needed(used))
        if self.vocabulary.names_columns():
            used = np.arange(len(names))  # the width of an array is checked against the vocabulary
        places = np.full(len(names), -1, np.int64)  # [old A] new ids
        places[used] = np.arange(len(used))
        state = places[keys[kept] // L] * L + keys[kept] % L
        pairs = places[pair_keys[kept_pairs] // L**2] * L**2 + pair_keys[kept_pairs] % L**2
        index = FeatureIndex(
            L, *rows_of(state, L, len(used)), old.edges, old.ngrams, *rows_of(pairs, L**2, len(used))
        )
        vocabulary = Vocabulary([names[a] for a in used])
        associations = None if self.associations is None else self.associations.renumbered(vocabulary, places)
        encoder = replace(
            self.encoder,
            vocabulary=vocabulary,
            conjunctions=Conjunctions(vocabulary, conjunctions),
            associations=associations,
        )
        fewer = replace(weights, state=weights.state[kept], pair=weights.pair[kept_pairs])
        curvature = None if self.curvature is None else self.curvature.at(used)
        return self.with_features(index, fewer, encoder, curvature)

    def with_features(
        self,
        index: FeatureIndex,
        weights: LinearWeights,
        encoder: InputEncoder | None = None,
        curvature: Curvature | None = None,
    ) -> LinearTagger:
        """Return a tagger that differs in its features, and in the encoder if one is given.

        ``curvature`` is that of other features; for the same ones it stays.
        """
        curvature = self.curvature if index is self.index else curvature
        other = LinearTagger(self.classes, encoder or self.encoder, index, weights, self.n_jobs, curvature)
        other.calibration = self.calibration
        return other

    # ---- files

    def compact_parts(self, drop_below: float) -> tuple[dict[str, Any], Arrays]:
        from crfkit.models.linear.compact_form import rounded, to_compact  # only needed here

        return to_compact(*rounded(self, drop_below).to_parts())

    def to_parts(self) -> tuple[dict[str, Any], Arrays]:
        own, arrays = self.encoder.to_parts()
        arrays |= {
            "state.indptr": self.index.state_indptr,
            "state.labels": self.index.state_labels,
            "state.weights": self.weights.state,
            "edge.mask": self.index.edges,
            "edge.weights": self.weights.edge,
        }
        arrays |= ngram_arrays(self.index, self.weights.ngrams)
        if self.index.has_pairs:
            arrays |= {
                "pair.indptr": self.index.pair_indptr,
                "pair.ids": self.index.pair_ids,
                "pair.weights": self.weights.pair,
            }
        if self.curvature is not None:
            arrays |= self.curvature.to_arrays(self.index)
        return own, arrays

    @classmethod
    def from_parts(
        cls, classes: list[Any], header: Mapping[str, Any], arrays: ModelArrays, n_jobs: int | None = None
    ) -> LinearTagger:
        if "compact" in header:
            from crfkit.models.linear.compact_form import of_compact  # only needed here

            arrays = of_compact(header, arrays, len(classes))
        take, L = arrays.take, len(classes)
        paired = "pair.weights" in arrays
        indptr, state_labels = (
            take("state.indptr", np.int64, (None,)),
            take("state.labels", np.int32, (None,)),
        )
        pair_indptr, pair_ids = np.zeros(len(indptr), np.int64), np.zeros(0, np.int32)
        if paired:
            pair_indptr = take("pair.indptr", np.int64, (len(indptr),))
            pair_ids = take("pair.ids", np.int32, (None,))
        arrays.check_rows(indptr, state_labels, L, "its feature index")
        arrays.check_rows(pair_indptr, pair_ids, L**2, "its feature index")
        edge = take("edge.weights", np.float64, (L, L))
        ngrams, ngram_weights = ngrams_of_file(arrays, L)
        weights = LinearWeights(
            edge,
            ngram_weights,
            take("pair.weights", np.float64, (len(pair_ids),)) if paired else np.zeros(0),
            take("state.weights", np.float64, (len(state_labels),)),
        )
        too_large = weight_problem(weights)
        if too_large is not None:
            raise arrays.wrong(too_large)
        edges = take("edge.mask", np.bool_, (L, L))
        encoder = InputEncoder.of_parts(classes, header, arrays)
        take("state.indptr", np.int64, (len(encoder.vocabulary) + 1,))
        index = FeatureIndex(L, indptr, state_labels, edges, ngrams, pair_indptr, pair_ids)
        return cls(classes, encoder, index, weights, n_jobs, Curvature.from_arrays(arrays, index))


def weight_problem(weights: LinearWeights) -> str | None:
    """Return what is wrong with the weights of a file that would give no usable scores; None: nothing."""
    tables = (weights.edge, weights.ngrams, weights.pair, weights.state)
    if all(_native.scores_fit(table.reshape(-1), LARGEST_SCORE) for table in tables):
        return None
    return f"it has weights above {LARGEST_SCORE:g} in size; no score may be that large"


def _transition_dict(
    classes: list[Any], runs: npt.NDArray[np.signedinteger[Any]], weights: FloatArray
) -> dict[tuple[Any, ...], float]:
    return {
        tuple(classes[label] for label in run if label >= 0): w
        for run, w in zip(runs.tolist(), weights.tolist(), strict=True)
        if w != 0
    }
