"""The benchmark on stocks runs on generated prices of the real files' form."""

import os
import subprocess
import sys
from pathlib import Path

from random_prices import random_prices

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def test_quick(tmp_path):
    (tmp_path / "stocks").mkdir()
    for seed in range(3):
        p = random_prices(450, seed)
        rows = [f"{date},{price},{price}" for date, price in zip(p.dates, p.close, strict=True)]
        text = "date,open,close\n" + "\n".join(rows) + "\n"
        (tmp_path / "stocks" / f"S{seed}.csv").write_text(text, encoding="utf-8")
    script = BENCHMARKS / "papers" / "constrained_stocks.py"
    done = subprocess.run(
        [
            sys.executable,
            str(script),
            "paper",
            "double",
            "past",
            "--quick",
            "--jobs",
            "1",
            "--markdown",
            "t.md",
        ],
        env={**os.environ, "CRFKIT_DATA": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    text = (tmp_path / "t.md").read_text(encoding="utf-8")
    assert "### The paper's model" in text
    assert "unchanged price" in text
    assert "less the better baseline" in text
    assert "CRF, ranges and numbers, by the day" in text
    assert "logistic regression, scaled numbers" in text
