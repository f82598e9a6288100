"""Attributes that score label pairs, and templates, through the estimator."""

import io
import pickle

import numpy as np
import pytest
from refusals import refuses, unreadable
from sklearn.base import clone
from small_tasks import ADDRESSES

from crfkit import CRF
from crfkit.data import Columns, Encoded, Vocabulary, encode
from crfkit.features import Template
from crfkit.features.edge_attributes import EDGE, STATE, attribute_kinds

TEMPLATE = """\
U00:%x[-1,0]
U01:%x[0,0]
U02:%x[0,0]/%x[1,1]
B01:%x[0,1]
B
"""


def switches():
    """Return lamps: "flip" changes the state, "keep" does not. The words do not tell the state itself."""
    rng = np.random.default_rng(0)
    X, y = [], []
    for _ in range(60):
        words = ["start", *rng.choice(["flip", "keep", "wait"], size=rng.integers(1, 12)).tolist()]
        state, states = bool(rng.integers(2)), []
        for word in words:
            state ^= word == "flip"
            states.append("on" if state else "off")
        lamp = "lit" if states[0] == "on" else "dark"
        X.append([[f"first={lamp}"] if t == 0 else [f"edge:{word}"] for t, word in enumerate(words)])
        y.append(states)
    return X, y


X, Y = switches()


@pytest.fixture(scope="module")
def address_rows():
    from crfkit.datasets import addresses

    tokens, labels = addresses(40, random_state=3)
    columns = [[[token, token[:1].lower()] for token in address] for address in tokens]
    return columns, labels


def test_edge_attributes_learn_what_labels_alone_cannot():
    plain = CRF(c2=0.01).fit(X[:40], Y[:40])
    edges = CRF(c2=0.01, edge_attributes="edge:").fit(X[:40], Y[:40])
    assert plain.score(X[40:], Y[40:]) < 0.8
    assert edges.score(X[40:], Y[40:]) == 1.0
    weights = edges.edge_features_
    assert weights["edge:flip", "on", "off"] > 0 > weights.get(("edge:flip", "on", "on"), -1.0)
    assert weights["edge:keep", "off", "off"] > 0
    assert not any(name.startswith("edge:") for name, _ in edges.state_features_)
    assert not plain.edge_features_


def test_both_scores_labels_and_pairs():
    crf = CRF(c2=0.1, edge_attributes={"edge:": "both"}).fit(X, Y)
    assert ("edge:flip", "on") in crf.state_features_
    assert ("edge:flip", "on", "off") in crf.edge_features_


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("algorithm", ["auto", "lbfgs", "sgd"])
def test_every_algorithm_and_order(order, algorithm):
    crf = CRF(c2=0.3, edge_attributes=("edge:",), order=order, algorithm=algorithm, tol=1e-3, random_state=1)
    assert crf.fit(X, Y).score(X, Y) > 0.99
    marginals = crf.predict_marginals(X[:5], as_arrays=True)
    assert all(np.allclose(array.sum(axis=1), 1) for array in marginals)
    best = crf.predict_nbest(X[:5], 2)
    assert [paths[0][0] for paths in best] == crf.predict(X[:5])


def test_l1_drops_pair_features():
    noisy = [
        [[*item, f"edge:noise{i}{t}"] for t, item in enumerate(sequence)] for i, sequence in enumerate(X)
    ]
    crf = CRF(c1=1.0, c2=0, edge_attributes="edge:").fit(noisy, Y)
    assert len(crf.edge_features_) < 40
    assert len(crf.tagger_.index.pair_ids) == len(crf.edge_features_)
    assert crf.score(noisy, Y) > 0.99


def test_everything_survives_the_file(tmp_path):
    crf = CRF(c2=0.05, edge_attributes={"edge:": "edge"}).fit(X, Y)
    crf.save(tmp_path / "model")
    for again in (CRF.load(tmp_path / "model"), pickle.loads(pickle.dumps(crf)), clone(crf).fit(X, Y)):
        assert again.edge_attributes == {"edge:": "edge"}
        assert again.edge_features_ == crf.edge_features_
        assert again.predict(X) == crf.predict(X)
    # a header that describes the pair features wrongly
    buffer = io.BytesIO()
    crf.tagger_.save(buffer, {"params": {"edge_attributes": 7}, "history": [], "objective": 0.0})
    unreadable("edge_attributes", CRF.load, buffer.getvalue())


