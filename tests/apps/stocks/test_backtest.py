import csv
import datetime
import sys
from dataclasses import replace

import numpy as np
import pytest
from random_prices import random_prices
from refusals import refuses

from crfkit.apps.stocks import summary
from crfkit.apps.stocks.backtest import (
    BOOSTING,
    CONSTRAINED,
    LOGISTIC,
    PERSISTENCE,
    PLAIN,
    Plan,
    run_backtest,
)
from crfkit.apps.stocks.baselines import gradient_boosting, logistic_regression, persistence, unchanged_price
from crfkit.apps.stocks.choosing import Trial, most_cautious
from crfkit.apps.stocks.features import RAISE, Settings, make_stock
from crfkit.apps.stocks.forecast import Forecast
from crfkit.apps.stocks.forecast_table import write_forecasts
from crfkit.apps.stocks.intervals import Resampling
from crfkit.apps.stocks.prices import Prices
from crfkit.apps.stocks.screening import Screening, first_prediction
from crfkit.apps.stocks.translation import translate
from crfkit.exceptions import InputError
from crfkit.report.stocks_page import _number, report_html, write_report

QUICK = Plan(Settings(ranges=6), c2=3.0, tau=5.0, last=40)
PLAIN_ALONE = Plan(QUICK.features, c2=3.0, constrained=False, learners=False)


@pytest.fixture(scope="module")
def stocks():
    return [random_prices(430, seed, f"S{seed}") for seed in range(3)]


@pytest.fixture(scope="module")
def backtest(stocks):
    return run_backtest([*stocks, random_prices(60, 9, "NEW")], QUICK)


def test_methods_and_tables(backtest):
    assert backtest.methods == [PLAIN, CONSTRAINED, PERSISTENCE, LOGISTIC, BOOSTING]
    assert backtest.left_out == {
        "NEW": "36 of its 60 days lie before the first prediction; 250 are needed to learn from"
    }
    assert backtest.n_forecasts == 3 * (430 - 258)
    found = summary.lines(backtest)
    for heads, rows in (
        summary.summary_table(backtest, found),
        summary.category_table(backtest, PLAIN),
        summary.stock_table(backtest),
        summary.raw_table(found),
    ):
        assert {len(row) for row in rows} == {len(heads)}
    assert sum(n for _, n, _ in backtest.categories(PLAIN)) == 3
    persistent = next(line for line in found if line.method == PERSISTENCE)
    assert persistent.above is None
    assert persistent.log_loss is None
    for line in found:
        assert line.accuracy.low <= line.accuracy.value <= line.accuracy.high
        assert line.accuracy.value == pytest.approx(backtest.mean_accuracy(line.method))


def test_log_losses_side_by_side(backtest):
    losses = {line.method: line.log_loss for line in summary.lines(backtest)}
    rival = backtest.sharper_learner()
    assert losses[rival] == min(losses[LOGISTIC], losses[BOOSTING])
    apart = backtest.loss_difference(PLAIN, rival)
    assert apart.value == pytest.approx(losses[PLAIN] - losses[rival])
    assert apart.low <= apart.value <= apart.high
    assert f"from that of {rival}" in summary.sharpness(backtest, PLAIN)
    assert [summary.signed(x, 2) for x in (0.004, -0.004, -1.5, 1.5)] == ["0.00", "0.00", "−1.50", "+1.50"]


def test_a_random_walk_is_not_predictable_beyond_persistence(backtest):
    """On prices without memory the smoothed direction is predictable, but the raw one is not."""
    assert backtest.mean_accuracy(PLAIN) > 0.7
    assert abs(backtest.mean_accuracy(PLAIN) - backtest.mean_accuracy(PERSISTENCE)) < 0.03
    rises = np.concatenate([r.raw(PLAIN).copied_correct for r in backtest.results]).mean()
    assert 0.4 < rises < 0.6
    said = " ".join(summary.verdict(backtest, summary.lines(backtest)))
    assert "cannot be foretold" in said


