"""Output files of the commands: never an input, never lost, never an old one taken for a new one."""

import os
import stat
import subprocess
import sys
import tempfile

import pytest

from crfkit.models.linear.crf import CRF

from .conftest import as_text, sentences

CRFKIT = [sys.executable, "-m", "crfkit"]


@pytest.fixture
def place(folder, tmp_path):
    """Return a folder with data, a model and an output of an earlier run."""
    for name in ("model.crfkit", "test.txt"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    (tmp_path / "out").write_bytes(b"old")
    return tmp_path


@pytest.mark.parametrize("link", [None, os.symlink, os.link])
@pytest.mark.parametrize(
    "command",
    [
        ("tag", "model.crfkit", "test.txt", "-o"),
        ("train", "test.txt", "-m"),
        ("select", "test.txt", "-o"),
        ("mine", "test.txt", "--csv"),
        ("convert", "test.txt", "--to", "columns"),
        ("stocks", "backtest", "test.txt", "--report"),
        ("genes", "train", "test.txt", "model.crfkit", "-m"),
        ("genes", "predict", "model.crfkit", "test.txt", "-o"),
        ("genes", "plot", "model.crfkit", "test.txt", "a:1-2", "-o"),
    ],
)
def test_an_input_is_not_overwritten(command, link, run, place):
    output = place / "test.txt"
    if link is not None:
        output = place / "other name"
        link(place / "test.txt", output)
    before = output.read_bytes()
    arguments = [place / word if (place / word).exists() else word for word in command]
    run.fails(2, f"{output} would overwrite the input {place / 'test.txt'}", *arguments, output)
    assert output.read_bytes() == before


def test_the_model_is_not_overwritten_by_labels(run, place):
    model = place / "model.crfkit"
    run.fails(2, "would overwrite the input", "tag", model, place / "test.txt", "-o", model)


def test_a_model_may_be_trained_further_in_place(run, place):
    model = place / "model.crfkit"
    run.ok("train", place / "test.txt", "-m", model, "--continue", model, "-q")


def test_the_file_behind_standard_input_and_output(place):
    data = place / "test.txt"
    command = [*CRFKIT, "tag", "-q", place / "model.crfkit"]
    before = data.read_bytes()
    with open(data, "rb") as stdin:
        done = subprocess.run(
            [*command, "-o", data], stdin=stdin, capture_output=True, timeout=60, check=False
        )
    assert (done.returncode, b"would overwrite the input -" in done.stderr) == (2, True)
    with open(data, "ab") as stdout:
        done = subprocess.run(
            [*command, data], stdout=stdout, stderr=subprocess.PIPE, timeout=60, check=False
        )
    assert (done.returncode, b"standard output would overwrite the input" in done.stderr) == (2, True)
    assert data.read_bytes() == before


def test_devices_may_be_input_and_output(run, place):
    run.ok("tag", place / "model.crfkit", os.devnull, "-o", os.devnull, "-q")


def test_two_outputs_in_one_file(run, place):
    run.fails(2, "are the same file", "mine", place / "test.txt", "--csv", place / "x", "--json", place / "x")


def test_an_old_output_is_not_taken_for_a_new_one(run, place):
    (place / "bad.txt").write_bytes(b"a b c\nd\n")
    ran = run("tag", place / "model.crfkit", place / "bad.txt", "-o", place / "out")
    assert ran.code == 1
    error, old = ran.err.splitlines()
    assert "bad.txt:2" in error
    assert old == f"crfkit: {place / 'out'} is unchanged: it is the result of an earlier run"
    assert (place / "out").read_bytes() == b"old"
    (place / "out").unlink()
    assert "unchanged" not in run("tag", place / "model.crfkit", place / "bad.txt", "-o", place / "out").err
    assert not (place / "out").exists()


def test_a_trained_model_is_not_lost(run, folder, tmp_path, monkeypatch):
    """The folder of the model vanishes during the training."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = tmp_path / "gone"
    gone.mkdir()
    fit = CRF.fit

    def fit_and_remove(*arguments, **more):
        gone.rmdir()
        return fit(*arguments, **more)

    monkeypatch.setattr(CRF, "fit", fit_and_remove)
    words = ["train", folder / "train.txt", "-m", gone / "m", "-q", "-t", folder / "template", "--c2", "1"]
    ran = run.fails(1, "the model went to", *words)
    (kept,) = tmp_path.iterdir()
    assert f"crfkit: {gone / 'm'}: No such file or directory; the model went to {kept}\n" == ran.err
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert run.ok("tag", kept, folder / "test.txt").out
    assert kept.read_bytes() == (folder / "model.crfkit").read_bytes()


def test_a_finished_model_is_written_after_ctrl_c(run, folder, tmp_path, monkeypatch):
    real, pressed = os.fsync, []

    def once(descriptor):
        if not pressed:
            pressed.append(True)
            raise KeyboardInterrupt
        real(descriptor)

    monkeypatch.setattr(os, "fsync", once)
    model = tmp_path / "m"
    ran = run("train", folder / "train.txt", "-m", model, "-q", "-t", folder / "template", "--c2", "1")
    assert (ran.code, ran.err) == (130, f"crfkit: stopped, but the model was finished and is in {model}\n")
    assert model.read_bytes() == (folder / "model.crfkit").read_bytes()
    assert os.listdir(tmp_path) == ["m"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full here")
@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("train", "-m"), "the model went to"),
        (("select", "--n-features", "3", "-o"), "the selection went to"),
        (("mine", "--top", "0", "-o"), "the rules went to"),
        (("mine", "--top", "0", "--html"), "the page went to"),
    ],
)
def test_results_are_not_lost_on_a_full_disk(command, words, run, folder, tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    name, *rest = command
    run.fails(1, words, name, folder / "train.txt", *rest, "/dev/full")
    (kept,) = tmp_path.iterdir()
    run.ok(name, folder / "train.txt", *rest, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == kept.read_bytes()


COMMANDS = {
    "linear": "train train.txt -q -m",
    "second order": "train train.txt -q --order 2 --dev test.txt -m",
    "sparse": "train train.txt -q --c1 0.5 -m",
    "stochastic": "train train.txt -q --algorithm sgd --seed 3 --max-iterations 5 -m",
    "with rules": "train train.txt -q --associations features -m",
    "constrained": "train train.txt -q --kind constrained --tau 50 -m",
    "trees": "train train.txt -q --kind trees --max-iterations 3 -m",
    "rules": "mine train.txt -q --top 0 -o",
    "rules.csv.gz": "mine train.txt -q --top 0 --csv",
    "rules.json": "mine train.txt -q --top 0 --json",
    "rules.html": "mine train.txt -q --top 0 --html",
    "selection": "select train.txt -q --n-features 5 --conjunctions 2 -o",
    "stable selection": "select train.txt -q --n-features 5 --resamples 3 -o",
    "path.svg": "select train.txt -q --n-features 5 -o selection --plot",
    "labels.gz": "tag model.crfkit train.txt -q -o",
    "m.crfsuite": "convert model.crfkit -q",
    "data.csv": "convert train.txt -q",
}


def test_the_same_command_writes_the_same_bytes(place):
    """In two processes that hash strings differently: no seconds, dates, random names, orders of sets."""
    for optional in ("matplotlib", "lightgbm"):
        pytest.importorskip(optional)
    (place / "train.txt").write_text(as_text(sentences(20)), encoding="utf-8")
    code = """
import sys
from crfkit.cli import main
for line in sys.stdin.read().splitlines():
    arguments = line.split("|")
    if main(arguments):
        sys.exit(f"failed: {arguments}")
"""
    for run in ("first", "second"):
        (place / run).mkdir()
        lines = ["|".join([*command.split(), f"{run}/{name}"]) for name, command in COMMANDS.items()]
        done = subprocess.run(
            [sys.executable, "-c", code],
            input="\n".join(lines),
            cwd=place,
            env={**os.environ, "PYTHONHASHSEED": str(len(run))},
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    first, second = ({f.name: f.read_bytes() for f in (place / run).iterdir()} for run in ("first", "second"))
    assert [name for name in COMMANDS if first[name] != second[name]] == []
