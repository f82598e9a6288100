"""Python objects to attributes; the oracle is python-crfsuite's own ItemSequence."""

import collections
import decimal
import fractions
import gc
import itertools
import math
import pickle
import signal
import sys
import threading

import numpy as np
import pycrfsuite
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import Vocabulary, encode
from crfkit.exceptions import InputError


def decoded(X, vocabulary=None, grow=True):
    """Encode X and return it as lists of lists of dicts."""
    vocabulary = Vocabulary() if vocabulary is None else vocabulary
    data = encode(X, vocabulary, grow=grow)
    assert data.n_attributes == len(vocabulary)
    names = vocabulary.strings()
    values = np.ones(data.indices.size) if data.values is None else data.values
    rows = []
    for start, stop in zip(data.indptr[:-1], data.indptr[1:], strict=True):
        row = [names[i] for i in data.indices[start:stop]]
        assert len(set(row)) == len(row)
        rows.append(dict(zip(row, values[start:stop].tolist(), strict=True)))
    return [rows[a:b] for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]


# python-crfsuite ends a name at its first NUL, we do not.
NAME = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6)
NUMBER = st.one_of(
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.floats(width=32, allow_nan=False, allow_infinity=False).map(np.float32),
    st.integers(-99, 99).map(np.int64),
    st.booleans().map(np.bool_),
)
LEAF = st.one_of(NAME, NAME.map(str.encode), NUMBER, st.lists(NAME, max_size=3), st.sets(NAME, max_size=3))
DICT = st.recursive(
    st.dictionaries(NAME, LEAF, max_size=4),
    lambda inner: st.dictionaries(NAME, st.one_of(LEAF, inner), max_size=3),
    max_leaves=6,
)
ITEM = st.one_of(DICT, st.lists(NAME, max_size=5), st.sets(NAME), st.lists(NAME).map(tuple))


def flat_names(item):
    """Return all names of an item, including repeats, which python-crfsuite's dict hides."""
    if not isinstance(item, dict):
        return [name.decode() if isinstance(name, bytes) else name for name in item]
    names = []
    for key, value in item.items():
        if isinstance(value, dict):
            names += [f"{key}:{name}" for name in flat_names(value)]
        elif isinstance(value, (list, set)):
            names += [f"{key}:{name}" for name in value]
        elif isinstance(value, bytes):
            names.append(f"{key}:{value.decode()}")
        else:
            names.append(f"{key}:{value}" if isinstance(value, str) else key)
    return names


@given(st.lists(st.lists(ITEM, max_size=4), max_size=4))
def test_same_attributes_as_pycrfsuite(X):
    for sequence, got in zip(X, decoded(X), strict=True):
        expected = pycrfsuite.ItemSequence(sequence).items()
        for item, wanted, found in zip(sequence, expected, got, strict=True):
            names = flat_names(item)
            if len(set(names)) == len(names):
                assert found == {name: value for name, value in wanted.items() if value != 0}
            else:
                assert set(found) <= set(wanted)


def test_repeated_attributes_add_up_as_in_crfsuite(tmp_path):
    """A trained model shows that crfsuite counts a repeated attribute as often as it occurs."""
    path = str(tmp_path / "model")
    trainer = pycrfsuite.Trainer(verbose=False)
    trainer.append([["a"], ["b"], ["a", "b"]], ["x", "y", "x"])
    trainer.train(path)
    tagger = pycrfsuite.Tagger()
    tagger.open(path)

    def probability(item):
        tagger.set([item])
        return tagger.marginal("x", 0)

    assert probability(["a", "a", "b"]) == pytest.approx(probability({"a": 2.0, "b": 1.0}))
    assert probability(["a", "a", "b"]) != pytest.approx(probability(["a", "b"]))

    assert decoded([[["a", "b", "a"]]]) == [[{"a": 2.0, "b": 1.0}]]
    assert decoded([[{"k": "a", "k:a": 1.5}]]) == [[{"k:a": 2.5}]]
    assert decoded([[{"k": "a", "k:a": -1}]]) == [[{}]]
    long = [f"n{i % 70}" for i in range(200)]
    assert decoded([[long]]) == [[dict(collections.Counter(long))]]


