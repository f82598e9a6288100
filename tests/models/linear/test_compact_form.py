"""The compact form of linear models: round trips, size, damage, and what it changes."""

import io
import json
import struct
from pathlib import Path

import numpy as np
import pytest
from estimators import EVERY, fitted
from hypothesis import given, settings
from hypothesis import strategies as st
from model_files import rewritten, saved
from refusals import refuses, unreadable

from crfkit import CRF, Tagger, _native
from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import ModelFileError
from crfkit.io.model_file import read_model
from crfkit.mining import AssociationMiner
from crfkit.models.linear.compact_form import rounded

WORDS = ["the", "cat", "sees", "a", "dog", "in", "a", "house", "the", "dog", "likes", "no", "cat"]
X = [[{"w": w, "suffix": w[-2:], "bias": 1.5, "edge:w": w} for w in WORDS[k:]] for k in range(6)]
Y = [["B" if len(w) > 2 else "I" if w == "in" else "O" for w in WORDS[k:]] for k in range(6)]

MODELS = {
    "plain": {},
    "order 2": {"order": 2, **EVERY},
    "sparse": {"c1": 0.1},
    "pairs": {"edge_attributes": "edge:"},
    "rules": {"associations": AssociationMiner()},
}


def compact(model, **how):
    file = io.BytesIO()
    model.save(file, compact=True, **how)
    return file.getvalue()


@pytest.mark.parametrize("name", MODELS)
def test_round_trip(name):
    model = CRF(c2=0.1, **MODELS[name]).fit(X, Y)
    content = compact(model)
    small = CRF.load(content)
    assert len(content) < len(saved(model))
    assert small.predict(X) == model.predict(X)
    largest = max(abs(w) for w in model.state_features_.values())
    for own, stored in (
        (model.state_features_, small.state_features_),
        (model.edge_features_, small.edge_features_),
    ):
        assert set(stored) <= set(own)
        assert all(abs(stored.get(key, 0.0) - w) <= 0.51 * largest / 32767 for key, w in own.items())
    assert small.transition_features_ == model.transition_features_
    assert small.get_params() == CRF.load(saved(model)).get_params()
    assert (small.objective_, small.history_) == (model.objective_, [])
    for again in (saved(small), compact(small)):
        found, expected = (
            np.vstack(one.predict_marginals(X, as_arrays=True)) for one in (CRF.load(again), small)
        )
        np.testing.assert_allclose(found, expected, atol=1e-12)
    first, second = read_model(content)[1], read_model(compact(small))[1]
    assert {key: array.tobytes() for key, array in first.items()} == {
        key: array.tobytes() for key, array in second.items()
    }
    names = small.tagger_.vocabulary.strings()
    assert name == "rules" or names == sorted(names)


def test_unused_attributes_are_dropped():
    model = CRF(c2=0.1).fit(X, Y)
    few = CRF.load(compact(model, drop_below=0.3))
    kept = {key: w for key, w in model.state_features_.items() if abs(w) >= 0.3}
    assert set(few.state_features_) == set(kept)
    assert len(few.tagger_.vocabulary) == len({attribute for attribute, _ in kept})
    refuses("drop_below must be a number that is not negative, got -1", rounded, model.tagger_, -1)
    refuses("drop_below needs compact=True", model.save, io.BytesIO(), drop_below=0.1)


def test_columns_of_arrays_keep_their_order():
    model, small = fitted("linear"), CRF.load(compact(fitted("linear"), drop_below=0.01))
    assert small.tagger_.vocabulary.strings() == model.tagger_.vocabulary.strings()


def test_calibration_stays():
    model = CRF(c2=0.1).fit(X, Y).calibrate(X, Y)
    assert CRF.load(compact(model)).calibration_ == model.calibration_


def test_other_models_have_no_compact_form():
    refuses("a kernel CRF has no compact form; only a linear-chain CRF", compact, fitted("kernel"))


def test_earlier_readers_refuse_it():
    """The version is 2, and readers of version 1 check it first."""
    assert struct.unpack_from("<I", compact(fitted("linear")), 8) == (2,)
    assert struct.unpack_from("<I", saved(fitted("linear")), 8) == (1,)


# ---- names and rows as bytes

TEXTS = st.text(st.sampled_from("ab:é\0"), max_size=6) | st.text(max_size=400)


