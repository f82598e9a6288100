"""``crfkit inspect`` against the model itself."""

import json

import numpy as np
import pytest

from crfkit.models.linear.crf import CRF
from crfkit.models.linear.facts import Facts
from crfkit.models.linear.tagger import LinearTagger


@pytest.fixture(scope="module")
def crf(folder):
    return CRF.load(folder / "model.crfkit")


@pytest.fixture(scope="module")
def second(folder):
    """Train a model of order 2 with attributes that score label pairs."""
    X = [[["a", "pair:x"], ["b", "pair:x"], ["c", "pair:y"]]] * 3
    path = folder / "second.crfkit"
    CRF(order=2, edge_attributes="pair:").fit(X, [["A", "B", "C"]] * 3).save(path)
    return path


def test_overview(run, folder, crf):
    out = run("inspect", folder / "model.crfkit").out
    assert f"labels {len(crf.classes_):>19,}\n" in out
    assert f"transitions {len(crf.transition_features_):>14,}  of " in out
    assert f"{crf.objective_:,.2f}  algorithm=auto c2=1.0" in out
    assert f"{crf.n_iter_} iterations" in out.replace("  ", " ")
    assert "trigrams" not in out
    for label in crf.classes_:
        (line,) = [line for line in out.splitlines() if line.startswith(f"  {label} ") and "+" in line]
        _, best = max((w, a) for (a, other), w in crf.state_features_.items() if other == label)
        assert best in line


def test_top(run, folder, crf):
    out = run("inspect", folder / "model.crfkit", "--top", 3, "--label", "B-NP").out
    heading, *lines = out.splitlines()
    weights = sorted(w for (_, label), w in crf.state_features_.items() if label == "B-NP")
    assert heading == "B-NP"
    expected = [*weights[::-1][:3], *[w for w in weights[:3] if w < 0][::-1]]
    assert [float(line.split()[0]) for line in lines] == pytest.approx(expected, abs=1e-4)


def test_json(run, folder, crf):
    found = json.loads(run("inspect", folder / "model.crfkit", "--json").out)
    assert found["labels"] == crf.classes_
    assert found["counts"]["state_features"] == len(crf.tagger_.index.state_labels)
    assert found["training"]["objective"] == crf.objective_
    assert found["data"] == {"columns": 3, "label_column": 2}
    assert found["template"] == crf.tagger_.template.text
    assert {tuple(t["labels"]): t["weight"] for t in found["transitions"]} == crf.transition_features_
    found = json.loads(run("inspect", folder / "model.crfkit", "--json", "--top", 10**6).out)
    state = {
        (f["attribute"], label): f["weight"]
        for label, both in found["features"].items()
        for f in both["positive"] + both["negative"]
    }
    assert state == crf.state_features_


def test_attribute(run, folder, crf):
    out = run("inspect", folder / "model.crfkit", "--attribute", "U002:dog").out
    expected = {label: w for (a, label), w in crf.state_features_.items() if a == "U002:dog"}
    lines = [line.split() for line in out.splitlines()[1:]]
    assert {label: float(w) for label, w in lines} == pytest.approx(expected, abs=1e-4)
    one = json.loads(
        run("inspect", folder / "model.crfkit", "--attribute", "U002:d*", "--label", "I-NP", "--json").out
    )
    assert list(one["attributes"]) == ["U002:dog"]
    assert [f["label"] for f in one["attributes"]["U002:dog"]] == ["I-NP"]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("U002:do", "no attribute 'U002:do'; 1 begin with it: 'U002:dog'"),
        ("KÖLN", "contain it: "),
        ("nothing like it", "no attribute like 'nothing like it'; some of its attributes: "),
        ("Q*", "no attribute like 'Q*'"),
    ],
)
def test_unknown_attribute(name, words, run, folder):
    run.fails(1, words, "inspect", folder / "model.crfkit", "--attribute", name)


def test_unknown_label(run, folder):
    run.fails(1, "no label 'X'; it has B-NP, B-PP", "inspect", folder / "model.crfkit", "--label", "X")


def test_transitions(run, folder, crf):
    heading, *lines = run("inspect", folder / "model.crfkit", "--transitions").out.splitlines()
    assert heading.split() == ["from", "\\", "to", *crf.classes_]
    for line in lines:
        label, *cells = line.split()
        for other, cell in zip(crf.classes_, cells, strict=True):
            weight = crf.transition_features_.get((label, other))
            assert cell == "." if weight is None else float(cell) == pytest.approx(weight, abs=0.005)


def test_template_and_dump(run, folder, crf):
    assert run("inspect", folder / "model.crfkit", "--template").out == crf.tagger_.template.text
    rows = [line.split("\t") for line in run("inspect", folder / "model.crfkit", "--dump").out.splitlines()]
    assert len(rows) == len(crf.state_features_) + len(crf.transition_features_)
    found = {(a, label): float(w) for a, before, label, w in rows if before == "#"}
    assert found == crf.state_features_  # to the last digit
    ran = run("inspect", folder / "model.crfkit", "--dump", "--json")
    assert ran.code == 2


def test_pairs_and_trigrams(run, second):
    out = run("inspect", second).out
    assert "pair features" in out
    assert "trigrams" in out
    assert "→ B → C" in run("inspect", second, "--transitions").out
    assert "pair:y (B → C)" in run("inspect", second, "--label", "C").out
    assert "  B → C " in run("inspect", second, "--attribute", "pair:y").out
    assert "pair:y\tB\tC\t" in run("inspect", second, "--dump").out
    run.fails(1, "has no template", "inspect", second, "--template")


def test_strongest_counts_zeros_neither_way():
    crf = CRF().fit([[["a"], ["b"]]], [["A", "B"]])
    tagger = crf.tagger_
    tagger.weights.state[:] = np.where(np.arange(len(tagger.weights.state)) % 2, 0.0, 1.0)
    facts = Facts(LinearTagger(tagger.classes, tagger.encoder, tagger.index, tagger.weights))
    for_a, against_a = facts.strongest(0, 5)
    assert [f.weight for f in for_a] == [1.0]
    assert against_a == []


def test_damaged_records(run, folder, tmp_path, crf):
    crf.save(tmp_path / "odd.crfkit", record={"data": {"columns": "three", "label_column": 2}})
    run.fails(1, "record of training data is malformed", "inspect", tmp_path / "odd.crfkit", "--json")
    (tmp_path / "cut.crfkit").write_bytes((folder / "model.crfkit").read_bytes()[:5000])
    run.fails(1, "cut off", "inspect", tmp_path / "cut.crfkit")
