"""Numbers, streams, headers and texts that no one means well: an exit code and words, never a traceback."""

import csv
import io
import os
import shlex
import subprocess
import sys

import pytest
from model_files import rewritten, saved
from refusals import refuses

from crfkit import CRF, KernelCRF
from crfkit.datasets import galaxy
from crfkit.exceptions import InputWarning, ModelFileError
from crfkit.features import Template
from crfkit.inference import Lattice, nbest
from crfkit.io.text_width import visible
from crfkit.mining import AssociationMiner
from crfkit.models.foreign import import_model

from .conftest import as_text, sentences

LARGE = 2**63
X, Y = [[["a", "b"], ["b"]]] * 3, [["A", "B"]] * 3


# ---- numbers


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (f"tag model.crfkit test.txt --nbest {LARGE}", 2, f"{LARGE} is more than 2147483647"),
        (f"tag model.crfkit test.txt --why {LARGE}", 2, "is more than 2147483647"),
        (f"tag model.crfkit test.txt -j {2**32}", 2, "4294967296 is more than 2147483647"),
        ("tag model.crfkit test.txt -j 5000", 1, "n_jobs must be at most 4096 threads, got 5000"),
        (f"train train.txt -m x.crfkit -j {2**32}", 2, "4294967296 is more than"),
        (f"train train.txt -m x.crfkit --seed {10**20}", 2, f"{10**20} is more than {10**18}"),
        ("train train.txt -m x.crfkit --min-freq nan", 1, "min_freq must be a number of at least 0"),
        ("train train.txt -m x.crfkit --c2 1e400", 1, "c2 must be a number"),
        (f"mine train.txt --min-support {LARGE}", 2, "is more than 2147483647"),
        (f"mine train.txt --min-support {'9' * 5000}", 2, "--min-support"),
        ("mine train.txt --max-sets 5 -q", 1, "--max-sets"),
        ("mine train.txt --lengths 99999999999-2", 2, "expected a range such as 2-3"),
        ("mine train.txt --lengths 2-99999999999 --minimal -q", 1, "minimal rules have at most"),
        ("eval test.txt --bootstrap 1e20", 2, "invalid whole number value: '1e20'"),
        (f"eval test.txt --bootstrap {10**20}", 2, "is more than 2147483647"),
        (f"eval test.txt --gold-column {10**30}", 2, "is not between -2147483647 and 2147483647"),
    ],
)
def test_numbers_without_bound(arguments, code, words, run, folder, monkeypatch):
    monkeypatch.chdir(folder)
    ran = run.fails(code, words, *arguments.split())
    assert "Traceback" not in ran.err


def test_large_numbers_that_mean_something(run, folder, tmp_path, monkeypatch):
    monkeypatch.chdir(folder)
    model = tmp_path / "m.crfkit"
    ran = run.ok("train", "train.txt", "-m", model, "--min-freq", "1e300", "--max-iterations", 2)
    assert "no attribute occurs min_freq=1e+300 times" in ran.err
    run.ok("train", "train.txt", "-m", model, "--seed", 10**18, "--max-iterations", 2, "-q")
    ran = run("mine", "train.txt", "--lengths", "4-99999999999", "--min-support", 60, "-t", "/dev/null")
    assert "Traceback" not in ran.err
    miner = AssociationMiner(min_support=10**19, max_support=10**19, lengths=(1, 10**19))
    with pytest.warns(InputWarning, match="no rules were found"):
        miner.fit(X, Y)
    assert (
        AssociationMiner(max_sets=10**19, max_rules=10**19, important=False, min_support=1).fit(X, Y).rules_
    )
    found = nbest(Lattice([[0.0, 1.0]], [[0.0, 0.0], [0.0, 0.0]], [0, 1]), LARGE)
    assert found.labels.tolist() == [1, 0]
    refuses("n_jobs must be at most 4096", CRF(n_jobs=4097).fit, X, Y)


# ---- closed streams


