"""Examples in docstrings and on the pages print the documented output."""

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
MODULES = [
    "data.relabel",
    "inference.rules",
    "metrics.conlleval",
    "metrics.segment_scores",
    "metrics.segments",
    "metrics.tokens",
]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    result = doctest.testmod(import_module(f"crfkit.{name}"))
    assert result.attempted > 0
    assert result.failed == 0


def test_label_schemes_on_the_page(capsys):
    """Only blocks without training: the last digits of trained scores depend on the machine."""
    text = (DOCS / "metrics.md").read_text(encoding="utf-8")
    section = text[text.index("## Label schemes") : text.index("## Large files")]
    scope = {"y_train": [["B-X", "I-X"]]}
    for code, printed in re.findall(r"```python\n(.*?)```\n\n```text\n(.*?)```", section, re.DOTALL):
        exec(code, scope)
        assert capsys.readouterr().out == printed
