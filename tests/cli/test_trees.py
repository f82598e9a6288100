"""``crfkit train --kind trees``; ``tag`` and ``inspect`` with the model."""

import csv
import json
import random

import pytest

from crfkit import TreeCRF
from crfkit.cli import main
from crfkit.data.columns import Columns

pytest.importorskip("lightgbm")


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """Write a csv file: the label is the sign of a number or, if that is missing, depends on the letter."""
    path = tmp_path_factory.mktemp("trees") / "data.csv"
    rng = random.Random(0)
    rows = ["id,letter,x,label"]
    for s in range(60):
        for _ in range(rng.randint(2, 6)):
            letter, x = rng.choice("ab"), rng.gauss(0, 1)
            missing = rng.random() < 0.2
            sign = letter == "a" if missing else x > 0
            rows.append(f"s{s},{letter},{'' if missing else f'{x:.3f}'},{'up' if sign else 'down'}")
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return path


OPTIONS = ("--sequence-column", "id", "-j", "1")


TREES = ("--kind", "trees", "--label-column", "label", *OPTIONS, "--window", "1")


@pytest.fixture(scope="module")
def model(table):
    path = table.parent / "model.crfkit"
    assert main(["train", str(table), "-m", str(path), *TREES, "--max-iterations", "40"]) == 0
    return path


def test_tag(model, table, run, tmp_path):
    ran = run.ok("tag", model, table, *OPTIONS, "-o", tmp_path / "tagged.csv", "--eval")
    assert "accuracy: 100.00%" in ran.err or "accuracy:  9" in ran.err
    rows = (tmp_path / "tagged.csv").read_text(encoding="utf-8").splitlines()
    assert rows[0] == "id,letter,x,label,predicted"
    ran = run.ok("tag", model, table, *OPTIONS, "--marginals", "--label-only")
    run.ok("tag", model, table, *OPTIONS, "--forbid", "up>up")


def test_why(model, table, run):
    out = run.ok("tag", model, table, *OPTIONS, "--why", 2, "-q").out
    rows = [row for row in csv.reader(out.splitlines()) if row]
    assert rows[0][4:] == ["predicted", "probability", "rival", "probability of the rival", "why"]
    plain = [row for row in csv.reader(run.ok("tag", model, table, "-q").out.splitlines()) if row]
    assert [row[4] for row in rows] == [row[4] for row in plain]
    with open(table, encoding="utf-8") as file:
        first = [row for row in csv.DictReader(file) if row["id"] == "s0"]
    cells = Columns.from_rows([[[row["letter"], row["x"]] for row in first]])
    decisions = TreeCRF.load(model).explain(cells)[0]
    for row, decision in zip(rows[1:], decisions, strict=False):
        reasons = [f"{reason.what} {reason.weight:+.2f}" for reason in decision.reasons[:2]]
        assert row[4:] == [
            *(decision.label, f"{decision.probability:.6f}"),
            *(decision.rival, f"{decision.rival_probability:.6f}"),
            "; ".join(reasons),
        ]
    assert "--nbest cannot be written as csv" in run("tag", model, table, *OPTIONS, "--nbest", 2).err