def test_nothing_of_the_future(stocks):
    """Cutting off the future changes nothing in the back-test, including all choices and baselines."""
    cut = 330
    start = np.datetime64("2003-09-20")
    plan = Plan(Settings(ranges=4, orders=(1, 2)), start=start, last=40, screening=Screening(least_days=200))
    whole = run_backtest(stocks[:2], plan)
    part = run_backtest([p.until(cut) for p in stocks[:2]], plan)
    assert (whole.c2, whole.tau) == (part.c2, part.tau)
    assert len(whole.trials) == len(part.trials) == 11  # 5 values of c2, 6 of tau
    for a, b in zip(whole.results, part.results, strict=True):
        for method in whole.methods:
            early = b.forecasts[method].probability
            assert (a.forecasts[method].probability[: len(early)] == early).all(), method


def test_processes_do_not_change_the_result(stocks, backtest):
    again = run_backtest(stocks, Plan(**{**vars(QUICK), "n_jobs": 2}))
    for a, b in zip(backtest.results, again.results, strict=True):
        for method in backtest.methods:
            assert (a.forecasts[method].probability == b.forecasts[method].probability).all()


def test_progress(stocks):
    seen = []
    plan = Plan(QUICK.features, c2=1.0, constrained=False, learners=False)
    run_backtest(stocks[:2], plan, lambda *what: seen.append(what))
    common = [("what stocks have in common", n, 1) for n in range(2)]
    assert seen == common + [("walking forward", n, 2) for n in range(3)]


def test_page_and_forecasts(backtest, tmp_path):
    pytest.importorskip("matplotlib")
    write_report(backtest, tmp_path / "out.html", title="A & B")
    page = (tmp_path / "out.html").read_text(encoding="utf-8")
    assert "A &amp; B" in page
    assert "not financial advice" in page
    assert page.count("<img ") == 2
    assert page.count("<table ") == page.count("</table>") == 5
    assert "NEW" in page
    assert "http" not in page.replace("http-equiv", "")
    write_forecasts(backtest, tmp_path / "f.csv")
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text(encoding="utf-8").splitlines()))
    assert len(rows) == backtest.n_forecasts
    for row in rows[:50]:
        came = float(row["price"]) > float(row["raise_above"])
        assert (row["came"] == "Raise") == came


def test_page_without_matplotlib(backtest, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    page = report_html(backtest)
    assert "<img " not in page
    assert "crfkit[plot]" in page


def test_the_same_backtest_gives_the_same_page(backtest, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "100000000")
    page = report_html(backtest)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "200000000")
    assert report_html(backtest) == page


@pytest.mark.parametrize("smoothing", ["ema", "double", "mean", "none"])
def test_translation(smoothing):
    stock = make_stock(random_prices(400), Settings(smoothing=smoothing), 300)
    sure = Forecast(300, (stock.labels[300:] == RAISE).astype(float))
    raw = translate(stock, sure)
    assert raw.implied_correct.all()  # a true forecast never implies a wrong raw direction
    assert (raw.rises == (np.diff(stock.prices.close)[299:] > 0)).all()
    if smoothing == "ema":  # an unchanged price does not imply the raw direction
        assert translate(stock, persistence(stock, 300)).coverage == 0


def test_baselines_by_hand():
    stock = make_stock(random_prices(400), Settings(), 300)
    assert (persistence(stock, 300).labels == stock.labels[299:-1]).all()
    assert (unchanged_price(stock, 300).labels == stock.labels[299:-1]).all()  # the same for ema
    assert logistic_regression(stock, 300).correct(stock).mean() > 0.65
    (boosted,) = gradient_boosting([stock], [300])
    assert boosted.correct(stock).mean() > 0.6


def test_intervals():
    rng = np.random.default_rng(0)
    present = np.ones((8, 300), bool)
    present[0, :100] = False
    right = (rng.random((8, 300)) < 0.8).astype(float)
    found = Resampling(present).mean(right)
    assert found.value == pytest.approx(right[present].mean())
    assert found.low < 0.8 < found.high
    assert 0.01 < found.high - found.low < 0.08
    together = np.tile(right[1], (8, 1))  # all stocks alike: less information
    wide = Resampling(present).mean(together)
    assert wide.high - wide.low > 1.5 * (found.high - found.low)


def test_the_most_cautious_within_an_error():
    rng = np.random.default_rng(0)
    noise = rng.normal(0, 0.01, 50)
    cautious = Trial(30.0, None, 0.8, 0.45 + noise)
    best = Trial(1.0, None, 0.8, 0.45 + noise + rng.normal(-0.001, 0.02, 50))
    worse = Trial(3.0, None, 0.8, 0.6 + noise)
    assert most_cautious([cautious, best]) is cautious
    assert most_cautious([worse, best]) is best


