"""CRFsuite's model files: crfkit reads what python-crfsuite writes, and the reverse."""

import struct
from dataclasses import replace

import numpy as np
import pycrfsuite
import pytest
from foreign_models import crfsuite_data, train_crfsuite
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from refusals import refuses, unreadable

from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError
from crfkit.io import crfsuite_model
from crfkit.io.crfsuite_model import write_crfsuite_model
from crfkit.io.foreign_model import ForeignModel, read_foreign
from crfkit.models.foreign import import_model

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")


def open_tagger(path):
    tagger = pycrfsuite.Tagger()
    tagger.open(str(path))
    return tagger


def marginals(tagger, X, labels):
    found = []
    for sequence in X:
        tagger.set(sequence)
        found.append(
            np.array([[tagger.marginal(label, t) for label in labels] for t in range(len(sequence))])
        )
    return found


def assert_same_tagging(path, X):
    theirs, ours = open_tagger(path), import_model(path)
    assert ours.classes == theirs.labels()
    assert ours.predict(X) == [theirs.tag(sequence) for sequence in X]
    for a, b in zip(ours.marginal_arrays(X), marginals(theirs, X, ours.classes), strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def assert_same_model(a, b):
    assert a.classes == b.classes
    assert a.attributes.strings() == b.attributes.strings()
    for name in ("state_indptr", "state_labels", "state_weights", "edge_mask", "edge_weights"):
        np.testing.assert_array_equal(getattr(a, name), getattr(b, name))


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Return a model of python-crfsuite, and data."""
    X, y = crfsuite_data()
    return train_crfsuite(tmp_path_factory.mktemp("small") / "m.crfsuite", X, y, max_iterations=20), X


class TestReading:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_tags_as_python_crfsuite_does(self, tmp_path, algorithm):
        X, y = crfsuite_data(seed=ALGORITHMS.index(algorithm))
        path = train_crfsuite(tmp_path / "m.crfsuite", X, y, algorithm, max_iterations=15)
        assert_same_tagging(path, X + crfsuite_data(20, seed=99)[0])

    @pytest.mark.parametrize(
        "parameters",
        [
            {"feature.possible_states": True},
            {"feature.possible_transitions": True},
            {"feature.minfreq": 3},
            {"c1": 2.0, "c2": 0.0},
        ],
        ids=str,
    )
    def test_feature_options(self, tmp_path, parameters):
        X, y = crfsuite_data()
        assert_same_tagging(train_crfsuite(tmp_path / "m.crfsuite", X, y, max_iterations=15, **parameters), X)

    def test_features_and_their_order_are_those_of_the_file(self, small):
        path, _ = small
        info, model = open_tagger(path).info(), read_foreign(path, "crfsuite")
        names = model.attributes.strings()
        assert {name: str(i) for i, name in enumerate(names)} == info.attributes
        assert {name: str(i) for i, name in enumerate(model.classes)} == info.labels
        tagger = import_model(path)
        # python-crfsuite prints six decimals.
        assert {k: round(w, 6) for k, w in tagger.state_features().items()} == info.state_features
        assert {k: round(w, 6) for k, w in tagger.transition_features().items()} == info.transitions

    def test_one_label(self, tmp_path):
        X, y = crfsuite_data(10, labels=("O",))
        assert_same_tagging(train_crfsuite(tmp_path / "m.crfsuite", X, y), X)

    def test_no_attributes(self, tmp_path):
        X = [[[], []], [[]], [[], [], []]]
        y = [["A", "B"], ["B"], ["A", "B", "B"]]
        path = train_crfsuite(tmp_path / "m.crfsuite", X, y)
        assert len(read_foreign(path, "crfsuite").attributes) == 0
        assert_same_tagging(path, X)

    def test_unknown_attributes_are_passed_over(self, small):
        path, _ = small
        assert_same_tagging(path, [[["never", "seen"], ["w=a"]], [[]]])


class TestWriting:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_a_file_written_again_is_the_same_to_the_last_byte(self, tmp_path, algorithm):
        X, y = crfsuite_data(seed=7)
        path = train_crfsuite(tmp_path / "m.crfsuite", X, y, algorithm, max_iterations=10)
        model = read_foreign(path, "crfsuite")
        write_crfsuite_model(tmp_path / "again.crfsuite", model)
        assert (tmp_path / "again.crfsuite").read_bytes() == path.read_bytes()
        assert_same_model(read_foreign(tmp_path / "again.crfsuite", "crfsuite"), model)

    def test_zeros_are_left_out(self, tmp_path):
        path = tmp_path / "m.crfsuite"
        model = make_model(["x", "y", "z"], 2, seed=1)
        model.state_weights[model.state_indptr[1] : model.state_indptr[2]] = 0  # all of "y"
        model.state_weights[0] = 0
        model.edge_weights[0, 1] = 0
        write_crfsuite_model(path, model)
        info = open_tagger(path).info()
        assert info.attributes == {"x": "0", "z": "1"}
        assert set(info.state_features) == {("x", "L1"), ("z", "L0"), ("z", "L1")}
        assert set(info.transitions) == {("L0", "L0"), ("L1", "L0"), ("L1", "L1")}
        assert_same_tagging(path, [[["x"], ["y", "z"]], [["y"]]])

    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        names=st.lists(
            st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=40),
            min_size=1,
            max_size=60,
            unique=True,
        ),
        n_labels=st.integers(1, 4),
        seed=st.integers(0, 1000),
    )
    def test_python_crfsuite_finds_every_attribute(self, tmp_path, names, n_labels, seed):
        path = tmp_path / "m.crfsuite"
        model = make_model(names, n_labels, seed)
        write_crfsuite_model(path, model)
        tagger = open_tagger(path)
        assert tagger.labels() == model.classes
        X = [[[name]] for name in names]
        expected = np.exp(model.state_weights.reshape(-1, n_labels))
        expected /= expected.sum(axis=1, keepdims=True)
        found = np.concatenate(marginals(tagger, X, model.classes))
        np.testing.assert_allclose(found, expected, atol=1e-12)
        assert_same_model(read_foreign(path, "crfsuite"), model)

    def test_many_attributes(self, tmp_path):
        """Thousands of attributes per table, so that probing wraps around."""
        names = [f"{i:x}" + "." * (i % 17) for i in range(30_000)]
        model = make_model(names, 2, seed=3)
        write_crfsuite_model(tmp_path / "m.crfsuite", model)
        tagger = open_tagger(tmp_path / "m.crfsuite")
        X = [[[name] for name in names]]
        expected = import_model(tmp_path / "m.crfsuite").marginal_arrays(X)[0]
        np.testing.assert_allclose(marginals(tagger, X, model.classes)[0], expected, atol=1e-12)

    def test_into_a_file_object(self, small, tmp_path):
        path, _ = small
        with (tmp_path / "m").open("wb") as file:
            write_crfsuite_model(file, read_foreign(path, "crfsuite"))
        assert (tmp_path / "m").read_bytes() == path.read_bytes()

    def test_what_does_not_fit_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "m.crfsuite"
        path.write_bytes(b"old")
        good = make_model(["x"], 2)
        pairs = {
            "pair_indptr": np.array([0, 1]),
            "pair_ids": np.zeros(1, np.int32),
            "pair_weights": np.ones(1),
        }
        infinite = replace(good, state_weights=np.array([1.0, np.inf]))
        for model, message in [
            (
                replace(good, **pairs),
                "no features of an attribute and a pair of labels: train without edge_attr",
            ),
            (replace(good, attributes=Vocabulary(["a\0b"])), r"attribute 'a\\x00b' holds a NUL character"),
            (replace(good, classes=["a", "a"]), "two labels have the same name"),
            (infinite, "not finite"),
        ]:
            refuses(message, write_crfsuite_model, path, model)
        monkeypatch.setattr(crfsuite_model, "_LIMIT", 4000)
        with pytest.raises(
            InputError, match=r"would take 4[0-9]+ bytes as a CRFsuite file, which cannot be larger"
        ):
            write_crfsuite_model(path, good)
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_failure_while_writing_leaves_the_old_file(self, tmp_path, monkeypatch):
        path = tmp_path / "m.crfsuite"
        path.write_bytes(b"old")

        def chunks(model):
            yield b"new"
            raise OSError("disk full")

        monkeypatch.setattr(crfsuite_model, "_serialise", chunks)
        with pytest.raises(OSError, match="disk full"):
            write_crfsuite_model(path, make_model(["x"], 2))
        assert path.read_bytes() == b"old"
        assert list(tmp_path.iterdir()) == [path]


def make_model(names, n_labels, seed=0):
    """Return a model with every possible feature and random weights."""
    rng = np.random.default_rng(seed)
    A, L = len(names), n_labels
    return ForeignModel(
        [f"L{i}" for i in range(L)],
        Vocabulary(names),
        np.arange(A + 1, dtype=np.int64) * L,
        np.tile(np.arange(L, dtype=np.int32), A),
        rng.normal(size=A * L),
        np.ones((L, L), np.bool_),
        rng.normal(size=(L, L)),
    )


class TestDamage:
    def test_too_long(self, small):
        unreadable("too long", read_foreign, small[0].read_bytes() + b"\0", "crfsuite")

    def test_links_that_all_lead_to_one_string(self, tmp_path):
        """Strings that overlap would take far more memory than the file."""
        model = make_model(["x" * 10_000, *(f"{i}" for i in range(1000))], 1)
        write_crfsuite_model(tmp_path / "m", model)
        damaged = bytearray((tmp_path / "m").read_bytes())
        at = struct.unpack_from("<I", damaged, 36)[0]  # the attributes' dictionary
        n, links = struct.unpack_from("<II", damaged, at + 16)
        first = damaged[at + links : at + links + 4]
        damaged[at + links : at + links + 4 * n] = bytes(first) * n
        unreadable("string 1 of a dictionary is malformed", read_foreign, bytes(damaged), "crfsuite")

    @pytest.mark.parametrize(
        ("type_", "source", "label", "weight", "message"),
        [
            (2, 0, 0, 1.0, "unknown type, attribute or label"),
            (0, 1, 0, 1.0, "unknown type, attribute or label"),
            (0, 0, 2, 1.0, "unknown type, attribute or label"),
            (1, 2, 0, 1.0, "unknown type, attribute or label"),
            (0, 0, 0, np.nan, "not finite"),
            (1, 0, 0, -np.inf, "not finite"),
            (0, 0, 1, 1.0, "a feature twice"),
        ],
    )
    def test_impossible_features(self, tmp_path, type_, source, label, weight, message):
        write_crfsuite_model(tmp_path / "m", make_model(["x"], 2))
        damaged = bytearray((tmp_path / "m").read_bytes())
        struct.pack_into("<IIId", damaged, 48 + 12, type_, source, label, weight)
        unreadable(message, read_foreign, bytes(damaged), "crfsuite")

    def test_more_labels_than_a_file_can_be_for(self, tmp_path):
        model = replace(
            make_model([], 1),
            classes=[f"{i}" for i in range(4000)],
            edge_mask=np.zeros((4000, 4000), np.bool_),
            edge_weights=np.zeros((4000, 4000)),
        )
        write_crfsuite_model(tmp_path / "m", model)
        unreadable("4000 labels, whose pairs would take 122 MiB", read_foreign, tmp_path / "m", "crfsuite")
