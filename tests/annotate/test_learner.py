"""What the learner makes of few, partial and no labels, with and without an earlier model."""

import numpy as np
import pytest

from crfkit import CRF
from crfkit.annotate.learner import Learner, new_model
from crfkit.data import Columns
from crfkit.exceptions import InputError
from crfkit.features.default_features import default_features

NAMES, VERBS = ["Ada", "Bob", "Eve", "Kim"], ["slept", "ran", "sang", "wrote"]


def sentences(n, seed=0):
    rng = np.random.default_rng(seed)
    rows = [[(str(rng.choice(NAMES)),), (str(rng.choice(VERBS)),), (".",)] for _ in range(n)]
    return Columns.from_rows(rows), [["B-PER", "O", "O"]] * n


def learner(scheme="IOB2"):
    return Learner(new_model(default_features([0]), 1), scheme)


def test_learns_from_a_few_sentences():
    model = learner()
    assert not model.has_model
    x, y = sentences(8)
    assert model.fit(x, y)
    found = model.propose(Columns.from_rows([[("Ada",), ("ran",), (".",)]]))
    assert found.labels == ["B-PER", "O", "O"]
    assert min(found.probabilities) > 0.7
    assert model.model.predict(x) == y


def test_no_model_yet():
    x, _ = sentences(1)
    with pytest.raises(InputError, match="there is no model yet"):
        learner().propose(x)


def test_nothing_known_is_nothing_learnt():
    x, _ = sentences(3)
    model = learner()
    assert not model.fit(x, [[None] * 3] * 3)
    assert not model.has_model
    assert model.fit(x, [[None] * 3, ["O"] * 3, [None] * 3])  # one label only is enough to begin with
    assert model.propose(x[:1]).labels == ["O", "O", "O"]


def test_unknown_labels_are_not_learnt_as_labels():
    """The unknown token is often a name: a model that took it for O would not find the name."""
    x, y = sentences(40)
    partial = [[None, "O", "O"] if i % 4 else labels for i, labels in enumerate(y)]
    outside = [["O", "O", "O"] if i % 4 else labels for i, labels in enumerate(y)]
    with_unknown, with_wrong = learner(), learner()
    with_unknown.fit(x, partial)
    with_wrong.fit(x, outside)
    assert with_unknown.model.predict(x) == y
    assert with_wrong.model.predict(x) != y


def test_fits_start_from_the_model_before():
    x, y = sentences(30)
    warm, cold = learner(), learner()
    warm.fit(x[:20], y[:20])
    warm.fit(x, y)
    cold.fit(x, y)
    assert warm.model.objective_ == pytest.approx(cold.model.objective_, rel=1e-3)
    assert warm.model.warm_start


def test_an_earlier_model_is_not_forgotten():
    """What it knows of places stays, though only names are labelled afterwards."""
    places = Columns.from_rows([[("in",), (town,), (".",)] for town in ("Rome", "Oslo", "Lima")] * 5)
    labels = [["O", "B-LOC", "O"]] * 15
    earlier = CRF(extractor=default_features([0]), n_jobs=1, verbose=False).fit(places, labels)
    before = earlier.tagger_
    model = Learner(earlier, "IOB2")
    assert model.has_model
    x, y = sentences(20)
    model.fit(x, y)
    model.fit(x, y)  # twice the same: the earlier model is continued, not the continued one
    once = Learner(earlier, "IOB2")
    once.fit(x, y)
    assert model.model.predict(places) == labels
    assert model.model.predict(x) == y
    assert model.model.state_features_ == once.model.state_features_
    assert earlier.tagger_ is before


def test_proposals_are_legal():
    """Even if labels so far are not: I-PER after O in IOB2."""
    x, _ = sentences(20)
    y = [["O", "I-PER", "O"]] * 10 + [["B-PER", "I-PER", "O"]] * 10
    model = learner()
    model.fit(x, y)
    for i in range(20):
        labels = model.propose(x[i : i + 1]).labels
        assert labels[1] != "I-PER" or labels[0] == "B-PER"
    pairs = learner("IOBES")
    pairs.fit(x, [["B-PER", "I-PER", "E-PER"]] * 20)  # no single token has a legal label: any is shown
    assert len(pairs.propose(Columns.from_rows([[("Ada",)]])).labels) == 1
    only_inside = learner()
    only_inside.fit(x, [["I-PER"] * 3] * 20)  # no legal labelling exists: the model's own is shown
    assert only_inside.propose(x[:1]).labels == ["I-PER"] * 3


def test_uncertainty():
    x, y = sentences(20)
    model = learner()
    model.fit(x, y)
    strange = Columns.from_rows([[("Ada",), ("ran",), (".",)], [("Quux",), ("Zork",), ("Blip",)]])
    known, unknown = model.uncertainty(strange)
    assert 0 <= known < unknown <= 3 * np.log(2)
    assert len(model.uncertainty(x.subset([]))) == 0
