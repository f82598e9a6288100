"""Reliability, isotonic regression, thresholds: against sums by hand, scikit-learn, and brute force."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from crfkit.exceptions import InputError
from crfkit.metrics import (
    brier_score,
    expected_calibration_error,
    reliability,
    segment_outcomes,
    threshold_for_precision,
    token_outcomes,
)
from crfkit.metrics.isotonic import IsotonicMap


def test_reliability() -> None:
    p, right = [0.05, 0.55, 0.65, 0.95, 1.0], [0, 1, 0, 1, 1]
    table = reliability(p, right, n_bins=2)
    assert table.counts.tolist() == [1, 4]
    np.testing.assert_allclose(table.probability, [0.05, 0.7875])
    np.testing.assert_allclose(table.accuracy, [0, 0.75])
    assert table.ece == pytest.approx((0.05 + 4 * 0.0375) / 5)
    assert expected_calibration_error(p, right, n_bins=2) == table.ece
    assert table.brier == pytest.approx((0.05**2 + 0.45**2 + 0.65**2 + 0.05**2) / 5)
    assert "0.500–1.000         4   0.788   0.750" in str(table)
    by_count = reliability(p, right, n_bins=2, binning="count")
    assert by_count.counts.tolist() == [3, 2]
    np.testing.assert_allclose(by_count.edges, [0.05, 0.95, 1.0])


def test_plot() -> None:
    pytest.importorskip("matplotlib")
    ax = reliability([0.2, 0.9], [False, True]).plot(label="before")
    reliability([0.3, 0.9], [False, True]).plot(ax, label="after")
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "before: ECE 0.150",
        "after: ECE 0.200",
    ]
    assert len(ax.lines) == 3


def test_isotonic_regression() -> None:
    rng = np.random.default_rng(0)
    p = np.round(rng.random(300), 2)
    right = rng.random(300) < p**2
    found = IsotonicMap.fit(p, right)
    expected = IsotonicRegression().fit(p, right).predict(p)
    np.testing.assert_allclose(found(p), expected, atol=1e-12)
    assert (np.diff(found.x) > 0).all()
    assert (np.diff(found.y) >= 0).all()
    assert found(np.array([0.0]))[0] == 0
    again = IsotonicMap.of_lists(found.to_lists())
    assert again is not None
    assert np.array_equal(again(p), found(p))
    for points in (
        None,
        [],
        [[0, 1], [1, 0]],
        [[0, 2], [0, 1]],
        [[1, 0], [0, 1]],
        [["x"], [1]],
        [[0], [0, 1]],
    ):
        assert IsotonicMap.of_lists(points) is None


@pytest.mark.parametrize("precision", [0.5, 0.8, 0.95, 1.0])
def test_threshold(precision: float) -> None:
    rng = np.random.default_rng(1)
    p = np.round(rng.random(400), 2)
    right = rng.random(400) < p
    found = threshold_for_precision(p, right, precision, confidence=0.5)
    reached = [t for t in np.unique(p) if right[p >= t].mean() >= precision]
    assert (found is None) == (not reached)
    if found is not None:
        kept = p >= found.probability
        assert found.probability == min(reached)
        assert found[1:] == (right[kept].mean(), kept.mean(), right[kept].sum() / right.sum())
        safer = threshold_for_precision(p, right, precision)
        assert safer is None or safer.probability >= found.probability


def test_thresholds_hold_on_other_data() -> None:
    """Of many pairs of held-out and test data, about nine in ten reach the precision of the test data."""
    rng = np.random.default_rng(2)
    reached = []
    for _ in range(300):
        p = rng.beta(4, 1, 500)
        found = threshold_for_precision(p, rng.random(500) < p, 0.9)
        assert found is not None
        true = rng.beta(4, 1, 20_000)
        reached.append(true[true >= found.probability].mean() >= 0.9)
    assert np.mean(reached) > 0.85


def test_outcomes() -> None:
    y = [["B-X", "I-X", "O"], ["B-Y", "O", "B-X"]]
    found = [[(0, 2, "X", 0.9)], [(0, 1, "X", 0.4), (2, 3, "X", 0.6)]]
    p, right = segment_outcomes(y, found)
    assert (p.tolist(), right.tolist()) == ([0.9, 0.4, 0.6], [True, False, True])
    p, right = token_outcomes([["A", None, "B"]], [[{"A": 0.7, "B": 0.3}, {"A": 1.0}, {"A": 0.6, "B": 0.4}]])
    assert (p.tolist(), right.tolist()) == ([0.7, 0.6], [True, False])


def test_words_of_errors() -> None:
    for function in (reliability, brier_score):
        with pytest.raises(InputError, match="no predictions"):
            function([], [])
        with pytest.raises(InputError, match=r"from 0 to 1, got 1\.5"):
            function([1.5], [True])
        with pytest.raises(InputError, match="got shapes"):
            function([0.5], [True, False])
        with pytest.raises(InputError, match="True or False"):
            function([0.5], [2])
    with pytest.raises(InputError, match="n_bins must be"):
        reliability([0.5], [True], n_bins=0)
    with pytest.raises(InputError, match="binning must be"):
        reliability([0.5], [True], binning="x")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="precision must be"):
        threshold_for_precision([0.5], [True], 0)
    with pytest.raises(InputError, match="confidence must be"):
        threshold_for_precision([0.5], [True], 0.9, confidence=1)
    with pytest.raises(InputError, match="y has 1 sequences, but segments were given for 0"):
        segment_outcomes([["O"]], [])
    with pytest.raises(InputError, match="the same sequences"):
        token_outcomes([["O"]], [])