@settings(deadline=None, derandomize=True)
@given(st.lists(TEXTS, unique=True, max_size=30), st.booleans())
def test_names(names, sort):
    names = [name for name in names if name.isascii() or name.encode("utf-8", "ignore").decode() == name]
    vocabulary = Vocabulary(sorted(names) if sort else names)
    again = Vocabulary.from_native(_native.unpack_names(_native.pack_names(vocabulary.native)))
    assert again.strings() == vocabulary.strings()
    assert again.lookup(names).tolist() == vocabulary.lookup(names).tolist()


@settings(deadline=None, derandomize=True)
@given(st.lists(st.sets(st.integers(0, 10**6), max_size=4), max_size=20))
def test_rows(rows):
    ends = np.cumsum([0, *map(len, rows)])
    ids = np.array([id for row in rows for id in sorted(row)], np.int32)
    packed = _native.pack_rows(ends, ids)
    found = _native.unpack_rows(packed, len(rows), 10**6 + 1)
    assert (found[0].tolist(), found[1].tolist()) == (ends.tolist(), ids.tolist())
    for n_rows, width in ((len(rows) + 1, 10**6 + 1), (len(rows), int(ids.max(initial=0)))):
        if n_rows != len(rows) or len(ids):
            with pytest.raises(ModelFileError, match="its feature index does not fit together"):
                _native.unpack_rows(packed, n_rows, width)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"compact": None}, "its compact form is malformed"),
        ({"compact": {"state": 0.0}}, "its compact form is malformed"),
        ({"compact": {"pair": 1.0}}, "its compact form is malformed"),
        ({"compact": {"state": 1}}, "its compact form is malformed"),
        ({"vocabulary.names": None}, "expected an array 'vocabulary.names'"),
        ({"vocabulary.names": lambda a: a[:-1]}, "its compact form is cut off"),
        ({"vocabulary.names": lambda a: np.append(a, a[:1] + 9)}, "its names do not fit|is cut off"),
        ({"vocabulary.names": lambda a: np.append(a, np.uint8([0, 1, 255]))}, "a name that is not UTF-8"),
        ({"vocabulary.names": lambda a: np.append(a, np.uint8([1, 0, 1, 0]))}, "the same name twice"),
        ({"vocabulary.names": lambda a: np.append(a, np.uint8([0, 255, 255, 255, 255, 9]))}, "too large"),
        ({"state.rows": lambda a: a[:-1]}, "its compact form is cut off|does not fit together"),
        ({"state.rows": lambda a: np.append(a, np.uint8([0]))}, "its feature index does not fit together"),
        ({"state.rows": lambda a: np.append(a[:1], a[1:] + 77)}, "fit together|cut off|too large"),
        ({"state.weights": lambda a: a[:-1]}, "expected an array 'state.weights' of int16"),
        ({"state.weights": lambda a: a.astype(np.float64)}, "expected an array 'state.weights' of int16"),
    ],
)
def test_damage(change, words):
    content = compact(CRF(c2=0.1).fit(X, Y))
    unreadable(f"cannot read the model.*({words})", CRF.load, rewritten(content, change))


def test_every_cut_is_refused():
    content = compact(CRF(c2=0.1).fit(X[:1], Y[:1]))
    header, arrays = read_model(content)
    for name in ("vocabulary.names", "state.rows"):
        for end in range(len(arrays[name])):
            unreadable(
                "cannot read the model", CRF.load, rewritten(content, {name: lambda a, end=end: a[:end]})
            )
    assert header["compact"]


# ---- files of version 0.2.0, which every later version must read

STORED = Path(__file__).parent / "compact_files"


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_stored_files(method):
    expected = json.loads((STORED / "answers.json").read_text(encoding="utf-8"))[method]
    model, tagger = CRF.load(STORED / f"{method}.crfkit"), Tagger(STORED / f"{method}.crfkit")
    assert not model.calibration_.is_none
    assert model.predict(expected["X"]) == expected["labels"]
    batch = model.predict_segments(expected["X"])
    single = [tagger.analyse_tokens(tokens).segments() for tokens in expected["X"]]
    for found in (batch, single):
        for segments, own in zip(found, expected["segments"], strict=True):
            assert [list(segment[:3]) for segment in segments] == [segment[:3] for segment in own]
            assert [p for *_, p in segments] == pytest.approx([p for *_, p in own], rel=1e-9)
