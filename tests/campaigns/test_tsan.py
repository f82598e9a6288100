"""A sample of the campaign with threads, on the ordinary build: wrong labels are counted."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("lightgbm")

SCRIPT = Path(__file__).parent / "tsan.py"
BROKEN = f"""
import sys, time
sys.path.insert(0, {str(SCRIPT.parent)!r})
import tsan
state = {{}}
def shared(i):
    state["current"] = i
    time.sleep(0)
    return state["current"]
print(tsan.share({{"shared state": (shared, 50)}}, 2000, 4, 10.0))
"""


def run(*command):
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )


@pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX timers")
def test_a_sample_finds_nothing():
    """With one current sequence for all threads, the shim gave some calls the labels of another thread."""
    ran = run(SCRIPT, "--calls", 60_000, "--seconds", 10, "--interruptions", 2)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert ran.stdout.rstrip().split("\n")[-1].startswith("0 findings")


def test_shared_state_is_found():
    assert "answers are wrong" in run("-c", BROKEN).stdout.rstrip().split("\n")[-1]
