"""A sample of the oracle campaign, and a check that it finds wrong results."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "oracle.py"


def run(*command: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.parametrize("isa", ["avx512", "avx2", "baseline"])
def test_a_sample_finds_nothing(isa: str) -> None:
    """The core uses the best instruction set up to the one that is named."""
    done = run(SCRIPT, "--count", 250, "--seed", 77, CRFKIT_ISA=isa)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "250 lattices" in done.stdout
    assert "0 wrong" in done.stdout


WRONG = """
import sys
sys.argv = ["oracle.py", *sys.argv[2:]]
sys.path.insert(0, {folder!r})
import oracle
right = oracle.marginals
oracle.marginals = lambda lattice, **more: (
    lambda found: found._replace(node=found.node + 1e-7))(right(lattice, **more))
sys.exit(oracle.main())
"""


def test_it_finds_marginals_that_are_wrong_by_a_little() -> None:
    script = WRONG.format(folder=str(SCRIPT.parent))
    done = run("-c", script, "", "--count", 20, "--seed", 1)
    assert done.returncode == 1
    assert "FOUND at --replay" in done.stdout
    seed = done.stdout.split("--replay ")[1].split()[0]
    again = run("-c", script, "", "--replay", seed)
    assert again.returncode == 1
    assert "marginals" in again.stdout
    assert run(SCRIPT, "--replay", seed).returncode == 0
