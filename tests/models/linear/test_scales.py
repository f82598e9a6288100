"""Attributes of any scale: training reaches the optimum of the user's own objective, or says that it did not.

The oracle is SciPy's L-BFGS-B in double precision on the general likelihood, with columns rescaled by hand.
"""

import warnings
from dataclasses import replace
from itertools import count, pairwise

import numpy as np
import pytest
from scipy.optimize import minimize

from crfkit import CRF, ConstrainedCRF
from crfkit.data.sequences import Sequences
from crfkit.exceptions import ConvergenceWarning, InputWarning
from crfkit.features.index import build_index
from crfkit.features.labelled import read_labelled
from crfkit.objectives.likelihood import Likelihood
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.potentials.linear import LinearPotential
from crfkit.selection import GradientSelector

SCALES = [1e-9, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e9]
RANDOM = np.random.default_rng(0)


def chain(n, length):
    labels = []
    for _ in range(n):
        sequence = [str(RANDOM.integers(3))]
        while len(sequence) < length:
            sequence.append(sequence[-1] if RANDOM.random() < 0.7 else str(RANDOM.integers(3)))
        labels.append(sequence)
    return labels


Y = chain(30, 10)
FLAT = np.array([int(label) for labels in Y for label in labels])
SIGNAL = RANDOM.normal(size=len(FLAT)) + FLAT
WORDS = RANDOM.integers(0, 5, len(FLAT))


def data(**columns):
    """Sequences with a word per item, and numbers."""
    items = [
        {"word": str(WORDS[i]), **{name: float(column[i]) for name, column in columns.items()}}
        for i in range(len(FLAT))
    ]
    return [items[start : start + 10] for start in range(0, len(items), 10)]


def optimum(X, c1, c2, **options):
    """The least objective, by SciPy in double precision; L1 by a positive and a negative part."""
    read = read_labelled(X, Y)
    sequences, A = read.sequences, read.sequences.n_attributes
    count = np.bincount(sequences.indices, minlength=A)
    squares = np.bincount(sequences.indices, sequences.values**2, minlength=A)
    units = np.sqrt((squares + 8 * c2) / (count + 8 * c2))
    index = build_index(sequences, read.labels, 3, **options)
    scaled = Sequences(
        sequences.offsets,
        sequences.indptr,
        sequences.indices,
        sequences.values / units[sequences.indices],
        A,
    )
    likelihood = Likelihood(LinearPotential(index), scaled, read.labels)
    edges = np.ones(sum(index.sizes[:2]))
    unit = np.concatenate([edges, np.repeat(units, np.diff(index.state_indptr))])[index.places]

    def smooth(z):
        w = np.zeros(sum(index.sizes))
        w[index.places] = z
        here = likelihood(w)
        return here.value + c2 * np.sum((z / unit) ** 2), here.gradient[index.places] + 2 * c2 * z / unit**2

    def split(parts):
        value, gradient = smooth(parts[: len(unit)] - parts[len(unit) :])
        cost = c1 / np.tile(unit, 2)
        return value + cost @ parts, np.concatenate([gradient, -gradient]) + cost

    options = {"maxiter": 5000, "maxfun": 10000, "ftol": 1e-14, "gtol": 1e-8, "maxcor": 30}
    start = np.zeros((2 if c1 else 1) * len(unit))
    bounds = [(0, None)] * len(start) if c1 else None
    function = split if c1 else smooth
    return minimize(function, start, jac=True, method="L-BFGS-B", bounds=bounds, options=options).fun


@pytest.mark.parametrize("penalty", [{"c2": 1.0}, {"c2": 1e-3}, {"c1": 0.5, "c2": 0.0}], ids=str)
def test_the_optimum_is_reached_at_every_scale(penalty):
    c1, c2 = penalty.get("c1", 0.0), penalty["c2"]
    found = {}
    for scale in SCALES:
        X = data(z=scale * SIGNAL)
        crf = CRF(**penalty).fit(X, Y)
        assert crf.converged_
        found[scale] = crf.objective_
        assert crf.objective_ == pytest.approx(optimum(X, c1, c2), rel=2e-5)
    # A larger scale needs smaller weights, which the penalty likes: the optimum never rises with the scale.
    values = list(found.values())
    assert all(after <= before * (1 + 2e-5) for before, after in pairwise(values))
    # At a tiny scale the attribute is worth nothing.
    assert found[1e-9] == pytest.approx(CRF(**penalty).fit(data(), Y).objective_, rel=2e-5)


@pytest.mark.filterwarnings("ignore:the model never predicts")
@pytest.mark.parametrize("c2", [1.0, 1e-3])
def test_stochastic_descent_reaches_every_scale(c2):
    for scale in SCALES:
        X = data(z=scale * SIGNAL)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            crf = CRF(c2=c2, algorithm="sgd", random_state=0).fit(X, Y)
        assert crf.objective_ <= 1.03 * optimum(X, 0.0, c2)


def test_all_scales_at_once():
    random = np.random.default_rng(1)
    columns = {f"z{k}": (random.normal(size=len(FLAT)) + FLAT) * 10.0**k for k in range(-9, 10, 3)}
    X = data(**columns, constant=np.full(len(FLAT), 1e6), cauchy=random.standard_cauchy(len(FLAT)) * 1e5)
    for c2 in (1.0, 1e-6):
        assert CRF(c2=c2).fit(X, Y).objective_ == pytest.approx(optimum(X, 0.0, c2), rel=1e-4)


