"""Every example runs in its own process, prints something, and raises no warning."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parent.parent / "examples").glob("*.py"))


OPTIONAL = {"torch_potential.py": "torch"}


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.name)
def test_example(path, tmp_path):
    if path.name in OPTIONAL:
        pytest.importorskip(OPTIONAL[path.name])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) >= 3
    assert list(tmp_path.iterdir()) == []  # nothing left behind


def test_there_are_examples():
    assert len(EXAMPLES) >= 5
