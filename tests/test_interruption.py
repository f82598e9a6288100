"""Ctrl-C: what has been learnt is kept, KeyboardInterrupt is raised, and no native loop makes the user wait.

The signal is SIGALRM with Python's own handler of SIGINT: the way through the native core is the same.
"""

import re
import signal
import threading
import time
import warnings
from functools import cache

import numpy as np
import pytest
from graphs import random_graphs
from interruptions import interrupt
from sklearn.model_selection import GridSearchCV
from small_genomes import random_windows

from crfkit import CRF, ConstrainedCRF, KernelCRF, TreeCRF
from crfkit.apps.genes import GeneFinder
from crfkit.apps.genes.finder_training import StructureLikelihood
from crfkit.datasets import addresses, gaussian_mixtures
from crfkit.exceptions import InputError
from crfkit.features import token_features
from crfkit.inference import Graphs, Lattice, log_partition, sample, viterbi
from crfkit.mining import AssociationMiner
from crfkit.mining.search import MAX_SETS
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.selection import GainSelector

pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")

FOREVER = {"tol": 0.0, "max_iterations": 10**7}


@pytest.fixture
def stopped():
    """Return a function that calls another one, and presses Ctrl-C after some seconds (again 0.1 s later).

    It returns the exception, and the seconds from the first Ctrl-C to the end.
    """
    left = []

    def press(number, frame):
        if left:
            left.pop()
            raise KeyboardInterrupt

    def run(call, after, times=1):
        left.extend([None] * times)
        began = time.perf_counter()
        signal.setitimer(signal.ITIMER_REAL, after, 0.1)
        try:
            call()
        except KeyboardInterrupt as error:
            left.clear()
            return error, time.perf_counter() - began - after
        left.clear()
        pytest.fail("no KeyboardInterrupt was raised")

    before = signal.signal(signal.SIGALRM, press)
    yield run
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@cache
def letters(n=1500):
    tokens, y = addresses(n, random_state=0)
    return [token_features(sentence) for sentence in tokens], y


@cache
def noise():
    """Return data with which training takes long: many labels, and nothing to learn."""
    random = np.random.default_rng(0)
    X = [[[f"{i}" for i in random.integers(500, size=5)] for _ in range(10)] for _ in range(1500)]
    return X, [random.integers(20, size=len(x)).tolist() for x in X]


def points(n=300):
    return gaussian_mixtures(n, 10, random_state=0)


def items(n=1000, k=60):
    random = np.random.default_rng(0)
    X = [[[f"i{i}" for i in np.flatnonzero(random.random(k) < 0.5)] for _ in range(20)] for _ in range(n)]
    return X, [["AB"[random.integers(2)] for _ in x] for x in X]


LONG = {
    "lbfgs": (lambda: CRF(order=2, algorithm="lbfgs", c2=1e-5, **FOREVER), noise),
    "one thread": (lambda: CRF(order=2, algorithm="lbfgs", c2=1e-5, n_jobs=1, **FOREVER), noise),
    "stochastic start": (lambda: CRF(order=2, c2=1e-5, **FOREVER), noise),
    "sgd": (lambda: CRF(order=2, algorithm="sgd", c2=1e-5, **FOREVER), noise),
    "penalties": (lambda: CRF(order=2, c2="auto"), noise),
    "constrained": (
        lambda: ConstrainedCRF(order=2, c2=1e-5, max_outer=10**6, penalty=1e-9, **FOREVER),
        noise,
    ),
    "trees": (lambda: TreeCRF(n_iterations=10**6, min_samples_leaf=1), lambda: points(100)),
    "kernel": (
        lambda: KernelCRF(n_cliques=2000, gamma=1.0, reg=0.01),
        points,
    ),  # given: nothing is chosen first
    "selection": (lambda: GainSelector(n_features=100), items),
}


