"""TreeCRF in forked children: LightGBM's threads do not survive a fork."""

import os
import subprocess
import sys

import pytest

pytest.importorskip("lightgbm")

SCRIPT = """
import os, sys
from crfkit import TreeCRF
from crfkit.datasets import gaussian_mixtures
X, y = gaussian_mixtures(60, 20, random_state=0)
settings = {"n_iterations": 3, "n_jobs": int(sys.argv[1])}
parent = TreeCRF(**settings).fit(X, y)
read, write = os.pipe()
child = os.fork()
if child == 0:
    again = TreeCRF(**settings).fit(X, y)
    os.write(write, f"{again.objective_!r} {again.predict(X) == parent.predict(X)}".encode())
    os._exit(0)
os.close(write)
print(parent.objective_, os.read(read, 100).decode())
os.waitpid(child, 0)
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_child_fits_the_same_trees(n_jobs):
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SCRIPT, str(n_jobs)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.returncode == 0, ran.stderr
    parent, child, same = ran.stdout.split()
    assert (float(child), same) == (float(parent), "True")
