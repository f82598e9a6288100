"""CRFsuite's model files: what python-crfsuite writes is read, what is written python-crfsuite reads."""

import random
import struct
import tracemalloc
from dataclasses import replace

import numpy as np
import pycrfsuite
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from crfkit.data.vocabulary import Vocabulary
from crfkit.exceptions import InputError, ModelFileError
from crfkit.io import crfsuite_model
from crfkit.io.crfsuite_model import read_crfsuite_model, write_crfsuite_model
from crfkit.io.foreign_model import ForeignModel
from crfkit.models.foreign import export_crfsuite, import_model

ALGORITHMS = ("lbfgs", "l2sgd", "ap", "pa", "arow")
LABELS = ("A", "Übung", "c c", ":")


def make_data(n=60, seed=0, labels=LABELS):
    rng = random.Random(seed)

    def item():
        return {
            f"w={rng.choice('abcdefgh')}": 1.0,
            f"東京:{rng.randrange(4)}": rng.uniform(-1, 2),
            "bias": True,
        }

    X = [[item() for _ in range(rng.choice((1, 1, 2, 3, 7)))] for _ in range(n)]
    y = [[rng.choice(labels) for _ in sequence] for sequence in X]
    return X, y


def train(path, X, y, algorithm="lbfgs", **parameters):
    trainer = pycrfsuite.Trainer(algorithm, parameters, verbose=False)
    for sequence, labels in zip(X, y, strict=True):
        trainer.append(sequence, labels)
    trainer.train(str(path))
    return path


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
    """A model of python-crfsuite, and data."""
    X, y = make_data()
    return train(tmp_path_factory.mktemp("small") / "m.crfsuite", X, y, max_iterations=20), X


class TestReading:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_tags_as_python_crfsuite_does(self, tmp_path, algorithm):
        X, y = make_data(seed=ALGORITHMS.index(algorithm))
        path = train(tmp_path / "m.crfsuite", X, y, algorithm, max_iterations=15)
        assert_same_tagging(path, X + make_data(20, seed=99)[0])

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
        X, y = make_data()
        assert_same_tagging(train(tmp_path / "m.crfsuite", X, y, max_iterations=15, **parameters), X)

    def test_features_and_their_order_are_those_of_the_file(self, small):
        path, _ = small
        info, model = open_tagger(path).info(), read_crfsuite_model(path)
        names = model.attributes.strings()
        assert {name: str(i) for i, name in enumerate(names)} == info.attributes
        assert {name: str(i) for i, name in enumerate(model.classes)} == info.labels
        tagger = import_model(path)
        # Theirs are printed with six decimals.
        assert {k: round(w, 6) for k, w in tagger.state_features().items()} == info.state_features
        assert {k: round(w, 6) for k, w in tagger.transition_features().items()} == info.transitions

    def test_one_label(self, tmp_path):
        X, y = make_data(10, labels=("O",))
        assert_same_tagging(train(tmp_path / "m.crfsuite", X, y), X)

    def test_no_attributes(self, tmp_path):
        X = [[[], []], [[]], [[], [], []]]
        y = [["A", "B"], ["B"], ["A", "B", "B"]]
        path = train(tmp_path / "m.crfsuite", X, y)
        assert len(read_crfsuite_model(path).attributes) == 0
        assert_same_tagging(path, X)

    def test_unknown_attributes_are_passed_over(self, small):
        path, _ = small
        assert_same_tagging(path, [[["never", "seen"], ["w=a"]], [[]]])

    def test_bytes_and_file_objects(self, small):
        path, _ = small
        expected = read_crfsuite_model(path)
        assert_same_model(read_crfsuite_model(path.read_bytes()), expected)
        with path.open("rb") as file:
            assert_same_model(read_crfsuite_model(file), expected)
        with path.open(encoding="latin-1") as file, pytest.raises(ModelFileError, match="binary mode"):
            read_crfsuite_model(file)

    def test_names_in_another_encoding(self, small):
        path, _ = small
        content = path.read_bytes().replace("Übung".encode(), "Übung ".encode("latin-1"))
        with pytest.raises(ModelFileError, match=r"name \d is not UTF-8; pass encoding="):
            read_crfsuite_model(content)
        assert "Übung " in read_crfsuite_model(content, encoding="latin-1").classes
        with pytest.raises(InputError, match="encoding must be the name of a text encoding"):
            read_crfsuite_model(content, encoding="klingon")


