"""``crfkit convert``: data and label schemes in both directions, models, and impossible conversions."""

import gzip

import pytest

from crfkit.cli.default_template import default_template
from crfkit.features.template import Template
from crfkit.io.columns import read_columns
from crfkit.io.model_file import read_model
from crfkit.models.linear.crf import CRF

from .conftest import as_text, sentences

DATA = as_text(sentences(6))


@pytest.fixture
def data(tmp_path):
    (tmp_path / "data.txt").write_text(DATA, encoding="utf-8")
    (tmp_path / "template").write_text(default_template(2))
    return tmp_path


def test_columns_to_attributes(run, data):
    ran = run("convert", data / "data.txt", data / "x.crfsuite", "-t", data / "template")
    assert ran == (0, "", f"crfkit: {data}/data.txt: columns (told by its content) → crfsuite\n")
    template = Template.read(data / "template")
    columns = read_columns(data / "data.txt")
    expected = []
    for rows in columns:
        for row, attributes in zip(rows, template.attributes(rows), strict=True):
            expected.append("\t".join([row[2], *(a.replace(":", "\\:") for a in attributes)]))
        expected.append("")
    assert (data / "x.crfsuite").read_text(encoding="utf-8").split("\n")[:-1] == expected


def test_there_and_back(run, data):
    run.ok("convert", data / "data.txt", data / "a.crfsuite", "-t", data / "template", "-q")
    run.ok("convert", data / "a.crfsuite", data / "b.mallet")
    run.ok("convert", data / "b.mallet", data / "c.crfsuite")
    assert (data / "c.crfsuite").read_bytes() == (data / "a.crfsuite").read_bytes()
    run.ok("convert", data / "data.txt", data / "a.csv")
    run.ok("convert", data / "a.csv", data / "b.txt", "--to", "columns")
    assert read_columns(data / "b.txt") == read_columns(data / "data.txt")


def test_pipes_and_gzip(run, data):
    ran = run("convert", "-", "-", "--to", "columns", "--from", "columns", stdin=gzip.compress(DATA.encode()))
    assert ran.out == DATA.replace(" ", "\t") + "\n"
    run.ok("convert", data / "data.txt", data / "x.csv.gz")
    assert gzip.decompress((data / "x.csv.gz").read_bytes()).startswith(b"column0,column1,label\n")


def test_labels(run, data):
    ran = run.ok("convert", data / "data.txt", data / "x.txt", "--to", "columns", "--labels", "IOB2:IOBES")
    found = read_columns(data / "x.txt")
    assert {label[0] for labels in found.column(2) for label in labels} == set("BIESO")
    ran = run("convert", data / "x.txt", "-", "--to", "columns", "--labels", "auto:IOB2")
    assert ran.out == DATA.replace(" ", "\t") + "\n"
    assert "x.txt: labels of the scheme IOBES" in ran.err
    # with attributes made during conversion, and from attribute files
    straight = run("convert", data / "x.txt", "-", "--to", "crfsuite", "-t", data / "template", "-q").out
    options = ["--labels", "IOB2:IOBES", "-q"]
    made = run("convert", data / "data.txt", "-", "--to", "crfsuite", "-t", data / "template", *options).out
    assert made == straight
    plain = run("convert", data / "data.txt", "-", "--to", "crfsuite", "-t", data / "template", "-q").out
    (data / "plain.crfsuite").write_text(plain, encoding="utf-8")
    assert run("convert", data / "plain.crfsuite", "-", "--to", "crfsuite", *options).out == straight


def test_illegal_labels(run):
    text = "a O\nb I-X\n\nc B-X\nd I-Y\n"
    ran = run("convert", "-", "-", "--to", "columns", "--labels", "IOB2:IOBES", stdin=text)
    assert (ran.code, ran.out) == (1, "")
    assert "<stdin>:2: the label 'I-X' is not legal here in IOB2 (one of 2 such places)" in ran.err
    how = {"begin": "OSSS", "drop": "OOSO", "join": "OSBE"}
    for name, expected in how.items():
        options = ["--labels", "IOB2:IOBES", "--repair", name, "-q"]
        ran = run("convert", "-", "-", "--to", "columns", *options, stdin=text)
        assert "".join(line.split("\t")[1][0] for line in ran.out.split("\n") if line) == expected
    assert run("convert", "-", "-", "--to", "columns", "--repair", "drop", stdin=text).code == 2


