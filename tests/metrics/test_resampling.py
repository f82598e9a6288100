"""Resampling: sums of counts against scoring again, and statistics against theory."""

from functools import partial

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit import metrics
from crfkit.metrics import bootstrap, bootstrap_difference, randomisation_test
from crfkit.metrics.additive import ADDITIVE, additive
from crfkit.metrics.pairs import Pairs

LABELS = ["O", "B-X", "I-X", "B-Y", "I-Y"]

# Every metric that can be resampled, with options.
CASES = [
    *((name, {}) for name in ADDITIVE),
    *(("token_f1", {"average": average}) for average in ("micro", "macro")),
    ("token_f1", {"average": "macro", "labels": ["I-X", "B-Y", "never"]}),
    ("token_f1", {"labels": ["I-X", "B-Y"]}),
    *((name, {"average": "macro"}) for name in ("segment_f1", "strict_segment_f1")),
    *((name, {"average": "weighted"}) for name in ("segment_f1", "strict_segment_f1")),
    ("segment_f1", {"scheme": "IOB2"}),
    ("strict_segment_f1", {"scheme": "IOB1"}),
]


def noisy(rng, y, rate):
    return [[str(rng.choice(LABELS)) if rng.random() < rate else label for label in s] for s in y]


def some_labels(rng, n, length=8):
    return [[str(label) for label in rng.choice(LABELS, size=rng.integers(1, length))] for _ in range(n)]


@pytest.mark.parametrize(("name", "options"), CASES)
@given(seed=st.integers(0, 2**32 - 1))
def test_sums_of_counts_are_scores(name, options, seed):
    """For any draw of sequences, the score from sums of counts equals scoring the draw."""
    rng = np.random.default_rng(seed)
    y_true = some_labels(rng, 6)
    y_pred = noisy(rng, y_true, 0.4)
    summed = additive(name, Pairs.of(y_true, y_pred), options)
    drawn = rng.integers(6, size=6)
    score = getattr(metrics, name)([y_true[i] for i in drawn], [y_pred[i] for i in drawn], **options)
    assert summed.value(summed.counts[drawn].sum(axis=0)) == pytest.approx(score, abs=1e-12)


@pytest.mark.parametrize(("name", "options"), CASES)
def test_own_metrics_and_functions_give_the_same_samples(name, options):
    rng = np.random.default_rng(0)
    y_true = some_labels(rng, 30)
    y_a, y_b = noisy(rng, y_true, 0.2), noisy(rng, y_true, 0.3)
    function = partial(getattr(metrics, name), **options)  # not recognised as a crfkit metric
    one, other = (
        bootstrap(y_true, y_a, metric, n=20, random_state=1, **extra)
        for metric, extra in ((name, options), (function, {}))
    )
    np.testing.assert_allclose(one.samples, other.samples, atol=1e-12)
    assert one.value == pytest.approx(getattr(metrics, name)(y_true, y_a, **options))
    assert (one.low, one.high) == pytest.approx((other.low, other.high))
    for test in (bootstrap_difference, randomisation_test):
        one, other = (
            test(y_true, y_a, y_b, metric, n=20, random_state=1, **extra)
            for metric, extra in ((name, options), (function, {}))
        )
        np.testing.assert_allclose(one.samples, other.samples, atol=1e-12)
        assert one.p_value == other.p_value
        assert one.value == pytest.approx(one.a - one.b)


def test_functions_of_our_own_are_known_by_identity():
    y_true, y_pred = [["A", "B"]] * 5, [["A", "A"]] * 5
    by_name = bootstrap(y_true, y_pred, "token_accuracy", n=5, random_state=0)
    by_function = bootstrap(y_true, y_pred, metrics.token_accuracy, n=5, random_state=0)
    assert by_name.samples.tolist() == by_function.samples.tolist() == [0.5] * 5


def test_intervals_cover():
    """A 90 % interval for a proportion contains the truth about 90 % of the time."""
    rng = np.random.default_rng(0)
    held = 0
    for k in range(200):
        right = rng.random(150) < 0.8
        y_true = [["A"]] * 150
        y_pred = [["A"] if one else ["B"] for one in right]
        found = bootstrap(y_true, y_pred, "sequence_accuracy", n=300, confidence=0.9, random_state=k)
        held += found.low <= 0.8 <= found.high
    assert 168 <= held <= 192  # binomial(200, 0.9): 180 ± 2.8 standard deviations


def test_spread_is_the_standard_error():
    rng = np.random.default_rng(0)
    y_true = [["A"] * 4] * 400
    y_pred = [
        ["A" if rng.random() < 0.7 else "B"] * 4 for _ in range(400)
    ]  # sentences all right or all wrong
    p = metrics.token_accuracy(y_true, y_pred)
    by_sequence = bootstrap(y_true, y_pred, "token_accuracy", n=2000, random_state=0).samples.std()
    assert by_sequence == pytest.approx(np.sqrt(p * (1 - p) / 400), rel=0.06)
    by_token = bootstrap(
        y_true, y_pred, "token_accuracy", n=2000, level="token", random_state=0
    ).samples.std()
    assert by_token == pytest.approx(np.sqrt(p * (1 - p) / 1600), rel=0.06)


