"""``crfkit tag``: its output against the estimator's answers."""

import csv
import gzip
import io
from itertools import pairwise

import numpy as np
import pytest

from crfkit import inference
from crfkit.cli.default_template import default_template
from crfkit.io.columns import read_columns
from crfkit.models.linear.crf import CRF

from .conftest import as_text, sentences


@pytest.fixture(scope="module")
def crf(folder):
    return CRF.load(folder / "model.crfkit")


@pytest.fixture(scope="module")
def columns(folder):
    return read_columns(folder / "words.txt")


def blocks(out: str) -> list[list[list[str]]]:
    """Return sequences of rows of cells; comment lines are rows of one cell."""
    return [[line.split("\t") for line in block.split("\n")] for block in out.split("\n\n")[:-1]]


def predicted(out: str) -> list[list[str]]:
    return [[row[-1] for row in rows] for rows in blocks(out)]


def test_rows_and_a_label(run, folder, crf, columns):
    ran = run.ok("tag", folder / "model.crfkit", folder / "words.txt")
    assert ran.err == f"crfkit: {folder}/words.txt: columns, 2 per row, without labels\n"
    expected = [
        [[*row, label] for row, label in zip(rows, labels, strict=True)]
        for rows, labels in zip(columns, crf.predict(columns), strict=True)
    ]
    assert blocks(ran.out) == expected
    assert ran.out.endswith("\n\n")


def test_with_true_labels(run, folder, crf, columns):
    ran = run("tag", folder / "model.crfkit", folder / "test.txt")
    assert "3 per row, true labels in column 2" in ran.err
    assert predicted(ran.out) == crf.predict(columns)
    assert all(len(row) == 4 for rows in blocks(ran.out) for row in rows)
    assert run("tag", folder / "model.crfkit", folder / "test.txt", "-q").err == ""


@pytest.mark.parametrize("options", [[], ["--blanks"], ["--label-only"], ["--marginals"], ["--score"]])
def test_from_standard_input_to_a_file(options, run, folder, tmp_path):
    straight = run("tag", folder / "model.crfkit", folder / "test.txt", *options).out
    text = (folder / "test.txt").read_bytes()
    for stdin in (text, gzip.compress(text)):
        ran = run("tag", folder / "model.crfkit", "-o", tmp_path / "out", *options, stdin=stdin)
        assert (ran.code, ran.out) == (0, "")
        assert (tmp_path / "out").read_text(encoding="utf-8") == straight


def test_separators(run, folder, columns):
    tabs = run("tag", folder / "model.crfkit", folder / "words.txt").out
    blanks = run("tag", folder / "model.crfkit", folder / "words.txt", "--blanks").out
    assert blanks == tabs.replace("\t", " ")
    cells = "New York\tNNP\n\n"
    out = run("tag", folder / "model.crfkit", "--separator", "tab", stdin=cells).out
    assert out.startswith("New York\tNNP\t")
    assert run("tag", folder / "model.crfkit", "--separator", "tab", "--blanks", stdin=cells).code == 2


def test_label_only(run, folder, crf, columns):
    out = run("tag", folder / "model.crfkit", folder / "test.txt", "--label-only").out
    assert out == "".join("\n".join(labels) + "\n\n" for labels in crf.predict(columns))


def test_marginals(run, folder, crf, columns):
    best = blocks(run("tag", folder / "model.crfkit", folder / "words.txt", "--marginals").out)
    every = blocks(run("tag", folder / "model.crfkit", folder / "words.txt", "--marginals", "all").out)
    for rows, more, dicts in zip(best, every, crf.predict_marginals(columns), strict=True):
        for row, wide, p in zip(rows, more, dicts, strict=True):
            assert row[-1] == f"{p[row[-2]]:.6f}"
            assert wide[3:] == [f"{label}:{p[label]:.6f}" for label in crf.classes_]
            assert wide[:3] == row[:3]


