"""Random linear CRF problems, kept dense for the oracles."""

from dataclasses import dataclass

import numpy as np
from enumeration import enumerate_paths
from lattices import random_ngrams

from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex
from crfkit.inference import LabelNgrams, Lattice, log_partition
from crfkit.objectives.likelihood import Likelihood
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.potentials.linear import LinearPotential, LinearWeights


@dataclass
class Problem:
    """Random data, features and weights, kept dense for the oracle."""

    attributes: np.ndarray  # [ΣT, A]
    features: np.ndarray  # bool [A, L]
    state: np.ndarray  # [A, L], 0 where there is no feature
    edge: np.ndarray  # [L, L]
    edge2: np.ndarray | None  # [L, L, L]
    edges: np.ndarray
    edges2: np.ndarray | None
    labels: Labels
    offsets: np.ndarray
    weights: np.ndarray | None = None
    class_weights: np.ndarray | None = None
    pair_features: np.ndarray | None = None  # bool [A, L, L]
    pair: np.ndarray | None = None  # [A, L, L], 0 where there is no feature
    runs: LabelNgrams | None = None  # of order 3

    @property
    def n_labels(self) -> int:
        return self.edge.shape[0]

    def sequences(self) -> Sequences:
        rows, columns = np.nonzero(self.attributes)
        values = self.attributes[rows, columns]
        return Sequences(
            self.offsets,
            np.searchsorted(rows, np.arange(len(self.attributes) + 1)).astype(np.int64),
            columns.astype(np.int32),
            None if (values == 1).all() else values,
            self.attributes.shape[1],
        )

    def index(self) -> FeatureIndex:
        rows, labels = np.nonzero(self.features)
        indptr = np.searchsorted(rows, np.arange(len(self.features) + 1)).astype(np.int64)
        pairs = ()
        if self.pair_features is not None:
            attributes, ids = np.nonzero(self.pair_features.reshape(len(self.features), -1))
            pair_indptr = np.searchsorted(attributes, np.arange(len(self.features) + 1)).astype(np.int64)
            pairs = (pair_indptr, ids.astype(np.int32))
        return FeatureIndex(self.n_labels, indptr, labels.astype(np.int32), self.edges, self.ngrams, *pairs)

    @property
    def ngrams(self) -> np.ndarray:
        """Label n-grams with a weight [M, order + 1]."""
        if self.runs is not None:
            return self.runs.labels
        rows = np.zeros((0, 2)) if self.edges2 is None else np.argwhere(self.edges2)
        return rows.astype(np.int32)

    def linear_weights(self) -> np.ndarray:
        """Return one weight per feature, in the order of the index."""
        pair = np.zeros(0) if self.pair is None else self.pair[self.pair_features]
        triples = np.zeros(0) if self.edge2 is None else self.edge2[tuple(self.ngrams.T)]
        triples = triples if self.runs is None else self.runs.scores
        return LinearWeights(self.edge, triples, pair, self.state[self.features]).vector

    def parts(self, w: np.ndarray) -> LinearWeights:
        return LinearWeights.of(self.index(), w)

    def objective(
        self, *, c2: float = 0.0, c1: float = 0.0, centre=None, n_threads: int = 1, **more
    ) -> PenalisedLikelihood:
        likelihood = LinearLikelihood(
            self.sequences(),
            self.labels,
            self.index(),
            n_threads=n_threads,
            weights=self.weights,
            class_weights=self.class_weights,
            **more,
        )
        return likelihood.penalised(c2=c2, c1=c1, centre=centre)

    def general(self) -> Likelihood:
        """Return the same function through the general objective: any potential, any structure."""
        return Likelihood(
            LinearPotential(self.index()),
            self.sequences(),
            self.labels,
            weights=self.weights,
            class_weights=self.class_weights,
        )

    def lattices(self) -> tuple[Lattice, Lattice]:
        """Return lattices of all paths and of the permitted ones; wrong labels gain log class weights."""
        node = self.attributes @ self.state
        ids = self.labels.ids
        if self.class_weights is not None:
            for t in np.flatnonzero(ids >= 0):
                node[t] += np.log(self.class_weights[ids[t]]) * (np.arange(self.n_labels) != ids[t])
        permitted = np.arange(self.n_labels) == ids[:, None]
        if self.labels.allowed is not None:
            permitted = self.labels.allowed
        edge = self.edge
        if self.pair is not None:
            edge = edge + np.einsum("ta,ajl->tjl", self.attributes, self.pair)
        return (
            Lattice(node, edge, self.offsets, edge2=self.edge2, ngrams=self.runs),
            Lattice(
                np.where(permitted, node, -np.inf), edge, self.offsets, edge2=self.edge2, ngrams=self.runs
            ),
        )

    @property
    def sequence_weights(self) -> np.ndarray:
        return np.ones(len(self.offsets) - 1) if self.weights is None else self.weights

    def loss(self) -> float:
        free, bound = self.lattices()
        return float(self.sequence_weights @ (log_partition(free) - log_partition(bound)))

    def enumerated_loss(self) -> float:
        free, bound = self.lattices()
        return sum(
            w * (enumerate_paths(free, i).log_z - enumerate_paths(bound, i).log_z)
            for i, w in enumerate(self.sequence_weights)
        )


