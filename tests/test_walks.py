"""The walks of examples/walks run as they are written, from the first line to the last.

A block of Python or shell is run; a block of text behind it is what it prints, where ``...`` stands for
anything.
"""

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
WALKS = sorted((ROOT / "examples" / "walks").glob("[a-z]*.md"))
BLOCK = re.compile(r"^```(python|sh|text)\n(.*?)^```", re.MULTILINE | re.DOTALL)
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


def run_shell(code, folder):
    """Run lines as a shell does; return standard output and standard error as a terminal shows them."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-eu", "-c", code],
        cwd=folder,
        env={**os.environ, "PATH": path, "COLUMNS": "100"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, f"{code}\n{done.stdout}"
    return done.stdout


def matches(expected, found):
    """Compare line by line without blanks at the ends; ``...`` is any text, also of several lines."""
    lines = "\n".join(line.rstrip() for line in expected.strip().splitlines())
    pattern = ".*".join(map(re.escape, lines.split("...")))
    text = "\n".join(line.rstrip() for line in found.strip().splitlines())
    return re.fullmatch(pattern, text, re.DOTALL) is not None


@pytest.mark.skipif(shutil.which("bash") is None, reason="the walks are shell transcripts")
@pytest.mark.parametrize("path", WALKS, ids=lambda path: path.name)
def test_walk(path, tmp_path, monkeypatch):
    for library in NEEDS.get(path.name, ()):
        pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    text = path.read_text(encoding="utf-8")
    namespace, printed = {"__name__": "__main__"}, ""
    for block in BLOCK.finditer(text):
        kind, body = block.groups()
        if kind == "python":
            # Blank lines in front, so that a traceback names the page's own line.
            line = text.count("\n", 0, block.start(2))
            printed = run_python(compile("\n" * line + body, str(path), "exec"), namespace)
        elif kind == "sh":
            printed = run_shell(body, tmp_path)
        else:
            assert matches(body, printed), f"{path.name} shows\n{body}\nbut there is\n{printed}"


def test_all_five_walks_are_there():
    assert len(WALKS) == 5


def test_the_comparison_can_fail():
    assert matches("a\n...\nd", "a\nb\nc\nd\n")
    assert not matches("a\n...\nd", "a\nb\nc\n")
    assert not matches("accuracy 0.9...", "accuracy 0.8123")
