"""crfkit in the benchmarks: the steps of ``CRF.fit`` one by one, so that each can be timed."""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from curves import Curve, Point
from tasks import Items, LabelLists

from crfkit.data.encode import encode
from crfkit.data.labels import Labels, encode_labels, label_set
from crfkit.data.sequences import Sequences
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex, build_index
from crfkit.models.training import train
from crfkit.objectives.linear_function import PenalisedLikelihood
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.potentials.linear import LinearWeights


@dataclass(frozen=True)
class Loaded:
    """A task in crfkit's memory."""

    sequences: Sequences
    labels: Labels
    classes: list[str]
    vocabulary: Vocabulary

    def index(self, order: int = 1) -> FeatureIndex:
        """The features observed in the data and all transitions."""
        return build_index(
            self.sequences, self.labels, len(self.classes), order=order, all_possible_transitions=True
        )

    def objective(self, index: FeatureIndex, c2: float, threads: int, c1: float = 0.0) -> PenalisedLikelihood:
        """The training objective."""
        likelihood = LinearLikelihood(self.sequences, self.labels, index, n_threads=threads)
        return likelihood.penalised(c2=c2, c1=c1)


def load(X: Items, y: LabelLists) -> Loaded:
    """Python objects to arrays."""
    vocabulary = Vocabulary()
    sequences = encode(X, vocabulary, grow=True)
    classes = label_set(y)
    return Loaded(sequences, encode_labels(y, classes, sequences.offsets), classes, vocabulary)


def fit(
    loaded: Loaded,
    *,
    c1: float,
    c2: float,
    threads: int,
    order: int = 1,
    algorithm: str = "auto",
    tol: float = 1e-5,
    max_iterations: int | None = None,
) -> Curve:
    """Train as ``CRF.fit`` does after reading its input; tol is the default of ``CRF``."""
    began = time.perf_counter()
    index = loaded.index(order)
    objective = loaded.objective(index, c2, threads, c1)
    ready = time.perf_counter() - began
    outcome = train(
        objective,
        np.zeros(objective.n_parameters),
        algorithm=algorithm,
        max_iterations=max_iterations,
        tol=tol,
        dev=None,
        patience=1,
        seed=0,
        verbose=False,
    )
    weights = objective.weights(outcome.x)
    took = time.perf_counter() - began
    points = [Point(ready + h["seconds"], h["objective"], h["passes"]) for h in outcome.history]
    return Curve(points, took, outcome.value, int(np.count_nonzero(weights)), outcome.converged)


def objective_of(
    loaded: Loaded,
    state_features: dict[tuple[str, str], float],
    transitions: dict[tuple[str, str], float],
    *,
    c1: float,
    c2: float,
    threads: int,
) -> float:
    """The objective of first-order weights that were trained elsewhere, by crfkit's arithmetic."""
    index = loaded.index()
    places = {label: i for i, label in enumerate(loaded.classes)}
    L = len(places)
    attributes = loaded.vocabulary.lookup([attribute for attribute, _ in state_features]).astype(np.int64)
    labels = np.array([places[label] for _, label in state_features], dtype=np.int64)
    state = np.zeros(len(index.state_labels))
    state[np.searchsorted(index.state_keys(), attributes * L + labels)] = list(state_features.values())
    edge = np.zeros((L, L))
    for (before, after), weight in transitions.items():
        edge[places[before], places[after]] = weight
    objective = loaded.objective(index, 0.0, threads)
    loss = objective(objective.parameters(LinearWeights(edge, np.zeros(0), np.zeros(0), state).vector)).value
    squares = float(state @ state + (edge**2).sum())
    return loss + c2 * squares + c1 * float(np.abs(state).sum() + np.abs(edge).sum())
