"""The command itself: version, help, errors, exit codes, and the modules a command loads."""

import re
import shlex
import subprocess
import sys
import warnings
from importlib import import_module

import pytest

import crfkit
from crfkit.cli import main
from crfkit.cli.main import COMMANDS, parser

HEAVY = {"scipy", "sklearn", "pandas", "matplotlib", "tqdm", "joblib"}


def test_version(run):
    assert run("--version") == (0, f"crfkit {crfkit.__version__}\n", "")


def test_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "crfkit", "--version"], capture_output=True, text=True, check=True
    )
    assert done.stdout == f"crfkit {crfkit.__version__}\n"


def test_without_a_command_it_helps(run):
    ran = run()
    assert ran.code == 2
    assert all(name in ran.out for name in COMMANDS)


def test_unknown_command(run):
    run.fails(2, "dmeo", "dmeo")


def test_known_errors_are_one_line(run):
    ran = run("demo", "--noise", "7")
    assert (ran.code, ran.err) == (1, "crfkit: noise must lie between 0 and 1, got 7.0\n")


@pytest.mark.parametrize("option", ["--train", "--test"])
def test_nothing_to_learn_from(option, run):
    run.fails(2, f"{option} must be 1 or more", "demo", option, "0")


@pytest.mark.parametrize("command", ["", *COMMANDS])
def test_help_teaches(command, run, monkeypatch):
    """The help fits 80 columns, describes in at most two lines, and has examples that can be typed."""
    monkeypatch.setenv("COLUMNS", "80")
    ran = run.ok(*command.split(), "--help")
    assert max(map(len, ran.out.splitlines())) <= 80
    if command:
        module = import_module(f"crfkit.cli.{command}")
        assert module.DESCRIPTION.count("\n") <= 1
        assert "examples:\n" in ran.out
    shown = ran.out.partition("examples:\n" if command else "first steps")[2]
    examples = re.findall(rf" (crfkit (?:{'|'.join(COMMANDS)})\b.*)$", shown, re.MULTILINE)
    assert len(examples) >= 3
    for example in examples:
        words = shlex.split(re.split(r" \| | > |   ", example)[0])
        assert parser(words[1:]).parse_args(words[1:]).command == words[1]


def test_only_the_named_command_is_loaded():
    code = "import sys\nfrom crfkit.cli.main import parser\nparser(['tag'])\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "crfkit.cli.tag" in loaded
    assert not loaded & {f"crfkit.cli.{name}" for name in COMMANDS if name != "tag"}
    assert not loaded & {"numpy", "crfkit._native"}


@pytest.mark.parametrize(
    "arguments",
    [
        "tag {0}/model.crfkit {0}/test.txt --legal IOB2 --marginals --eval",
        "eval {0}/test.txt --gold-column -1 --per-label --confusion --bootstrap 20",
        "inspect {0}/model.crfkit",
        "convert {0}/test.txt {0}/test.csv",
    ],
)
def test_light_commands(arguments, folder):
    """Commands that do not train load neither SciPy nor scikit-learn."""
    words = arguments.format(folder).split()
    code = f"import sys\nfrom crfkit.cli import main\nmain({words!r})\nprint(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not set(done.stderr.split()) & HEAVY


def test_warnings_are_words(run, monkeypatch):
    def talk(arguments):
        warnings.warn("mind the gap", stacklevel=1)
        return 0

    monkeypatch.setattr("crfkit.cli.demo.run", talk)
    assert run("demo") == (0, "", "crfkit: warning: mind the gap\n")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [
        (KeyboardInterrupt(), 130, "crfkit: stopped\n"),
        (OSError(28, "No space left on device", "/x"), 1, "crfkit: /x: No space left on device\n"),
        (OSError(28, "No space left on device"), 1, "crfkit: No space left on device\n"),
        (OSError("odd"), 1, "crfkit: odd\n"),
    ],
)
def test_ends(error, code, words, run, monkeypatch):
    def fail(arguments):
        raise error

    monkeypatch.setattr("crfkit.cli.demo.run", fail)
    assert run("demo") == (code, "", words)


def test_unexpected_errors_are_not_hidden(monkeypatch):
    def fail(arguments):
        raise ZeroDivisionError

    monkeypatch.setattr("crfkit.cli.demo.run", fail)
    with pytest.raises(ZeroDivisionError):
        main(["demo"])