def test_label_column(run, data):
    moved = as_text([[(c, a, b) for a, b, c in rows] for rows in sentences(6)])
    options = ["--label-column", 0, "-t", data / "template", "--to", "crfsuite", "-q"]
    made = run("convert", "-", "-", *options, stdin=moved).out
    assert made == run("convert", "-", "-", "-t", data / "template", "--to", "crfsuite", stdin=DATA).out
    words = as_text(sentences(6), 2)
    without = run("convert", "-", "-", *options[2:], "--label-column", "none", stdin=words).out
    assert [line.split("\t")[1:] for line in without.split("\n")] == [
        line.split("\t")[1:] for line in made.split("\n")
    ]
    assert without.startswith("\t")


def test_cells_that_columns_can_hardly_hold(run, data):
    (data / "x.csv").write_text('word,label\nNew York,B\n"",O\n')
    ran = run.ok("convert", data / "x.csv", data / "x.txt", "--to", "columns")
    assert "read it with --separator tab" in ran.err
    assert (data / "x.txt").read_text() == "New York\tB\n\tO\n\n"
    (data / "x.csv").write_text('word,label\nNew York,B\n"a\tb",O\n')
    ran = run("convert", data / "x.csv", data / "x.txt", "--to", "columns")
    assert (ran.code, "x.csv:3: the cell 'a\\tb' has a tab" in ran.err) == (1, True)
    assert (data / "x.txt").read_text() == "New York\tB\n\tO\n\n"  # the old one


def test_weights_stay(run, data):
    (data / "w.crfsuite").write_text("@weight:2.5\tA\tx:0.5\n\nB\ty\n")
    assert (
        run("convert", data / "w.crfsuite", "-", "--to", "crfsuite").out
        == "@weight:2.5\tA\tx:0.5\n\nB\ty\n\n"
    )
    ran = run("convert", data / "w.crfsuite", data / "w.mallet")
    assert ran.code == 1
    assert not (data / "w.mallet").exists()


def test_a_model_of_our_own(run, folder, tmp_path):
    ran = run.ok("convert", folder / "model.crfkit", tmp_path / "copy")
    assert "(crfkit) → " in ran.err
    assert CRF.load(tmp_path / "copy").objective_ == CRF.load(folder / "model.crfkit").objective_
    expected = run("tag", folder / "model.crfkit", folder / "test.txt").out
    assert run("tag", tmp_path / "copy", folder / "test.txt").out == expected


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{0}/nowhere", "x.csv"], 1, "nowhere: No such file or directory"),
        (["{1}/data.txt", "{1}/x"], 2, "does not tell the format: name it with --to"),
        (["{1}/data.txt", "{1}/x.crfsuite"], 2, "needs a template"),
        (["{1}/data.txt", "{1}/x.csv", "-t", "{1}/template"], 2, "csv has cells, not attributes"),
        (["{1}/data.txt", "{1}/x", "--to", "crfkit"], 1, "not a model that crfkit can read"),
        (["{1}/data.txt", "{1}/no/x.csv"], 1, "there is no directory"),
        (["{1}/data.txt", "{1}/x.csv", "--labels", "IOB2"], 2, "such as IOB2:IOBES"),
        (["{1}/data.txt", "{1}/x.csv", "--labels", "IOB2:IOB9"], 1, "IOB9"),
        (["{1}/data.txt", "{1}/x.crfsuite", "-t", "{1}/pairs"], 1, "score pairs of labels"),
        (["{1}/a.mallet", "{1}/x.csv"], 1, "which needs the same columns in each row"),
        (["{1}/a.mallet", "{1}/x.crfsuite", "-t", "{1}/template"], 2, "has its attributes already"),
        (["{1}/a.mallet", "{1}/x.crfsuite", "--label-column", "1"], 2, "a fixed place for labels"),
        (["{0}/model.crfkit", "{1}/x.mallet", "--to", "mallet"], 2, "models can be written as crfkit and"),
        (["{0}/model.crfkit", "-"], 2, "a model cannot be written to standard output"),
        (["{0}/model.crfkit", "{1}/x", "-t", "{1}/template"], 2, "--template is for data"),
    ],
)
def test_errors(arguments, code, words, run, folder, data):
    (data / "pairs").write_text("U0:%x[0,0]\nB0:%x[0,1]\n")
    (data / "a.mallet").write_text("x=1 y=2 A\nx=1 B\n")
    before = sorted(data.iterdir())
    run.fails(code, words, "convert", *(argument.format(folder, data) for argument in arguments))
    assert sorted(data.iterdir()) == before


