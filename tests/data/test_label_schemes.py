"""Grammar, conversion, detection and repair against all segmentations of a few tokens, spelled out."""

from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from spelling import SCHEMES, alphabet, legal_sequences, segmentations, spell

from crfkit.data import (
    LabelCodes,
    convert_labels,
    detect_scheme,
    illegal_places,
    possible_schemes,
    repair_labels,
)
from crfkit.data.relabel import label_schemes
from crfkit.data.schemes import legal_steps, scheme_called
from crfkit.metrics import segments, strict_segments

SHORT = range(5)  # lengths


def all_sequences(scheme):
    """Return every sequence of up to 4 labels (3 if there are many labels), legal or not."""
    labels = alphabet(scheme)
    return [list(y) for n in SHORT if len(labels) ** n < 2000 for y in product(labels, repeat=n)]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_legal_is_what_some_segmentation_spells(scheme):
    y = all_sequences(scheme)
    legal = set().union(*(legal_sequences(n, scheme) for n in SHORT))
    broken = {i for i, _ in illegal_places(y, scheme)}
    assert [i in broken for i in range(len(y))] == [tuple(sequence) not in legal for sequence in y]
    steps = legal_steps(alphabet(scheme), scheme_called(scheme))
    place = {label: i for i, label in enumerate(alphabet(scheme))}
    for i, sequence in enumerate(y):
        ids = [place[label] for label in sequence]
        fine = all(steps.transitions[a, b] for a, b in pairwise(ids))
        fine &= not ids or bool(steps.starts[ids[0]] and steps.ends[ids[-1]])
        assert fine == (i not in broken)
    assert steps.usable.all()


@pytest.mark.parametrize("target", SCHEMES)
@pytest.mark.parametrize("source", SCHEMES)
def test_conversion_keeps_segments(source, target):
    found = [(parts, n) for n in range(6) for parts in segmentations(n)]
    y = [spell(parts, n, source) for parts, n in found]
    assert convert_labels(y, source, target) == [spell(parts, n, target) for parts, n in found]
    assert convert_labels(convert_labels(y, source, target), target, source) == y
    for (parts, _), labels in zip(found, y, strict=True):
        assert tuple(segments(labels, source)) == parts
        assert tuple(strict_segments(labels, source)) == parts


