"""Hessian-vector products and conjugate gradients, against closed forms and double precision."""

import numpy as np
import pytest
from linear_problems import make_problem

from crfkit.optim.conjugate_gradients import solve_cg
from crfkit.optim.hessian import HessianProducts
from crfkit.optim.penalised import Penalised
from crfkit.optim.problem import Evaluation


def matrix(n, worst=100.0):
    q, _ = np.linalg.qr(np.random.default_rng(0).normal(size=(n, n)))
    return (q * np.geomspace(1, worst, n)) @ q.T


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("warm", [False, True])
def test_conjugate_gradients_solve_a_system(scaled, warm):
    a, b = matrix(12), np.random.default_rng(1).normal(size=12)
    exact = np.linalg.solve(a, b)
    found = solve_cg(
        lambda v: a @ v,
        b,
        diagonal=np.diag(a).copy() if scaled else None,
        start=exact + 0.01 if warm else None,
        tol=1e-8,
    )
    np.testing.assert_allclose(found.x, exact, rtol=1e-6, atol=1e-8)
    assert found.residual < 1e-8
    assert found.products <= 30


def test_conjugate_gradients_stop_early_and_ignore_a_bad_start():
    a, b = matrix(30, 1e4), np.random.default_rng(1).normal(size=30)
    rough = solve_cg(lambda v: a @ v, b, tol=0.3)
    assert rough.residual < 0.3
    assert rough.products < 30
    limited = solve_cg(lambda v: a @ v, b, tol=1e-9, max_products=3)
    assert limited.products == 3
    bad = solve_cg(lambda v: a @ v, b, start=np.full(30, 1e6), tol=1e-9, max_products=500)
    np.testing.assert_allclose(bad.x, np.linalg.solve(a, b), rtol=1e-4, atol=1e-7)
    assert solve_cg(lambda v: a @ v, np.zeros(30)).products == 0
    assert not solve_cg(lambda v: -v, b).x.any()  # no positive curvature


def test_products_of_a_quadratic_are_exact():
    a = matrix(8)

    def quadratic(x, *, diagonal=False):
        return Evaluation(float(x @ a @ x / 2), a @ x)

    v = np.arange(8.0)
    for centre in (None, np.ones(8)):
        objective = Penalised(quadratic, np.arange(8.0), centre=centre, hold=np.full(8, 0.5))
        product = HessianProducts(objective, np.full(8, 0.3))
        np.testing.assert_allclose(product(v), a @ v + 2 * (np.arange(8.0) + 0.5) * v, rtol=1e-9)
        assert not product(np.zeros(8)).any()


@pytest.mark.parametrize(
    "settings",
    [{}, {"order": 2}, {"pairs": True}, {"partial": "mixed", "weighted": True}, {"copies": 3}],
    ids=str,
)
def test_products_of_the_likelihood(settings):
    problem = make_problem(3, 4, [9, 4, 12, 7], **settings)
    objective = problem.objective(c2=0.1)
    likelihood, general = objective.function, problem.general()
    x = objective.parameters(problem.linear_weights())
    rng = np.random.default_rng(0)
    v = rng.normal(size=len(x))

    def gradient(at):  # in double precision
        return likelihood.parameters(general(likelihood.weights(at)).gradient)

    h = 1e-5
    exact = (gradient(x + h * v) - gradient(x - h * v)) / (2 * h) + 0.2 * v
    got = HessianProducts(objective, x)(v)
    assert np.linalg.norm(got - exact) < 2e-3 * np.linalg.norm(exact)


def test_parts_of_the_likelihood_add_up():
    problem = make_problem(2, 4, [5, 3, 9, 1, 3], weighted=True)
    whole = problem.objective().function
    x = np.random.default_rng(0).normal(size=whole.n_parameters)
    free = np.arange(len(x)) % 2 == 0
    parts = [whole.part(np.array(ids), free)(x, diagonal=True) for ids in ([0, 2], [1, 3, 4])]
    expected = whole(x, diagonal=True)
    assert sum(part.value for part in parts) == pytest.approx(expected.value, rel=1e-6)
    np.testing.assert_allclose(sum(part.gradient for part in parts), expected.gradient * free, atol=1e-5)
    assert all((part.diagonal >= 0).all() for part in parts)
