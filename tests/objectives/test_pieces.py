"""Long sequences are computed in pieces: the same bits as at once, in memory that hardly grows with them."""

import json
import subprocess
import sys

import numpy as np
import pytest
from linear_problems import Problem, make_problem
from refusals import refuses

from crfkit.inference import PermittedPairs
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.objectives.validation import ValidationConstraints
from crfkit.objectives.validation_sets import Spans
from crfkit.optim.online import UpdateRule

LENGTHS = [70, 3, 330, 0, 1, 129, 200]


def likelihood(problem: Problem, **more) -> LinearLikelihood:
    return problem.objective(**more).function


def found(function: LinearLikelihood, w: np.ndarray) -> tuple[float, bytes, bytes]:
    evaluation = function(function.parameters(w), diagonal=True)
    return evaluation.value, evaluation.gradient.tobytes(), evaluation.diagonal.tobytes()


def lengths_of_pieces(problem: Problem) -> list[int]:
    """Return lengths that are permitted: multiples of 64 unless label pairs are a part of the edges."""
    return [1, 7, 64, 65] if problem.pair is not None and problem.edge2 is None else [64, 128]


@pytest.mark.parametrize("scale", [0.5, 30.0, 1e4])  # float suffices; double or log space is needed
@pytest.mark.parametrize("partial", ["full", "mixed"])
@pytest.mark.parametrize("pairs", [False, True])
@pytest.mark.parametrize("order", [1, 2])
def test_the_same_bits_in_pieces(order, pairs, partial, scale):
    options = {"order": order, "pairs": pairs, "partial": partial, "scale": scale}
    problem = make_problem(1, 3, LENGTHS, weighted=True, costs=True, **options)
    w, function = problem.linear_weights(), likelihood(problem)
    expected = found(function, w)
    assert function.native.longest_whole > max(LENGTHS)
    for piece in lengths_of_pieces(problem):
        function.native.cut_sequences(piece + order, piece)
        assert found(function, w) == expected


@pytest.mark.parametrize("pairs", [False, True])
def test_forbidden_pairs_in_pieces(pairs):
    problem = make_problem(2, 4, LENGTHS, pairs=pairs, scale=0.5)
    rng = np.random.default_rng(0)
    tables = rng.random((5, 4, 4)) < 0.6
    tables[0] = True
    kinds = rng.integers(0, 5, sum(LENGTHS)).astype(np.int32)
    ids = problem.labels.ids
    kinds[1:][~tables[kinds[1:], ids[:-1], ids[1:]]] = 0  # the labels themselves are permitted
    w, function = problem.linear_weights(), likelihood(problem, permitted=PermittedPairs(kinds, tables))
    expected = found(function, w)
    for piece in (1, 10, 64):
        function.native.cut_sequences(piece + 1, piece)
        assert found(function, w) == expected


@pytest.mark.parametrize("partial", ["full", "mixed"])
@pytest.mark.parametrize(("order", "pairs"), [(1, False), (1, True), (2, True)])
def test_pieces_give_the_gradient_of_the_general_likelihood(order, pairs, partial):
    problem = make_problem(3, 3, [200, 5], order=order, pairs=pairs, partial=partial, scale=0.5)
    w, function = problem.linear_weights(), likelihood(problem)
    function.native.cut_sequences(64 + order, 64)
    evaluation, general = function(function.parameters(w)), problem.general()(w)
    assert evaluation.value == pytest.approx(general.value, rel=1e-6)
    np.testing.assert_allclose(function.weights(evaluation.gradient), general.gradient, atol=2e-4)
    # and that is the slope of the value, across the borders of pieces
    rng = np.random.default_rng(0)
    x = function.parameters(w)
    direction = rng.normal(size=x.size) / np.sqrt(x.size)
    slope = (function(x + 0.02 * direction).value - function(x - 0.02 * direction).value) / 0.04
    assert slope == pytest.approx(evaluation.gradient @ direction, rel=2e-3, abs=2e-3)


@pytest.mark.parametrize("pairs", [False, True])
def test_stochastic_steps_in_pieces(pairs):
    problem = make_problem(4, 3, LENGTHS, pairs=pairs, scale=0.3)
    function = likelihood(problem)
    order = np.random.default_rng(0).permutation(len(LENGTHS)).astype(np.int32)

    def stepped() -> tuple[float, bytes]:
        function.begin(function.parameters(problem.linear_weights()))
        return function.steps(order, 0.01, 0.0, 0.1), function.end().tobytes()

    expected = stepped()
    function.native.cut_sequences(65, 64)
    assert stepped() == expected


