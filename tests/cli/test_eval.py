"""``crfkit eval``: conlleval's report and the additional reports."""

import json

import pytest

from crfkit import metrics
from crfkit.io.columns import read_columns

TAGGED = """\
Rockwell NNP B-NP B-NP
said VBD B-VP B-VP
it PRP B-NP I-NP
signed VBD B-VP B-VP

a DT B-NP B-NP
red JJ I-NP I-NP
car NN I-NP B-NP
. . O O
"""
# Counted by hand, in conlleval's layout; tests/metrics compares with its rules on many more.
REPORT = """\
processed 8 tokens with 5 phrases; found: 6 phrases; correct: 4.
accuracy:  75.00%; precision:  66.67%; recall:  80.00%; FB1:  72.73
               NP: precision:  50.00%; recall:  66.67%; FB1:  57.14  4
               VP: precision: 100.00%; recall: 100.00%; FB1: 100.00  2
"""


@pytest.fixture
def tagged(tmp_path):
    path = tmp_path / "tagged.txt"
    path.write_text(TAGGED)
    return path


def test_report(run, tagged):
    assert run("eval", tagged) == (0, REPORT, "")
    assert run("eval", stdin=TAGGED) == (0, REPORT, "")
    assert run("eval", stdin=TAGGED.replace(" ", "\t").replace("\n", "\r\n")).out == REPORT
    columns = ["--gold-column", 2, "--predicted-column", -1, "--tabs"]
    assert run("eval", *columns, stdin=TAGGED.replace(" ", "\t")).out == REPORT


def test_two_files(run, tmp_path):
    rows = [line.split() for line in TAGGED.split("\n")]
    gold, found = tmp_path / "gold", tmp_path / "found"
    gold.write_text("\n".join(" ".join(row[:3]) for row in rows))
    found.write_text("\n".join(" ".join(row[3:]) for row in rows))
    assert run("eval", "--gold", gold, "--predicted", found) == (0, REPORT, "")
    found.write_text("\n".join(" ".join(row[3:]) for row in [*rows[:2], *rows[3:]]))
    ran = run("eval", "--gold", gold, "--predicted", found)
    assert (ran.code, "found:1: the sequence that begins here has 3 tokens, but 4 in" in ran.err) == (1, True)
    found.write_text("\n".join(" ".join(row[3:]) for row in rows[:5]))
    run.fails(1, "has 1 sequences", "eval", "--gold", gold, "--predicted", found)


def test_strict_and_schemes(run, tagged):
    strict = run("eval", tagged, "--strict", "--scheme", "IOB2").out
    columns = read_columns(tagged)
    report = metrics.strict_segment_scores(columns.column(2), columns.column(3), scheme="IOB2")
    assert strict == f"{metrics.ConllevalReport(**vars(report))}\n"
    assert strict != REPORT
    assert run("eval", tagged, "--strict").out == strict  # the scheme of the true labels
    assert run("eval", tagged, "--scheme", "IOB2").out == REPORT
    run.fails(1, "IOB2", "eval", tagged, "--scheme", "BMES")


def test_raw_and_outside(run):
    text = "a NN NN\nb VB NN\nc X X\n"
    ran = run("eval", "--raw", "--outside", "X", stdin=text)
    assert ran.out.startswith("processed 3 tokens with 2 phrases; found: 2 phrases; correct: 1.\n")
    assert ran.err == ""
    ran = run("eval", stdin=text)  # plain labels need no option, but give a note
    assert ran.out == run("eval", "--raw", stdin=text).out
    assert "the labels have no segments" in ran.err
    assert run("eval", "--raw", "--strict", stdin=text).code == 2


def test_per_label_and_confusion(run, tagged):
    columns = read_columns(tagged)
    out = run("eval", tagged, "--per-label", "--confusion").out
    assert out.startswith(REPORT)
    assert str(metrics.token_report(columns.column(2), columns.column(3))) in out
    assert out.endswith(
        "true \\ predicted  B-NP  B-VP  I-NP  O\n"
        "B-NP                 2     .     1  .\n"
        "B-VP                 .     2     .  .\n"
        "I-NP                 1     .     1  .\n"
        "O                    .     .     .  1\n"
    )


def test_json(run, tagged):
    found = json.loads(run("eval", tagged, "--json", "--per-label", "--confusion", "--bootstrap", 50).out)
    assert found["overall"]["f1"] == pytest.approx(8 / 11)
    assert found["n_tokens"] == 8
    assert found["per_label"]["B-NP"]["support"] == 3
    assert found["confusion"]["counts"][0] == [2, 0, 1, 0]
    assert found["intervals"]["FB1"]["value"] == pytest.approx(8 / 11)


