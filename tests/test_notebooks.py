"""The notebooks of ``examples/`` run from start to end and show what they hold; figures may differ."""

import json
import re

import pytest
from notebooks import NOTEBOOKS, VARIES, executed, texts, words_and_numbers

pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_the_same(path, tmp_path, monkeypatch):
    pytest.importorskip("lightgbm")
    monkeypatch.setenv("CRFKIT_DATA", str(tmp_path))  # without the corpora
    run = executed(path, tmp_path)
    kept = json.loads(path.read_text(encoding="utf-8"))
    for cell in kept["cells"]:
        cell["metadata"].setdefault("tags", [])
    shown, before = texts(run), texts_of_json(kept)
    assert len(shown) == len(before)
    for now, then in zip(shown, before, strict=True):
        words, numbers = words_and_numbers(now)
        old_words, old_numbers = words_and_numbers(then)
        assert words == old_words
        assert numbers == pytest.approx(old_numbers, rel=0.05, abs=0.05)
    assert list(tmp_path.iterdir()) == []  # nothing left behind


def texts_of_json(notebook):
    from types import SimpleNamespace

    cells = [SimpleNamespace(**{"outputs": [], **cell}) for cell in notebook["cells"]]
    return texts(SimpleNamespace(cells=cells))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_a_notebook_holds(path):
    """All cells have run in order; no errors, no warnings, no paths of a machine; not too large."""
    text = path.read_text(encoding="utf-8")
    notebook = json.loads(text)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert {output["output_type"] for output in outputs} <= {"execute_result", "stream"}
    assert all(output.get("name") != "stderr" for output in outputs)
    assert not re.search(r"/(work|home|root|tmp|Users)/", text)
    assert len(text) < 300_000
    assert sum(VARIES in cell["metadata"].get("tags", ()) for cell in code) <= 1


def test_numbers_are_told_from_words():
    assert words_and_numbers("a 1,234.5 b\n  -2e-3 at 0xff") == ("a # b # at #x", [1234.5, -0.002, 0.0])
