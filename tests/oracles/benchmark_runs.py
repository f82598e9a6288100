"""Runs a benchmark in its own process, as a user does."""

import os
import subprocess
import sys
from pathlib import Path

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def run(script: str, *arguments: object, data: Path, **options: object) -> "subprocess.CompletedProcess[str]":
    """Run a script of benchmarks/ on data of the tests' own."""
    return subprocess.run(
        [sys.executable, str(BENCHMARKS / script), *map(str, arguments)],
        env={**os.environ, "CRFKIT_DATA": str(data), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        **options,
    )


def output(script: str, *arguments: object, data: Path, **options: object) -> str:
    """Return the output of a script that must succeed."""
    done = run(script, *arguments, data=data, **options)
    assert done.returncode == 0, done.stderr
    return done.stdout
