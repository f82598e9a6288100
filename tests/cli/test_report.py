"""``crfkit report``: pages from files of every form, comparisons, curves, and refusals."""

import sys

import pytest
from html_page import Page

from crfkit import metrics


def page_of(path):
    page = Page(path.read_text(encoding="utf-8"))
    assert page.loads == []
    return page


def test_a_report(run, folder, tmp_path):
    out = tmp_path / "report.html"
    told = run.ok("report", folder / "model.crfkit", folder / "test.txt", "-o", out, "--title", "A & B").err
    assert "F1 100.00" in told
    assert f"written to {out}" in told
    page = page_of(out)
    assert page.words.count("A & B") == 2
    assert "There are no mistakes in 12 sequences" in page.words


def test_mistakes_a_curve_and_another_model(run, folder, tmp_path):
    text = (folder / "test.txt").read_text(encoding="utf-8").replace("B-PP", "B-NP")
    (tmp_path / "odd.txt").write_text(text, encoding="utf-8")
    out = tmp_path / "report.html"
    more = ["--train", folder / "train.txt", "--compare", folder / "model.crfkit", "-q", "--sentences", "1"]
    assert run.ok("report", folder / "model.crfkit", tmp_path / "odd.txt", "-o", out, *more).err == ""
    page = page_of(out)
    assert page.tags.count("article") == 1
    assert "model.crfkit on odd.txt" in page.words
    assert "Would more data help?" in page.words
    assert "McNemar's test" in page.words
    assert "NP as PP" in page.words


def test_a_page_on_standard_output(run, folder):
    done = run.ok("report", folder / "model.crfkit", folder / "test.txt", "-o", "-", "-q")
    assert Page(done.out).words.count("How good") == 2


def test_attributes_and_numbers_as_labels(run, tmp_path):
    lines = "1\tw=a\tbias\n2\tw=b\tbias\n\n2\tw=b\tbias\n\n" * 3
    (tmp_path / "train.crfsuite").write_text(lines, encoding="utf-8")
    (tmp_path / "test.crfsuite").write_text(lines.replace("1", "2", 1), encoding="utf-8")
    run.ok("train", tmp_path / "train.crfsuite", "-m", tmp_path / "m.crfkit", "-q")
    run.ok("convert", tmp_path / "m.crfkit", tmp_path / "m.crfsuite", "-q")
    for model in ("m.crfkit", "m.crfsuite"):
        run.ok("report", tmp_path / model, tmp_path / "test.crfsuite", "-o", tmp_path / "r.html", "-q")
        page = page_of(tmp_path / "r.html")
        accuracy = 100 * metrics.token_accuracy([["2", "2"], *[["1", "2"]] * 2], [["1", "2"]] * 3)
        assert 80 < accuracy < 90
        assert "1 of 6 sequences have mistakes" in page.words


@pytest.mark.parametrize(
    ("data", "more", "message"),
    [
        ("words.txt", [], "a report needs true labels, but its 2 columns are those that the model labels"),
        ("none.txt", [], "none.txt: No such file"),
        ("test.txt", ["--label-column", "none"], "a report needs true labels"),
        ("test.txt", ["--scheme", "BOI"], "BOI"),
        ("model.crfkit", [], "model.crfkit"),
    ],
)
def test_refusals(run, folder, tmp_path, data, more, message):
    out = tmp_path / "r.html"
    run.fails(1, message, "report", folder / "model.crfkit", folder / data, "-o", out, *more)
    assert not out.exists()


def test_wrong_usage(run, folder, tmp_path, monkeypatch):
    given, out = ("report", folder / "model.crfkit", folder / "test.txt"), tmp_path / "r.html"
    run.fails(2, "only one input can come from standard input", "report", "-", "-", "-o", out)
    run.fails(2, "required: -o", *given)
    run.fails(2, "would overwrite the input", *given, "-o", folder / "test.txt")
    monkeypatch.setitem(sys.modules, "jinja2", None)
    missing = "crfkit report needs Jinja2, which is not installed: pip install 'crfkit[report]'"
    run.fails(1, missing, *given, "-o", out)
