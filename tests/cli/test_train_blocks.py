"""``crfkit train --blocks``: written once, used again, written again when something has changed."""

import gzip
import os

from crfkit.models.linear.crf import CRF

from .conftest import as_text, sentences


def test_blocks_are_written_reused_and_renewed(run, folder, tmp_path):
    with gzip.open(tmp_path / "more.txt.gz", "wt", encoding="utf-8") as file:
        file.write(as_text(sentences(8)))
    files = folder / "train.txt", tmp_path / "more.txt.gz"
    options = ("--c2", 0.5, "--algorithm", "lbfgs")
    run("train", *files, "-m", tmp_path / "memory", *options)
    given = (*files, "-m", tmp_path / "m", "--blocks", tmp_path / "blocks", *options)
    first = run("train", *given)
    assert first.code == 0
    assert "blocks: blocks written, " in first.err
    expected, model = CRF.load(tmp_path / "memory"), CRF.load(tmp_path / "m")
    assert model.objective_ == expected.objective_
    assert model.state_features_ == expected.state_features_
    again = run("train", *given, "--dev", files[0])
    assert "tokens, up to date" in again.err
    assert "blocks written" not in again.err
    assert "dev accuracy" in again.err
    other = run("train", *given, "--min-freq", 2)
    assert "options have changed since the blocks were written" in other.err
    os.utime(files[0], (1, 1))
    assert "the data has changed since" in run("train", *given, "--min-freq", 2).err
    (tmp_path / "blocks" / "labels.i4").unlink()
    assert "labels.i4" in (damaged := run("train", *given, "--min-freq", 2)).err
    assert damaged.code == 0
    tagged = run("tag", tmp_path / "m", folder / "train.txt")
    assert tagged.code == 0


def test_templates_attributes_and_unknown_labels(run, folder, tmp_path):
    (tmp_path / "a.crfsuite").write_text("A\tu\nB\tv\n\nA\tu\n\n")
    ran = run("train", tmp_path / "a.crfsuite", "-m", tmp_path / "m", "--blocks", tmp_path / "one")
    assert ran.code == 0
    (tmp_path / "a.txt").write_text("x A\ny _\n\ny B\nx A\n")
    given = ("-t", tmp_path / "t", "--unknown", "_", "--c2", 1)
    (tmp_path / "t").write_text("U:%x[0,0]\nB\n")
    run("train", tmp_path / "a.txt", "-m", tmp_path / "m", *given)
    run("train", tmp_path / "a.txt", "-m", tmp_path / "n", *given, "--blocks", tmp_path / "two")
    assert CRF.load(tmp_path / "m").objective_ == CRF.load(tmp_path / "n").objective_


def test_what_does_not_go_together(run, folder, tmp_path):
    given = ("-m", tmp_path / "m", "--blocks", tmp_path / "blocks")
    assert "needs files" in run("train", "-", *given).err
    assert "cannot be combined" in run("train", folder / "train.txt", *given, "--continue", "x").err
    (tmp_path / "blocks").mkdir()
    (tmp_path / "blocks" / "mine").touch()
    assert "holds no blocks: name another directory" in run("train", folder / "train.txt", *given).err
    assert os.listdir(tmp_path / "blocks") == ["mine"]
