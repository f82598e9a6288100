"""Explanations: the reasons add up to the difference between the scores of two paths."""

import numpy as np
import pytest
from small_tasks import ADDRESSES

from crfkit import CRF
from crfkit.inference import path_score, scheme_constraints


@pytest.fixture(scope="module", params=[(1, None), (2, None), (1, "w"), (2, {"w": "both"})])
def crf(request):
    order, edges = request.param
    X, y = ADDRESSES
    return CRF(c2=0.1, order=order, edge_attributes=edges, tol=1e-2).fit(X, y)


def test_reasons_add_up_to_the_log_odds(crf):
    X = ADDRESSES[0][:6]
    place = {label: i for i, label in enumerate(crf.classes_)}
    for x, decisions in zip(X, crf.explain(X), strict=True):
        assert [decision.label for decision in decisions] == crf.predict([x])[0]
        lattice = crf.tagger_.lattice(crf.tagger_.encode([x]))
        best = np.array([place[decision.label] for decision in decisions])
        for t, decision in enumerate(decisions):
            other = best.copy()
            other[t] = place[decision.rival]
            difference = path_score(lattice, best)[0] - path_score(lattice, other)[0]
            assert decision.log_odds == pytest.approx(difference, abs=1e-9)
            sizes = [abs(reason.weight) for reason in decision.reasons]
            assert sizes == sorted(sizes, reverse=True)
            assert all(sizes)


def test_probabilities_are_the_marginals(crf):
    X = ADDRESSES[0][:3]
    for decisions, marginals in zip(crf.explain(X), crf.predict_marginals(X), strict=True):
        for decision, row in zip(decisions, marginals, strict=True):
            assert decision.probability == pytest.approx(row[decision.label])
            second = max(p for label, p in row.items() if label != decision.label)
            assert decision.rival_probability == pytest.approx(second)
            assert str(decision).startswith(f"{decision.label} (")


def test_constraints_and_known_labels_count(crf):
    X = ADDRESSES[0][:1]
    forced = crf.classes_[-1]
    known = [[forced, *[None] * (len(X[0]) - 1)]]
    decisions = crf.explain(X, known=known)[0]
    assert decisions[0].label == forced
    assert decisions[0].rival_probability == 0
    legal = crf.explain(X, constraints=scheme_constraints(crf.classes_, "IOB2"))[0]
    assert len(legal) == len(X[0])


def test_one_label_has_no_rival():
    crf = CRF().fit([[["a"], ["b"]]], [["x", "x"]])
    assert [(d.label, d.rival, d.reasons) for d in crf.explain([[["a"]], []])[0]] == [("x", None, [])]


def test_real_values_count():
    X = [[{"up": 2.0}], [{"up": -2.0}], [{"up": 3.0}]]
    crf = CRF(c2=0.1).fit(X, [["a"], ["b"], ["a"]])
    (decision,) = crf.explain([[{"up": 5.0}]])[0]
    features = crf.state_features_
    expected = 5.0 * (features["up", "a"] - features["up", "b"])
    assert [reason.what for reason in decision.reasons] == ["up"]
    assert decision.reasons[0].weight == pytest.approx(expected)
