"""Which features a linear CRF has, against counting in plain Python."""

import math
import tracemalloc
from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit import CRF
from crfkit.data.encode import encode
from crfkit.data.labels import encode_labels, label_set
from crfkit.data.vocabulary import Vocabulary
from crfkit.features.index import FeatureIndex, build_index

LABELS = st.sampled_from(["a", "b", "c", None, frozenset("ab"), frozenset("abc")])
ITEMS = st.lists(st.sampled_from("uvwxyz"), unique=True, max_size=4)
DATA = st.lists(st.lists(st.tuples(ITEMS, LABELS), max_size=5), min_size=1, max_size=5)


def counted(data, order, n_labels):
    """Return counters of (attribute, label) and of label runs."""

    def choices(label):
        if label is None:
            return ()
        if isinstance(label, frozenset):
            return () if len(label) == n_labels else sorted(label)
        return (label,)

    state, runs = Counter(), Counter()
    for sequence in data:
        for items, label in sequence:
            state.update((item, one) for item in items for one in choices(label))
        for span in range(2, order + 2):
            for t in range(span - 1, len(sequence)):
                runs.update(product(*(choices(label) for _, label in sequence[t - span + 1 : t + 1])))
    return state, runs


def read(index: FeatureIndex, names, classes):
    attributes = np.repeat(np.arange(index.n_attributes), np.diff(index.state_indptr))
    state = {(names[a], classes[label]) for a, label in zip(attributes, index.state_labels, strict=True)}
    runs = {tuple(classes[i] for i in place) for place in np.argwhere(index.edges)}
    runs |= {tuple(classes[i] for i in run if i >= 0) for run in index.ngrams.tolist()}
    return state, runs


@given(DATA, st.sampled_from([0, 1, 1.5, 2, 3]), st.integers(1, 2))
def test_features_are_those_seen_often_enough(data, min_freq, order):
    X = [[items for items, _ in sequence] for sequence in data]
    y = [[label for _, label in sequence] for sequence in data]
    classes = label_set(y)
    if not classes:
        return
    vocabulary = Vocabulary()
    sequences = encode(X, vocabulary, grow=True)
    labels = encode_labels(y, classes, sequences.offsets)
    index = build_index(sequences, labels, len(classes), order=order, min_freq=min_freq)
    least = max(1, math.ceil(min_freq))
    state, runs = (
        {key for key, n in counter.items() if n >= least} for counter in counted(data, order, len(classes))
    )
    assert read(index, vocabulary.strings(), classes) == (state, runs)
    assert index.n_features == len(state) + len(runs)
    assert index.order == order
    keys = index.state_keys()
    assert (np.diff(keys) > 0).all()

    everything = build_index(
        sequences,
        labels,
        len(classes),
        order=order,
        min_freq=min_freq,
        all_possible_states=True,
        all_possible_transitions=True,
    )
    L = len(classes)
    assert everything.n_features == len(vocabulary) * L + L**2 + (L**3 if order == 2 else 0)


def test_transitions_do_not_cross_sequences():
    sequences = encode([[["x"], ["x"]], [["x"]], [], [["x"]]], Vocabulary(), grow=True)
    labels = encode_labels([["a", "b"], ["c"], [], ["a"]], ["a", "b", "c"], sequences.offsets)
    index = build_index(sequences, labels, 3, order=2)
    assert np.argwhere(index.edges).tolist() == [[0, 1]]
    assert index.ngrams.shape == (0, 3)


def test_union():
    small = FeatureIndex(2, np.array([0, 1, 1]), np.array([1], np.int32), np.eye(2, dtype=bool))
    more = small.union(np.array([0, 1, 3]), ~np.eye(2, dtype=bool), small.ngrams, np.array([], np.int64))
    assert more.state_keys().tolist() == [0, 1, 3]
    assert more.state_indptr.tolist() == [0, 2, 3]
    assert more.state_labels.tolist() == [0, 1, 1]
    assert more.state_labels.dtype == np.int32
    assert more.edges.all()
    assert small.n_features == 3
    assert more.n_features == 7