@pytest.mark.parametrize("how", ["begin", "drop", "join"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_repaired_is_legal_and_legal_is_unchanged(scheme, how):
    y = all_sequences(scheme)
    legal = set().union(*(legal_sequences(n, scheme) for n in SHORT))
    repaired = repair_labels(y, scheme, how=how)
    for before, after in zip(y, repaired, strict=True):
        assert tuple(after) in legal
        if tuple(before) in legal:
            assert after == before
        if how == "begin":
            assert segments(after, scheme) == segments(before, scheme)
            assert [label[1:] for label in after] == [label[1:] for label in before]
        elif how == "drop":
            assert strict_segments(after, scheme) == strict_segments(before, scheme)
            assert all(b[1:] == a[1:] for a, b in zip(before, after, strict=True) if b != "O")
        else:
            assert [label == "O" for label in after] == [label == "O" for label in before]


@pytest.mark.parametrize(
    ("scheme", "labels", "repaired"),
    [
        ("IOB2", "B-X I-Y I-Y I-X", "B-X I-X I-X I-X"),
        ("IOB2", "I-X B-Y O I-Y", "B-X B-Y O B-Y"),
        ("IOB1", "I-X I-Y", "I-X I-Y"),
        ("IOE2", "I-X E-Y", "I-X E-X"),
        ("IOBES", "B-X I-Y E-Y S-X", "B-X I-X E-X S-X"),
        ("IOBES", "E-X E-Y", "S-X S-Y"),
    ],
)
def test_joining_repair(scheme, labels, repaired):
    assert repair_labels([labels.split()], scheme, how="join") == [repaired.split()]


@given(st.data())
def test_long_sequences_round_trip(data):
    source, target = (data.draw(st.sampled_from(SCHEMES)) for _ in range(2))
    labels = st.sampled_from([*alphabet(source, ["A", "A-B", "Ä"]), alphabet(source)[1][0]])
    y = repair_labels(data.draw(st.lists(st.lists(labels, max_size=30), max_size=4)), source)
    there = convert_labels(y, source, target)
    assert convert_labels(there, target, source) == y
    assert [segments(s, target) for s in there] == [segments(s, source) for s in y]
    if any(label[0] not in "IO" for sequence in y for label in sequence):
        assert detect_scheme(y) == source
        assert convert_labels(y, "auto", target) == there


@pytest.mark.parametrize("scheme", SCHEMES)
def test_schemes_that_fit(scheme):
    for n in SHORT:
        for parts in segmentations(n):
            labels = spell(parts, n, scheme)
            fitting = [s for s in SCHEMES if tuple(labels) in legal_sequences(n, s)]
            assert sorted(possible_schemes([labels])) == fitting
            assert detect_scheme([labels]) in fitting


def test_preference_where_several_fit():
    assert possible_schemes([["O", "O"], []]) == ["IOB2", "IOB1", "IOE2", "IOE1", "IOBES", "BILOU"]
    assert possible_schemes([["I-X", "I-X", "O", "I-Y"]]) == ["IOB1", "IOE1"]


def test_names_of_schemes():
    assert scheme_called("bio") is scheme_called("IOB2")
    assert scheme_called("BIOES") is scheme_called("iobes")
    for wrong in ("IOB", None, "auto"):
        refuses(r"scheme must be one of IOB2, IOB1, .*BILOU, got ", scheme_called, wrong)


def test_schemes_of_label_sets():
    assert label_schemes(["O", "B-X", "I-X"]) == ["IOB2", "IOB1"]
    assert label_schemes(["O", "B-X", "I-X", "I-Y"]) == ["IOB1"]
    assert label_schemes(["O", "B-X", "I-X", "B-Y"]) == ["IOB2"]  # IOB1 has a B-Y after an I-Y only
    assert label_schemes(["O", "E-X", "I-X"]) == ["IOE2", "IOE1"]
    assert label_schemes(["O", "S-X"]) == ["IOBES"]
    assert label_schemes(["O", "U-X", "B-X", "L-X"]) == ["BILOU"]
    assert label_schemes(["noun"]) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: convert_labels([["O"], ["O", "I-X"]], "IOB2", "IOBES"), r"y\[1\]\[1\] is 'I-X' after 'O'"),
        (lambda: convert_labels([["I-X", "B-X"]], "IOB2", "IOB1"), "at the beginning of its sequence"),
        (lambda: convert_labels([["O", "B-X"]], "IOBES", "IOB1"), "'B-X' at the end of its sequence"),
        (lambda: convert_labels([["B-X", "O"]] * 3, "IOBES", "IOB1"), r"before 'O', .* \(and 2 more"),
        (lambda: convert_labels([["E-X"]], "IOB2", "IOB1"), r"y\[0\]\[0\] is 'E-X', but labels of .* IOB2"),
        (lambda: convert_labels([["B-X"]], "IOB2", "IOB3"), "scheme must be one of .*got 'IOB3'"),
        (lambda: convert_labels(["B-X"], "IOB2", "IOB1"), r"y\[0\] is 'B-X', but each sequence"),
        (lambda: convert_labels([["O", None]], "IOB2", "IOB1"), r"y\[0\]\[1\] is None"),
        (
            lambda: convert_labels([["O", ["B"]]], "IOB2", "IOB1"),
            r"y\[0\]\[1\] is \['B'\], not a label",
        ),
        (lambda: convert_labels([["O", 3]], "IOB2", "IOB1"), r"y\[0\]\[1\] is 3, but labels of"),
        (lambda: convert_labels([["Bx"]], "IOB2", "IOB1"), "'Bx'"),
        (lambda: repair_labels([["O"]], "IOB2", how="mend"), "how must be 'begin', 'drop' or 'join'"),
        (lambda: detect_scheme([["O", "B-X", "O", "I-X", "B-X"]]), r"nearest: y\[0\]\[3\] is .* in IOB2$"),
        (lambda: detect_scheme([["noun", "verb"]]), r"\('noun', 'verb'\) are of none of the schemes"),
    ],
)
def test_errors_name_the_place(call, message):
    refuses(message, call)


def test_codes_are_label_lists():
    y = [["a", "b"], [], ["b"], ["c", "a", "a"]]
    codes = LabelCodes.of(y)
    assert list(codes) == y == codes.lists() == [codes[i] for i in range(4)]
    assert codes[-1] == y[-1]
    assert codes[1:3] == y[1:3]
    assert len(codes) == 4
    assert LabelCodes.of(codes) is codes
    assert codes.first.tolist() == [True, False, True, True, False, False]
    assert [codes.place(t) for t in range(6)] == [(0, 0), (0, 1), (2, 0), (3, 0), (3, 1), (3, 2)]
    more = LabelCodes(["x", *codes.names], codes.ids + 1, codes.offsets)
    assert more.slim().names == codes.names
    assert more.slim().lists() == y
    with pytest.raises(IndexError):
        codes[4]


@pytest.mark.parametrize(
    ("ids", "offsets", "message"),
    [
        ([0, 2], [0, 2], r"ids must be in 0..1.*got 0..2"),
        ([0, -1], [0, 2], r"got -1..0"),
        ([0, 1], [0, 3], "offsets end at 3"),
        ([0, 1], [0, 2, 1, 2], "never falls"),
        ([0, 1], [1, 2], "begins with 0"),
    ],
)
def test_codes_are_checked(ids, offsets, message):
    refuses(message, LabelCodes, ["a", "b"], np.array(ids), np.array(offsets))


def test_codes_convert_as_lists_do():
    y = [["B-X", "I-X", "O"], [], ["B-Y"]]
    assert convert_labels(LabelCodes.of(y), "IOB2", "IOBES") == [["B-X", "E-X", "O"], [], ["S-Y"]]
    assert convert_labels([], "IOB2", "IOBES") == []
    assert convert_labels([[]], "IOB2", "IOE1") == [[]]