@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("name", LONG)
def test_fit_keeps_the_model_and_raises(name, times, stopped):
    make, data = LONG[name]
    model, (X, y) = make(), data()
    for seconds in (0.5, 2.0, 8.0):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            error, waited = stopped(lambda: model.fit(X, y), seconds, times)
        assert waited < 1.0
        if str(error) or times == 2:
            break  # else it was still reading the data, on a busy machine
    if times == 1:
        assert re.search("interrupted (after|before its first iteration).* kept", str(error))
        if name == "selection":
            assert model.path_
        else:
            assert model.predict(X[:2])


def test_partial_fit(monkeypatch):
    X, y = letters(200)
    crf = CRF(algorithm="lbfgs").fit(X[:10], y[:10])
    before = crf.state_features_
    interrupt(monkeypatch, LinearLikelihood, "__call__", 5)
    with pytest.raises(KeyboardInterrupt, match="the best model so far is kept"):
        crf.partial_fit(X, y)
    assert crf.state_features_ != before


def test_gene_finder(monkeypatch):
    sequences, exons = random_windows(20, seed=1)
    finder = GeneFinder(folds=2)
    interrupt(monkeypatch, StructureLikelihood, "__call__", 5)
    with pytest.raises(KeyboardInterrupt, match="the best model so far is kept"):
        finder.fit(sequences, exons)
    assert finder.n_iter_ == 2
    assert finder.predict(sequences[:1])


def test_grid_search_ends(stopped):
    X, y = noise()
    search = GridSearchCV(CRF(order=2, algorithm="lbfgs", **FOREVER), {"c2": [1e-5, 1e-6]}, cv=3)
    assert stopped(lambda: search.fit(X, y), 0.5)[1] < 1.0


# ---- single calls of the core that would take seconds, or for ever


def lattice(T, L):
    random = np.random.default_rng(0)
    return Lattice(random.normal(size=(T, L)), random.normal(size=(L, L)), np.array([0, T]))


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_sampling_ends_at_once(n_jobs, stopped):
    scores = lattice(300, 100)
    assert stopped(lambda: sample(scores, 10**5, n_jobs=n_jobs), 0.5)[1] < 1.0


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_mining_ends_at_once(n_jobs, stopped):
    X, y = items(1000)  # 20,000 positions
    miner = AssociationMiner(lengths=(2, 10), n_jobs=n_jobs)
    assert stopped(lambda: miner.fit(X, y), 1.0)[1] < 1.0


@pytest.mark.parametrize("function", [viterbi, log_partition])
def test_inside_one_long_sequence(function, stopped):
    long = lattice(40_000, 150)
    began = time.perf_counter()
    function(long, n_jobs=1)
    whole = time.perf_counter() - began
    assert stopped(lambda: function(long, n_jobs=1), whole / 10)[1] < 0.7 * whole


@pytest.mark.parametrize(
    "call",
    [
        lambda x: Graphs("bp", damping=0.9999, max_iterations=10**8, tolerance=0).log_partition(x, n_jobs=1),
        lambda x: Graphs("trw", sweeps=10**8).sample(x),
    ],
    ids=["messages", "Gibbs sampling"],
)
def test_inside_one_graph(call, stopped):
    graph = random_graphs(0, [80], 4, "dense")  # so damped, nothing converges to the last bit for long
    assert stopped(lambda: call(graph), 0.3)[1] < 1.0


def test_other_threads_go_on(stopped):
    """Ctrl-C belongs to the main thread: what another thread computes is not touched."""
    X, y = letters(200)
    scores, fitted = lattice(300, 100), []
    other = threading.Thread(
        target=lambda: fitted.append(CRF(algorithm="lbfgs", tol=1e-9, max_iterations=100).fit(X, y))
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it need not converge
        other.start()
        stopped(lambda: sample(scores, 10**5), 0.1)
        other.join(60)
    assert fitted[0].predict(X[:1])


def test_the_search_for_rules_is_bounded():
    assert MAX_SETS <= 3e7  # a thread visits about seven million per second
    X, y = items(50)
    with pytest.raises(
        InputError, match=r"more than max_sets=100,000 sets.*min_support=2.*lengths=\(2, 10\).*items"
    ):
        AssociationMiner(lengths=(2, 10), max_sets=100_000).fit(X, y)