@pytest.mark.parametrize("options", [{"average": "macro"}, {"labels": ["B-X", "I-X"]}, {}])
def test_tokens_as_units(options):
    """Drawing tokens equals drawing from sequences of one token."""
    rng = np.random.default_rng(0)
    y_true = some_labels(rng, 200)
    y_a, y_b = noisy(rng, y_true, 0.2), noisy(rng, y_true, 0.3)
    apart = [[[label] for sequence in y for label in sequence] for y in (y_true, y_a, y_b)]
    for test, sides in ((bootstrap, 2), (bootstrap_difference, 3), (randomisation_test, 3)):
        together = test(
            *(y_true, y_a, y_b)[:sides], "token_f1", level="token", n=2000, random_state=0, **options
        )
        single = test(*apart[:sides], "token_f1", n=2000, random_state=1, **options)
        assert together.value == pytest.approx(single.value)
        assert together.samples.mean() == pytest.approx(single.samples.mean(), abs=0.004)
        assert together.samples.std() == pytest.approx(single.samples.std(), rel=0.1)


def test_p_values_are_uniform_when_taggers_are_alike():
    rng = np.random.default_rng(0)
    found = {bootstrap_difference: [], randomisation_test: []}
    for k in range(150):
        y_true = some_labels(rng, 60)
        y_a, y_b = noisy(rng, y_true, 0.2), noisy(rng, y_true, 0.2)
        for test, p_values in found.items():
            p_values.append(test(y_true, y_a, y_b, n=200, random_state=k).p_value)
    for p_values in found.values():
        assert scipy.stats.kstest(p_values, "uniform").pvalue > 0.001


@pytest.mark.parametrize("test", [bootstrap_difference, randomisation_test])
def test_a_better_tagger_is_found_better(test):
    rng = np.random.default_rng(0)
    y_true = some_labels(rng, 300)
    y_a, y_b = noisy(rng, y_true, 0.05), noisy(rng, y_true, 0.25)
    result = test(y_true, y_a, y_b, random_state=0)
    assert result.value > 0.1
    assert result.p_value == 1 / 1001  # none of the samples is as extreme
    assert test(y_true, y_b, y_a, random_state=0).value == -result.value
    same = test(y_true, y_a, y_a, random_state=0)
    assert (same.value, same.p_value) == (0.0, 1.0)


def test_randomisation_against_all_swappings():
    """With 10 sequences all 1,024 swappings can be tried."""
    rng = np.random.default_rng(3)
    y_true = some_labels(rng, 10)
    y_a, y_b = noisy(rng, y_true, 0.15), noisy(rng, y_true, 0.35)
    result = randomisation_test(y_true, y_a, y_b, n=20_000, random_state=0)
    beyond = 0
    for code in range(1024):
        swapped = [code >> i & 1 for i in range(10)]
        a = [y_b[i] if s else y_a[i] for i, s in enumerate(swapped)]
        b = [y_a[i] if s else y_b[i] for i, s in enumerate(swapped)]
        difference = metrics.segment_f1(y_true, a) - metrics.segment_f1(y_true, b)
        beyond += abs(difference) >= abs(result.value) - 1e-12
    assert result.p_value == pytest.approx(beyond / 1024, abs=0.012)


def test_random_state_decides():
    y_true = [["A"], ["B"], ["A", "B"]] * 5
    y_pred = [["A"], ["A"], ["A", "B"]] * 5

    def samples(state):
        return bootstrap(y_true, y_pred, "token_accuracy", n=30, random_state=state).samples.tolist()

    assert samples(1) == samples(1) == samples(np.random.default_rng(1))
    assert samples(1) != samples(2)


def test_as_tables():
    y = [["B-X"]] * 4
    assert str(bootstrap(y, y, n=10)).splitlines() == [
        "score      low    high  confidence",
        "1.0000  1.0000  1.0000        95 %",
        "",
        "10 resamples",
    ]
    assert str(bootstrap_difference(y, y, y, n=10)).splitlines()[:2] == [
        "a            b    a - b      low     high  confidence  p",
        "1.0000  1.0000  +0.0000  +0.0000  +0.0000        95 %  1",
    ]
    assert str(randomisation_test(y, y, y, n=10)).splitlines()[:2] == [
        "a            b    a - b  p",
        "1.0000  1.0000  +0.0000  1",
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "f1"}, "metric must be a function, or one of token_accuracy, .*; got 'f1'"),
        ({"n": 0}, "n, the number of samples, must be a whole number above 0; got 0"),
        ({"n": 1.5}, "whole number above 0; got 1.5"),
        ({"confidence": 95}, "confidence must be between 0 and 1, got 95"),
        ({"level": "token"}, "level='token' is only for token_accuracy and token_f1, not for 'segment_f1'"),
        ({"level": "word"}, "level must be 'sequence' or 'token', got 'word'"),
        ({"averages": "macro"}, "segment_f1 takes the options scheme, average, not 'averages'"),
        ({"average": "max"}, "average must be 'macro', 'weighted' or 'micro', got 'max'"),
        ({"metric": "token_accuracy", "scheme": "IOB2"}, "token_accuracy takes no options, not 'scheme'"),
        ({"scheme": "IOC"}, "scheme must be one of"),
    ],
)
def test_errors(options, message):
    refuses(message, bootstrap, [["O"]], [["O"]], **options)


def test_errors_name_the_tagger():
    refuses(r"y_b\[0\] is 'O', but each sequence", bootstrap_difference, [["O"]], [["O"]], ["O"])
    refuses(r"y_b\[0\]\[0\] is 'noun'", bootstrap_difference, [["O"]], [["O"]], [["noun"]])
    refuses("no sequences", bootstrap, [], [])
    refuses("no tokens", bootstrap, [[]], [[]], "token_accuracy", level="token")
