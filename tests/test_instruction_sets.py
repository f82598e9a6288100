"""A sample of the suite under the instruction sets that this machine would not choose by itself.

The core chooses its kernels when it is loaded, so each instruction set needs a process of its own.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SAMPLE = (  # campaigns/test_oracle.py has random problems under each instruction set
    "inference/test_structure.py",
    "objectives/test_growing.py",
    "potentials/test_contract.py",
)


@pytest.mark.parametrize("isa", ["baseline", "avx2"])
def test_a_sample_of_the_suite(isa: str) -> None:
    environment = {**os.environ, "CRFKIT_ISA": isa}
    environment.pop("PYTEST_XDIST_WORKER", None)
    show = [sys.executable, "-c", "from crfkit import _native; print(_native.isa())"]
    used = subprocess.run(show, env=environment, capture_output=True, text=True, check=True).stdout.strip()
    if used != isa:
        pytest.skip(f"this machine has no {isa}")
    files = [str(TESTS / name) for name in SAMPLE]
    options = ["-q", "-x", "-p", "no:cacheprovider", "-p", "no:xdist"]
    run = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *files],
        cwd=TESTS.parent,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
