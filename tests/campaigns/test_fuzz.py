"""A sample of the fuzz campaign, on the ordinary build."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs /proc and pipes")
SCRIPT = Path(__file__).parent / "fuzz.py"


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