def test_screening():
    p = random_prices(400)
    screening = Screening()
    assert screening.complaint(p, 300) is None
    still = Prices("X", p.dates, np.where(np.arange(400) % 3 == 0, np.roll(p.close, 1), p.close))
    assert "stays on" in screening.complaint(still, 300)
    cheap = Prices("X", p.dates, p.close / 100)
    assert "below 1" in screening.complaint(cheap, 300)
    days = p.dates.copy()
    days[200:] += np.timedelta64(40, "D")
    assert "no price for 41 days after" in screening.complaint(Prices("X", days, p.close), 300)
    late = days.copy()
    late[:200] = p.dates[:200]
    late[200:] = p.dates[200:]
    late[350:] += np.timedelta64(40, "D")
    assert screening.complaint(Prices("X", late, p.close), 300) is None  # later days do not count
    assert "none of its 400 days is left" in screening.complaint(p, 400)
    assert first_prediction(p, 0.6) == 240
    assert first_prediction(p, np.datetime64("2003-01-05")) == 3


def test_bad_input(stocks):
    with pytest.raises(InputError, match=r"no stock is left to forecast; NEW: .* 250 are needed"):
        run_backtest([random_prices(60, 9, "NEW")])
    refuses("two stocks called S0", run_backtest, [stocks[0], stocks[0]], QUICK)
    refuses("too few to constrain the last 300", run_backtest, stocks, Plan(last=300))
    for wrong in ({"c2": -1.0}, {"tau": -0.1}, {"last": 0}, {"plain": False, "constrained": False}):
        with pytest.raises(InputError):
            Plan(**wrong)
    refuses(r"a share between 0 and 1, got 1\.5", Plan, start=1.5)


def test_the_start_may_be_any_date(stocks):
    p, date = stocks[0], datetime.date(2003, 9, 20)
    for start in (str(date), date, datetime.datetime(2003, 9, 20, 9), np.datetime64(date).astype("M8[ns]")):
        assert Plan(start=start).start == np.datetime64("2003-09-20")
        assert first_prediction(p, start) == first_prediction(p, np.datetime64("2003-09-20"))
    for wrong in ("soon", None, np.datetime64("NaT", "D"), True):
        refuses("must be a date such as 2006-05-16, or a share", Plan, start=wrong)


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (Plan(Settings(span=80), c2=1.0, constrained=False), "need more than 83"),
        (Plan(Settings(span=40), constrained=False), "settings are chosen on those after them"),
        (Plan(Settings("double", span=36), c2=1.0, tau=1.0, last=10), "need more than 75"),
        (Plan(Settings(span=20), c2=1.0, tau=1.0, last=60), "too few to constrain the last 60"),
    ],
)
def test_a_short_stock_is_left_out(stocks, plan, message):
    """A stock with too few days does not stop the work on the others."""
    plan = replace(plan, learners=False, screening=Screening(least_days=0))
    found = run_backtest([random_prices(120, 9, "NEW"), stocks[0]], plan)
    assert list(found.left_out) == ["NEW"]
    assert message in found.left_out["NEW"]
    assert len(found.results) == 1


@pytest.mark.parametrize("constrained", [True, False])
def test_the_shortest_stock_that_will_do(constrained):
    """Every stock that is not left out can be trained: checked day by day around the limit."""
    for n in range(20, 44):
        plan = Plan(
            Settings(span=10, ranges=4),
            start=0.999,
            c2=1.0,
            tau=1.0,
            last=20,
            constrained=constrained,
            learners=False,
            screening=Screening(least_days=0),
        )
        prices = [random_prices(n, 0, "NEW")]
        if n - 1 < (13 + 20 if constrained else 14):
            refuses("too few", run_backtest, prices, plan)
        else:
            assert run_backtest(prices, plan).n_forecasts == 1


def test_first_predictions_at_the_very_beginning(stocks):
    for start in (0.001, 0.003, "1999-01-01"):
        plan = Plan(start=start, screening=Screening(least_days=0))
        refuses(
            r"no stock is left to forecast; S0: \d of its 430 days lie before", run_backtest, stocks[:1], plan
        )


def split_backtest(p):
    """Return the prices of a stock that is split on day 350, and a plain back-test on them."""
    close = p.close.copy()
    close[350:] = np.round(close[350:] / 2, 2)
    return close, run_backtest([Prices("S", p.dates, close)], PLAIN_ALONE)


