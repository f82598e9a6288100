"""Test an installed crfkit from outside the checkout: a sample of the tests, and the demonstration.

    python tests/wheel/run.py

Needs crfkit (from a wheel), NumPy, pytest and hypothesis; none of the optional libraries. cibuildwheel runs
it for every wheel, ``make package`` for the one that is built here.
"""

import subprocess
import sys
import tempfile
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent
SAMPLE = [
    "inference",
    "objectives",
    "data/test_sequences.py",
    "data/test_labels.py",
    "metrics/test_segments.py",
]


def main() -> None:
    """Run the sample; the exit code is that of the first part that fails."""
    import crfkit

    place = Path(crfkit.__file__).resolve()
    if TESTS.parent in place.parents:
        sys.exit(f"expected an installed crfkit, got the checkout's: {place}")
    pytest = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *(str(TESTS / one) for one in SAMPLE)]
    demo = [sys.executable, "-m", "crfkit", "demo"]
    print(f"testing crfkit {crfkit.__version__} in {place.parent}", flush=True)
    with tempfile.TemporaryDirectory() as elsewhere:
        for command in (pytest, demo):
            done = subprocess.run(command, cwd=elsewhere, check=False)
            if done.returncode:
                sys.exit(done.returncode)


if __name__ == "__main__":
    main()