def test_beyond_pycrfsuite():
    class Lookup(collections.abc.Mapping):
        def __init__(self, content):
            self.content = content

        def __getitem__(self, key):
            return self.content[key]

        def __iter__(self):
            return iter(self.content)

        def __len__(self):
            return len(self.content)

    assert decoded([[{"k": ("a", "b"), "f": frozenset("c")}]]) == [[{"k:a": 1, "k:b": 1, "f:c": 1}]]
    assert decoded([[Lookup({"k": Lookup({"a": 2})})]]) == [[{"k:a": 2}]]
    assert decoded([[{"v": np.array([0.5, 0, -1])}]]) == [[{"v:0": 0.5, "v:2": -1}]]
    assert decoded([[{"v": np.array(["p", "q"])}]]) == [[{"v:p": 1, "v:q": 1}]]
    assert decoded([[{"d": decimal.Decimal("1.5"), "f": fractions.Fraction(1, 4), "z": np.array(2.0)}]]) == [
        [{"d": 1.5, "f": 0.25, "z": 2.0}]
    ]
    assert decoded([[["a\0b"], {"k\0": "\0"}]]) == [[{"a\0b": 1}, {"k\0:\0": 1}]]
    ordered = collections.OrderedDict(a="x", b="y")
    ordered.move_to_end("a")
    assert decoded([[ordered, collections.defaultdict(int, c=1), collections.Counter("dd")]]) == [
        [{"b:y": 1, "a:x": 1}, {"c": 1}, {"d": 2}]
    ]
    assert decoded([[(name for name in "ab"), np.array(["c", "d"]), [np.str_("e")]]]) == [
        [{"a": 1, "b": 1}, {"c": 1, "d": 1}, {"e": 1}]
    ]
    assert decoded([pycrfsuite.ItemSequence([{"a": "b"}, {"c": 2.0}])]) == [[{"a:b": 1}, {"c": 2}]]


def test_shapes():
    assert decoded([]) == []
    assert decoded([[], [[]], [], [[], {}]]) == [[], [{}], [], [{}, {}]]
    assert decoded(iter([[["a"]], (["b"],)])) == [[{"a": 1}], [{"b": 1}]]
    assert decoded(iter([[str(i)]]) for i in range(3)) == [[{"0": 1}], [{"1": 1}], [{"2": 1}]]
    assert decoded(np.array([[["a", "b"], ["c", "d"]]])) == [[{"a": 1, "b": 1}, {"c": 1, "d": 1}]]
    assert encode([[["a"]], [["b"]]], Vocabulary(), grow=True).lengths.tolist() == [1, 1]


def test_values_are_kept_only_where_needed():
    vocabulary = Vocabulary()
    assert encode([[["a"], {"b": 1.0, "c": True}]], vocabulary, grow=True).values is None
    assert encode([[["a"], {"b": 0.5, "b:": 1}]], vocabulary, grow=True).values.tolist() == [1, 0.5, 1]
    zeros = encode([[{"z": 0, "y": False, "x": 0.0, "w": -0.0}]], vocabulary, grow=True)
    assert zeros.indices.size == 0
    assert vocabulary.lookup(["z", "y", "x", "w"]).max() == -1
    halves = encode([[{"k": "v", "k:v": -0.5}, {"m": 0.5, "k": "v"}]], vocabulary, grow=True)
    assert halves.values.tolist() == [0.5, 0.5, 1]


