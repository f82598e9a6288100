"""Models of CRFsuite, Wapiti and CRF++ on the command line."""

import json

import pytest
from foreign_models import FILES

from crfkit.cli.default_template import default_template
from crfkit.io.columns import read_columns
from crfkit.models.linear.crf import CRF

pycrfsuite = pytest.importorskip("pycrfsuite")

# x is A, y is B, and B often follows A.
WAPITI, CRFPP = FILES["wapiti_tiny"], FILES["crfpp_tiny"]


@pytest.fixture(scope="module")
def crfsuite(folder):
    """Return python-crfsuite's model of the usual template's attributes, and its labels of test.txt."""
    (folder / "template").write_text(default_template(2))
    template = CRF.load(folder / "model.crfkit").tagger_.template
    trainer = pycrfsuite.Trainer(verbose=False)
    for rows in read_columns(folder / "train.txt"):
        trainer.append(template.attributes(rows), [row[2] for row in rows])
    trainer.train(str(folder / "old.crfsuite"))
    tagger = pycrfsuite.Tagger()
    tagger.open(str(folder / "old.crfsuite"))
    return [tagger.tag(template.attributes(rows)) for rows in read_columns(folder / "test.txt")]


def labels_of(out):
    return [[line.split("\t")[-1] for line in block.split("\n")] for block in out.split("\n\n")[:-1]]


def test_crfsuite(crfsuite, run, folder, tmp_path):
    model, template = folder / "old.crfsuite", folder / "template"
    assert labels_of(run("tag", model, folder / "test.txt", "-t", template).out) == crfsuite
    run.ok("convert", folder / "test.txt", tmp_path / "t.crfsuite", "-t", template, "-q")
    assert labels_of(run("tag", model, tmp_path / "t.crfsuite").out) == crfsuite
    piped = run("tag", "-", tmp_path / "t.crfsuite", stdin=model.read_bytes())
    assert labels_of(piped.out) == crfsuite
    assert "linear-chain CRF of order 1" in run("inspect", model).out
    assert json.loads(run("inspect", model, "--json").out)["training"] is None
    # conversion and back
    run.ok("convert", model, tmp_path / "new.crfkit")
    assert labels_of(run("tag", tmp_path / "new.crfkit", tmp_path / "t.crfsuite").out) == crfsuite
    ran = run("convert", tmp_path / "new.crfkit", tmp_path / "back.crfsuite")
    assert (ran.code, "warning" in ran.err) == (0, False)
    tagger = pycrfsuite.Tagger()
    tagger.open(str(tmp_path / "back.crfsuite"))
    attributes = CRF.load(folder / "model.crfkit").tagger_.template.attributes
    assert [tagger.tag(attributes(rows)) for rows in read_columns(folder / "test.txt")] == crfsuite


def test_to_crfsuite(run, folder, tmp_path):
    ran = run.ok("convert", folder / "model.crfkit", tmp_path / "m.crfsuite")
    assert "warning: " in ran.err
    assert "has no template" in ran.err
    expected = labels_of(run("tag", folder / "model.crfkit", folder / "test.txt").out)
    (tmp_path / "t").write_text(default_template(2))
    assert (
        labels_of(run("tag", tmp_path / "m.crfsuite", folder / "test.txt", "-t", tmp_path / "t").out)
        == expected
    )
    run.ok("train", folder / "train.txt", "-m", tmp_path / "m2", "--order", 2, "-q")
    run.fails(1, "first-order models only", "convert", tmp_path / "m2", tmp_path / "m2.crfsuite")
    assert not (tmp_path / "m2.crfsuite").exists()


@pytest.mark.parametrize(("text", "kind"), [(WAPITI, "wapiti"), (CRFPP, "crf++")])
def test_models_with_templates(text, kind, run, tmp_path):
    model = tmp_path / "model"
    model.write_bytes(text)
    rows = "x\ny\nz\n"
    ran = run("tag", model, stdin=rows)
    assert labels_of(ran.out) == [["A", "B", "A"]]
    with_truth = run("tag", model, "--eval", stdin="x A\ny B\n")
    assert "true labels in column 1" in with_truth.err
    assert "A → B +0.50" in run("inspect", model).out
    assert "%x[0,0]\n" in run("inspect", model, "--template").out
    ran = run("convert", model, tmp_path / "new")
    assert (ran.code, f"({kind}) → " in ran.err) == (0, True)
    assert run("tag", tmp_path / "new", stdin=rows).out == run("tag", model, stdin=rows).out
    run.ok("convert", model, tmp_path / "new.crfsuite")
    run.fails(2, "is a model", "convert", model, tmp_path / "x", "--to", "columns")


def test_going_on_from_a_model_of_wapiti(run, tmp_path):
    (tmp_path / "old").write_bytes(WAPITI)
    run.ok(
        "train", "-", "-m", tmp_path / "m", "--continue", tmp_path / "old", "--c2", 0.1, stdin="z C\nx A\n"
    )
    assert labels_of(run("tag", tmp_path / "m", "-q", stdin="x\ny\n\nz\n").out) == [["A", "B"], ["C"]]


@pytest.mark.parametrize("cut", [3, 20, 60, 100])
def test_damaged(cut, run, tmp_path, crfsuite, folder):
    whole = (folder / "old.crfsuite").read_bytes()
    for name, content in (("a", whole[: len(whole) * cut // 128]), ("b", WAPITI[:cut])):
        (tmp_path / name).write_bytes(content)
        for arguments in (["tag", tmp_path / name], ["inspect", tmp_path / name]):
            ran = run.fails(1, str(tmp_path / name), *arguments, stdin="x\n")
            assert ran.err.count("\n") == 1


def test_text_that_is_no_model(run, folder):
    run.fails(1, "not a model", "tag", folder / "test.txt", folder / "test.txt")