def test_why(run, folder, crf, columns):
    out = run("tag", folder / "model.crfkit", folder / "words.txt", "--why", "3").out
    for rows, decisions in zip(blocks(out), crf.explain(columns), strict=True):
        for row, decision in zip(rows, decisions, strict=True):
            assert row[2:6] == [
                decision.label,
                f"{decision.probability:.6f}",
                decision.rival,
                f"{decision.rival_probability:.6f}",
            ]
            assert row[6:] == [f"{reason.what} {reason.weight:+.2f}" for reason in decision.reasons[:3]]
    ran = run("tag", folder / "model.crfkit", folder / "words.txt", "--why", "--nbest", "2")
    assert ran.code == 2
    assert "--why cannot be combined with --nbest" in ran.err


def test_posterior_and_score(run, folder, crf, columns):
    out = run("tag", folder / "model.crfkit", folder / "words.txt", "--posterior", "--score").out
    labels = crf.predict_posterior(columns)
    assert [[row[-1] for row in rows[1:]] for rows in blocks(out)] == labels
    lattice = crf.tagger_.lattice(crf.tagger_.encode(columns))
    ids = np.array([crf.classes_.index(label) for found in labels for label in found])
    log_p = inference.path_score(lattice, ids) - inference.log_partition(lattice)
    assert [rows[0][0] for rows in blocks(out)] == [f"# {p:.6f}" for p in np.exp(log_p)]


def test_nbest(run, folder, crf, columns):
    """K blocks per sequence, each after '# rank probability', as crf_test has them."""
    found = blocks(run("tag", folder / "model.crfkit", folder / "words.txt", "--nbest", 3).out)
    expected = [
        [[f"# {rank} {p:.6f}"], *([*row, label] for row, label in zip(rows, labels, strict=True))]
        for rows, paths in zip(columns, crf.predict_nbest(columns, 3), strict=True)
        for rank, (labels, p) in enumerate(paths)
    ]
    assert found == expected


def test_fewer_labellings_than_asked_for(run, folder, crf):
    out = run("tag", folder / "model.crfkit", "--nbest", 1000, stdin="dog NN\n").out
    assert out.count("# ") == len(crf.classes_)


def test_known_labels(run, folder, crf):
    text = "the DT B-PP\ndog NN _\nsees VB B-VP|O\nit PRP -\n"
    words = [[["the", "DT"], ["dog", "NN"], ["sees", "VB"], ["it", "PRP"]]]
    known = [["B-PP", None, {"B-VP", "O"}, None]]
    out = run("tag", folder / "model.crfkit", "--known-column", 2, stdin=text).out
    assert predicted(out) == crf.predict(words, known=known)
    assert predicted(out)[0][0] == "B-PP"
    # with true labels after them, and before the cells
    gold = text.replace("\n", " O\n")
    ran = run("tag", folder / "model.crfkit", "--known-column", -2, stdin=gold)
    assert predicted(ran.out) == predicted(out)
    assert "true labels in column 3" in ran.err
    first = "B-PP the DT\n_ dog NN\nB-VP|O sees VB\n- it PRP\n"
    assert predicted(run("tag", folder / "model.crfkit", "--known-column", 0, stdin=first).out) == predicted(
        out
    )
    empty = "the\tDT\tB-PP\ndog\tNN\t\nsees\tVB\tB-VP|O\nit\tPRP\t\n"
    ran = run("tag", folder / "model.crfkit", "--known-column", 2, "--separator", "tab", stdin=empty)
    assert predicted(ran.out) == predicted(out)


def test_known_labels_that_look_free(run, tmp_path):
    """A label called _ is that label; - still means free."""
    run.ok("train", "-", "-m", tmp_path / "m", "-q", stdin="a _\nb |\n\na _\nb O\n")
    out = run("tag", tmp_path / "m", "--known-column", 1, stdin="b _\nb |\nb -\n").out
    assert predicted(out)[0][:2] == ["_", "|"]
    ran = run("tag", tmp_path / "m", "--known-column", 1, stdin="a -\nb O|X\n")
    assert ran.code == 1
    assert "<stdin>:2: known label 'O|X': the model has no label 'X'" in ran.err