@pytest.mark.parametrize("partial", ["full", "mixed"])
@pytest.mark.parametrize(("order", "pairs"), [(1, False), (1, True), (2, False), (2, True)])
def test_validation_sets_in_pieces(order, pairs, partial):
    """Paths, violations and flips of long spans: the same bits."""
    problem = make_problem(8, 3, LENGTHS, order=order, pairs=pairs, partial=partial)
    objective = problem.objective()
    spans = Spans.of_sequences([[0, 2], [5, 6]], problem.offsets)
    x = objective.parameters(problem.linear_weights())
    gradient = "flip" if order == 1 else "envelope"

    def constrained() -> list[bytes]:
        constraints = ValidationConstraints(objective, spans, gradient=gradient, margin=0.1)
        at = constraints(x)
        parts = at.values, at.pull(np.ones(2)), constraints.sets.best_labels(x)
        return [part.tobytes() for part in parts]

    expected = constrained()
    for piece in lengths_of_pieces(problem):
        objective.function.native.cut_sequences(piece + order, piece)
        assert constrained() == expected


@pytest.mark.parametrize("partial", ["full", "mixed"])
@pytest.mark.parametrize(("order", "pairs"), [(1, True), (2, False)])
def test_online_learning_in_pieces(order, pairs, partial):
    problem = make_problem(9, 3, LENGTHS, order=order, pairs=pairs, partial=partial)
    function = likelihood(problem)

    def learnt() -> tuple[tuple[float, float], bytes]:
        learner = function.learner(np.zeros(function.n_parameters), UpdateRule(slack=1.0, power=0.5))
        return learner.run(np.arange(len(LENGTHS), dtype=np.int32)), learner.point().tobytes()

    expected = learnt()
    for piece in lengths_of_pieces(problem):
        function.native.cut_sequences(piece + order, piece)
        assert learnt() == expected


def test_a_path_that_no_precision_has_makes_the_loss_infinite():
    problem = make_problem(5, 3, [300], pairs=True)
    function = likelihood(problem)
    function.native.cut_sequences(65, 64)
    x = np.full(function.n_parameters, 1e300)
    assert function(x).value == np.inf


def test_lengths_of_pieces_that_cannot_be():
    native = likelihood(make_problem(6, 3, [100])).native
    for whole, piece, message in [
        (65, 63, "multiple of 64"),
        (64, 64, "whole must be"),
        (1, 0, "whole must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            native.cut_sequences(whole, piece)


@pytest.mark.parametrize(
    ("options", "advice"),
    [
        ({"order": 2}, "use order=1 or fewer labels$"),
        ({"pairs": True}, "use no edge_attributes or fewer labels$"),
        ({}, "use fewer labels$"),
    ],
)
def test_what_cannot_fit_is_refused_with_words(options, advice, monkeypatch):
    problem = make_problem(7, 3, [10], **options)
    monkeypatch.setattr("crfkit.objectives.linear_likelihood.physical_memory", lambda: None)
    likelihood(problem)  # a machine that does not say
    monkeypatch.setattr("crfkit.objectives.linear_likelihood.physical_memory", lambda: 1000)
    refuses("training with 3 labels", likelihood, problem)
    refuses("needs .* GB for tables of transitions, but this machine has 1e-06 GB", likelihood, problem)
    refuses(advice, likelihood, problem)


MEASURE = """
import json, sys
import numpy as np
from crfkit import _native
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.index import FeatureIndex, rows_of
from crfkit.objectives.linear_likelihood import LinearLikelihood

def peak():  # of this process alone, unlike ru_maxrss
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) / 1000 for line in status if line.startswith("VmHWM"))

n, L, A, threads, pairs = json.loads(sys.argv[1])
rng = np.random.default_rng(0)
offsets = np.array([0, n])
data = Sequences(offsets, np.arange(n + 1), rng.integers(0, A, n).astype(np.int32), None, A)
labels = Labels(rng.integers(0, L, n).astype(np.int32), None)
on_pairs = rows_of(np.arange(A * L * L), L * L, A) if pairs else ()
index = FeatureIndex(L, *rows_of(np.arange(A * L), L, A), np.ones((L, L), bool), np.zeros((0, 2)), *on_pairs)
before = peak()
function = LinearLikelihood(data, labels, index, n_threads=threads)
value = function(np.zeros(function.n_parameters)).value
assert abs(value / (n * np.log(L)) - 1) < 1e-6, value
span = [np.array([place]) for place in (0, n)] + [np.zeros(1, np.int32)]
sets = _native.ValidationSets(function.native, *span, 1, 0.0)
sets.decode(np.zeros(function.n_parameters), np.zeros(1))
sets.flip(np.ones(1), 1.0, np.zeros(function.n_parameters))
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("positions", "labels", "threads", "pairs", "megabytes"),
    [
        (100_000, 20, 2, True, 60),  # was 2,900; validation sets 330
        (1_000_000, 5, 16, False, 150),  # was 4,700
    ],
)
def test_memory_for_what_is_used(positions, labels, threads, pairs, megabytes):
    """A sequence takes little more than its data, and threads without work take nothing.

    So do a pass over it and its best path as a validation set.
    """
    settings = json.dumps([positions, labels, 10, threads, pairs])
    run = subprocess.run(
        [sys.executable, "-c", MEASURE, settings], capture_output=True, text=True, check=False, timeout=120
    )
    assert run.returncode == 0, run.stderr
    assert float(run.stdout) < megabytes
