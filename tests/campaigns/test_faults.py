"""A sample of the campaign of faults, and a check that it finds a careless writer."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "faults.py"
pytestmark = pytest.mark.skipif(os.name != "posix", reason="forks")


def run(*command):
    return subprocess.run(
        [sys.executable, *map(str, command)], capture_output=True, text=True, timeout=300, check=False
    )


def test_a_sample_finds_nothing():
    done = run(SCRIPT, "--count", 8, "--seconds", 8, "--seed", 1)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "FOUND" not in done.stdout
    assert "kill -KILL: the old or the new file" in done.stdout
    assert "kill -KILL in training: continued to the same model" in done.stdout


CARELESS = """
import sys
sys.path.insert(0, sys.argv[1])
import faults

def careless(path, i):
    with open(path, "wb") as file:
        for _ in range(200):
            file.write(bytes([i]) * 1000)
            file.flush()

real = faults.prepare

def prepare(folder):
    operation = faults.Operation("careless", careless)
    return real(folder)._replace(
        operations=[operation],
        versions={"careless": [bytes([i]) * 200_000 for i in (0, 1)]},
        seconds={"careless": 0.002},
    )

faults.prepare = prepare
campaign = faults.Campaign
campaign.change_under_reader = campaign.kill_and_resume = lambda *_: None
sys.exit(faults.main(["--count", "100", "--seconds", "3"]))
"""


def test_a_careless_writer_is_found():
    done = run("-c", CARELESS, SCRIPT.parent)
    assert done.returncode == 1, done.stdout + done.stderr
    assert "FOUND: kill -KILL, careless: the file is neither the old nor the new one" in done.stdout