@pytest.mark.parametrize(
    ("options", "forbidden"),
    [
        (["--legal", "IOB2"], lambda a, b: b == "I-NP" and a not in ("B-NP", "I-NP")),
        (["--legal", "auto"], lambda a, b: b == "I-NP" and a not in ("B-NP", "I-NP")),
        (["--forbid", "B-*>I-*"], lambda a, b: a[:1] == "B" and b[:1] == "I"),
        (["--forbid", "^>B-NP", "--forbid", "^>I-*"], lambda a, b: a == "" and b in ("B-NP", "I-NP")),
        (["--forbid", "O>$"], lambda a, b: (a, b) == ("O", "")),
        (["--forbid", "*>*", "--forbid", "^>O"], None),
    ],
)
def test_constraints(options, forbidden, run, folder):
    """Tested on unknown words, so that the labels are illegal unless constraints forbid it."""
    strange = "".join(f"x{i % 7} Y{i % 3}\n" + "\n" * (i % 5 == 4) for i in range(60))
    ran = run("tag", folder / "model.crfkit", *options, stdin=strange)
    if forbidden is None:
        assert ran.code == 1
        assert "<stdin>:1: the constraints allow no labelling" in ran.err
        return
    assert ran.code == 0
    for labels in predicted(ran.out):
        for before, after in zip(["", *labels], [*labels, ""], strict=True):
            assert not forbidden(before, after)


def test_seen_transitions(run, folder, crf):
    strange = "x Y\n" * 30
    (labels,) = predicted(run("tag", folder / "model.crfkit", "--seen-transitions", stdin=strange).out)
    assert set(pairwise(labels)) <= set(crf.transition_features_)
    expected = crf.predict(
        [[["x", "Y"]] * 30], constraints=inference.Constraints(transitions=crf.tagger_.index.edges)
    )
    assert [labels] == expected


def test_a_model_without_transitions(run, folder, tmp_path):
    (tmp_path / "t").write_text("U0:%x[0,0]\n")
    run.ok("train", folder / "train.txt", "-m", tmp_path / "m", "-t", tmp_path / "t", "-q")
    ran = run("tag", tmp_path / "m", folder / "words.txt", "--seen-transitions")
    assert (ran.code, "the model has no transitions" in ran.err) == (1, True)


def test_three_labels_in_a_row(run, folder, tmp_path):
    run.ok("train", folder / "train.txt", "-m", tmp_path / "m", "--order", 2, "-q")
    free = predicted(run("tag", tmp_path / "m", folder / "words.txt").out)
    assert any(labels[:3] == ["B-NP", "I-NP", "B-VP"] for labels in free)
    found = predicted(run("tag", tmp_path / "m", folder / "words.txt", "--forbid", "B-NP>I-NP>B-VP").out)
    assert not any(
        labels[t : t + 3] == ["B-NP", "I-NP", "B-VP"] for labels in found for t in range(len(labels))
    )


def test_eval(run, folder, crf, columns):
    ran = run("tag", folder / "model.crfkit", folder / "test.txt", "--eval")
    again = run("eval", stdin=ran.out)
    assert again.out
    assert ran.err.endswith(again.out)
    run.fails(1, "--eval needs true labels", "tag", folder / "model.crfkit", folder / "words.txt", "--eval")


def test_true_labels_that_the_model_does_not_know(run, folder):
    ran = run.ok("tag", folder / "model.crfkit", "--eval", stdin="moo UH B-INTJ\nthe DT B-NP\n")
    assert "INTJ: precision:   0.00%" in ran.err


HOW = ([], ["--eval", "--marginals"], ["--nbest", "2"], ["--why"], ["--segments"], ["--score"])


