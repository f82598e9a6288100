"""``crfkit calibrate``, and the segments of ``crfkit tag``."""

import pytest

from crfkit import CRF
from crfkit.metrics import segment_outcomes, threshold_for_precision

from .conftest import as_text, sentences

SURE = "0.966"  # some segments of the test file are above it, some below


@pytest.fixture(scope="module")
def held_out(folder):
    """Return a file whose labels are often wrong, so that calibration has something to do."""
    rows = sentences(40, seed=2)
    noisy = [
        [(w, p, "O" if (i + t) % 4 == 0 else label) for t, (w, p, label) in enumerate(some)]
        for i, some in enumerate(rows)
    ]
    (folder / "noisy.txt").write_text(as_text(noisy), encoding="utf-8")
    return noisy


def segment_lines(found, words):
    return [
        f"{i}\t{start}\t{stop}\t{kind}\t{p:.6f}\t{' '.join(words[i][start:stop])}"
        for i, segments in enumerate(found)
        for start, stop, kind, p in segments
    ]


def test_segments_are_listed(run, folder):
    model, data = CRF.load(folder / "model.crfkit"), sentences(12, seed=1)
    X = [[list(row[:2]) for row in rows] for rows in data]
    words = [[row[0] for row in rows] for rows in data]
    ran = run("tag", folder / "model.crfkit", folder / "test.txt", "--segments", "-q")
    assert ran.out.splitlines() == segment_lines(model.predict_segments(X), words)
    ran = run("tag", folder / "model.crfkit", folder / "words.txt", "--segments", "--min-probability", SURE)
    expected = segment_lines(model.predict_segments(X, min_probability=float(SURE)), words)
    assert 0 < len(expected) < len(segment_lines(model.predict_segments(X), words))
    assert ran.out.splitlines() == expected


def test_unsure_segments_become_outside(run, folder):
    tagged = run("tag", folder / "model.crfkit", folder / "test.txt", "-q").out
    sure = run("tag", folder / "model.crfkit", folder / "test.txt", "-q", "--min-probability", SURE, "--eval")
    lines = list(zip(tagged.splitlines(), sure.out.splitlines(), strict=True))
    changed = [(a, b) for a, b in lines if a != b]
    assert changed
    assert all(b.split("\t")[-1] == "O" and b.split("\t")[:-1] == a.split("\t")[:-1] for a, b in changed)
    kept = sum(line.split("\t")[-1][:1] == "B" for line in sure.out.splitlines())
    assert f"found: {kept} phrases; correct: {kept}." in sure.err
    same = run("tag", folder / "model.crfkit", folder / "test.txt", "-q", "--min-probability", "0")
    assert same.out == tagged


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_calibrate(run, folder, tmp_path, held_out, method):
    out = tmp_path / "calibrated.crfkit"
    data = [folder / "model.crfkit", folder / "noisy.txt"]
    ran = run("calibrate", *data, "-m", out, "--method", method, "--precision", "0.5", "--test", data[1])
    assert ran.code == 0
    X, y = (
        [[pick(row) for row in rows] for rows in held_out] for pick in (lambda r: list(r[:2]), lambda r: r[2])
    )
    expected = CRF.load(data[0]).calibrate(X, y, method)
    model = CRF.load(out)
    assert model.predict_segments(X) == expected.predict_segments(X)
    assert model.history_ == expected.history_
    assert str(model.calibration_) in ran.err
    threshold = threshold_for_precision(*segment_outcomes(y, model.predict_segments(X)), 0.5)
    assert f"{threshold.probability:.4f}" in ran.out
    assert f"{100 * threshold.precision:.2f} %, {100 * threshold.kept:5.1f} %;" in ran.out
    before, after = (float(line.split()[-5]) for line in ran.out.splitlines()[2:4])
    assert after < before / 2
    again = run("calibrate", out, data[1], "-m", tmp_path / "again.crfkit", "--method", method, "-q")
    assert again.code == 0
    assert (tmp_path / "again.crfkit").read_bytes() == out.read_bytes()


def test_unreachable_precision_and_plot(run, folder, tmp_path, held_out):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "reliability.svg"
    options = ["-m", tmp_path / "m.crfkit", "--precision", "1", "--plot", picture, "-q"]
    ran = run("calibrate", folder / "model.crfkit", folder / "noisy.txt", *options)
    assert (ran.code, ran.err) == (0, "")
    assert "100.0 %    no threshold reaches it" in ran.out
    assert picture.read_bytes().startswith(b"<?xml")


def test_wrong_use(run, folder, tmp_path):
    model, data, out = folder / "model.crfkit", folder / "test.txt", tmp_path / "out.crfkit"
    for arguments, code, words in (
        ((data, "-m", out, "--precision", "2"), 2, "--precision must be above 0 and at most 1, got 2"),
        ((data, "-m", "-"), 2, "a model cannot be written to standard output"),
        ((data, "-m", model), 2, "would overwrite the input"),
        ((data, "-m", out, "--plot", "x.gif"), 1, "expected the name of a picture"),
        ((data, "-m", out, "--template", data), 2, "already has a template: leave out --template"),
        (
            (folder / "words.txt", "-m", out),
            1,
            "words.txt: calibration needs true labels, but the data has none",
        ),
    ):
        ran = run("calibrate", model, *arguments)
        assert (ran.code, words in ran.err) == (code, True), ran.err
    assert not out.exists()
    for options, words in (
        (("--min-probability", "1.5"), "--min-probability must be from 0 to 1, got 1.5"),
        (("--segments", "--nbest", "2"), "cannot be combined with --nbest or --why"),
        (("--segments", "--marginals"), "--segments cannot be combined with --marginals"),
        (("--segments", "--blanks"), "--segments cannot be combined with --blanks"),
    ):
        ran = run("tag", model, data, *options)
        assert (ran.code, words in ran.err) == (2, True), ran.err


def test_models_without_outside(run, tmp_path):
    """Plain labels have runs as segments. Without the label O, unsure segments cannot get it."""
    text = "a X\nb X\nc Y\n\nc Y\na X\n\n"
    (tmp_path / "data.txt").write_text(text * 5)
    run("train", tmp_path / "data.txt", "-m", tmp_path / "m.crfkit", "-q")
    ran = run("tag", tmp_path / "m.crfkit", tmp_path / "data.txt", "--min-probability", "0.5")
    assert ran.code == 2
    assert "the model has no such label: combine it with --segments" in ran.err
    ran = run("tag", tmp_path / "m.crfkit", tmp_path / "data.txt", "--segments", "-q")
    assert [line.split("\t")[:4] + line.split("\t")[5:] for line in ran.out.splitlines()[:3]] == [
        ["0", "0", "2", "X", "a b"],
        ["0", "2", "3", "Y", "c"],
        ["1", "0", "1", "Y", "c"],
    ]
