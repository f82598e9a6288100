"""Selections: by name, in order, in files, on other data."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data.encode import encode
from crfkit.data.sequences import Encoded
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, InputWarning
from crfkit.selection import Feature, Selection

NAN = float("nan")
MIXED = Selection(
    [
        Feature(None, ("a", "b"), 1, 3.5),
        Feature('w=ü, "x"', ("a",), 1, 2.0),
        Feature("pair", ("a", "b"), 2, 1.0),
        Feature(None, ("a", "b", "a"), 2, 0.5),
        Feature("v & w", ("b",), 0, NAN),
    ],
    {"v & w": ("v", "w"), "unused & x": ("unused", "x")},
    {"selector": "by hand"},
)


def test_a_sequence_of_features():
    assert len(MIXED) == 5
    assert MIXED[0].labels == ("a", "b")
    assert isinstance(MIXED[1:3], Selection)
    assert MIXED[:0].attributes == []
    assert MIXED.attributes == ['w=ü, "x"', "pair", "v & w"]
    assert MIXED.conjunctions == {"v & w": ("v", "w")}
    assert MIXED[:3].conjunctions == {}
    assert Selection(list(MIXED), MIXED.conjunctions, MIXED.made_by) == MIXED
    assert MIXED[:4] != MIXED
    assert hash(MIXED) == hash(Selection(list(MIXED)))


def test_it_can_be_read():
    assert [str(f) for f in MIXED[:4]] == ["T(a, b)", 'E(a, w=ü, "x")', "E(a → b, pair)", "T(a, b, a)"]
    text = repr(MIXED)
    assert text.startswith("Selection of 5 features:\n")
    assert "round 1" in text
    assert "nan" not in text
    assert "… and 3 more" in MIXED.table(2)


def test_files(tmp_path):
    path = tmp_path / "mixed.json"
    MIXED.save(path)
    assert Selection.load(path) == MIXED
    assert json.loads(path.read_text(encoding="utf-8"))["features"][0] == [None, ["a", "b"], 1, 3.5]
    numbers = Selection([Feature("x", (3,), 1, 1.0), Feature(None, (True, False), 1, 1.0)])
    numbers.save(path)
    assert Selection.load(path) == numbers
    Selection([]).save(path)
    assert len(Selection.load(path)) == 0


@given(
    st.lists(
        st.tuples(
            st.one_of(st.none(), st.text(st.characters(exclude_categories=["Cs"]), max_size=5)),
            st.lists(st.one_of(st.text("ab", max_size=2), st.integers(-3, 3)), min_size=2, max_size=2),
            st.integers(0, 9),
            st.one_of(st.just(NAN), st.floats(allow_nan=False, allow_infinity=False)),
        ),
        unique_by=lambda row: (row[0], tuple((type(label), label) for label in row[1])),
    )
)
def test_files_of_any_names(tmp_path_factory, rows):
    selection = Selection([Feature(name, tuple(labels), n, score) for name, labels, n, score in rows])
    path = tmp_path_factory.mktemp("any") / "selection.json"
    selection.save(path)
    assert Selection.load(path) == selection


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("no json", "expected a selection"),
        ("[]", "expected a selection as"),
        ('{"format": "crfkit selection", "version": 9}', "version 9"),
        ('{"format": "crfkit selection", "version": 1}', "malformed"),
        (
            '{"format": "crfkit selection", "version": 1, "made_by": {}, "conjunctions": [], '
            '"features": [["a"]]}',
            "malformed",
        ),
        (
            '{"format": "crfkit selection", "version": 1, "made_by": {}, "conjunctions": [], '
            '"features": [[null, ["a"], 1, 1.0]]}',
            "not a feature",
        ),
    ],
)
def test_damaged_files(tmp_path, content, message):
    path = tmp_path / "bad.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as error:
        Selection.load(path)
    assert "bad.json" in str(error.value)


def test_twice_the_same():
    with pytest.raises(InputError, match=r"T\(a, b\) is in it twice"):
        Selection([Feature(None, ("a", "b"), 1, 1.0), Feature(None, ("a", "b"), 2, 0.5)])


def test_feature_index():
    vocabulary = Vocabulary(["pair", "v & w", 'w=ü, "x"'])
    index = MIXED.feature_index(vocabulary, ["a", "b"], order=2)
    assert index.state_keys().tolist() == [1 * 2 + 1, 2 * 2 + 0]
    assert index.pair_keys().tolist() == [0 * 4 + 1]
    assert np.argwhere(index.edges).tolist() == [[0, 1]]
    assert index.ngrams.tolist() == [[0, 1, 0]]
    back = Selection.of_index(index, vocabulary, ["a", "b"])
    assert {f.key for f in back} == {f.key for f in MIXED}
    with pytest.warns(InputWarning, match=r"1 of 5 selected features.*T\(a, b, a\)"):
        MIXED.feature_index(vocabulary, ["a", "b"])
    with pytest.warns(InputWarning, match="2 of 5 selected"):
        MIXED.feature_index(Vocabulary(["pair"]), ["a", "b"], order=2)
    refuses("none of the 5", MIXED.feature_index, Vocabulary(["pair"]), ["c"], order=2)
    refuses("none of the 0", Selection([]).feature_index, vocabulary, ["a"])


def test_apply():
    vocabulary = Vocabulary()
    X = [[{"v": 2.0, "w": 3.0, "pair": 1.0}, {"v": 1.0, "other": 1.0}], [{"w": 1.0}]]
    sequences = encode(X, vocabulary, grow=True)
    kept = MIXED.apply(Encoded(sequences, vocabulary))
    assert kept.vocabulary.strings() == MIXED.attributes
    entries = [
        (int(t), kept.vocabulary.strings()[a], float(v))
        for t in range(3)
        for a, v in zip(
            kept.sequences.indices[kept.sequences.indptr[t] : kept.sequences.indptr[t + 1]],
            kept.sequences.values[kept.sequences.indptr[t] : kept.sequences.indptr[t + 1]],
            strict=True,
        )
    ]
    assert entries == [(0, "pair", 1.0), (0, "v & w", 6.0)]
