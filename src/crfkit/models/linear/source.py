"""What ``CRF.fit`` trains on: a sum over sequences, wherever they are.

A source has read and indexed the training data, and has the likelihood as a function of parameters. Data in
memory and blocks on disk are a ``LocalSource``. Higher rooms have sources for other types of X, for example
collections of parts on other machines: ``upper_floors.py`` lists them by the package of the type, so that
nothing here knows them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labels import Labels
from crfkit.data.sequences import Encoded, Sequences
from crfkit.data.training_data import class_weights, require_data, sequence_weights
from crfkit.exceptions import InputError
from crfkit.features.index import FeatureIndex
from crfkit.features.inputs import given_template
from crfkit.features.labelled import LabelledInput, read_labelled
from crfkit.inference import PermittedPairs
from crfkit.models.blocks import Blocks
from crfkit.models.input_encoder import InputEncoder
from crfkit.models.linear.coarse import Coarse, coarse_step
from crfkit.models.linear.penalty_search import FoundPenalties
from crfkit.models.linear.penalty_step import penalty_step
from crfkit.models.linear.scales import value_range, warn_of_constants
from crfkit.models.linear.steps import IndexSettings, encode_step, identity, index_step, warn_of_nothing
from crfkit.objectives.linear_function import LinearFunction
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.threads import thread_count
from crfkit.upper_floors import elsewhere

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF


@dataclass(frozen=True)
class Given:
    """The arguments of ``fit`` that say what to train on."""

    X: Any
    y: Any
    sample_weight: Any
    lengths: Any
    permitted: PermittedPairs | None
    together: Any  # one group per sequence, which the folds of c2="auto" keep together; or None


class Source(Protocol):
    """Training data, read and indexed: everything that training asks of it."""

    @property
    def classes(self) -> list[Any]:
        """The labels, sorted."""

    @property
    def encoder(self) -> InputEncoder:
        """The encoder of all other data; it has the vocabulary."""

    @property
    def index(self) -> FeatureIndex:
        """The features of the data that get a weight."""

    @property
    def function(self) -> LinearFunction:
        """The likelihood of the whole data."""

    @property
    def offsets(self) -> IntArray:
        """The offsets of the sequences [N+1]."""

    @property
    def coarse(self) -> Coarse | None:
        """The model of order 1 that says which labels are likely; None: no label is left out."""

    @property
    def class_weights(self) -> FloatArray | None:
        """The weights of the labels [L]; None: all 1."""

    def penalties(self, estimator: CRF) -> FoundPenalties | None:
        """Return the penalties of groups of features, found or given; None: there is one number, c2."""

    def identity(self) -> dict[str, Any]:
        """Return what decides the weights, by its name in messages, for the fingerprint of a checkpoint."""

    def some(self, sequences: IntArray) -> tuple[Sequences, Labels]:
        """Return these sequences (ascending numbers) and their labels."""

    def value_range(self, attribute: int) -> tuple[float, float] | None:
        """Return the least and the greatest value of an attribute; None if values are not given."""


def open_source(estimator: CRF, given: Given) -> Source:
    """Read the training data, wherever it is, with the estimator's parameters."""
    reader = elsewhere("source", given.X) or local_source
    source: Source = reader(estimator, given)
    return source


@dataclass(frozen=True)
class LocalSource:
    """Training data in memory, or mapped into it from blocks on disk."""

    data: LabelledInput
    encoded: Encoded
    encoder: InputEncoder
    index: FeatureIndex
    function: LinearLikelihood
    coarse: Coarse | None
    given: Given

    @property
    def classes(self) -> list[Any]:
        return self.data.classes

    @property
    def offsets(self) -> IntArray:
        return self.encoded.sequences.offsets

    @property
    def class_weights(self) -> FloatArray | None:
        return self.data.class_weights

    def penalties(self, estimator: CRF) -> FoundPenalties | None:
        parts = (self.encoded, self.data, self.index, self.function)
        return penalty_step(estimator, *parts, self.given.permitted, self.given.together)

    def identity(self) -> dict[str, Any]:
        return identity(self.encoded, self.data, self.index, self.given.permitted)

    def some(self, sequences: IntArray) -> tuple[Sequences, Labels]:
        labels = self.data.labels.subset(sequences, self.offsets)
        return self.encoded.sequences.subset(sequences), labels

    def value_range(self, attribute: int) -> tuple[float, float] | None:
        return value_range(self.encoded.sequences, attribute)


def local_source(estimator: CRF, given: Given) -> LocalSource:
    """Read, encode and index training data in this process."""
    n_jobs, settings = estimator.n_jobs, IndexSettings.of(estimator)
    if isinstance(given.X, Blocks):
        data = _of_blocks(given.X, estimator, given)
    else:
        data = read_labelled(
            given.X,
            given.y,
            template=estimator.template,
            extractor=estimator.extractor,
            lengths=given.lengths,
            sample_weight=given.sample_weight,
            class_weight=estimator.class_weight,
            n_jobs=n_jobs,
        )
    encoded, encoder = encode_step(
        given.X, data, miner=estimator.associations, features=estimator.features, previous=None, n_jobs=n_jobs
    )
    warn_of_constants(encoded.sequences, data.vocabulary)
    index = index_step(encoded, data, settings)
    warn_of_nothing(index, encoded, data, settings)
    coarse = None
    if estimator.prune > 0 and index.order > 1:
        if given.permitted is not None:
            raise InputError("prune= and permitted= do not go together: leave out prune")
        coarse = coarse_step(estimator, data, encoded.sequences, index)
    function = LinearLikelihood(
        encoded.sequences,
        data.labels,
        index,
        n_threads=thread_count(n_jobs),
        weights=data.weights,
        class_weights=data.class_weights,
        permitted=given.permitted,
        c2=estimator._l2,
        apart=bool(estimator.c1 != 0) and estimator.penalty_groups is not None,
        left_out=None if coarse is None else coarse.left_out,
    )
    return LocalSource(data, encoded, encoder, index, function, coarse, given)


def _of_blocks(blocks: Blocks, estimator: CRF, given: Given) -> LabelledInput:
    """Return the training data in blocks, as far as the estimator's parameters go with them."""
    if given.y is not None or given.lengths is not None:
        raise InputError("blocks hold labels and lengths of the sequences: leave out y and lengths")
    template, extraction = blocks.encoder.template, blocks.encoder.extraction
    own = given_template(estimator.template)
    if (own is not None and own != template) or (estimator.extractor is not None and extraction is None):
        raise InputError(
            "the blocks were written with another template or extractor: leave out that of the estimator, or "
            "write the blocks again"
        )
    sequences, weights = blocks.sequences, given.sample_weight
    require_data(sequences, blocks.classes)
    return LabelledInput(
        sequences,
        blocks.labels,
        blocks.classes,
        blocks.encoder.vocabulary,
        template,
        extraction,
        sequence_weights(blocks.weights if weights is None else weights, sequences.n_sequences),
        class_weights(estimator.class_weight, blocks.labels, blocks.classes),
    )
