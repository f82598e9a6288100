"""A user's own potential, a small network, trained by the general objective: in NumPy, and in torch."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from crfkit.data.labels import Labels
from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.features.labelled import read_labelled
from crfkit.inference import Lattice, viterbi
from crfkit.models.training import train
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.penalised import Penalised

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_potential.py"


class NumPyNetwork:
    """The network of examples/torch_potential.py: embeddings, a hidden layer over three tokens, pairs."""

    def __init__(self, n_attributes, n_labels, width):
        D, L = width, n_labels
        self.shapes = [(L, L), (n_attributes, D), (D, 3 * D), (D,), (L, D), (L,)]
        self.n_parameters = sum(int(np.prod(shape)) for shape in self.shapes)

    def parts(self, w):
        cuts = np.cumsum([np.prod(shape) for shape in self.shapes])[:-1].astype(int)
        return [part.reshape(shape) for part, shape in zip(np.split(w, cuts), self.shapes, strict=True)]

    def scores(self, batch, w, *, n_jobs=None):
        pairs, embed, hidden, bias, out, out_bias = self.parts(w)
        rows = np.repeat(np.arange(batch.n_positions), np.diff(batch.indptr))
        own = np.zeros((batch.n_positions, embed.shape[1]))
        np.add.at(own, rows, embed[batch.indices])
        first = batch.first[:, None]
        near = [
            np.where(first, 0, np.roll(own, 1, 0)),
            own,
            np.where(np.roll(first, -1, 0), 0, np.roll(own, -1, 0)),
        ]
        self.seen, self.rows, self.w = np.hstack(near), rows, w
        self.layer = np.tanh(self.seen @ hidden.T + bias)
        return Lattice(self.layer @ out.T + out_bias, pairs, batch.offsets)

    def backward(self, batch, d_scores):
        _, embed, hidden, _, out, _ = self.parts(self.w)
        inner = (d_scores.node @ out) * (1 - self.layer**2)
        before, own, after = np.split(inner @ hidden, 3, axis=1)
        first = batch.first[:, None]
        own += np.roll(np.where(first, 0, before), -1, 0) + np.roll(
            np.where(np.roll(first, -1, 0), 0, after), 1, 0
        )
        d_embed = np.zeros_like(embed)
        np.add.at(d_embed, batch.indices, own[self.rows])
        parts = [
            d_scores.edge,
            d_embed,
            inner.T @ self.seen,
            inner.sum(axis=0),
            d_scores.node.T @ self.layer,
            d_scores.node.sum(axis=0),
        ]
        return np.concatenate([part.ravel() for part in parts])


@pytest.fixture(scope="module")
def data():
    tokens, y = addresses(20, random_state=0)
    return read_labelled([token_features(address, window=0) for address in tokens], y)


def network_of(data, width=4):
    potential = NumPyNetwork(len(data.vocabulary), len(data.classes), width)
    return potential, np.random.default_rng(0).normal(0, 0.1, size=potential.n_parameters)


@pytest.mark.parametrize("partial", [False, True])
def test_gradients_are_finite_differences(data, partial):
    potential, w = network_of(data)
    labels, rng = data.labels, np.random.default_rng(1)
    weights = rng.uniform(0.5, 2, size=data.sequences.n_sequences)
    if partial:
        allowed = (labels.ids[:, None] == np.arange(len(data.classes))) | (
            rng.random((len(labels.ids), 1)) < 0.3
        )
        labels = Labels(np.where(allowed.all(axis=1), -1, labels.ids).astype(np.int32), allowed)
    costs = rng.uniform(0.5, 2, size=len(data.classes))
    objective = Likelihood(potential, data.sequences, labels, weights=weights, class_weights=costs)
    gradient = objective(w).gradient
    for _ in range(10):
        d = rng.normal(size=len(w))
        d /= np.linalg.norm(d)
        slope = (objective(w + 1e-4 * d).value - objective(w - 1e-4 * d).value) / 2e-4
        assert slope == pytest.approx(gradient @ d, rel=1e-5, abs=1e-5)


def test_it_learns(data):
    potential, w = network_of(data, width=8)
    objective = Penalised(Likelihood(potential, data.sequences, data.labels), l2=0.001)
    outcome = train(
        objective,
        w,
        algorithm="auto",
        max_iterations=80,
        tol=1e-4,
        dev=None,
        patience=1,
        seed=0,
        verbose=False,
    )
    found = viterbi(potential.scores(data.sequences, outcome.x)).labels
    assert outcome.history[-1]["objective"] < 0.1 * outcome.history[0]["objective"]
    assert (found == data.labels.ids).mean() > 0.95


def test_torch_and_numpy_agree(data):
    pytest.importorskip("torch")
    spec = importlib.util.spec_from_file_location("torch_potential", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    network = example.Network(len(data.vocabulary), len(data.classes), width=4)
    theirs, (ours, w) = example.TorchPotential(network), network_of(data)
    assert theirs.n_parameters == ours.n_parameters
    a, b = (Likelihood(potential, data.sequences, data.labels)(w) for potential in (theirs, ours))
    assert a.value == pytest.approx(b.value, rel=1e-9)
    np.testing.assert_allclose(a.gradient, b.gradient, atol=1e-9)