@pytest.mark.skipif(sys.platform == "win32", reason="needs a shell")
@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ("tag model.crfkit - <&-", 1),
        ("train - -m closed.crfkit <&-", 1),
        ("inspect - <&-", 1),
        ("tag model.crfkit test.txt >&-", 1),
        ("eval test.txt --gold-column -1 --predicted-column -1 >&-", 1),
        ("inspect model.crfkit >&-", 1),
        ("--version >&-", 1),
        ("tag --help >&-", 1),
        (">&-", 1),
        ("tag model.crfkit nowhere 2>&-", 1),
        ("tag model.crfkit test.txt -o closed.txt <&- >&- 2>&-", 0),
    ],
)
def test_closed_streams(arguments, code, folder):
    line = f"exec {shlex.quote(sys.executable)} -m crfkit {arguments}"
    done = subprocess.run(
        ["/bin/sh", "-c", line], cwd=folder, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    assert "Traceback" not in done.stderr
    if "2>&-" not in arguments:
        assert "standard input or standard output is closed" in done.stderr


# ---- headers with entries of the wrong type


WRONG = [None, True, -1, 2**62, 0.5, "x", [], {}, [1], {"a": 1}, [[None]]]


def test_headers_of_the_wrong_type(run, folder, tmp_path):
    content = (folder / "model.crfkit").read_bytes()
    bad = tmp_path / "bad.crfkit"
    commands = [["tag", bad, folder / "test.txt", "-q"], ["inspect", bad], ["inspect", bad, "--json"]]
    from crfkit.io.model_file import read_model

    n = 0
    for key in read_model(content)[0]:
        for value in WRONG[n % 3 :: 3]:  # a third of them for each entry: all would take a while
            bad.write_bytes(rewritten(content, {key: value}))
            for command in commands:
                assert run(*command).code in (0, 1), (key, value, command)
        n += 1
    assert n >= 6


@pytest.mark.parametrize("history", [[1], [{"dev_accuracy": "x"}, {"dev_accuracy": 0.5}], [[]]])
def test_a_history_of_something_else(history, run, folder, tmp_path):
    bad = tmp_path / "bad.crfkit"
    bad.write_bytes(rewritten((folder / "model.crfkit").read_bytes(), {"history": history}))
    run.ok("inspect", bad)


def test_a_kind_that_is_no_text(run, folder, tmp_path):
    bad = tmp_path / "bad.crfkit"
    bad.write_bytes(rewritten((folder / "model.crfkit").read_bytes(), {"model": []}))
    run.fails(1, "got []", "tag", bad, folder / "test.txt", "-q")
    run.fails(1, "got []", "inspect", bad)


def test_a_kernel_model_without_columns(run, tmp_path):
    points, arms = galaxy(4, 5, random_state=0)
    content = saved(KernelCRF(n_cliques=2).fit(points, arms))
    (tmp_path / "k.crfkit").write_bytes(rewritten(content, {"width": None, "kernels": []}))
    assert "labels" in run.ok("inspect", tmp_path / "k.crfkit").out
    function = {"kind": "function", "function": "rbf", "gamma": "median", "degree": 3.0, "coef0": 1.0}
    with pytest.raises(ModelFileError, match="its kernel is malformed"):
        KernelCRF.load(rewritten(content, {"kernels": [function]}))


# ---- texts


@pytest.mark.parametrize("encoding", ["hex", "rot13", "zlib", "nowhere", "", "a\0b", 5, None])
def test_encodings_of_something_else_than_text(encoding):
    content = saved_crfsuite()
    refuses("encoding must be the name of a text encoding", import_model, content, encoding=encoding)


def saved_crfsuite() -> bytes:
    file = io.BytesIO()
    CRF(n_jobs=1).fit(X, Y).save_crfsuite(file)
    return file.getvalue()


def test_half_a_surrogate_pair(run, folder, tmp_path):
    (tmp_path / "t").write_bytes(b"U00:%x[0,0]\xed\xa0\x80\n")
    run.fails(
        1,
        "not UTF-8 text",
        "train",
        folder / "train.txt",
        "-m",
        tmp_path / "m",
        "-t",
        tmp_path / "t",
        "-q",
    )
    for text in ("U00:%x[0,0]\ud800", "# \ud800\nU00:%x[0,0]"):
        refuses("surrogate pair, which is not text", Template.parse, text)
        refuses("surrogate pair", CRF(template=text).fit, [[["a"]]], [["A"]])
    content = (folder / "model.crfkit").read_bytes()
    damaged = rewritten(content, {"classes": lambda old: [*old[:-1], "?" * 6]})
    # an escape of JSON can say what UTF-8 cannot
    from zlib import crc32

    size = int.from_bytes(damaged[16:24], "little")
    text = damaged[64 : 64 + size].replace(b"??????", rb"\uD800")
    head = damaged[:12] + crc32(text).to_bytes(4, "little") + damaged[16:60]
    (tmp_path / "bad.crfkit").write_bytes(
        head + crc32(head).to_bytes(4, "little") + text + damaged[64 + size :]
    )
    run.fails(1, "surrogates not allowed", "tag", tmp_path / "bad.crfkit", folder / "test.txt", "-q")


def test_labels_that_no_file_can_hold_are_refused_before_training(tmp_path):
    refuses("integer of more than 20 characters", CRF().fit, X, [[10**21, 1]] * 3)
    refuses("integer of more than 20 characters", CRF(random_state=10**21).fit, X, Y)


def test_weights_that_give_no_scores(tmp_path):
    """They were read, and every prediction refused."""
    content = saved(CRF(n_jobs=1).fit(X, Y))
    with pytest.raises(ModelFileError, match="weights above 1e\\+09 in size"):
        CRF.load(rewritten(content, {"state.weights": lambda w: w + 1e38}))


# ---- terminals


def test_control_characters_become_visible():
    assert visible("a\x1b[31m\x07\t\n\x9b\r\x7fé") == "a\\x1b[31m\\x07\t\n\\x9b\\x0d\\x7fé"
    assert visible("\x1b[1mbold\x1b[0m \x1b[31m", styled=True) == "\x1b[1mbold\x1b[0m \\x1b[31m"


@pytest.mark.skipif(sys.platform == "win32", reason="needs terminals of Unix")
def test_escapes_in_tokens_on_a_terminal(folder, tmp_path):
    import pty

    hostile = "\x1b]0;title\x07\x1b[31mred"
    data = tmp_path / "hostile.txt"
    data.write_text(f"{hostile} NN B-NP\n", encoding="utf-8")
    command = [sys.executable, "-m", "crfkit", "tag", folder / "model.crfkit", data, "-q"]
    piped = subprocess.run(command, capture_output=True, timeout=60, check=True)
    assert hostile.encode() in piped.stdout
    for arguments, words in (
        (command, rb"\x1b]0;title\x07\x1b[31mred"),
        ([*command[:3], "eval", data, "--gold-column", "0", "--predicted-column", "0", "--raw"], b"\\x1b"),
        ([*command[:3], "tag", folder / "model.crfkit", tmp_path / hostile], b"\\x1b[31mred: No such file"),
    ):
        ours, theirs = pty.openpty()
        with subprocess.Popen(arguments, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = read_all(ours)
            process.wait(60)
        os.close(ours)
        assert b"\x1b" not in shown, arguments
        assert b"\x07" not in shown
        assert words in shown, shown


def read_all(descriptor: int) -> bytes:
    """Read a terminal until nobody writes to it any more."""
    content = b""
    while True:
        try:
            piece = os.read(descriptor, 1 << 16)
        except OSError:  # Linux: the other side is closed
            return content
        if not piece:
            return content
        content += piece


# ---- spreadsheets


def table(rows) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    for i, sentence in enumerate(rows):
        if i > 1:
            text.write("\n")
        writer.writerows(sentence)
    return text.getvalue()


def test_cells_that_look_like_formulas(run, tmp_path):
    marks = ["=1+2", "+x", "-7", "@cmd", "'q", '"', "a,b", "plain"]
    rows = [
        [(marks[(i + n) % 8], pos, label) for i, (_, pos, label) in enumerate(sentence)]
        for n, sentence in enumerate(sentences(40))
    ]
    data, model, out = (str(tmp_path / name) for name in ("d.csv", "m.crfkit", "o.csv"))
    text = table([[("word", "pos", "label")], *rows])
    (tmp_path / "d.csv").write_text(text, encoding="utf-8")
    run.ok("train", data, "-m", model, "-q", "--max-iterations", 4)
    run.ok("tag", model, data, "-o", out, "-q")
    tagged = (tmp_path / "o.csv").read_text(encoding="utf-8")
    assert "\n".join(line.rpartition(",")[0] for line in tagged.split("\n")) == text
    assert "accuracy" in run.ok("eval", out, "--raw").out
    run.ok("tag", model, data, "-o", out, "-q", "--spreadsheet-safe")
    safe = (tmp_path / "o.csv").read_text(encoding="utf-8")
    first = {row[0] for row in csv.reader(io.StringIO(safe)) if row}
    assert {"'=1+2", "'+x", "'-7", "'@cmd", "'q", "plain", '"', "a,b"} <= first
    assert not any(cell.startswith(("=", "+", "-", "@")) for cell in first)
    run.ok("convert", data, out, "--spreadsheet-safe", "-q")
    assert "'=1+2," in (tmp_path / "o.csv").read_text(encoding="utf-8")
    run.ok("convert", data, out, "-q")
    assert (tmp_path / "o.csv").read_text(encoding="utf-8") == text
    columns = tmp_path / "d.txt"
    columns.write_text(
        as_text([[("=" + w, p, "+" + y) for w, p, y in s] for s in sentences(20)]), encoding="utf-8"
    )
    (tmp_path / "t").write_text("U0:%x[0,0]\nU1:%x[0,1]\n", encoding="utf-8")
    run.ok(
        "mine", columns, "-t", tmp_path / "t", "--all", "--csv", out, "--spreadsheet-safe", "-q", "--top", 0
    )
    assert ",'+" in (tmp_path / "o.csv").read_text(encoding="utf-8")
