"""A sample of `make clients`: how clients use a tagger, without the clients; and the comparison."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("clients.py")
sys.path.insert(0, str(SCRIPT.parent))
import clients  # noqa: E402
from clients import CLIENTS, compare  # noqa: E402

sys.path.pop(0)


def test_two_ways_to_use_a_tagger():
    done = subprocess.run(
        [sys.executable, SCRIPT, "--count", "400", "--only", *CLIENTS[:2]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing differs" in done.stdout
    assert "skipped" not in done.stdout


def test_clients_write_into_the_temporary_folder(tmp_path, monkeypatch):
    script = tmp_path / "work.py"
    script.write_text('open("crf.model", "w").close(); print("{}")')
    (tmp_path / "folder").mkdir()
    monkeypatch.setattr(clients, "WORK", script)
    monkeypatch.chdir(tmp_path)
    python = os.path.relpath(sys.executable)
    assert clients.run(python, "any", 1, str(tmp_path / "folder")) == ({}, "")
    assert {path.name for path in tmp_path.iterdir()} == {"work.py", "folder"}
    assert (tmp_path / "folder" / "crf.model").exists()


SAME = {
    "results": ["A", "B"],
    "numbers": [(0.5, 20), (0.25, 1)],
    "trained": ["A"] * 200,
    "training": 1.0,
    "seconds": 1.0,
}


@pytest.mark.parametrize(
    ("change", "well"),
    [
        ({}, True),
        ({"results": ["A", "C"]}, False),
        ({"results": ["A"]}, False),
        ({"numbers": [(0.5 + 3e-13, 20), (0.25, 1)]}, True),
        ({"numbers": [(0.5, 20), (0.25 + 3e-13, 1)]}, False),
        ({"numbers": [(0.5, 20)]}, False),
        ({"trained": ["A"] * 199 + ["B"]}, True),
        ({"trained": ["A"] * 198 + ["B"] * 2}, False),
        ({"trained": ["A"] * 199}, False),
    ],
)
def test_differences_are_found(change, well):
    assert compare(SAME, {**SAME, **change})[1] is well