def test_continuing_with_new_labels():
    crf = CRF(c2=0.01, edge_attributes="edge:").fit(X, Y)
    crf.partial_fit([[["first=dim"], ["edge:flip"]]], [["half", "half"]])
    assert crf.edge_features_["edge:flip", "half", "half"] > 0
    assert crf.score(X, Y) == 1.0
    crf = CRF(c2=0.01, edge_attributes="edge:", warm_start=True).fit(X, Y).fit(X, Y)
    assert crf.n_iter_ <= 3


def test_dev_set_and_all_possible_transitions():
    crf = CRF(c2=0.01, edge_attributes="edge:", all_possible_transitions=True)
    crf.fit(X[:40], Y[:40], X_dev=X[40:], y_dev=Y[40:])
    assert crf.history_[-1]["dev_accuracy"] > 0.99
    assert len(crf.tagger_.index.pair_ids) == 3 * 4


@pytest.mark.parametrize("bad", [7, "", {"x": "node"}, ("a", 3), {"x"}])
def test_bad_edge_attributes_are_refused(bad):
    refuses("edge_attributes must", CRF(edge_attributes=bad).fit, X, Y)


def test_kinds_go_by_prefix_bytes():
    names = ["B", "Bé:x", "Bé:", "b", "", "B\0", "U:B"]
    kinds = attribute_kinds(Vocabulary(names), {"B": "edge", "Bé:": "both"})
    assert kinds.tolist() == [EDGE, EDGE | STATE, EDGE | STATE, STATE, STATE, EDGE, STATE]
    assert attribute_kinds(Vocabulary(names), {}) is None


def test_template_is_the_same_as_its_attributes(address_rows):
    rows, y = address_rows
    template = Template.parse(TEMPLATE)
    items = [template.attributes(sentence) for sentence in rows]
    by_hand = CRF(c2=0.1, edge_attributes="B").fit(items, y)
    for crf, X in (
        (CRF(c2=0.1, template=TEMPLATE), rows),
        (CRF(c2=0.1, template=template), Columns.from_rows(rows)),
    ):
        crf.fit(X, y)
        assert crf.objective_ == pytest.approx(by_hand.objective_, rel=1e-6)
        assert crf.predict(X) == by_hand.predict(items)
        assert crf.edge_features_.keys() == by_hand.edge_features_.keys()


def test_template_goes_into_the_file(address_rows, tmp_path):
    rows, y = address_rows
    crf = CRF(c2=0.1, template=TEMPLATE).fit(rows, y)
    crf.save(tmp_path / "model")
    again = CRF.load(tmp_path / "model")
    assert again.template == Template.parse(TEMPLATE)
    assert again.predict(rows) == crf.predict(rows)
    buffer = io.BytesIO()
    crf.tagger_.save(buffer, {"params": {}, "history": [], "objective": 0.0, "template": {"text": "X"}})
    unreadable("template", CRF.load, buffer.getvalue())


def test_template_without_b_has_no_transitions(address_rows):
    rows, y = address_rows
    crf = CRF(template="U00:%x[0,0]").fit(rows, y)
    assert not crf.transition_features_


def test_slips_are_named(tmp_path):
    with pytest.warns(UserWarning, match="no attribute begins with"):
        CRF(edge_attributes="nosuch:").fit(X, Y)
    (tmp_path / "t").write_text("U:%x[0,0]")
    refuses("is a file", CRF(template=str(tmp_path / "t")).fit, X, Y)


def test_columns_want_a_template(address_rows):
    rows, y = address_rows
    refuses("template", CRF().fit, Columns.from_rows(rows), y)
    refuses("template must be", CRF(template=3).fit, rows, y)


def test_encoded_sequences_are_matched_by_name():
    X, y = ADDRESSES
    vocabulary = Vocabulary()
    encoded = Encoded(encode(X, vocabulary, grow=True), vocabulary)
    crf = CRF(c2=0.1).fit(encoded, y)
    assert crf.objective_ == pytest.approx(CRF(c2=0.1).fit(X, y).objective_, rel=1e-6)
    assert crf.predict(encoded) == crf.predict(X)
    other = Vocabulary(["zzz"])
    part = Encoded(encode(X[:7], other, grow=True), other)
    assert crf.predict(part) == crf.predict(X[:7])
