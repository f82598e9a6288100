"""Constraints from schemes and from data: every decoded labelling is legal, or was seen in the data."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lattices import SETTINGS, big_lattice
from refusals import refuses
from spelling import SCHEMES, alphabet, legal_sequences

from crfkit.data import repair_labels
from crfkit.exceptions import NoPathError
from crfkit.inference import (
    Constraints,
    Lattice,
    constrain,
    forced_labels,
    log_partition,
    max_marginal,
    nbest,
    sample,
    scheme_constraints,
    seen_constraints,
    viterbi,
)
from crfkit.metrics import illegal_places


def by_sequence(labels, ids, offsets):
    return [[labels[i] for i in ids[a:b]] for a, b in pairwise(offsets)]


@st.composite
def settings_of_a_model(draw):
    """Draw a scheme, its labels in some order (with or without O), and a lattice of random scores."""
    scheme = draw(st.sampled_from(SCHEMES))
    labels = draw(st.permutations(alphabet(scheme)))
    lengths = draw(st.lists(st.integers(0, 12), min_size=1, max_size=4))
    lattice = big_lattice(
        lengths,
        len(labels),
        draw(st.sampled_from([1, 2])),
        per_position=draw(st.booleans()),
        scale=draw(st.sampled_from([1.0, 30.0])),
        seed=draw(st.integers(0, 2**32 - 1)),
    )
    return scheme, list(labels), lattice


@SETTINGS
@given(settings_of_a_model(), st.randoms(use_true_random=False))
def test_what_is_decoded_is_legal(model, random):
    scheme, labels, lattice = model
    legal = constrain(lattice, scheme_constraints(labels, scheme))
    best = by_sequence(labels, viterbi(legal).labels, lattice.offsets)
    assert illegal_places(best, scheme) == []
    for labelling in sample(legal, 3, random_state=0):
        assert illegal_places(by_sequence(labels, labelling, lattice.offsets), scheme) == []
    top = nbest(legal, 4)
    for i in range(lattice.n_sequences):
        paths = [[labels[k] for k in path] for path in top.paths_of(i)]
        assert illegal_places(paths, scheme) == []
    # Some labels of a legal labelling are known: decoding fills in the rest legally.
    truth = repair_labels([[random.choice(labels) for _ in y] for y in best], scheme)
    place = {label: k for k, label in enumerate(labels)}
    known = np.array(
        [place[label] if random.random() < 0.4 else -1 for y in truth for label in y], dtype=np.int64
    )
    filled = viterbi(constrain(legal, forced_labels(known, len(labels)))).labels
    np.testing.assert_array_equal(filled[known >= 0], known[known >= 0])
    assert illegal_places(by_sequence(labels, filled, lattice.offsets), scheme) == []


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_legal_labelling_is_permitted(scheme, order):
    """With scores of 0, Z is the number of permitted labellings."""
    labels = alphabet(scheme)
    lattice = big_lattice([0, 1, 2, 3, 4], len(labels), order, scale=0.0)
    flat = constrain(
        type(lattice)(lattice.node, lattice.edge, lattice.offsets, edge2=lattice.edge2),
        scheme_constraints(labels, scheme),
    )
    expected = [len(legal_sequences(n, scheme)) for n in range(5)]
    np.testing.assert_allclose(np.exp(log_partition(flat)), expected, rtol=1e-9)


def test_constraints_combine():
    labels = ["O", "B-X", "I-X"]
    both = scheme_constraints(labels, "IOB2") & Constraints(ends=np.array([True, False, True]))
    assert both.ends.tolist() == [True, False, True]
    assert both.starts.tolist() == [True, True, False]
    lattice = big_lattice([1], 3)
    assert viterbi(constrain(lattice, both)).labels.tolist() == [0]


@pytest.mark.parametrize(
    ("labels", "scheme"),
    [
        (["O", "B-X", "I-X"], "IOB2"),
        (["O", "B-X", "I-X", "I-Y"], "IOB1"),
        (["O", "E-X", "I-X"], "IOE2"),
        (["O", "B-X", "E-X"], "IOBES"),
        (["O", "U-X"], "BILOU"),
    ],
)
def test_the_scheme_of_labels(labels, scheme):
    found, named = scheme_constraints(labels), scheme_constraints(labels, scheme)
    np.testing.assert_array_equal(found.transitions, named.transitions)
    np.testing.assert_array_equal(found.starts, named.starts)
    np.testing.assert_array_equal(found.ends, named.ends)


def test_labels_without_use_can_be_forbidden():
    labels = ["O", "B-X", "I-X", "I-Y"]
    legal = scheme_constraints(labels, "IOB2", unusable="forbid")
    lattice = big_lattice([1, 5, 9], 4)
    assert 3 not in viterbi(constrain(lattice, legal)).labels
    assert not legal.transitions[3].any()
    assert not legal.transitions[:, 3].any()


@pytest.mark.parametrize(
    ("labels", "options", "message"),
    [
        (
            ["O", "I-X"],
            {"scheme": "IOB2"},
            "scheme IOB2 has 'I-X': the labels that must .*; these labels fit IOB1 and IOE1",
        ),
        (["O", "B-X", "I-X"], {"scheme": "IOBES"}, "IOBES has 'B-X', 'I-X'.*fit IOB2.*unusable='forbid'"),
        (["I-X"], {"scheme": "IOB2", "unusable": "forbid"}, "IOB2 has 'I-X'"),
        (["I-X", "E-X", "S-Y"], {"scheme": "IOBES"}, "'I-X', 'E-X'.*repair_labels mends"),
        (["O", "S-X"], {"scheme": "IOB2"}, "label 1 is 'S-X', but labels of the scheme IOB2 are 'O' or"),
        (["O", 3], {}, "need labels that are strings, got int 3"),
        ([True, False], {}, "strings, got bool True"),
        (["noun", "verb"], {}, r"\('noun', 'verb'\) fit none of the schemes"),
        (["O", "O"], {}, "must be distinct"),
        ([], {}, "must be distinct, and at least one"),
        ("O", {}, "must be a list of strings"),
        (["O"], {"scheme": "IOC"}, "scheme must be one of"),
        (["O"], {"unusable": "drop"}, "unusable must be 'error' or 'forbid'"),
    ],
)
def test_scheme_errors(labels, options, message):
    refuses(message, scheme_constraints, labels, **options)


@SETTINGS
@given(st.data())
def test_what_is_decoded_was_seen(data):
    classes = [0, 1, 2, 3]
    y = data.draw(st.lists(st.lists(st.sampled_from(classes), max_size=6), min_size=1).filter(any))
    pairs = {pair for labels in y for pair in pairwise(labels)}
    first, last = ({labels[end] for labels in y if labels} for end in (0, -1))
    seen = seen_constraints(y, classes)
    assert {tuple(pair) for pair in np.argwhere(seen.transitions).tolist()} == pairs
    assert set(np.flatnonzero(seen.starts).tolist()) == first
    assert set(np.flatnonzero(seen.ends).tolist()) == last
    lengths = sorted({len(labels) for labels in y})  # each length has a path
    order = data.draw(st.sampled_from([1, 2]))
    lattice = big_lattice(lengths, 4, order, scale=5.0, seed=data.draw(st.integers(0, 99)))
    for labels in by_sequence(classes, viterbi(constrain(lattice, seen)).labels, lattice.offsets):
        assert pairs >= set(pairwise(labels))
        assert not labels or (labels[0] in first and labels[-1] in last)


def test_seen_often_enough():
    y = [["a", "b"], ["a", "b"], ["a", "a"], ["b"]]
    twice = seen_constraints(y, ["a", "b"], min_count=2)
    assert twice.transitions.tolist() == [[False, True], [False, False]]
    assert twice.starts.tolist() == [True, False]
    assert twice.ends.tolist() == [False, True]
    with pytest.raises(NoPathError):
        viterbi(constrain(big_lattice([1], 2), twice))


def test_unknown_labels_show_nothing():
    seen = seen_constraints([["a", None, "b", {"a", "b"}], [None, "a", "b"]], ["a", "b"])
    assert seen.transitions.tolist() == [[False, True], [False, False]]
    assert seen.starts.tolist() == [True, False]
    assert seen.ends.tolist() == [False, True]


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([["a", "c"]], {}, "sequence 0, position 1: label 'c' is not among the 2 known ones"),
        ([], {}, "y shows no labels"),
        ([[None]], {}, "y shows no labels"),
        ([["a"]], {"min_count": 0}, "min_count must be a whole number above 0, got 0"),
        (["a"], {}, "y must be a list of sequences"),
    ],
)
def test_seen_errors(y, options, message):
    refuses(message, seen_constraints, y, ["a", "b"], **options)


@pytest.mark.parametrize("order", [1, 2])
def test_posterior_decoding_obeys(order):
    """Returns the permitted path with the largest sum of marginals."""
    import itertools

    rng = np.random.default_rng(order)
    names = ["O", "B-X", "I-X"]
    for _ in range(20):
        T = int(rng.integers(1, 6))
        edge2 = rng.normal(size=(3, 3, 3)) if order == 2 else None
        free = Lattice(rng.normal(size=(T, 3)), rng.normal(size=(3, 3)), [0, T], edge2=edge2)
        legal = constrain(free, scheme_constraints(names, "IOB2"))
        found = max_marginal(legal, posterior=True)
        paths = [path for path in itertools.product(range(3), repeat=T) if is_iob2([names[i] for i in path])]
        best = max(sum(found.posterior[t, label] for t, label in enumerate(path)) for path in paths)
        assert is_iob2([names[i] for i in found.labels])
        assert found.posterior[np.arange(T), found.labels].sum() == pytest.approx(best)


def is_iob2(labels):
    return all(after != "I-X" or before != "O" for before, after in zip(["O", *labels], labels, strict=False))