def test_tag_does_not_load_lightgbm(model, table, tmp_path):
    import subprocess
    import sys

    code = (
        "import sys; from crfkit.cli import main\n"
        f"main(['tag', {str(model)!r}, {str(table)!r}, '--sequence-column', 'id', '-o', "
        f"{str(tmp_path / 'out')!r}])\nprint(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"lightgbm", "sklearn", "scipy", "pandas"} & set(done.stdout.split())


def test_inspect(model, run):
    ran = run.ok("inspect", model)
    assert "tree CRF of order 1, joint potentials" in ran.out
    assert "x[0]" in ran.out
    assert "→ up" in ran.out
    ran = run("inspect", model, "--top", "3", "--label", "up")
    assert len(ran.out.splitlines()) == 4
    found = json.loads(run("inspect", model, "--json").out)
    assert found["kind"] == "tree CRF"
    assert found["rounds"] == 40
    assert sum(found["importances"].values()) == pytest.approx(1)
    assert len(run("inspect", model, "--dump").out.splitlines()) > 10
    for arguments, words in (
        (["--transitions"], "no table of transitions"),
        (["--label", "x"], "has no label 'x'"),
        (["--attribute", "x"], "needs a linear model"),
    ):
        ran = run("inspect", model, *arguments)
        assert ran.code != 0
        assert words in ran.err


def test_factored_with_dev_and_folds(table, run, tmp_path):
    common = [*TREES, "--max-iterations", "10"]
    options = ["--potentials", "factored", "--dev", table, "--patience", "3", "--decode", "viterbi"]
    ran = run.ok("train", table, "-m", tmp_path / "m", *options, *common)
    assert "dev accuracy" in ran.err
    assert "from \\ to" in run("inspect", tmp_path / "m", "--transitions").out
    ran = run.ok("train", table, table, "-m", tmp_path / "m", "--folds", "2", *common)
    assert "folds" in ran.err


def test_the_old_way_to_say_the_kind(table, run):
    ran = run("train", table, "--model", "trees", "-m", "x", "--c1", "1")
    assert "warning: --model trees: write --kind trees" in ran.err
    assert "--c1 is for linear models, not for --kind trees" in ran.err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--kind", "trees"], "-m FILE is missing"),
        (["-m", "x", "--kind", "trees", "--c1", "1"], "--c1 is for linear models"),
        (["-m", "x", "--kind", "trees", "--continue", "y"], "--continue is for linear models"),
        (["-m", "x", "--kind", "trees", "--constrained"], "--constrained is for linear models"),
        (["-m", "x", "--kind", "trees", "--tau", "2"], "--tau needs --constrained"),
        (["-m", "x", "--kind", "trees", "--rule-support", "3"], "--rule-support needs --associations"),
        (["-m", "x", "--window", "3"], "--window is for --kind trees"),
    ],
)
def test_wrong_usage(arguments, words, table, run):
    run.fails(2, words, "train", table, *arguments)


def test_columns_by_name_and_by_place(table, run, tmp_path):
    common = ["--kind", "trees", "--label-column", "label", *OPTIONS, "--max-iterations", "4"]
    ran = run.ok("train", table, "-m", tmp_path / "m", *common, "--categorical", "x", "--by", "letter")
    found = json.loads(run("inspect", tmp_path / "m", "--json").out)
    assert found["potentials"] == "factored"
    ran = run.ok("train", table, "-m", tmp_path / "m", *common, "--by", "0")
    for arguments, words in (
        (["--by", "x"], "must be a column of categories, but it holds numbers"),
        (["--by", "y"], "--by y: there is no such column; the columns are letter, x, label"),
        (["--categorical", "label"], "--categorical label: this is the label column"),
    ):
        ran = run("train", table, "-m", tmp_path / "m", *common, *arguments)
        assert ran.code != 0
        assert words in ran.err


def test_errors_name_the_line(model, run, tmp_path):
    (tmp_path / "bad.csv").write_text("id,letter,x,label\ns,a,1,up\ns,b,one,up\n", encoding="utf-8")
    ran = run("tag", model, tmp_path / "bad.csv", *OPTIONS)
    assert ran.code == 1
    assert f"{tmp_path / 'bad.csv'}:3: feature 'x' held numbers" in ran.err


def test_columns_are_called_as_in_the_header(model, table, run, tmp_path):
    loaded = TreeCRF.load(model)
    assert loaded.feature_names_ == ["letter[0]", "x[0]", "previous label"]
    assert any("x[0] > " in str(path) for path in loaded.conjunctions())
    ran = run.ok("train", table, table, "-m", tmp_path / "m", *TREES, "--max-iterations", "2")
    assert "2 rounds" in ran.err
    assert TreeCRF.load(tmp_path / "m").feature_names_ == loaded.feature_names_
    assert "letter[0]" in run("inspect", tmp_path / "m").out


def test_attributes_are_refused(run, tmp_path, model):
    (tmp_path / "data.crfsuite").write_text("A\tx=1\nB\tx=2\n\n", encoding="utf-8")
    ran = run("train", tmp_path / "data.crfsuite", "-m", tmp_path / "m", "--kind", "trees")
    assert ran.code == 1
    assert "trees need columns" in ran.err
    ran = run.fails(1, "the model needs columns", "tag", model, tmp_path / "data.crfsuite")
    run.fails(1, "this command needs a linear-chain CRF", "convert", model, tmp_path / "m.crfsuite")
