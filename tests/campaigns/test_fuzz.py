"""A sample of the fuzz campaign on the ordinary build, and a check that it finds what is wrong."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and pipes")
SCRIPT = Path(__file__).parent / "fuzz.py"

BROKEN = """
import os
from fuzz_readers import Reader

def raises(data, loaded, r):
    loaded()
    if data[:1] == b"X":
        raise KeyError("no such thing")

def dies(data, loaded, r):
    if data[:1] == b"X":
        os.abort()

def hangs(data, loaded, r):
    while data[:1] == b"X":
        pass

def takes(data, loaded, r):
    if data[:1] == b"X":
        b"x" * (200 << 20)

def damage(r, data, others):
    return b"X" if r.random() < 0.03 else data

def readers():
    uses = (raises, dies, hangs, takes)
    return {use.__name__: Reader(use.__name__, [b"valid"], use, 1, damage) for use in uses}
"""


def run(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_a_sample_finds_nothing() -> None:
    done = run("--count", 1500, "--seconds", 8, "--seed", 7)
    assert done.returncode == 0, done.stdout + done.stderr
    assert " 0 findings" in done.stdout.splitlines()[-1]


def test_it_finds_what_is_wrong(tmp_path: Path) -> None:
    table = tmp_path / "table.py"
    table.write_text(BROKEN, encoding="utf-8")
    done = run("--count", 400, "--seed", 1, "--hang", 0.3, "--table", table)
    assert done.returncode == 1
    for words in ("raises:", "KeyError: \"'no such thing'\"", "dies:", "the process ended", "hangs:"):
        assert words in done.stdout, done.stdout
    assert "more than 0.3 s" in done.stdout
    assert "KB of memory" in done.stdout
    place = next(line for line in done.stdout.splitlines() if "'raises:" in line).split("'")[1]
    again = run("--seed", 1, "--table", table, "--replay", place)
    assert again.returncode == 1
    assert "KeyError" in again.stderr


def test_a_worker_that_cannot_start_is_one_message(tmp_path: Path) -> None:
    core = tmp_path / "core.so"
    core.write_bytes(b"no such core")
    done = run("--count", 500, "--native", core)
    assert done.returncode == 1
    assert "the worker cannot start" in done.stderr
    assert "core.so" in done.stderr
    assert "FOUND" not in done.stdout