class TestWriting:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_a_file_written_again_is_the_same_to_the_last_byte(self, tmp_path, algorithm):
        X, y = make_data(seed=7)
        path = train(tmp_path / "m.crfsuite", X, y, algorithm, max_iterations=10)
        model = read_crfsuite_model(path)
        write_crfsuite_model(tmp_path / "again.crfsuite", model)
        assert (tmp_path / "again.crfsuite").read_bytes() == path.read_bytes()
        assert_same_model(read_crfsuite_model(tmp_path / "again.crfsuite"), model)

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
        assert_same_model(read_crfsuite_model(path), model)

    def test_many_attributes(self, tmp_path):
        """Thousands a table, so that probing goes round."""
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
            write_crfsuite_model(file, read_crfsuite_model(path))
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
            with pytest.raises(InputError, match=message):
                write_crfsuite_model(path, model)
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
    """Every feature there is, with random weights."""
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


def works_or_fails(content):
    """A damaged file gives an error, or a model that can be used and written."""
    try:
        tagger = import_model(content, "crfsuite", n_jobs=1)
    except ModelFileError:
        return False
    tagger.predict([[["w=a", "bias"], ["w=b"]], [[]]])
    export_crfsuite(tagger, NullFile())
    return True


class NullFile:
    def write(self, piece):
        pass


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    X, y = make_data(10, labels=LABELS[:2])
    return train(tmp_path_factory.mktemp("damage") / "m.crfsuite", X, y, max_iterations=5).read_bytes()


class TestDamage:
    def test_cut_off_anywhere(self, content):
        for n in range(len(content)):
            with pytest.raises(ModelFileError):
                read_crfsuite_model(content[:n])

    def test_too_long(self, content):
        with pytest.raises(ModelFileError, match="too long"):
            read_crfsuite_model(content + b"\0")

    @pytest.mark.parametrize("at", range(0, 48, 4))
    @pytest.mark.parametrize("value", [0, 1, 47, 10_000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFF0, 0xFFFFFFFF])
    def test_absurd_numbers_in_the_header(self, content, at, value):
        tracemalloc.start()
        works_or_fails(content[:at] + struct.pack("<I", value) + content[at + 4 :])
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 50 * len(content)

    @settings(max_examples=400, deadline=None)
    @given(data=st.data())
    def test_damaged_anywhere(self, content, data):
        damaged = bytearray(content)
        for _ in range(data.draw(st.integers(1, 4))):
            at = 4 * data.draw(st.integers(0, len(content) // 4 - 1))
            value = data.draw(st.integers(0, len(content)) | st.integers(0, 2**32 - 1))
            damaged[at : at + 4] = struct.pack("<I", value)
        works_or_fails(bytes(damaged))

    def test_bit_flips(self, content):
        rng = random.Random(0)
        outcomes = set()
        for _ in range(1000):
            damaged = bytearray(content)
            damaged[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
            outcomes.add(works_or_fails(bytes(damaged)))
        assert outcomes == {True, False}

    def test_links_that_all_lead_to_one_string(self, tmp_path):
        """Strings that overlap would take far more memory than the file."""
        model = make_model(["x" * 10_000, *(f"{i}" for i in range(1000))], 1)
        write_crfsuite_model(tmp_path / "m", model)
        damaged = bytearray((tmp_path / "m").read_bytes())
        at = struct.unpack_from("<I", damaged, 36)[0]  # the attributes' dictionary
        n, links = struct.unpack_from("<II", damaged, at + 16)
        first = damaged[at + links : at + links + 4]
        damaged[at + links : at + links + 4 * n] = bytes(first) * n
        with pytest.raises(ModelFileError, match="string 1 of a dictionary is malformed"):
            read_crfsuite_model(bytes(damaged))

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
        with pytest.raises(ModelFileError, match=message):
            read_crfsuite_model(bytes(damaged))

    def test_more_labels_than_a_file_can_be_for(self, tmp_path):
        model = replace(
            make_model([], 1),
            classes=[f"{i}" for i in range(4000)],
            edge_mask=np.zeros((4000, 4000), np.bool_),
            edge_weights=np.zeros((4000, 4000)),
        )
        write_crfsuite_model(tmp_path / "m", model)
        with pytest.raises(ModelFileError, match="4000 labels, whose pairs would take 122 MiB"):
            read_crfsuite_model(tmp_path / "m")

    def test_the_message_names_the_file(self, tmp_path):
        path = tmp_path / "née.crfsuite"
        path.write_bytes(b"lCRF")
        with pytest.raises(ModelFileError, match=r"cannot read the model .*née.crfsuite: .* cut off"):
            read_crfsuite_model(path)