def test_unknown_attributes_are_dropped_unless_it_grows():
    vocabulary = Vocabulary(["a", "b:x"])
    assert decoded([[["z", "a"], {"b": "x", "c": 1}]], vocabulary, grow=False) == [[{"a": 1}, {"b:x": 1}]]
    assert len(vocabulary) == 2
    again = Vocabulary.from_arrays(vocabulary.to_arrays())
    assert decoded([[["z", "a"]]], again, grow=True) == [[{"z": 1, "a": 1}]]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ("abc", "X must be a list of sequences, got str"),
        ({"a": 1}, "X must be a list of sequences, got dict"),
        (7, "X must be a list of sequences, got int"),
        (None, "X must be a list of sequences, got NoneType"),
        (["the cat"], "sequence 0: expected a list of items, got str 'the cat'; X is a list of seq"),
        ([[["a"]], {"a": 1}], "sequence 1: expected a list of items, got dict .*lists of dicts"),
        ([[["a"]], None], "sequence 1: expected a list of items, got None"),
        ([[["a"]], 5], "sequence 1: expected a list of items, got int 5"),
        (
            [[["a"], "b"]],
            r"sequence 0, position 1: an item must .*got str 'b'. .*one sequence write \[x\].*own: \[\[",
        ),
        ([[["a"], b"b"]], "position 1: an item must be .* got bytes"),
        ([[["a"], None]], "position 1: an item must be .* got None"),
        ([[["a"], 3.5]], "position 1: an item must be .* got float 3.5"),
        ([[["a", 1]]], "an attribute in a list must be str or bytes, got int 1; for real values use a dict"),
        ([[["a", None]]], "an attribute in a list must be str or bytes, got None"),
        ([[[{"a": 1}]]], "got dict {'a': 1}; is the data nested one level too deep"),
        ([[[["a"]]]], r"got list \['a'\]; is the data nested one level too deep"),
        ([[{1: 2}]], "a key of a dict must be str or bytes, got int 1"),
        ([[{"k": {None: 2}}]], "feature 'k:': a key of a dict must be str or bytes, got None"),
        ([[{"k": None}]], "feature 'k': a value must be a str, .* got None"),
        ([[{"k": object()}]], "feature 'k': a value must be a str, .* got object <object"),
        ([[{"k": 1j}]], "feature 'k': a value must be .* got complex 1j"),
        ([[{"k": [1]}]], "feature 'k:': an attribute in a list must be str or bytes, got int 1"),
        ([[{"k": 10**400}]], "feature 'k': a value must be .* got int"),
        ([[{"k": np.ones((2, 2))}]], "feature 'k': a value must be .* got numpy.ndarray"),
        ([[{"k": np.array([1.0, np.nan])}]], "feature 'k:1': expected a finite number, got nan"),
        ([[{"k": math.nan}]], "sequence 0, position 0: feature 'k': expected a finite number, got nan"),
        ([[], [{}, {"k": {"j": -math.inf}}]], "sequence 1, position 1: feature 'k:j': .* got -inf"),
        ([[{"k": np.float32("inf")}]], "feature 'k': expected a finite number, got inf"),
        ([[["a", "\ud800"]]], "a lone surrogate cannot be stored as UTF-8, got str '.ud800'"),
        ([[{"é\ud800": 1}]], "a lone surrogate"),
        ([[["a", b"\xff"]]], "bytes must be UTF-8, got bytes b'.xff'"),
        ([[{"é" * 100: None}]], "feature 'é+': a value must be"),
        ([[["x", ["é" * 100]]]], "got list .'é+\\.\\.\\."),
    ],
)
def test_errors_name_the_place(X, message):
    vocabulary = Vocabulary(["z"])
    for grow in (True, False):
        refuses(message, encode, X, vocabulary, grow=grow)
    assert vocabulary.strings() == ["z"]


def test_sums_that_overflow():
    vocabulary = Vocabulary()
    with pytest.raises(InputError, match=r"position 0: feature 'k:v': its values .* add up to infinity"):
        encode([[{"k:v": 1e308, "k": {"v": 1e308}}]], vocabulary, grow=True)
    assert len(vocabulary) == 0


