"""Log probabilities of labellings of long sequences, whose probabilities are too small for a float.

The oracle sums over all paths with decimal numbers of 60 digits.
"""

import math
from decimal import Decimal, localcontext
from itertools import pairwise

import numpy as np
import pytest

from crfkit import CRF, Tagger
from crfkit.cli.tag_output import probability_text

LABELS = "PQR"


@pytest.fixture(scope="module")
def model():
    random = np.random.default_rng(0)
    X = [[[f"a{i}" for i in random.integers(6, size=2)] for _ in range(12)] for _ in range(40)]
    y = [["PQR"[i] for i in random.integers(3, size=12)] for _ in X]
    return CRF(c2=0.1, n_jobs=1).fit(X, y)


@pytest.fixture(scope="module")
def long():
    random = np.random.default_rng(1)
    return [[f"a{i}" for i in random.integers(6, size=2)] for _ in range(2000)]


def exact_log_probability(lattice, paths):
    """Return log p of each path [T], from 60 digits."""
    with localcontext(prec=60):
        node = [[Decimal(float(score)) for score in row] for row in lattice.node]
        edge = [[Decimal(float(score)) for score in row] for row in lattice.edge]
        factors = [[score.exp() for score in row] for row in edge]
        alpha = [score.exp() for score in node[0]]
        for row in node[1:]:
            alpha = [
                row[j].exp() * sum(a * factors[i][j] for i, a in enumerate(alpha)) for j in range(len(row))
            ]
        log_z = sum(alpha).ln()
        return [
            float(
                sum(node[t][label] for t, label in enumerate(path))
                + sum(edge[i][j] for i, j in pairwise(path))
                - log_z
            )
            for path in paths
        ]


def test_nbest_of_a_long_sequence(model, long):
    found = model.predict_nbest([long], 5, log=True)[0]
    paths = [[LABELS.index(label) for label in labels] for labels, _ in found]
    lattice, _ = next(model.tagger_.pieces([long]))
    logs = [log for _, log in found]
    np.testing.assert_allclose(logs, exact_log_probability(lattice, paths), rtol=1e-12)
    assert logs == sorted(logs, reverse=True)
    assert logs[0] < -1000
    assert all(type(log) is float for log in logs)
    plain = model.predict_nbest([long], 5)[0]
    assert [labels for labels, _ in plain] == [labels for labels, _ in found]
    assert [p for _, p in plain] == [0.0] * 5  # the reason for log=True


def test_the_tagger_for_one_sequence(model, long, tmp_path):
    model.save(tmp_path / "model")
    found = Tagger(tmp_path / "model").analyse(long)
    expected = model.predict_nbest([long], 3, log=True)[0]
    assert [labels for labels, _ in found.nbest(3, log=True)] == [labels for labels, _ in expected]
    logs = [log for _, log in expected]
    assert [log for _, log in found.nbest(3, log=True)] == pytest.approx(logs, rel=1e-12)
    assert found.probability(log=True) == pytest.approx(logs[0], rel=1e-12)
    assert found.probability(expected[2][0], log=True) == pytest.approx(logs[2], rel=1e-12)
    assert found.probability() == 0.0


def test_short_ones_agree(model, long):
    short = [long[:4], [], long[4:5]]
    logs, plain = model.predict_nbest(short, 4, log=True), model.predict_nbest(short, 4)
    for a, b in zip(logs, plain, strict=True):
        assert [(labels, math.exp(log)) for labels, log in a] == b
    assert logs[1] == [([], 0.0)]


def test_in_words():
    for log in (0.0, -0.5, -9.21):
        assert probability_text(log) == f"{math.exp(log):.6f}"
    for log in (-9.3, -50.0, -700.0):
        assert probability_text(log) == f"{math.exp(log):.6e}"
    with localcontext(prec=40):
        for log in (-745.2, -1234.5, -40_000.25):
            text = probability_text(log)
            assert float(Decimal(text) / Decimal(log).exp()) == pytest.approx(1, abs=1e-6)
    assert probability_text(math.log(10) * -400) == "1.000000e-400"
    assert probability_text(-math.inf) == "0.000000"


def test_the_command(model, long, tmp_path, capsysbinary):
    from crfkit.cli import main

    model.save(tmp_path / "model")
    data = "".join(f"_\t{a}\t{b}\n" for a, b in long)
    (tmp_path / "data.crfsuite").write_text(data, encoding="utf-8")
    expected = [
        f"# {k} {probability_text(log)}"
        for k, (_, log) in enumerate(model.predict_nbest([long], 2, log=True)[0])
    ]
    command = ["tag", str(tmp_path / "model"), str(tmp_path / "data.crfsuite"), "-q", "-j", "1"]
    assert main([*command, "--nbest", "2"]) == 0
    lines = capsysbinary.readouterr().out.decode().splitlines()
    assert [line for line in lines if line.startswith("#")] == expected
    assert main([*command, "--score"]) == 0
    assert capsysbinary.readouterr().out.decode().splitlines()[0] == expected[0].replace("# 0", "#")
