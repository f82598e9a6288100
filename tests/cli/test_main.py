"""The command line: version, help, errors, and both ways to start it."""

from __future__ import annotations

import subprocess
import sys

import pytest

import crfkit
from crfkit.cli import main


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["--version"])
    assert stop.value.code == 0
    assert capsys.readouterr().out == f"crfkit {crfkit.__version__}\n"


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "crfkit", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"crfkit {crfkit.__version__}\n"


def test_without_a_command_it_helps(capsys):
    assert main([]) == 2
    assert "demo" in capsys.readouterr().out


def test_unknown_command(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["dmeo"])
    assert stop.value.code == 2
    assert "dmeo" in capsys.readouterr().err


def test_known_errors_are_one_line(capsys):
    assert main(["demo", "--noise", "7"]) == 1
    assert capsys.readouterr().err == "crfkit: noise must lie between 0 and 1, got 7.0\n"


@pytest.mark.parametrize("option", ["--train", "--test"])
def test_nothing_to_learn_from(option, capsys):
    assert main(["demo", option, "0"]) == 2
    assert f"{option} must be 1 or more" in capsys.readouterr().err
