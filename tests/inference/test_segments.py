"""Probabilities of segments against the enumeration of all labellings."""

import itertools
from typing import Any

import numpy as np
import pytest
from enumeration import enumerate_paths
from hypothesis import given
from hypothesis import strategies as st
from lattices import SETTINGS, big_lattice, lattices

from crfkit.exceptions import InputError, NoPathError
from crfkit.inference import Lattice, Segments, marginals, segment_probabilities, segment_rules, viterbi
from crfkit.metrics import segments as read_segments

# By the number of labels: names and scheme.
LABELS: dict[int, list[tuple[list[str], str | None]]] = {
    1: [(["B-X"], None), (["O"], None), (["X"], None)],
    2: [(["O", "I-X"], "IOB1"), (["B", "I"], "IOB2"), (["O", "Street"], None), (["I-X", "E-X"], "IOE2")],
    3: [
        (["O", "B-X", "I-X"], "IOB2"),
        (["O", "I-X", "B-X"], "IOB1"),
        (["B-X", "I-X", "I-Y"], None),
        (["I-X", "O", "E-X"], "IOE1"),
        (["City", "O", "Street"], None),
        (["B-X", ".-X", "O"], None),
    ],
    4: [
        (["O", "B-X", "E-X", "S-X"], "IOBES"),
        (["B-X", "I-X", "L-X", "U-X"], "BILOU"),
        (["B-X", "I-X", "B-Y", "I-Y"], None),
        (["O", "[-X", "]-X", "I-X"], None),
        (["E-X", "I-X", "E-Y", "O"], "IOE2"),
        (["I-X-1", ".-X-1", ".", "O"], None),
        (["B-X", "I-X", "Y", "O"], "runs"),
    ],
}


def read(labels: list[str], scheme: str | None) -> list[tuple[int, int, str]]:
    """Return the segments of one labelling, by code that shares nothing with ``SegmentRules``."""
    if scheme == "runs" or not any(label[1:2] in ("", "-") and label[:1] in "BIESLU[]." for label in labels):
        found, t = [], 0
        for label, run in itertools.groupby(labels):
            length = len(list(run))
            if label != "O":
                found.append((t, t + length, label))
            t += length
        return found
    return [(segment.start, segment.end, segment.type) for segment in read_segments(labels, scheme)]


@SETTINGS
@given(lattices(), st.data())
def test_enumeration(lattice: Lattice, data: st.DataObject) -> None:
    names, scheme = data.draw(st.sampled_from(LABELS[lattice.n_labels]))
    rules = segment_rules(names, scheme)
    every = [
        (i, start, stop, kind)
        for i, length in enumerate(np.diff(lattice.offsets).tolist())
        for start, stop in itertools.combinations(range(length + 1), 2)
        for kind in range(len(rules.types))
    ]
    asked = Segments(*np.array(every, np.int64).reshape(-1, 4).T)
    truth = [enumerate_paths(lattice, i) for i in range(lattice.n_sequences)]
    if any(not oracle.paths for oracle in truth):
        if len(every):
            with pytest.raises(NoPathError):
                segment_probabilities(lattice, rules, asked)
        return
    expected: dict[Any, Any] = dict.fromkeys(every, np.longdouble(0))
    for i, oracle in enumerate(truth):
        for path, p in zip(oracle.paths, oracle.probabilities, strict=True):
            labels = [names[k] for k in path]
            found = rules.find(np.array(path, np.int64), np.array([0, len(path)]))
            places = list(zip(found.start.tolist(), found.stop.tolist(), found.kind.tolist(), strict=True))
            assert [(a, b, rules.types[kind]) for a, b, kind in places] == read(labels, scheme)
            for place in places:
                expected[(i, *place)] += p
    probability = segment_probabilities(lattice, rules, asked, n_jobs=2)
    np.testing.assert_allclose(probability, np.array(list(expected.values()), float), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("order", [1, 2])
def test_long_sequences(order: int) -> None:
    """Single positions of plain labels: p(run of one position) follows from marginals of windows."""
    lattice = big_lattice([400, 1, 0, 37], 3, order=order)
    rules = segment_rules(["X", "Y", "O"])
    labels = viterbi(lattice).labels
    found = rules.find(labels, lattice.offsets)
    probability = segment_probabilities(lattice, rules, found)
    assert ((probability >= 0) & (probability <= 1)).all()
    node = marginals(lattice).node
    at = lattice.offsets[found.sequence]
    for k, p in enumerate(probability):
        inside = slice(at[k] + found.start[k], at[k] + found.stop[k])
        assert p <= node[inside, found.kind[k]].min() + 1e-12
    alone = found.sequence == 1
    np.testing.assert_allclose(probability[alone], node[400, found.kind[alone]], rtol=1e-12)
    same = segment_probabilities(lattice, rules, found, n_jobs=3)
    assert np.array_equal(probability, same)


@pytest.mark.parametrize("length", [4000, 4200])  # the longer one has too many pairs to hold
def test_runs_of_many_labels(length: int) -> None:
    """Given the observations, the labels are a Markov chain: so runs follow from marginals of pairs."""
    lattice = big_lattice([length], 64, scale=2.0)
    labels = viterbi(lattice).labels
    rules = segment_rules([f"X{k}" for k in range(64)])
    found = rules.find(labels, lattice.offsets)
    node, pair, _ = marginals(lattice, edge=True)
    assert pair is not None
    expected = []
    for start, stop, k in zip(found.start, found.stop, found.kind, strict=True):
        p = node[0, k] if start == 0 else pair[start, :, k].sum() - pair[start, k, k]
        for t in range(start + 1, stop):
            p *= pair[t, k, k] / node[t - 1, k]
        expected.append(p if stop == length else p * (1 - pair[stop, k, k] / node[stop - 1, k]))
    np.testing.assert_allclose(segment_probabilities(lattice, rules, found), expected, rtol=1e-9, atol=1e-12)


def test_words_of_errors() -> None:
    lattice = Lattice(np.zeros((3, 2)), np.zeros((2, 2)), [0, 3])
    rules = segment_rules(["O", "X"])
    with pytest.raises(InputError, match="rules are for 3 labels, the lattice has 2"):
        segment_probabilities(lattice, segment_rules(["O", "X", "Y"]), Segments([0], [0], [1], [0]))
    with pytest.raises(InputError, match="segment 0 runs from 2 to 4, but sequence 0 has 3 positions"):
        segment_probabilities(lattice, rules, Segments([0], [2], [4], [0]))
    with pytest.raises(InputError, match="in order of their sequences"):
        segment_probabilities(lattice, rules, Segments([1], [0], [1], [0]))
    with pytest.raises(InputError, match="one sequence, start, stop and kind each"):
        segment_probabilities(lattice, rules, Segments([0], [0, 1], [1], [0]))
    with pytest.raises(InputError, match=r"label 1 is 'Street'.*scheme='runs'"):
        segment_rules(["O", "Street", "B-X"])
