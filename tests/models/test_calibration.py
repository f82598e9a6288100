"""Probabilities of segments and calibration, for every estimator of the table."""

import copy
import io
import itertools

import numpy as np
import pytest
from estimators import ESTIMATORS, X, Y, answers, fitted, make
from model_files import saved
from refusals import unreadable

from crfkit import CRF
from crfkit.exceptions import InputError
from crfkit.metrics import segment_outcomes, token_outcomes
from crfkit.models.calibration import Calibration

every = pytest.mark.parametrize("name", ESTIMATORS)
ALL = 3**6  # more labellings than a sequence has
WRONG = [["R" if t % 3 == 0 else label for t, label in enumerate(labels)] for labels in Y]


def runs(labels):
    """Return (start, stop, label) of each run."""
    bounds = [0, *(t for t in range(1, len(labels)) if labels[t] != labels[t - 1]), len(labels)]
    return [(start, stop, labels[start]) for start, stop in itertools.pairwise(bounds)]


def copied(name):
    return copy.deepcopy(fitted(name))


@every
@pytest.mark.parametrize("method", [None, "temperature"])
def test_probabilities_agree_with_all_labellings(name, method):
    model = copied(name).calibrate(X, WRONG, method)
    if method is not None:
        assert 1.05 < model.calibration_.temperature < 13  # the labels are partly wrong: less sure
    predicted = model.predict(X)
    assert predicted == fitted(name).predict(X)
    every_one = model.predict_nbest(X, ALL)
    marginals = model.predict_marginals(X, as_arrays=True)
    for labels, segments, paths, node in zip(
        predicted, model.predict_segments(X), every_one, marginals, strict=True
    ):
        assert [segment[:3] for segment in segments] == runs(labels)
        assert sum(p for _, p in paths) == pytest.approx(1)
        for segment in segments:
            expected = sum(p for path, p in paths if segment[:3] in runs(path))
            assert segment.probability == pytest.approx(expected, rel=1e-8)
        for t, k in np.ndindex(node.shape):
            expected = sum(p for path, p in paths if path[t] == model.classes_[k])
            assert node[t, k] == pytest.approx(expected, abs=1e-9)


@every
def test_isotonic(name):
    model = copied(name).calibrate(X, WRONG, "isotonic")
    assert model.predict(X) == fitted(name).predict(X)
    assert model.predict_nbest(X, 3) == fitted(name).predict_nbest(X, 3)
    p, right = segment_outcomes(WRONG, model.predict_segments(X))
    raw, _ = segment_outcomes(WRONG, fitted(name).predict_segments(X))
    assert p.mean() == pytest.approx(right.mean(), abs=0.1)
    assert abs(p.mean() - right.mean()) < abs(raw.mean() - right.mean())
    assert (np.diff(p[np.argsort(raw)]) >= 0).all()
    for node, before in zip(
        model.predict_marginals(X, as_arrays=True),
        fitted(name).predict_marginals(X, as_arrays=True),
        strict=True,
    ):
        np.testing.assert_allclose(node.sum(axis=1), 1)
        order = np.argsort(before, axis=1)
        assert (np.diff(np.take_along_axis(node, order, axis=1), axis=1) >= 0).all()


@every
@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_files_keep_it_and_fit_removes_it(name, method):
    model = copied(name).calibrate(X, WRONG, method)
    again = type(model).load(saved(model))
    assert answers(again) == answers(model)
    assert again.predict_segments(X) == model.predict_segments(X)
    assert answers(again) != answers(fitted(name))
    assert str(again.calibration_) == str(model.calibration_)
    assert again.calibrate(X, Y, None).calibration_.is_none
    assert answers(again) == answers(fitted(name))
    model.set_params(**make(name).get_params()).fit(X, Y)
    assert model.calibration_.is_none


def test_explanations_and_thresholds():
    model = copied("linear").calibrate(X, WRONG)
    labels = [decision.label for decision in model.explain(X)[0]]
    told = [decision.probability for decision in model.explain(X)[0]]
    first = model.predict_marginals(X)[0]
    assert told == [row[label] for label, row in zip(labels, first, strict=True)]
    segments = model.predict_segments(X)
    kept = model.predict_segments(X, min_probability=0.5)
    assert kept == [[segment for segment in some if segment.probability >= 0.5] for some in segments]


def test_partial_and_unknown_labels():
    plain = copied("linear").calibrate(X, Y)
    gaps = [labels if i else [None, {"P", "Q"}, *labels[2:]] for i, labels in enumerate(Y)]
    partly = copied("linear").calibrate(X, gaps)
    without = copied("linear").calibrate(X[1:], Y[1:])
    assert partly.calibration_ == without.calibration_ != plain.calibration_
    new = copied("linear").calibrate(X, [["new"] * len(labels) for labels in Y])
    assert new.calibration_.temperature > 5  # everything is wrong
    p, right = token_outcomes(Y, copied("linear").calibrate(X, Y, "isotonic").predict_marginals(X))
    assert p.mean() == pytest.approx(right.mean(), abs=0.1)


def test_tagged_labels_with_a_scheme():
    data = [[{"w": w} for w in "abcab"]] * 4
    y = [["S-X", "O", "B-X", "E-X", "O"]] * 4
    model = CRF(c2=0.5).fit(data, y)
    found = model.predict_segments(data[:1])[0]
    assert [segment[:3] for segment in found] == [(0, 1, "X"), (2, 4, "X")]
    model.calibrate(data, y, scheme="IOBES")
    assert model.predict_segments(data[:1], scheme="runs")[0][0][:3] == (0, 1, "S-X")


def test_words_of_errors():
    model = copied("linear")
    with pytest.raises(InputError, match="method must be 'temperature' or 'isotonic', or None"):
        model.calibrate(X, Y, "platt")
    with pytest.raises(InputError, match="X and y must have the same"):
        model.calibrate(X, [])
    with pytest.raises(InputError, match="X and y must have the same sequences"):
        model.calibrate(X, [labels[1:] for labels in Y])
    with pytest.raises(InputError, match="the held-out data has no labels"):
        model.calibrate(X, [[None] * len(labels) for labels in Y])
    with pytest.raises(InputError, match="y must be a list of sequences of labels, got int"):
        model.calibrate(X, 3)


@pytest.mark.parametrize(
    "entry",
    [
        None,
        1.5,
        {"temperature": 0},
        {"temperature": True},
        {"temperature": "1"},
        {"isotonic": [0.5]},
        {"isotonic": {"labellings": [[0], [0]]}},
        {"isotonic": {"tokens": [[0, 1], [1, 0]]}},
    ],
)
def test_malformed_in_a_file(entry):
    model = copied("linear")
    file = io.BytesIO()
    model.save(file, record={"calibration": entry})
    unreadable("its calibration is malformed", CRF.load, file.getvalue())


def test_default_changes_nothing():
    assert Calibration().to_header() == {}
    assert str(Calibration()) == "none"
    assert str(Calibration(1.25)) == "temperature 1.250"
