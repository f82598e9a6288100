"""A sample of the campaign of page outputs: its first commands. Skipped without the corpora."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent / "page_outputs.py"


def test_the_first_commands_print_what_the_page_shows():
    found = subprocess.run(
        [sys.executable, str(SCRIPT), "--commands", "2"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    if "CRFKIT_DATA" in found.stdout:
        pytest.skip("the corpora are not at hand")
    assert found.stdout.endswith("0 of 2 commands differ\n"), found.stdout + found.stderr