def make_problem(
    seed: int,
    n_labels: int,
    lengths: list[int],
    *,
    order: int = 1,
    scale: float = 1.0,
    real: bool = True,
    partial: str = "full",
    weighted: bool = False,
    costs: bool = False,
    copies: int = 0,
    n_attributes: int = 9,
    density: float = 0.5,
    pairs: bool = False,
) -> Problem:
    rng = np.random.default_rng(seed)
    total, L = sum(lengths), n_labels
    present = rng.random((total, n_attributes)) < 0.4
    values = rng.normal(size=present.shape) * rng.choice([0.1, 1, 3], size=present.shape)
    attributes = np.where(present, values if real else 1.0, 0.0)
    features = rng.random((n_attributes, L)) < density
    features[0] = True  # at least one dense row, one list and one attribute without features
    features[1] = np.arange(L) == rng.integers(L)
    features[2] = False
    attributes[:, 3] = 0  # an attribute of the vocabulary that does not occur
    for _ in range(copies):
        twin = rng.integers(attributes.shape[1])
        attributes = np.hstack([attributes, attributes[:, [twin]]])
        features = np.vstack([features, features[[twin]]])
    state = np.where(features, scale * rng.normal(size=features.shape), 0.0)
    edges = rng.random((L, L)) < 0.7
    edges2 = rng.random((L, L, L)) < 0.6 if order == 2 else None
    ids = rng.integers(L, size=total).astype(np.int32)
    allowed = None
    if partial != "full" and total:
        allowed = np.arange(L) == ids[:, None]
        loose = rng.random(total) < (0.9 if partial != "mixed" else 0.4)
        loose[rng.integers(total)] = True
        some = allowed | (rng.random((total, L)) < 0.5)
        if partial == "none":
            some[:] = True
        allowed = np.where(loose[:, None], some, allowed)
        ids = np.where(loose & (allowed.sum(axis=1) != 1), -1, ids).astype(np.int32)
        if (ids >= 0).all():
            allowed = None
    pair_features = None
    if pairs:
        pair_features = rng.random((len(features), L, L)) < density
        pair_features[0] = True
        pair_features[4] = False
        if copies:  # twins in labels, maybe not in pairs
            pair_features[-1] = pair_features[rng.integers(len(features))]
    return Problem(
        attributes,
        features,
        state,
        np.where(edges, scale * rng.normal(size=edges.shape), 0.0),
        None if edges2 is None else np.where(edges2, scale * rng.normal(size=edges2.shape), 0.0),
        edges,
        edges2,
        Labels(ids, allowed),
        np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        rng.choice([0.0, 0.3, 1.0, 2.5], size=len(lengths)) if weighted else None,
        rng.uniform(0.2, 5, size=L) if costs else None,
        pair_features,
        np.where(pair_features, scale * rng.normal(size=pair_features.shape), 0.0) if pairs else None,
        random_ngrams(rng, L, 3, scale * rng.normal(size=8 * L)) if order == 3 else None,
    )