def test_union_keeps_trigrams():
    rows = np.array([[0, 1, 0]], np.int32)
    index = FeatureIndex(2, np.array([0]), np.array([], np.int32), np.zeros((2, 2), bool), rows)
    other = np.array([[1, 1, 1], [0, 1, 0]], np.int32)
    union = index.union(np.array([], np.int64), np.zeros((2, 2), bool), other, np.array([], np.int64))
    assert len(union.ngrams) == 2
    assert union.n_features == 2


def test_frequency_counts_presence_not_value():
    sequences = encode([[{"x": 5.0}, {"x": 0.1, "y": -7.0}]], Vocabulary(), grow=True)
    labels = encode_labels([["a", "a"]], ["a"], sequences.offsets)
    assert build_index(sequences, labels, 1, min_freq=2).state_keys().tolist() == [0]
    assert build_index(sequences, labels, 1, min_freq=3).n_features == 0


@pytest.mark.parametrize("part", [1, 40, 200])
def test_counting_in_parts_gives_the_same_features(part):
    from crfkit import _native

    random = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(random.integers(0, 6, 300))])
    indices = random.integers(0, 9, indptr[-1]).astype(np.int32)
    labels = random.integers(-1, 4, 300).astype(np.int32)
    allowed = random.integers(0, 2, (300, 4)).astype(np.uint8)
    kinds = (np.arange(9) % 4 > 0).astype(np.uint8)
    for rows, counts in ((None, None), (allowed, None), (allowed, kinds)):
        arguments = (indptr, indices, labels, rows, 9, 4, 20, counts)
        whole, parts = _native.state_features(*arguments), _native.state_features(*arguments, part)
        for a, b in zip(whole, parts, strict=True):
            np.testing.assert_array_equal(a, b)
        has = np.diff(whole[0]) > 0
        assert has[kinds > 0].any()
        assert has[kinds == 0].any() == (counts is None)


def test_native_bounds_are_checked():
    from crfkit import _native

    args = (np.array([0, 1]), np.array([0], np.int32), np.array([0], np.int32), None, 1, 1, 1)
    assert [a.tolist() for a in _native.state_features(*args)] == [[0, 1], [0]]
    for place, bad in [
        (0, np.array([0, 2])),
        (1, np.array([1], np.int32)),
        (1, np.array([-1], np.int32)),
        (2, np.array([1], np.int32)),
        (2, np.array([-2], np.int32)),
        (3, np.zeros((1, 2), np.uint8)),
    ]:
        changed = [*args[:place], bad, *args[place + 1 :]]
        with pytest.raises(ValueError, match=r"range|fit|must be"):
            _native.state_features(*changed)


@pytest.mark.parametrize(
    ("n", "order", "message"), [(33_000, 1, "at most 32768 labels"), (300, 2, "27,000,000 weights")]
)
def test_too_many_labels_are_refused_before_their_pairs_are_laid_out(n, order, message):
    """33,000 labels asked for 8.1 GiB before the limit was checked."""
    labels = [str(i) for i in range(n)]
    model = CRF(order=order, all_possible_transitions=True)
    tracemalloc.start()
    try:
        refuses(message, model.fit, [[["a"]] * n], [labels])
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("order", [1, 2])
def test_blocks_of_open_runs_add_up(monkeypatch, order):
    rng = np.random.default_rng(0)
    y = [
        [set(rng.choice(list("ABCD"), 2)) if rng.random() < 0.7 else None for _ in range(9)] for _ in range(9)
    ]
    sequences = encode([[["a"]] * 9] * 9, Vocabulary(), grow=True)
    labels = encode_labels(y, list("ABCD"), sequences.offsets)
    whole = build_index(sequences, labels, 4, order=order, min_freq=7)
    monkeypatch.setattr("crfkit.features.index._BLOCK", 50)
    pieces = build_index(sequences, labels, 4, order=order, min_freq=7)
    assert 0 < whole.edges.sum() < 16
    assert np.array_equal(whole.edges, pieces.edges)
    assert np.array_equal(whole.ngrams, pieces.ngrams)