def test_weights_are_in_the_units_of_the_data():
    small, large = (CRF(c2=1e-9, tol=1e-8).fit(data(z=scale * SIGNAL), Y) for scale in (1.0, 2.0**20))
    for label in "012":
        weight = small.state_features_["z", label] - small.state_features_["z", "0"]
        other = large.state_features_["z", label] - large.state_features_["z", "0"]
        assert other * 2**20 == pytest.approx(weight, rel=1e-2)
    assert small.predict(data(z=SIGNAL)) == large.predict(data(z=2.0**20 * SIGNAL))


def test_multiples_of_a_column_have_weights_of_their_own():
    """Scaled to one size they are equal, but not their penalties."""
    X = data(a=SIGNAL, b=4 * SIGNAL)
    crf = CRF(c2=1.0, tol=1e-8).fit(X, Y)
    assert crf.objective_ == pytest.approx(optimum(X, 0.0, 1.0), rel=1e-5)
    for label in "02":
        a, b = crf.state_features_["a", label], crf.state_features_["b", label]
        assert abs(b) > 2 * abs(a)  # 4 times at the very optimum


@pytest.mark.parametrize(
    "options",
    [{"order": 2}, {"edge_attributes": "z"}, {"edge_attributes": "z", "c1": 1e-4}, {"algorithm": "sgd"}],
    ids=str,
)
def test_every_kind_of_model_takes_every_scale(options):
    one, thousand, million, large = (
        CRF(c2=1e-6, random_state=0, **options).fit(data(z=scale * SIGNAL), Y).objective_
        for scale in (1.0, 1e3, 1e6, 1e9)
    )
    for other in (thousand, million, large):
        assert other == pytest.approx(one, rel=2e-2 if options.get("algorithm") == "sgd" else 2e-4)


@pytest.mark.filterwarnings("ignore:the model never predicts")
@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e9])
def test_continued_training_takes_every_scale(scale):
    """With weights of 0, and no knowledge of earlier data, it is training from the beginning."""
    X = data(z=scale * SIGNAL)
    empty = CRF(c2=1e9).fit(X, Y).set_params(c2=0.1)
    empty.tagger_.curvature = None
    empty.partial_fit(X, Y)
    assert empty.objective_ == pytest.approx(optimum(X, 0.0, 0.1), rel=1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e9])
def test_validation_constraints_take_every_scale(scale):
    options = {"tau": 8.0, "validation": [[0, 1, 2]], "c2": 1e-6}
    X, same = data(z=scale * SIGNAL), data(z=SIGNAL)
    found = ConstrainedCRF(**options).fit(X, Y)
    assert found.feasible_
    if scale > 1:
        assert found.objective_ <= ConstrainedCRF(**options).fit(same, Y).objective_ * (1 + 1e-3)


@pytest.mark.parametrize("scale", [1e-6, 1e6, 1e9])
def test_selection_takes_every_scale(scale):
    """Its refits reach the objective of a CRF with the same features."""
    X = data(z=scale * SIGNAL)
    selector = GradientSelector(15, c2=1e-3).fit(X, Y)
    crf = CRF(c2=1e-3, features=selector.selected_).fit(X, Y)
    assert ("z" in {attribute for attribute, *_ in crf.state_features_}) == (scale > 1)
    assert selector.objective_ == pytest.approx(crf.objective_, rel=1e-3)


# ---- what it says


def test_a_time_that_hardly_differs_is_named():
    X = data(time=1.7e9 + 3600 * RANDOM.random(len(FLAT)) + 1000 * FLAT, z=SIGNAL)
    with pytest.warns(
        InputWarning, match=r"'time' \(17000\d+ to 17000\d+\) differ by less than 1%.*standardise"
    ):
        crf = CRF(c2=1.0).fit(X, Y)
    assert crf.converged_
    assert crf.objective_ == pytest.approx(optimum(X, 0.0, 1.0), rel=1e-4)


def test_constants_and_rare_values_are_not_named():
    CRF().fit(data(constant=np.full(len(FLAT), 0.1)), Y)  # a warning would be an error here
    CRF().fit([[{"a": 0.3}, {"b": 1}, {"c": 1}], [{"a": 0.301}, {"b": 1}]], [["P", "Q", "P"], ["P", "Q"]])


def test_an_attribute_that_hinders_convergence_is_named():
    X = data(time=1.7e9 + 3600 * np.random.default_rng(3).random(len(FLAT)) + 1000 * FLAT)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        crf = CRF(c2=1e-3, algorithm="sgd", random_state=0).fit(X, Y)
    assert not crf.converged_
    (message,) = (str(warning.message) for warning in seen if warning.category is ConvergenceWarning)
    assert "but the gradient is not small" in message
    assert "The gradient is largest for the attribute 'time' (1700000" in message
    assert message.endswith("standardise its values or cut off extreme ones")


@pytest.mark.parametrize("c1", [0.0, 0.1])
def test_a_failed_line_search_is_no_convergence(monkeypatch, c1):
    """An objective that rises at every call: no step improves it long before the optimum."""
    exact, calls = LinearLikelihood.__call__, count()

    def rising(self, x, *, diagonal=False):
        here = exact(self, x, diagonal=diagonal)
        return replace(here, value=here.value + 1e5 * next(calls))

    monkeypatch.setattr(LinearLikelihood, "__call__", rising)
    words = r"no step improves the objective, but its gradient is not small.*for the transition \['0', '0'\]"
    with pytest.warns(ConvergenceWarning, match=words):
        crf = CRF(c1=c1, algorithm="lbfgs").fit(data(z=1e6 * SIGNAL), Y)
    assert not crf.converged_
