"""``crfkit train --kind kernel``; ``tag``, ``eval`` and ``inspect`` with the model."""

import json
import random

import numpy as np
import pytest

from crfkit import KernelCRF
from crfkit.cli import main

pytest.importorskip("sklearn")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Write a csv file: the label is whether (x, y) is far out, or depends on the letter if x is missing."""
    path = tmp_path_factory.mktemp("kernels") / "data.csv"
    rng = random.Random(0)
    rows = ["id,letter,x,y,label"]
    for s in range(50):
        for _ in range(rng.randint(2, 6)):
            letter, x, y = rng.choice("ab"), rng.gauss(0, 1), rng.gauss(0, 1000)
            missing = rng.random() < 0.1
            far = letter == "a" if missing else x * x + (y / 1000) ** 2 > 1.4
            rows.append(f"s{s},{letter},{'' if missing else f'{x:.3f}'},{y:.1f},{'out' if far else 'in'}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


KERNEL = ("--kind", "kernel", "--sequence-column", "id", "-j", "1")


@pytest.fixture(scope="module")
def model(table):
    path = table.parent / "model.crfkit"
    assert main(["train", str(table), "-m", str(path), *KERNEL]) == 0
    return path


def test_train_tells_what_was_chosen(table, run, tmp_path):
    ran = run.ok("train", table, "-m", tmp_path / "m", *KERNEL, "--cliques", 30)
    assert "2 labels, 30 cliques, 4 numbers per row" in ran.err
    assert "chosen on held-out parts of the data" in ran.err
    ran = run.ok("train", table, "-m", tmp_path / "m", *KERNEL, "--gamma", 0.5, "--reg", 0.1, "--edges")
    assert "gamma 0.5, reg 0.1\n" in ran.err
    ran = run.ok("train", table, "-m", tmp_path / "m", *KERNEL, "--kernel", "linear", "--dev", table)
    assert "settings     reg" in ran.err
    assert "dev accuracy" in ran.err


def test_class_weight(table, run, tmp_path):
    """The option is that of the estimator."""
    given = (*KERNEL, "--gamma", 0.5, "--reg", 0.1, "--cliques", 10, "-q")
    run.ok("train", table, "-m", tmp_path / "plain", *given)
    run.ok("train", table, "-m", tmp_path / "weighted", *given, "--class-weight", "balanced")
    plain, weighted = (KernelCRF.load(tmp_path / name) for name in ("plain", "weighted"))
    assert (plain.class_weight, weighted.class_weight) == (None, "balanced")
    assert plain.risk_ != weighted.risk_


def test_tag_and_eval(model, table, run, tmp_path):
    tagged = tmp_path / "tagged.csv"
    ran = run.ok("tag", model, table, "-o", tagged, "--eval")
    accuracy = float(ran.err.split("accuracy:")[1].split("%")[0])
    assert accuracy > 90  # numbers of very different size, and letters
    assert tagged.read_text(encoding="utf-8").splitlines()[0] == "id,letter,x,y,label,predicted"
    ran = run.ok("eval", tagged)
    assert f"{accuracy:.2f}" in ran.out
    ran = run.ok(
        "tag",
        model,
        "-",
        "-q",
        "--format",
        "csv",
        "--label-only",
        stdin="id,letter,x,y\n1,a,0.1,5\n1,z,,2500\n",
    )
    assert len(ran.out.split()) == 3  # a header; an unknown letter, a missing number, no label column
    ran = run("tag", model, "-", "-q", "--format", "csv", stdin="id,letter,x,y\n1,a,0.1,high\n")
    assert ran.code != 0
    assert "<stdin>:2" in ran.err
    assert "'high'" in ran.err


def test_the_model_in_python(model, table):
    loaded = KernelCRF.load(model)
    cells = loaded.tagger_.cells
    assert [column.name for column in cells.schema.columns] == ["letter", "x", "y"]
    assert loaded.tagger_.width == 4
    x, y = (
        np.array(
            [float(line.split(",")[k]) for line in table.read_text().splitlines()[1:] if ",," not in line]
        )
        for k in (2, 3)
    )
    assert cells.scales[0] == (0.0, 1.0)
    assert cells.scales[1] == pytest.approx((x.mean(), x.std()))
    assert cells.scales[2][1] == pytest.approx(y.std(), rel=0.1)


def test_column_files(run, tmp_path):
    """A file without a header: the label is in the last column."""
    rng = random.Random(1)
    numbers = [[rng.gauss(0, 1) for _ in range(rng.randint(2, 5))] for _ in range(20)]
    text = "\n".join("".join(f"{x:.3f} {'up' if x > 0 else 'down'}\n" for x in xs) for xs in numbers)
    path = tmp_path / "data.txt"
    path.write_text(text, encoding="utf-8")
    run.ok("train", path, path, "-m", tmp_path / "m", "--kind", "kernel")
    ran = run.ok("tag", tmp_path / "m", path, "--eval", "--label-only")
    assert float(ran.err.split("accuracy:")[1].split("%")[0]) > 90


def test_inspect(model, run):
    ran = run.ok("inspect", model)
    assert "letter, x, y" in ran.out
    assert "rbf gamma" in ran.out
    assert "  reg  " in ran.out
    found = json.loads(run.ok("inspect", model, "--json").out)
    assert (found["columns"], found["numbers"]) == (3, 4)
    assert found["reg"] > 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--gamma", "wide"], "--gamma must be a number above 0 or auto or median or scale, got 'wide'"),
        (["--reg", "0"], "--reg must be a number above 0 or auto, got '0'"),
        (["--order", "2"], "a kernel model has order 1"),
        (["--window", "3"], "--window is for --kind trees, not for --kind kernel"),
        (["--c2", "1"], "not for --kind kernel"),
    ],
)
def test_wrong_options(table, run, tmp_path, options, words):
    ran = run("train", table, "-m", tmp_path / "m", *KERNEL, *options)
    assert ran.code != 0
    assert words in ran.err


def test_data_that_a_kernel_cannot_take(table, run, tmp_path):
    ran = run("train", table, "-m", tmp_path / "m", "--kind", "linear", "--edges", "--sequence-column", "id")
    assert "--edges is for --kind kernel" in ran.err
    (tmp_path / "a.crfsuite").write_text("A\tx=1\n\nB\ty\n", encoding="utf-8")
    ran = run(
        "train", tmp_path / "a.crfsuite", "-m", tmp_path / "m", "--kind", "kernel", "--format", "crfsuite"
    )
    assert "but a kernel needs columns" in ran.err
    rows = "\n\n".join(f"w{k} L{k % 2}" for k in range(1100))
    ran = run("train", "-", "-m", tmp_path / "m", "--kind", "kernel", stdin=rows)
    assert "1,100 different texts, too many for a kernel" in ran.err


def test_checkpoint(table, run, tmp_path):
    run.ok("train", table, "-m", tmp_path / "m", *KERNEL, "--checkpoint", tmp_path / "c", "--cliques", 10)
    assert not (tmp_path / "c").exists()
