"""``tag`` and ``inspect`` with the model of a KernelCRF."""

import json

import numpy as np
import pytest

from crfkit import KernelCRF
from crfkit.datasets import gaussian_mixtures


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Write a model, and a file of two columns of numbers and one of labels."""
    folder = tmp_path_factory.mktemp("kernel")
    X, y = gaussian_mixtures(20, 8, random_state=0)
    y = [[f"s{label}" for label in labels] for labels in y]
    model = KernelCRF(n_cliques=20, per_round=5, cliques="vertex+edge", boundary_gain=1.0).fit(X[:12], y[:12])
    model.save(folder / "m.crfkit")
    held = [
        "".join(f"{a!r} {b!r} {label}\n" for (a, b), label in zip(x.tolist(), labels, strict=True))
        for x, labels in zip(X[12:], y[12:], strict=True)
    ]
    (folder / "held.txt").write_text("\n".join(held), encoding="utf-8")
    return folder, model, X[12:]


def labels_of(text):
    return [[line.split()[-1] for line in block.splitlines()] for block in text.strip().split("\n\n")]


def test_tag_says_what_predict_says(place, run):
    folder, model, X = place
    done = run.ok("tag", folder / "m.crfkit", folder / "held.txt", "-q")
    assert labels_of(done.out) == model.predict(X)
    done = run("tag", folder / "m.crfkit", folder / "held.txt", "-q", "--posterior")
    assert labels_of(done.out) == model.predict_posterior(X)


def test_why(place, run):
    folder, model, X = place
    done = run.ok("tag", folder / "m.crfkit", folder / "held.txt", "-q", "--why", 2)
    found = [line.split("\t") for line in done.out.splitlines() if line]
    decisions = [decision for sequence in model.explain(X) for decision in sequence]
    assert [row[3] for row in found] == [label for labels in model.predict(X) for label in labels]
    for row, decision in zip(found, decisions, strict=True):
        reasons = [f"{reason.what} {reason.weight:+.2f}" for reason in decision.reasons[:2]]
        assert row[3:] == [
            *(decision.label, f"{decision.probability:.6f}"),
            *(decision.rival, f"{decision.rival_probability:.6f}"),
            *reasons,
        ]
        assert reasons[0].startswith(("sequence ", "clique ", "s", "bias"))


def test_cells_that_are_no_numbers(place, run):
    folder, _, _ = place
    done = run("tag", folder / "m.crfkit", "-", "-q", "--label-column", "none", stdin="0.5 1\n0.5 word\n")
    assert done.code != 0
    assert "expected a finite number in column 1, got 'word'" in done.err


def test_inspect(place, run):
    folder, model, _ = place
    done = run.ok("inspect", folder / "m.crfkit")
    assert "kernel CRF" in done.out
    assert "the first of 20 cliques" in done.out
    assert "from \\ to" in done.out
    found = json.loads(run("inspect", folder / "m.crfkit", "--json").out)
    np.testing.assert_allclose(found["transitions"], model.transitions_)
    assert len(found["cliques"]) == 20
    assert len(run("inspect", folder / "m.crfkit", "--dump").out.splitlines()) == 20
    assert "s1" in run("inspect", folder / "m.crfkit", "--label", "s1", "--top", 3).out
    assert run("inspect", folder / "m.crfkit", "--label", "nothing").code != 0
    assert run("inspect", folder / "m.crfkit", "--attribute", "x").code != 0