@pytest.mark.parametrize("how", HOW, ids=" ".join)
def test_several_batches(how, run, folder, tmp_path, monkeypatch):
    """Reading the data in pieces (constant memory), in one thread or in several, does not change results."""
    straight = run("tag", folder / "model.crfkit", folder / "test.txt", *how)
    bad = tmp_path / "bad.txt"
    bad.write_bytes((folder / "test.txt").read_bytes() + b"a row with more cells than others\n")
    faulty = run("tag", folder / "model.crfkit", bad, *how, "-q", "-o", tmp_path / "tagged")
    n_lines = bad.read_bytes().count(b"\n")
    assert (faulty.code, f"{bad}:{n_lines}: expected 3 columns" in faulty.err) == (1, True)
    for module in ("batches", "quick_tag"):
        monkeypatch.setattr(f"crfkit.cli.{module}._POSITIONS", 3)
    monkeypatch.setattr("crfkit.io.column_pieces._SMALLEST_PIECE", 64)
    for jobs in ("1", "3"):
        assert run("tag", folder / "model.crfkit", folder / "test.txt", *how, "-j", jobs) == straight
        words = ["tag", folder / "model.crfkit", bad, *how, "-q", "-j", jobs, "-o", tmp_path / "tagged"]
        assert run(*words) == faulty
    assert not (tmp_path / "tagged").exists()


@pytest.mark.parametrize("text", ["", "\n", "\n\n\n"])
def test_nothing_in_nothing_out(text, run, folder):
    assert run("tag", folder / "model.crfkit", stdin=text) == (0, "", "")


def test_attribute_files(run, folder, tmp_path):
    (tmp_path / "t").write_text(default_template(2))
    for name in ("x.crfsuite", "x.mallet"):
        for part in ("train", "test"):
            run.ok("convert", folder / f"{part}.txt", tmp_path / f"{part}{name}", "-t", tmp_path / "t")
        run.ok("train", tmp_path / f"train{name}", "-m", tmp_path / "m", "-q")
        ran = run("tag", tmp_path / "m", tmp_path / f"test{name}")
        gold = read_columns(folder / "test.txt").column(2)
        assert [[row[0] for row in rows] for rows in blocks(ran.out)] == gold
        expected = predicted(run("tag", folder / "model.crfkit", folder / "test.txt").out)
        assert predicted(ran.out) == expected
        alone = run("tag", tmp_path / "m", tmp_path / f"test{name}", "--label-only").out
        assert predicted(alone) == expected
        # the template makes the attributes that the model knows
        ran = run("tag", tmp_path / "m", folder / "test.txt", "-t", tmp_path / "t")
        assert predicted(ran.out) == expected
    ran = run.fails(1, "the model has no template", "tag", tmp_path / "m", folder / "test.txt")
    ran = run("tag", folder / "model.crfkit", folder / "test.txt", "-t", tmp_path / "t")
    assert (ran.code, "already has a template" in ran.err) == (2, True)


def test_attributes_without_labels(run, tmp_path):
    run.ok("train", "-", "-m", tmp_path / "m", "--format", "crfsuite", "-q", stdin="A\tx\nB\ty\n")
    ran = run("tag", tmp_path / "m", "--format", "crfsuite", stdin="\tx\n\ty\n")
    assert (ran.out, "without labels" in ran.err) == ("A\nB\n\n", True)
    ran = run("tag", tmp_path / "m", "--format", "crfsuite", stdin="Q\tx\n\ty\n")
    assert ran.out == "Q\tA\n_\tB\n\n"
    ran = run("tag", tmp_path / "m", "--format", "mallet", "--label-column", "none", stdin="x\ny x\n")
    assert ran.out.count("\n") == 3
    ran = run("tag", tmp_path / "m", "--format", "crfsuite", "--known-column", 1, stdin="A\tx\n")
    assert (ran.code, "--known-column needs a table" in ran.err) == (2, True)


