"""The walks of examples/walks run as they are written, from the first line to the last.

A block of Python or shell is run; a block of text behind it is what it prints, where ``...`` stands for
anything.
"""

import contextlib
import io
import shutil
import warnings
from pathlib import Path

import pytest
from transcripts import BLOCK, matches, run, split_commands

ROOT = Path(__file__).parent.parent
WALKS = sorted((ROOT / "examples" / "walks").glob("[a-z]*.md"))
NEEDS = {
    "data-frame.md": ["pandas", "narwhals", "lightgbm"],
    "sensors.md": ["lightgbm"],
    "sklearn-crfsuite.md": ["sklearn"],
}


def run_python(code, namespace):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("error")
        exec(code, namespace)
    return out.getvalue()


@pytest.mark.skipif(shutil.which("cut") is None, reason="the walks use head, cut and the like")
@pytest.mark.parametrize("path", WALKS, ids=lambda path: path.name)
def test_walk(path, tmp_path, monkeypatch):
    for library in NEEDS.get(path.name, ()):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    text = path.read_text(encoding="utf-8")
    namespace, printed = {"__name__": "__main__"}, ""
    for block in BLOCK.finditer(text):
        kind, body = block.groups()
        if kind == "python":
            # Blank lines in front, so that a traceback names the page's own line.
            line = text.count("\n", 0, block.start(2))
            printed = run_python(compile("\n" * line + body, str(path), "exec"), namespace)
        elif kind == "sh":
            printed = "".join(run(command, tmp_path) for _, command in split_commands(body))
        else:
            assert matches(body, printed, "..."), f"{path.name} shows\n{body}\nbut there is\n{printed}"


def test_all_five_walks_are_there():
    assert len(WALKS) == 5


def test_the_comparison_can_fail():
    assert matches("a\n...\nd", "a\nb\nc\nd\n", "...")
    assert not matches("a\n...\nd", "a\nb\nc\n", "...")
    assert not matches("accuracy 0.9...", "accuracy 0.8123", "...")