def test_bootstrap(run, tagged):
    out = run("eval", tagged, "--bootstrap", 50).out
    assert out.startswith(REPORT + "\n95 % intervals from 50 resamples")
    assert "  FB1        72.73  " in out
    assert out == run("eval", tagged, "--bootstrap", 50).out  # the seed is fixed
    raw = run("eval", "--raw", "--bootstrap", 20, stdin="a N N\n\nb V N\n").out
    assert "FB1" not in raw.partition("resamples")[2]


def test_compare(run, tagged, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text(TAGGED.replace("car NN I-NP B-NP", "car NN I-NP I-NP"))
    out = run("eval", tagged, "--compare", other, "--bootstrap", 50).out
    assert "  accuracy   75.00 -  87.50 = -12.50  " in out
    assert "  tokens    right in a alone 0, in b alone 1  p = 1\n" in out
    assert "  segments  right in a alone 0, in b alone 3  p = 0.25\n" in out
    found = json.loads(run("eval", tagged, "--compare", other, "--json", "--strict").out)
    assert found["mcnemar"]["sequence"]["only_b"] == 1
    assert found["differences"]["FB1"]["value"] < 0
    other.write_text(TAGGED.replace("car NN I-NP", "car NN O"))
    run.fails(
        1,
        "other.txt:6: the sequence that begins here has other true labels",
        "eval",
        tagged,
        "--compare",
        other,
    )
    other.write_text(TAGGED.replace("car NN I-NP B-NP", "car NN I-NP X-NP"))
    words = "other.txt:8: the label of --compare"
    for given in ([], ["--strict"], ["--scheme", "IOB2"]):
        run.fails(1, words, "eval", tagged, "--compare", other, *given)
    other.write_text("a B B\n")
    run.fails(1, "it must hold the same sequences", "eval", tagged, "--compare", other)


@pytest.mark.parametrize(
    ("arguments", "stdin", "code", "words"),
    [
        ([], "", 1, "<stdin>: the file is empty, so there is nothing to score"),
        ([], "\n\n", 1, "the file is empty, so there is nothing to score"),
        ([], "a\n", 1, "expected at least two columns"),
        ([], "a B-X B-X\nb B-X\n", 1, "<stdin>:2: "),
        ([], "a B-X B-X\nb NN O\n", 1, "NN"),
        (["--gold-column", "7"], "a B-X B-X\n", 1, "there is no column 7"),
        (["nowhere"], "", 1, "nowhere: No such file or directory"),
        (["/"], "", 1, "Is a directory"),
        (["--gold", "x"], "", 2, "must be given together"),
        (["y", "--gold", "x", "--predicted", "z"], "", 2, "replace FILE: leave out y"),
        (["--bootstrap", "3"], "", 2, "3 is less than 10"),
    ],
)
def test_errors(arguments, stdin, code, words, run):
    run.fails(code, words, "eval", *arguments, stdin=stdin)


def test_probabilities_are_no_labels(run, tmp_path):
    (tmp_path / "t").write_text("a\tB-X\tB-X\t0.900000\n\n", encoding="utf-8")
    run.fails(1, "holds probabilities", "eval", tmp_path / "t")
    run.ok("eval", tmp_path / "t", "--gold-column", "-3", "--predicted-column", "-2")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ((), "tagged.txt:5: the predicted label is 'Z-Q', but segments need labels 'O' or tag-type"),
        (("--strict",), "tagged.txt:5: the predicted label is 'Z-Q', but labels of the scheme IOB2 are"),
        (("--scheme", "IOBES"), "or score each token by itself with --raw"),
        (("--scheme", "FOO"), "--scheme must be one of IOB2, IOB1"),
        (("--bootstrap",), "tagged.txt:5: the predicted label is 'Z-Q'"),
    ],
)
def test_errors_name_file_line_and_options(run, tmp_path, options, message):
    path = tmp_path / "tagged.txt"
    path.write_text("a B-X B-X\nb I-X I-X\n\nc O O\nd O Z-Q\n")
    ran = run("eval", path, *options)
    assert ran.code == 1
    assert message in ran.err
    assert not any(theirs in ran.err for theirs in ("y_true", "y_pred", "scheme=", "token_report"))


def test_errors_of_two_files_name_the_right_one(run, tmp_path):
    gold, predicted = tmp_path / "gold.txt", tmp_path / "predicted.txt"
    gold.write_text("a N\n")
    predicted.write_text("a B-X\n")
    ran = run("eval", "--gold", gold, "--predicted", predicted)
    assert "gold.txt:1: the true label is 'N'" in ran.err
    ran = run("eval", "--gold", predicted, "--predicted", gold)
    assert "gold.txt:1: the predicted label is 'N'" in ran.err


def test_no_scheme_fits(run, tmp_path):
    path = tmp_path / "odd.txt"
    path.write_text("a E-X S-X\nb I-X I-Y\nc B-X O\n")
    ran = run("eval", path, "--strict")
    assert "odd.txt:1: the true label is 'E-X'" in ran.err