def test_dicts_without_end():
    loop = {"a": 1}
    loop["self"] = loop
    refuses(r"feature 'self:self.*contains itself", encode, [[loop]], Vocabulary(), grow=True)
    deep = 1
    for _ in range(32):
        deep = {"d": deep}
    assert decoded([[deep]]) == [[{":".join("d" * 32): 1}]]


def test_errors_of_the_callers_own_pass_through():
    class Awkward:
        def __float__(self):
            raise ZeroDivisionError("mine")

    def sequences():
        yield [["a"]]
        raise LookupError("no more")

    vocabulary = Vocabulary()
    with pytest.raises(ZeroDivisionError, match="mine"):
        encode([[{"k": Awkward()}]], vocabulary, grow=True)
    with pytest.raises(LookupError, match="no more"):
        encode(sequences(), vocabulary, grow=True)
    assert len(vocabulary) == 0


def test_containers_that_change_while_they_are_read():
    class Meddler:
        def __init__(self, act):
            self.act = act

        def __float__(self):
            self.act()
            return 1.0

    item = {}
    item.update(a=Meddler(lambda: item.update({str(i): "x" * i for i in range(100)})), b=1)
    refuses("changed while it was read", encode, [[item]], Vocabulary(), grow=True)
    gone = {}
    gone.update(a=Meddler(gone.clear), b="x")
    refuses("changed while it was read", encode, [[gone]], Vocabulary(), grow=True)
    X = [[{"a": Meddler(lambda: X.clear())}, {"b": 1}], [["c"]]]
    assert decoded(X) == [[{"a": 1}, {"b": 1}]]
    sequence = [{"a": Meddler(lambda: sequence.clear())}, {"b": 1}]
    assert decoded([sequence]) == [[{"a": 1}]]


def test_nothing_is_kept_of_the_objects():
    def encode_twice():
        for sequence in ([[word + "!", "b"] for word in "xyz"], [{"k" + str(i): "v"} for i in range(9)]):
            encode(iter([sequence]), Vocabulary(), grow=True)
            for bad in ([[{"k": None}]], [[["a", 1]]], [[{"k": math.nan}]]):
                with pytest.raises(InputError):
                    encode(bad, Vocabulary(), grow=True)

    encode_twice()
    gc.collect()
    before = len(gc.get_objects()), sys.getrefcount(None)
    for _ in range(20):
        encode_twice()
    gc.collect()
    assert len(gc.get_objects()) - before[0] < 20
    name = "".join(["kept", "?"])
    count = sys.getrefcount(name)
    encode([[[name], {name: name}, {name: [name]}, (name,), {name}]], Vocabulary(), grow=True)
    assert sys.getrefcount(name) == count


def test_results_outlive_the_vocabulary():
    vocabulary = Vocabulary()
    data = encode([[["a", "b"], ["a"]]], vocabulary, grow=True)
    del vocabulary
    gc.collect()
    assert data.indices.tolist() == [0, 1, 0]
    again = pickle.loads(pickle.dumps(data))
    assert again.indptr.tolist() == [0, 2, 3]


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs POSIX timers")
def test_ctrl_c_stops_it():
    def interrupt(*_):
        raise KeyboardInterrupt

    vocabulary = Vocabulary()
    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    try:
        with pytest.raises(KeyboardInterrupt):
            encode([itertools.repeat(["a", "b"], 10_000_000)], vocabulary, grow=True)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert len(vocabulary) == 0


def test_other_threads_get_their_turn():
    ran = threading.Event()
    thread = threading.Thread(target=ran.set)
    seen = []

    def items():
        thread.start()
        yield from itertools.repeat(["a"], 1_000_000)
        seen.append(ran.is_set())

    encode([items()], Vocabulary(), grow=True)
    thread.join()
    assert seen == [True]