def test_a_template_can_be_given_to_a_model_that_has_none(run, data):
    run("train", data / "data.txt", "-t", data / "template", "-m", data / "m", "--max-iterations", "5", "-q")
    run("convert", data / "m", data / "m.crfsuite", "-q")
    run.ok("convert", data / "m.crfsuite", data / "again", "-t", data / "template", "-q")
    tagged = [run("tag", data / name, data / "data.txt", "-q").out for name in ("m", "again")]
    assert tagged[0] == tagged[1] != ""
    assert run("convert", data / "m", data / "x", "-t", data / "template").code == 2


# ---- compact models


def test_compact_model(run, folder, tmp_path):
    small = tmp_path / "small.crfkit"
    ran = run.ok("convert", folder / "model.crfkit", small, "--compact", "--data", folder / "test.txt", "-q")
    lines = [line.split() for line in ran.out.splitlines()]
    sizes = [(folder / "model.crfkit").stat().st_size, small.stat().st_size]
    assert lines[1][1:3] == [f"{size:,}" for size in sizes]
    assert sizes[1] < sizes[0] / 3
    assert [line[0] for line in lines] == [
        "before",
        "bytes",
        "attributes",
        "features",
        "accuracy",
        "F1",
        "labels",
    ]
    assert lines[4][1:4] == ["100.00", "%", "100.00"]
    assert lines[-1][:7] == ["labels", "differ", "at", "0", "of", "90", "tokens"]
    tagged = [
        run.ok("tag", model, folder / "test.txt", "-q").out for model in (folder / "model.crfkit", small)
    ]
    assert tagged[0] == tagged[1]
    few = tmp_path / "few.crfkit"
    ran = run.ok("convert", small, few, "--compact", "--drop-below", "1", "--data", folder / "words.txt")
    assert few.stat().st_size < small.stat().st_size
    assert "accuracy" not in ran.out
    assert "labels differ at " in ran.out
    full = tmp_path / "full.crfkit"
    run.ok("convert", small, full)
    assert run.ok("tag", full, folder / "test.txt", "-q").out == tagged[0]
    assert "compact" not in read_model(full)[0]


def test_compact_refusals(run, folder, tmp_path):
    model, out = folder / "model.crfkit", tmp_path / "out.crfkit"
    for arguments, code, words in (
        ((model, out, "--drop-below", "1"), 2, "--drop-below and --data need --compact"),
        ((model, out, "--data", model), 2, "--drop-below and --data need --compact"),
        ((model, tmp_path / "o.crfsuite", "--compact"), 2, "--compact is a form of models of crfkit"),
        ((folder / "test.txt", out, "--compact"), 1, "--compact needs a model, but this is not one"),
        (
            (model, out, "--compact", "--drop-below", "-1"),
            1,
            "drop_below must be a number that is not negative",
        ),
        ((model, out, "--compact", "--label-column", "2"), 2, "--label-column is for data only"),
    ):
        ran = run("convert", *arguments)
        assert (ran.code, words in ran.err) == (code, True), ran.err