def test_csv(run, folder, tmp_path):
    run.ok("convert", folder / "test.txt", tmp_path / "x.csv")
    expected = predicted(run("tag", folder / "model.crfkit", folder / "test.txt").out)
    rows = list(csv.reader(io.StringIO(run("tag", folder / "model.crfkit", tmp_path / "x.csv").out)))
    assert rows[0] == ["column0", "column1", "label", "predicted"]
    assert [row[-1] for row in rows[1:] if row] == [label for labels in expected for label in labels]
    assert rows.count([]) == len(expected) - 1
    ran = run("tag", folder / "model.crfkit", tmp_path / "x.csv", "--label-only", "--marginals", "all")
    header, first, *_ = csv.reader(io.StringIO(ran.out))
    assert header[:2] == ["predicted", "probability of B-NP"]
    assert sum(map(float, first[1:])) == pytest.approx(1, abs=1e-5)
    ran = run("tag", folder / "model.crfkit", tmp_path / "x.csv", "--marginals")
    assert ran.out.startswith("column0,column1,label,predicted,probability\n")
    assert run("tag", folder / "model.crfkit", tmp_path / "x.csv", "--nbest", 2).code == 2


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (["{0}/nowhere", "{0}/test.txt"], 1, "nowhere: No such file or directory"),
        (["{0}/model.crfkit", "{0}/nowhere"], 1, "nowhere: No such file or directory"),
        (["{0}/model.crfkit", "{0}"], 1, "Is a directory"),
        (["{0}", "{0}/test.txt"], 1, "Is a directory"),
        (["{0}/model.crfkit", "{0}/model.crfkit"], 1, "expected data, but this is a model (crfkit)"),
        (["{0}/model.crfkit", "{0}/test.txt", "-o", "{0}/no/out"], 1, "out: there is no directory"),
        (["{0}/model.crfkit", "{0}/test.txt", "-o", "{0}"], 1, "it is a directory"),
        (["{0}/model.crfkit", "{0}/test.txt", "--legal", "BIMES"], 1, "IOB2"),
        (["{0}/model.crfkit", "{0}/test.txt", "--forbid", "O>X"], 1, "none of the 5 labels matches 'X'"),
        (["{0}/model.crfkit", "{0}/test.txt", "--label-column", "9"], 1, "--label-column 9"),
        (["{0}/model.crfkit", "{0}/test.txt", "--forbid", "O"], 2, "such as 'O>I-*'"),
        (["{0}/model.crfkit", "{0}/test.txt", "--nbest", "0"], 2, "0 is less than 1"),
        (
            ["{0}/model.crfkit", "{0}/test.txt", "--nbest", "2", "--eval"],
            2,
            "--nbest cannot be combined with",
        ),
        (["-", "-"], 2, "cannot both come from standard input"),
        ([], 2, "MODEL"),
    ],
)
def test_errors(arguments, code, words, run, folder):
    run.fails(code, words, "tag", *(argument.format(folder) for argument in arguments))


def test_the_line_of_a_bad_row(run, folder, tmp_path):
    text = as_text(sentences(3)) + "one too many cells\n"
    (tmp_path / "out").write_text("old")
    ran = run("tag", folder / "model.crfkit", "-o", tmp_path / "out", "-q", stdin=text)
    assert ran.code == 1
    assert ran.err.startswith(f"crfkit: <stdin>:{text.count(chr(10))}: ")
    assert (tmp_path / "out").read_text() == "old"


def test_no_path_is_named_by_its_line(run, folder):
    text = "the DT _\ndog NN _\n\nthe DT O\ndog NN I-NP\n"
    ran = run("tag", folder / "model.crfkit", "--known-column", 2, "--legal", "IOB2", stdin=text)
    assert (ran.code, "<stdin>:4: the constraints allow no labelling" in ran.err) == (1, True)


def test_model_from_standard_input(run, folder):
    ran = run("tag", "-", folder / "test.txt", "-q", stdin=(folder / "model.crfkit").read_bytes())
    assert ran.out == run("tag", folder / "model.crfkit", folder / "test.txt", "-q").out


def test_data_of_another_kind_is_mentioned(run, folder):
    ran = run("tag", folder / "model.crfkit", "-q", "--format", "crfsuite", stdin="B-X\tqqq=1\n\n")
    assert "knows none of its attributes" in ran.err
