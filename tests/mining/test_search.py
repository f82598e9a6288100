"""The rules found are exactly those of the definition: against enumeration and pyfim."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mined_data import all_rules, encoded, random_data

from crfkit.exceptions import InputError
from crfkit.mining import mine_rules


def table(rules):
    """Return {(items, label): (support, coverage, rival, margin)}."""
    found = {}
    for rule in rules:
        coverage = round(rule.support / rule.confidence)
        found[frozenset(rule.items), rule.label] = (rule.support, coverage, rule.rival, rule.margin)
    assert len(found) == len(rules)
    return found


@given(
    st.integers(0, 2**32 - 1),
    st.integers(1, 4),
    st.sampled_from([0.01, 0.5, 0.75, 0.9, 1.0]),
    st.integers(1, 3),
    st.integers(0, 3),
    st.booleans(),
    st.one_of(st.none(), st.integers(2, 6)),
    st.integers(1, 3),
)
@settings(max_examples=150, deadline=None)
def test_rules_are_those_of_the_definitions(
    seed, min_support, min_confidence, shortest, more, important, max_support, n_jobs
):
    X, y = random_data(seed)
    lengths = (shortest, shortest + more)
    found = mine_rules(
        *encoded(X, y),
        min_support=min_support,
        max_support=max_support,
        min_confidence=min_confidence,
        lengths=lengths,
        important=important,
        n_jobs=n_jobs,
    )
    expected = {
        key: value
        for key, value in all_rules(X, y, lengths).items()
        if min_support <= value[0] <= (max_support or 10**9)
        and value[0] / value[1] >= min_confidence
        and (not important or value[3] > 0)
    }
    assert table(found) == expected


@given(st.integers(0, 2**32 - 1), st.integers(1, 3), st.sampled_from([0.3, 0.7, 1.0]), st.booleans())
@settings(max_examples=100, deadline=None)
def test_minimal_rules_have_no_part_that_is_as_confident(seed, min_support, min_confidence, important):
    X, y = random_data(seed)
    found = mine_rules(
        *encoded(X, y),
        min_support=min_support,
        min_confidence=min_confidence,
        lengths=(2, 4),
        important=important,
        minimal=True,
    )
    everything = all_rules(X, y, (1, 4))
    expected = {}
    for (lhs, label), value in everything.items():
        support, coverage, _, margin = value
        if len(lhs) < 2 or support < min_support or support / coverage < min_confidence:
            continue
        if important and margin <= 0:
            continue
        parts = [everything[part, label] for part, other in everything if other == label and part < lhs]
        if all(n / c < support / coverage for n, c, *_ in parts):
            expected[lhs, label] = value
    assert table(found) == expected


@given(st.integers(0, 2**32 - 1), st.integers(2, 3), st.sampled_from([50, 80, 100]))
@settings(max_examples=60, deadline=None)
def test_rules_are_those_of_pyfim(seed, min_support, percent):
    fim = pytest.importorskip("fim")
    X, y = random_data(seed)
    labels = sorted({label for labels in y for label in labels})
    transactions = [
        [*items, label] for xs, ys in zip(X, y, strict=True) for items, label in zip(xs, ys, strict=True)
    ]
    theirs = fim.arules(
        transactions,
        supp=-min_support,
        conf=percent,
        zmin=3,
        zmax=4,
        report="aC",
        appear={**dict.fromkeys(labels, "c"), None: "a"},
    )
    found = mine_rules(*encoded(X, y), min_support=min_support, min_confidence=percent / 100, important=False)
    # pyfim bounds the support of the items; this bounds the rule's only if the confidence is 1.
    expected = {
        (frozenset(lhs), label): support for label, lhs, support, _ in theirs if support >= min_support
    }
    assert {key: value[0] for key, value in table(found).items()} == expected


def test_positions_without_a_label_do_not_count():
    X = [[["a", "b"], ["a", "b"], ["a", "b"]]]
    sequences, labels, vocabulary, classes = encoded(X, [["yes", "yes", "no"]])
    labels[2] = -1
    (rule,) = mine_rules(sequences, labels, vocabulary, classes, important=False)
    assert (rule.items, rule.label, rule.support, rule.confidence) == (("a", "b"), "yes", 2, 1.0)


def test_marked_positions_keep_the_rules_that_are_right_there():
    X = [[["a", "b"], ["a", "b"], ["c", "d"], ["c", "d"]]]
    found = mine_rules(
        *encoded(X, [["x", "x", "z", "z"]]),
        important=False,
        marked=np.array([True, False, False, False]),
    )
    (rule,) = found
    assert (set(rule.items), rule.fixes) == ({"a", "b"}, 1)


def test_more_rules_than_allowed_is_an_error():
    with pytest.raises(InputError, match="max_rules=3"):
        mine_rules(*encoded(*random_data(1)), min_support=1, min_confidence=0.1, important=False, max_rules=3)


def test_the_number_of_threads_changes_nothing():
    rng = np.random.default_rng(0)
    X = [[[f"{k}={rng.zipf(1.4)}" for k in range(6)] for _ in range(20)] for _ in range(400)]
    y = [[str(rng.integers(4)) for _ in range(20)] for _ in X]
    one, four = (mine_rules(*encoded(X, y), min_confidence=0.6, n_jobs=n) for n in (1, 4))
    assert len(one) > 1000
    for name in ("first", "items", "labels", "support", "coverage", "rivals", "margins"):
        np.testing.assert_array_equal(getattr(one, name), getattr(four, name))
