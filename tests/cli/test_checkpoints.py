"""``crfkit train --checkpoint``: a run that was killed is continued with ``--resume``."""

import sys

import pytest
from interruptions import interrupt

from crfkit import CRF
from crfkit.io.state_file import write_state
from crfkit.models import checkpoint
from crfkit.objectives.linear_likelihood import LinearLikelihood


def killed_train(run, monkeypatch, n, *arguments):
    """Run the command, which is killed after its n-th checkpoint."""
    written = []

    def write(*given):
        write_state(*given)
        written.append(None)
        if len(written) == n:
            raise SystemExit(9)  # nothing catches it

    monkeypatch.setattr(checkpoint, "write_state", write)
    assert run("train", *arguments).code == 9
    monkeypatch.setattr(checkpoint, "write_state", write_state)


@pytest.mark.parametrize("more", [(), ("--dev", "test.txt"), ("--kind", "constrained"), ("--kind", "trees")])
def test_resumed_after_a_kill(run, folder, tmp_path, monkeypatch, more):
    if "trees" in more:
        pytest.importorskip("lightgbm")
    data = (folder / "train.txt", *[folder / word if word == "test.txt" else word for word in more])
    part, model, whole = tmp_path / "part", tmp_path / "model", tmp_path / "whole"
    run.ok("train", *data, "-m", whole, "-q", "-j", 1, "--max-iterations", 12)
    command = (*data, "-m", model, "-j", 1, "--max-iterations", 12, "--checkpoint", part)
    often = ("--checkpoint-minutes", 0)
    killed_train(run, monkeypatch, 3, *command, *often)
    assert part.exists()
    assert not model.exists()
    before = part.read_bytes()
    ran = run.fails(1, "there is a file already", "train", *command)
    assert "--resume" in ran.err
    run.fails(1, "random_state was None, now it is 7", "train", *command, "--resume", "--seed", 7)
    assert part.read_bytes() == before
    run.ok("train", *command, *often, "--resume")
    assert model.read_bytes() == whole.read_bytes()
    assert not part.exists()


def test_resume_without_a_checkpoint_begins(run, folder, tmp_path):
    command = ("train", folder / "train.txt", "-m", tmp_path / "model", "--checkpoint", tmp_path / "part")
    ran = run.ok(*command, "--resume")
    assert "there is no checkpoint" in ran.err
    assert "from the beginning" in ran.err
    assert not (tmp_path / "part").exists()


def test_a_checkpoint_stays_until_the_model_is_written(run, folder, tmp_path, monkeypatch):
    def fails(*_, **__):
        raise SystemExit(9)

    command = ("train", folder / "train.txt", "-m", tmp_path / "model", "--checkpoint", tmp_path / "part")
    with monkeypatch.context() as patch:
        patch.setattr(CRF, "save", fails)
        assert run(*command, "--checkpoint-minutes", 0).code == 9
    assert (tmp_path / "part").exists()
    run.ok(*command, "--resume")
    assert not (tmp_path / "part").exists()


def test_wrong_use_of_checkpoints(run, folder, tmp_path):
    command = ("train", folder / "train.txt", "-m", tmp_path / "model")
    run.fails(2, "--resume needs --checkpoint FILE", *command, "--resume")
    run.fails(2, "--checkpoint needs a file", *command, "--checkpoint", "-")
    run.fails(2, "are the same file", *command, "--checkpoint", tmp_path / "model")
    run.fails(2, "would overwrite the input", *command, "--checkpoint", folder / "train.txt", "--resume")
    run.fails(1, "minutes must be a number", *command, "--checkpoint", "x", "--checkpoint-minutes", "nan")
    run.fails(1, "there is no directory", *command, "--checkpoint", tmp_path / "no" / "part")


def test_a_checkpoint_is_no_model(run, folder, tmp_path, monkeypatch):
    command = (folder / "train.txt", "-m", tmp_path / "model", "--checkpoint", tmp_path / "part")
    killed_train(run, monkeypatch, 2, *command, "--checkpoint-minutes", 0)
    words = "got 'checkpoint of a training that has not ended'"
    run.fails(1, words, "tag", tmp_path / "part", folder / "test.txt")
    run.fails(1, words, "inspect", tmp_path / "part")


def test_after_ctrl_c_the_checkpoint_is_named(run, folder, tmp_path, monkeypatch):
    interrupt(monkeypatch, LinearLikelihood, "__call__", 8)
    command = ("train", folder / "train.txt", "-m", tmp_path / "model", "--checkpoint", tmp_path / "part")
    ran = run(*command, "--checkpoint-minutes", 0, "-q")
    assert ran.code == 130
    assert f"with --resume continues from the checkpoint {tmp_path / 'part'}" in ran.err


def test_also_after_a_second_one(run, folder, tmp_path, monkeypatch):
    interrupt(monkeypatch, CRF, "_keep", 1)
    command = ("train", folder / "train.txt", "-m", tmp_path / "model", "--checkpoint", tmp_path / "part")
    ran = run(*command, "--checkpoint-minutes", 0, "-q")
    assert (ran.code, ran.out) == (130, "")
    assert "crfkit: stopped; the same command with --resume continues from the checkpoint" in ran.err
    assert not (tmp_path / "model.unfinished").exists()
    run.ok(*command, "--resume")


def test_ctrl_c_while_the_last_words_are_said(run, folder, tmp_path, monkeypatch):
    model = tmp_path / "model"
    model.write_bytes((folder / "model.crfkit").read_bytes())

    def interrupted(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(sys.modules["crfkit.cli.main"], "unchanged", interrupted)
    assert run("train", tmp_path / "no such file", "-m", model).code == 1  # not a traceback