def test_forecasts_are_in_prices_of_the_file(stocks, tmp_path):
    close, found = split_backtest(stocks[0])
    assert len(found.splits) == 1
    write_forecasts(found, tmp_path / "f.csv")
    rows = list(csv.DictReader((tmp_path / "f.csv").read_text(encoding="utf-8").splitlines()))
    start = found.results[0].start
    assert [float(row["price"]) for row in rows] == close[start:].tolist()
    for row in rows:
        assert (row["came"] == "Raise") == (float(row["price"]) > float(row["raise_above"]))
        assert float(row["raise_above"]) == pytest.approx(float(row["price"]), rel=0.2)


def test_a_stock_is_drawn_in_prices_of_the_last_day(stocks):
    pytest.importorskip("matplotlib")
    from crfkit.apps.stocks.plot import plot_stock

    close, found = split_backtest(stocks[0])
    (result,) = found.results
    line = plot_stock(result, PLAIN).axes[0].lines[0].get_ydata()
    assert line[-1] == pytest.approx(close[-1])
    assert np.abs(np.diff(np.log(line))).max() < 0.2  # no jump where the split is


def test_pictures_are_written_whole(backtest, tmp_path):
    pytest.importorskip("matplotlib")
    from crfkit.apps.stocks.plot import plot_categories
    from crfkit.io.pictures import save_picture

    figure = plot_categories(backtest)
    for name, begins in (("a.png", b"\x89PNG"), ("a.SVG", b"<?xml"), ("a.pdf", b"%PDF")):
        save_picture(figure, tmp_path / name)
        assert (tmp_path / name).read_bytes().startswith(begins)
    refuses(r"ends in \.png, \.svg, \.pdf, got one in \.foo", save_picture, figure, tmp_path / "a.foo")
    (tmp_path / "a.png").write_bytes(b"old")
    figure.savefig = lambda *_, **__: (_ for _ in ()).throw(OSError("disk full"))
    with pytest.raises(OSError, match="disk full"):
        save_picture(figure, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes() == b"old"


def test_the_constraint_is_told_of(backtest):
    (line,) = (line for line in summary.lines(backtest) if line.feasible is not None)
    assert line.method == CONSTRAINED
    told = f"The constraint held after {summary.percent(line.feasible)} of its trainings."
    assert told in " ".join(summary.verdict(backtest, [*summary.lines(backtest)]))
    page = report_html(backtest)
    assert told in page
    assert "logistic regression every 5 days, gradient boosting every 20" in page
    plain = replace(backtest.plan, constrained=False, learners=False)
    without = report_html(run_backtest([backtest.results[0].stock.prices], plain))
    assert "constraint held" not in without
    assert "logistic" not in without


def test_tickers_that_look_like_numbers_or_formulas():
    for ticker in (".DJI", "..", "-", "3M", "1.2.3", "$\\notamacro{$"):
        assert f">{ticker}</td>" in report_html(run_backtest([random_prices(430, 0, ticker)], PLAIN_ALONE))
    assert [_number(text) for text in ("81.4 %", "−0.13", "+.5", "1,234", "", "–", ".")] == [
        81.4,
        -0.13,
        0.5,
        1234,
        None,
        None,
        None,
    ]


def test_the_learners_see_what_the_crf_sees():
    """If the distance is observed, the learners get the distance, not the change."""
    prices, settings = random_prices(400), Settings("double", observe="distance")
    stock = make_stock(prices, settings, 300)
    np.testing.assert_allclose(stock.observed, 1 - stock.smoothed.threshold / prices.close)
    other = make_stock(prices, Settings("double"), 300)
    np.testing.assert_allclose(other.observed, other.smoothed.change)
    for learner in (logistic_regression, lambda s, day: gradient_boosting([s], [day])[0]):
        assert (learner(stock, 300).probability != learner(other, 300).probability).any()


def test_a_backtest_shows_as_a_table(backtest):
    text = repr(backtest)
    assert text.splitlines()[0].startswith("method")
    assert len(text) < 2000
    frame = backtest.to_frame()
    assert list(frame["method"]) == backtest.methods
    assert frame["accuracy"][0] == pytest.approx(backtest.mean_accuracy(PLAIN))
    assert "<table" in backtest._repr_html_()
