"""A user-defined potential, a small network, trained by the general objective; and the same in torch."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest
from numpy_network import NumPyNetwork

from crfkit.datasets import addresses
from crfkit.features import token_features
from crfkit.features.labelled import read_labelled
from crfkit.inference import viterbi
from crfkit.models.training import train
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.penalised import Penalised

EXAMPLE = Path(__file__).parents[2] / "examples" / "torch_potential.py"


@pytest.fixture(scope="module")
def data():
    tokens, y = addresses(20, random_state=0)
    return read_labelled([token_features(address, window=0) for address in tokens], y)


def network_of(data, width=4):
    potential = NumPyNetwork(len(data.vocabulary), len(data.classes), width)
    return potential, np.random.default_rng(0).normal(0, 0.1, size=potential.n_parameters)


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
