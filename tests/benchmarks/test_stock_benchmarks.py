"""The stock benchmark runs on generated prices in the form of the real files."""

from benchmark_runs import output
from random_prices import random_prices


def test_quick(tmp_path):
    (tmp_path / "stocks").mkdir()
    for seed in range(3):
        p = random_prices(450, seed)
        rows = [f"{date},{price},{price}" for date, price in zip(p.dates, p.close, strict=True)]
        text = "date,open,close\n" + "\n".join(rows) + "\n"
        (tmp_path / "stocks" / f"S{seed}.csv").write_text(text, encoding="utf-8")
    options = ("--quick", "--jobs", 1, "--markdown", "t.md")
    output("papers/constrained_stocks.py", "paper", "double", "past", *options, data=tmp_path, cwd=tmp_path)
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "### The paper's model" in text
    assert "unchanged price" in text
    assert "less the better baseline" in text
    assert "CRF, ranges and numbers, by the day" in text
    assert "logistic regression, scaled numbers" in text
