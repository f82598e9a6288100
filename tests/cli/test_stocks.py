"""crfkit stocks on generated prices, from files to files."""

import pytest
from random_prices import random_prices


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Write two stocks, each to its own file and both to one."""
    root = tmp_path_factory.mktemp("stocks")
    long = ["ticker,date,close"]
    for seed in (0, 1):
        p = random_prices(430, seed, f"S{seed}")
        rows = [f"{date},{price}" for date, price in zip(p.dates, p.close, strict=True)]
        (root / f"S{seed}.csv").write_text("date,close\n" + "\n".join(rows) + "\n", encoding="utf-8")
        long += [f"S{seed},{row}" for row in rows]
    (root / "all.csv").write_text("\n".join(long) + "\n", encoding="utf-8")
    return root


FAST = ("--c2", "3", "--tau", "5", "--last", "40", "--ranges", "6", "-j", "1")


def test_backtest(folder, tmp_path, run):
    pytest.importorskip("matplotlib")
    files = [str(folder / "S0.csv"), str(folder / "S1.csv")]
    report, forecasts, figure = (str(tmp_path / name) for name in ("o.html", "f.csv", "f.png"))
    ran = run.ok(
        "stocks", "backtest", *files, *FAST, "--report", report, "--forecasts", forecasts, "--figure", figure
    )
    assert "2 stocks, 344 forecasts from 2003-09-17 to 2004-03-06" in ran.out
    for word in ("constrained CRF", "persistence", "logistic regression", "gradient boosting", "implied"):
        assert word in ran.out
    assert "not financial advice" in " ".join(ran.out.split())
    assert "The constraint held after 1" in " ".join(ran.out.split())
    assert "walking forward" in ran.err
    assert (tmp_path / "o.html").stat().st_size > 10_000
    assert (tmp_path / "f.png").read_bytes().startswith(b"\x89PNG")
    # One file with a column of tickers gives the same result.
    again = run.ok("stocks", "backtest", str(folder / "all.csv"), *FAST, "--no-learners", "-q")
    assert again.err == ""
    first, second = (_persistence(result.out) for result in (ran, again))
    assert first == second


def _persistence(text):
    """Return persistence's accuracy and interval from the table."""
    return next(line for line in text.splitlines() if line.startswith("persistence")).split()[:6]


def test_the_model_of_the_paper(folder, run):
    """Only ranges, each stock by itself, all labels together: 2,000 features."""
    paper = ["--orders", "3", "--numbers", "0", "--training", "chain", "--alone", "--c2", "0.001"]
    quick = ["--tau", "0.01", "--last", "40", "--no-learners", "-j", "1"]
    ran = run.ok("stocks", "backtest", str(folder / "all.csv"), *paper, *quick)
    assert "2,000 features, trained as a chain; c2 = 0.001" in ran.out
    assert "in common" not in ran.out + ran.err
    ran = run("stocks", "backtest", str(folder / "all.csv"), "--c2", "30", "--models", "plain", "-j", "1")
    assert "2,230 features, trained by the day, from what stocks have in common; c2 = 30" in ran.out
    assert "what stocks have in common" in ran.err
    assert "Its log loss is 0." in " ".join(ran.out.split())


def test_one_model_and_a_date(folder, run):
    more = ["--models", "plain", "--start", "2003-12-01", "--c2", "1", "--training", "day"]
    ran = run.ok("stocks", "backtest", str(folder / "S0.csv"), *more, "--no-learners", "-q")
    assert "from 2003-12-01" in ran.out
    assert "constrained" not in ran.out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--start", "2"), "a share between 0 and 1"),
        (("--start", "soon"), "a date such as 2006-05-16"),
        (("--orders", "x"), "numbers of days such as 1,2,3"),
        (("--c2", "-1"), "at least 0"),
        (("--span", "0"), "less than 1"),
        (("--numbers", "-1"), "less than 0"),
        (("--numbers", "x"), "--numbers"),
    ],
)
def test_bad_options(folder, run, options, message):
    ran = run("stocks", "backtest", str(folder / "S0.csv"), *options)
    assert ran.code == 2
    assert message in " ".join(ran.err.split())


def test_bad_files(folder, tmp_path, run):
    (tmp_path / "x.csv").write_text("date,close\n2003-01-02,1\n2003-01-02,2\n", encoding="utf-8")
    ran = run.fails(1, "x.csv:3: x has 2003-01-02 twice", "stocks", "backtest", str(tmp_path / "x.csv"))
    (tmp_path / "y.csv").write_text("date,close\n2003-01-02,1\n2003-01-03,2\n", encoding="utf-8")
    ran = run("stocks", "backtest", str(tmp_path / "y.csv"))
    assert ran.code == 1
    assert "no stock is left to forecast; y: 1 of its 2 days" in ran.err
    ran = run("stocks", "backtest", str(folder / "S0.csv"), str(tmp_path / "y.csv"), *FAST, "--no-learners")
    assert "warning: y is left out: 1 of its 2 days" in ran.err
    assert ran.code == 0
    assert run("stocks", "backtest", str(tmp_path / "none.csv")).code == 1
    assert run("stocks").code == 2
    for name, got in (("f.foo", "one in .foo"), ("f", "one without an ending"), ("f.png.gz", "one in .gz")):
        ran = run("stocks", "backtest", str(folder / "S0.csv"), "--figure", str(tmp_path / name))
        assert ran.code == 1
        assert f"expected the name of a picture that ends in .png, .svg, .pdf, got {got}" in ran.err
        assert "walking forward" not in ran.err
    ran = run("stocks", "backtest", str(folder / "S0.csv"), "--report", str(tmp_path / "no" / "o.html"))
    assert ran.code == 1
    assert "no directory" in ran.err
