"""The snippets of docs/inference.md run and print the documented output."""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from crfkit.inference import Lattice, log_partition, path_score

PAGE = Path(__file__).parents[2] / "docs" / "inference.md"


def run_snippets() -> dict[str, Any]:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL))
    scope: dict[str, Any] = {}
    exec(compile(code, str(PAGE), "exec"), scope)
    return scope


def test_snippets_run(capsys: pytest.CaptureFixture[str]) -> None:
    run_snippets()
    printed = capsys.readouterr().out
    assert printed.startswith("['O', 'B', 'I', 'O', 'B']")
    assert "[0 0]\n[1 0]\n" in printed


def test_the_gradients_of_the_page_are_right() -> None:
    scope = run_snippets()

    def loss(logits: np.ndarray, transitions: np.ndarray) -> float:
        lattice = Lattice(logits, transitions, scope["offsets"])
        return float(np.sum(log_partition(lattice) - path_score(lattice, scope["gold"])))

    step = 1e-5
    for name, at in (
        ("logits", (3, 2)),
        ("logits", (20, 1)),
        ("transitions", (1, 3)),
        ("transitions", (0, 0)),
    ):
        values = []
        for sign in (1, -1):
            moved = {"logits": scope["logits"].copy(), "transitions": scope["transitions"].copy()}
            moved[name][at] += sign * step
            values.append(loss(**moved))
        np.testing.assert_allclose(
            scope[f"d_{name}"][at], (values[0] - values[1]) / (2 * step), rtol=1e-6, atol=1e-7
        )
