import numpy as np
import pytest
from interruptions import interrupt
from random_prices import random_prices
from refusals import refuses

from crfkit import CRF
from crfkit.apps.stocks import daily_model
from crfkit.apps.stocks.constrained_model import ConstrainedDailyCRF
from crfkit.apps.stocks.daily_model import DailyCRF
from crfkit.apps.stocks.features import LABELS, Settings, make_stock
from crfkit.apps.stocks.forecast import walk_forward
from crfkit.exceptions import InputError
from crfkit.objectives.linear_likelihood import LinearLikelihood
from crfkit.optim.lbfgs import minimize_lbfgs


@pytest.fixture(scope="module")
def stock():
    return make_stock(random_prices(420), Settings(ranges=6, training="chain", numbers=0), 300)


@pytest.fixture(scope="module")
def by_day():
    return make_stock(random_prices(420), Settings(ranges=6), 300)


@pytest.mark.parametrize("numbers", [0, 3])
def test_the_same_as_the_estimator(numbers):
    """Training day by day gives the library's CRF trained at once on the days shown."""
    settings = Settings(ranges=6, training="chain", numbers=numbers)
    stock = make_stock(random_prices(420), settings, 300)
    model = DailyCRF(stock, c2=1.0, tol=1e-6)
    for day in range(340, 350):
        model.learn(day - 1)
    days = range(stock.first, 350)
    X = [[{str(a): v for a, v in zip(stock.attributes[d], stock.values[d], strict=True)} for d in days]]
    y = [[LABELS[stock.labels[day]] for day in days]]
    crf = CRF(c2=1.0, tol=1e-7, all_possible_transitions=True, all_possible_states=True)
    crf.fit([X[0][:-1]], [y[0][:-1]])
    known = [[*y[0][:-1], None]]
    (marginals,) = crf.predict_marginals(X, known=known)
    assert model.raise_probability(349) == pytest.approx(marginals[-1]["Raise"], abs=2e-3)


def test_warm_starts_end_where_a_cold_start_does(stock, monkeypatch):
    iterations = []

    def counting(*args, **options):
        iterations.append((found := minimize_lbfgs(*args, **options)).iterations)
        return found

    monkeypatch.setattr(daily_model, "minimize_lbfgs", counting)
    warm, cold = DailyCRF(stock, c2=1.0), DailyCRF(stock, c2=1.0, tol=1e-7)
    for day in range(320, 380):
        warm.learn(day - 1)
    assert sum(iterations[1:]) < 60 * 15
    cold.learn(379 - 1)
    cold.learn(379 - 1)
    assert warm.raise_probability(379) == pytest.approx(cold.raise_probability(379), abs=0.01)


def test_the_constraint_holds(stock):
    model = ConstrainedDailyCRF(stock, c2=1.0, tau=0.01, last=50)
    plain = DailyCRF(stock, c2=1.0)
    for day in range(300, 330):
        model.learn(day - 1)
        plain.learn(day - 1)
    assert model.feasible_share > 0.95
    # w = 0 is feasible, too; the model found explains the data much better.
    size = len(model.x)
    at = {name: model.objective(x).value for name, x in [("zero", np.zeros(size)), ("it", model.x)]}
    best = model.objective(plain.x).value
    assert best < at["it"] < best + 0.6 * (at["zero"] - best)


def test_a_loose_constraint_changes_nothing(stock):
    plain = walk_forward(stock, 300, c2=3.0)
    loose = walk_forward(stock, 300, c2=3.0, tau=1000.0, last=50)
    assert (plain.probability == loose.probability).all()
    assert loose.feasible == 1


