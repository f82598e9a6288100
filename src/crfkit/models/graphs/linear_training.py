"""Training a linear model of graphs: encode, features, objective, optimiser."""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.models.graphs.features import graph_features
from crfkit.models.graphs.linear_part import LinearPart
from crfkit.models.graphs.training import GraphTask, Trained
from crfkit.models.graphs.vocabularies import GraphVocabularies
from crfkit.models.training import Dev, train
from crfkit.objectives.likelihood import Likelihood
from crfkit.objectives.pseudo_likelihood import PseudoLikelihood
from crfkit.optim.penalised import Penalised
from crfkit.potentials.graphs import GraphPotential


def train_linear(task: GraphTask) -> Trained:
    """Return a model trained on the task's graphs."""
    estimator = task.estimator
    own, batch = GraphVocabularies.learn(task.graphs, task.names)
    features = graph_features(
        batch,
        task.labels,
        len(task.classes),
        min_freq=estimator.min_freq,
        everything=_everything(estimator.all_possible_features, own),
    )
    potential = GraphPotential(features)
    kind = PseudoLikelihood if task.is_pseudo else Likelihood
    function = kind(
        potential,
        batch,
        task.labels,
        structure=task.structure,
        weights=task.weights,
        class_weights=task.class_weights,
        n_jobs=estimator.n_jobs,
    )
    l1 = np.full(potential.n_parameters, float(estimator.c1)) if estimator.c1 > 0 else None
    saving = task.saving(batch.layout, batch.nodes, batch.of_edges, "\0".join(own.nodes.strings()))
    outcome = train(
        Penalised(function, float(estimator.c2), l1),
        np.zeros(potential.n_parameters),
        algorithm="lbfgs",
        max_iterations=estimator.max_iterations,
        tol=float(estimator.tol),
        dev=_dev(task, LinearPart(own, potential)),
        patience=estimator.patience,
        seed=estimator.random_state,
        verbose=estimator.verbose,
        saving=saving,
    )
    part = LinearPart(own, GraphPotential(features, outcome.x))
    return Trained(task.tagger(part), outcome, saving, task.maximised(part.scores(batch)))


def _everything(asked: bool | str, own: GraphVocabularies) -> tuple[bool, bool]:
    """Return whether all features of nodes, and of edges, have weights; "auto": if they are columns."""
    if isinstance(asked, bool):
        return asked, asked
    nodes = own.nodes.names_columns()
    edges = not own.names.featured or own.edges.names_columns()
    return nodes, edges and (nodes or not own.names.ends)


def _dev(task: GraphTask, part: LinearPart) -> Dev | None:
    """Return a function that computes the accuracy of weights on held-out graphs."""
    batch = task.encoded_dev(part.vocabularies.encode)
    if task.dev is None or batch is None:
        return None
    held, tagger = task.dev[1], task.tagger(part)

    def accuracy(x: FloatArray) -> float:
        return held.share_right(tagger.decode(part.potential.scores(batch, x, n_jobs=tagger.n_jobs)).labels)

    return accuracy