def test_as_good_as_the_general_search(stock):
    """The daily search finds nearly as good a feasible point as a long search from zero."""
    from crfkit.objectives.validation import ValidationConstraints
    from crfkit.objectives.validation_sets import Spans
    from crfkit.optim.saddle import SaddleSettings, minimize_constrained

    model = ConstrainedDailyCRF(stock, c2=1.0, tau=2.0, last=60)
    for day in range(300, 312):
        model.learn(day - 1)
    shown = stock.position(310) + 1
    span = Spans(np.array([shown - 60]), np.array([shown]), np.zeros(1, np.int32), 1)
    constraint = ValidationConstraints(model.objective, span, tau=2.0)
    found = minimize_constrained(
        model.objective,
        np.zeros(len(model.x)),
        inequalities=constraint,
        settings=SaddleSettings(temperature=1.0, max_outer=20),
    )
    assert found.feasible
    assert constraint.violations(model.x)[0] <= 2.0
    assert model.objective(model.x).value <= 1.1 * found.value


def test_by_the_day_it_is_logistic_regression(by_day):
    """Each label given the previous one: equal to scikit-learn's result with the attributes as columns."""
    from sklearn.linear_model import LogisticRegression

    stock, day = by_day, 350
    model = DailyCRF(stock, c2=1.0, tol=1e-6)
    model.learn(day - 1)
    columns = np.zeros((day + 1, stock.settings.n_attributes))
    np.put_along_axis(columns, stock.attributes[: day + 1].astype(int), stock.values[: day + 1], axis=1)
    known = slice(stock.first, day)
    # Two weights ±w/2 per column, each with c2 (w/2)²: together c2/2 w²; scikit-learn's penalty is w²/(2C).
    rival = LogisticRegression(C=1.0, fit_intercept=False, tol=1e-8, max_iter=1000)
    rival.fit(columns[known], stock.labels[known])
    expected = rival.predict_proba(columns[[day]])[0, 1]
    assert model.raise_probability(day) == pytest.approx(expected, abs=2e-3)


def test_the_constraint_by_the_day(by_day):
    model = ConstrainedDailyCRF(by_day, c2=1.0, tau=0.5, last=50)
    for day in range(300, 320):
        model.learn(day - 1)
    assert model.feasible_share > 0.9


@pytest.mark.parametrize(("training", "numbers"), [("chain", 0), ("chain", 2), ("day", 0), ("day", 3)])
def test_no_look_ahead(stock, training, numbers):
    """Cutting off the future does not change the forecasts, bit for bit."""
    prices, settings = stock.prices, Settings(ranges=6, training=training, numbers=numbers)
    for tau in (None, 0.5):
        whole = walk_forward(make_stock(prices, settings, 300), 300, c2=1.0, tau=tau, last=60)
        for n in (301, 333, 400):
            part = walk_forward(make_stock(prices.until(n), settings, 300), 300, c2=1.0, tau=tau, last=60)
            assert (part.probability == whole.probability[: n - 300]).all()


@pytest.mark.parametrize("name", ["stock", "by_day"])
def test_tomorrow_does_not_matter(name, request):
    """The price of the predicted day itself does not change its forecast."""
    from crfkit.apps.stocks.prices import Prices

    stock = request.getfixturevalue(name)
    p = stock.prices
    other = p.close.copy()
    other[350:] *= 3
    crash = Prices(p.ticker, p.dates, other)
    a = walk_forward(make_stock(p, stock.settings, 300), 300, c2=1.0, stop=351)
    b = walk_forward(make_stock(crash, stock.settings, 300), 300, c2=1.0, stop=351)
    assert (a.probability == b.probability).all()


@pytest.mark.parametrize("tau", [None, 0.5])
@pytest.mark.parametrize("call", [3, 200])
def test_ctrl_c_ends_the_walk(stock, monkeypatch, tau, call):
    """Ctrl-C at any moment: no forecast is made with a half-trained model."""
    calls = interrupt(monkeypatch, LinearLikelihood, "__call__", call)
    with pytest.raises(KeyboardInterrupt):
        walk_forward(stock, 300, c2=1.0, tau=tau, last=60)
    assert len(calls) == call


def test_bad_input(stock):
    refuses("tau must be", ConstrainedDailyCRF, stock, c2=1.0, tau=-1.0)
    refuses("at least 1 of the last days", ConstrainedDailyCRF, stock, c2=1.0, last=0)
    with pytest.raises(InputError, match=r"AAA has .* days with features up to .* the last 1000 needs"):
        ConstrainedDailyCRF(stock, c2=1.0, last=1000).learn(310)
