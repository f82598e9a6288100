"""Names to ids and back; the oracle is a Python dict."""

import contextlib
import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import refuses

from crfkit.data import Vocabulary
from crfkit.exceptions import ModelFileError

# Any text except lone surrogates, which UTF-8 cannot hold.
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


def attached(vocabulary: Vocabulary) -> Vocabulary:
    arrays = vocabulary.to_arrays()
    for array in arrays.values():
        array.setflags(write=False)
    return Vocabulary.from_arrays(arrays)


@given(st.lists(TEXT), st.lists(TEXT))
def test_ids_follow_first_appearance(known, asked):
    expected = {name: i for i, name in enumerate(dict.fromkeys(known))}
    vocabulary = Vocabulary()
    assert vocabulary.add(known).tolist() == [expected[name] for name in known]
    assert vocabulary.strings() == list(expected)
    for other in (vocabulary, attached(vocabulary), pickle.loads(pickle.dumps(vocabulary))):
        assert len(other) == len(expected)
        assert other.lookup(asked + known).tolist() == [expected.get(name, -1) for name in asked + known]
        assert other.strings() == list(expected)


@pytest.mark.parametrize("name", ["", "\0", "a\0b", "a", "é", "中", "🂡", "x" * 100_000, ":", "_"])
def test_odd_names(name):
    vocabulary = Vocabulary(["first", name])
    assert vocabulary.lookup([name, name + "!", "!" + name]).tolist() == [1, -1, -1]
    assert vocabulary.strings(1) == [name]
    assert name in vocabulary
    assert 7 not in vocabulary


def test_many_names_and_every_length():
    names = [f"{kind}[{i}]={i * 7919 % 1000}" for i in range(5000) for kind in "wp"]
    names += ["n" * i for i in range(64)] + [str(i) for i in range(5000)]
    vocabulary = Vocabulary(names)
    assert vocabulary.lookup(names).tolist() == list(range(len(names)))
    assert vocabulary.lookup([name + "?" for name in names]).max() == -1


def test_probes_stay_short():
    """The hash spreads similar names: few are stored far from their first slot."""
    for names in ([str(i) for i in range(40_000)], [f"w[0]={i:x}|w[1]=the" for i in range(40_000)]):
        slots = Vocabulary(names).to_arrays()["slots"]
        taken = slots != 0
        assert slots.size <= 4 * len(names)
        runs = np.diff(np.flatnonzero(~taken)) - 1
        assert runs.max() < 120
        # Knuth, vol. 3, 6.4: a successful look-up by linear probing takes ½(1 + 1/(1 − load)) probes.
        load = taken.mean()
        clustered = (runs.astype(float) ** 2).sum() / len(names)
        assert clustered < 3 / (1 - load) ** 2


@pytest.mark.parametrize("copied", [attached, copy.deepcopy])
def test_copies_grow_on_their_own(copied):
    original = Vocabulary(["a", "b"])
    other = copied(original)
    assert other.add(["b", "c"]).tolist() == [1, 2]
    assert other.strings() == ["a", "b", "c"]
    assert original.strings() == ["a", "b"]
    assert repr(other) == "Vocabulary(3 names)"


def test_columns():
    vocabulary = Vocabulary()
    assert vocabulary.names_columns()
    vocabulary.add_columns(12)
    assert vocabulary.strings() == [str(i) for i in range(12)]
    assert vocabulary.names_columns()
    vocabulary.add(["x"])
    assert not vocabulary.names_columns()


@pytest.mark.parametrize(("bounds", "names"), [((2, 4), "cd"), ((4, 100), "ef"), ((-1,), "f")])
def test_slices(bounds, names):
    assert Vocabulary(list("abcdef")).strings(*bounds) == list(names)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["a", 1], "must be str or bytes, got int 1"),
        (["a", "\ud800"], "lone surrogate"),
        (["a", b"\xff"], "UTF-8"),
        ("abc", "expected a list of names"),
        (5, "expected a list of names"),
    ],
)
def test_bad_names_leave_nothing_behind(names, message):
    vocabulary = Vocabulary(["z"])
    refuses(message, vocabulary.add, names)
    refuses(message, vocabulary.lookup, names)
    assert vocabulary.strings() == ["z"]


def test_nothing_stays_of_names_that_fail_half_way():
    vocabulary = Vocabulary()

    def names(act):
        yield "a"
        act()

    with pytest.raises(KeyError, match="stop here"):
        vocabulary.add(names(lambda: {}["stop here"]))
    refuses("being filled by another call", vocabulary.add, names(lambda: vocabulary.add(["b"])))
    assert len(vocabulary) == 0
    assert vocabulary.add(["c"]).tolist() == [0]


def test_another_hash_version_is_hashed_anew():
    arrays = Vocabulary(["a", "b"]).to_arrays()
    arrays["hash_version"] = np.array([99], dtype=np.uint32)
    arrays["slots"] = np.zeros(8, dtype=np.uint32)
    assert Vocabulary.from_arrays(arrays).lookup(["b", "a"]).tolist() == [1, 0]


@pytest.mark.parametrize(
    ("name", "array"),
    [
        ("arena", np.zeros(3, dtype=np.int8)),
        ("offsets", np.zeros(0, dtype=np.int64)),
        ("offsets", np.zeros((2, 2), dtype=np.int64)),
        ("offsets", np.zeros(2, dtype=np.int32)),
        ("slots", np.zeros(0, dtype=np.uint32)),
        ("slots", np.zeros(2, dtype=np.uint32)),
        ("slots", np.zeros(12, dtype=np.uint32)),
        ("slots", None),
    ],
)
def test_malformed_arrays(name, array):
    arrays = Vocabulary(["a", "b", "c"]).to_arrays()
    if array is None:
        del arrays[name]
    else:
        arrays[name] = array
    with pytest.raises(ModelFileError):
        Vocabulary.from_arrays(arrays)


@settings(max_examples=200)
@given(st.data())
def test_hostile_arrays_never_hang_or_crash(data):
    names = [f"name{i}" for i in range(20)]
    arrays = Vocabulary(names).to_arrays()
    for name in ("offsets", "slots", "arena"):
        array = arrays[name]
        limits = np.iinfo(array.dtype)
        extremes = st.sampled_from([limits.min, limits.max, limits.max - 1, 0, 1, 20, 21, 150])
        values = st.one_of(extremes, st.integers(limits.min, limits.max))
        for _ in range(data.draw(st.integers(0, 6))):
            array[data.draw(st.integers(0, array.size - 1))] = data.draw(values)
        if data.draw(st.booleans()) and data.draw(st.booleans()):
            array[:] = data.draw(values)
    vocabulary = Vocabulary.from_arrays(arrays)
    ids = vocabulary.lookup([*names, "other", ""])
    assert ids.min() >= -1
    assert ids.max() < 20
    for use in (vocabulary.strings, vocabulary.names_columns, lambda: vocabulary.add(["new", *names])):
        with contextlib.suppress(ModelFileError):
            use()


def test_full_table_ends_the_search():
    arrays = Vocabulary(["a"]).to_arrays()
    arrays["slots"] = np.ones(1 << 16, dtype=np.uint32)
    assert Vocabulary.from_arrays(arrays).lookup(["b"]).tolist() == [-1]


def test_ids_of_sets_do_not_depend_on_the_hash_seed():
    program = (
        "from crfkit.data import *; v = Vocabulary();"
        "encode([[set('hgfedcba'), {'k': set('zyx')}]], v, grow=True); print(v.strings())"
    )
    seen = {
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, check=True
        ).stdout
        for seed in "123"
    }
    assert len(seen) == 1


def documented_hash(name: bytes) -> int:
    """Compute hash version 1 as docs/model-file.md describes it."""
    n = len(name)
    if n >= 8:
        words = [name[i : i + 8] for i in range(0, n - 7, 8)] + ([name[-8:]] if n % 8 else [])
    elif n >= 4:
        words = [name[:4] + name[-4:]]
    else:
        words = [bytes([name[0], name[n // 2], name[-1]])] if n else []
    modulus = (1 << 64) - 1
    h = 0x972387F2670CB691 ^ (n * 0x8DAFE9842FE3CB4F & modulus)
    for word in words:
        h = (h ^ int.from_bytes(word, "little")) * 0xB22698C4B2D6A349 & modulus
        h ^= h >> 32
    h = h * 0x8DAFE9842FE3CB4F & modulus
    return h ^ (h >> 29)


def test_the_table_is_as_documented():
    """Read the table as documented: a change of the hash must change its version and the document."""
    names = ["", *("abcdefghijklmnopqrstuvwxyz"[:n] for n in range(1, 27)), "é", *map(str, range(1000))]
    arrays = Vocabulary(names).to_arrays()
    assert arrays["hash_version"].tolist() == [1]
    slots = arrays["slots"].tolist()
    bits = len(slots).bit_length() - 1
    assert len(slots) == 1 << bits
    for i, name in enumerate(names):
        found = documented_hash(name.encode())
        slot = found % len(slots)
        entry = (found >> 32 >> bits) << bits | (i + 1)
        while slots[slot] != entry:
            assert slots[slot] != 0
            slot = (slot + 1) % len(slots)


# ---- copies of large vocabularies, which share their names

MANY = [f"name {i}" for i in range(20_000)]


@pytest.mark.parametrize("source", [Vocabulary, lambda names: attached(Vocabulary(names))])
def test_copies_of_a_large_vocabulary_grow_independently(source):
    first = source(MANY)
    second, third = first.copy(), first.copy()
    assert second.add(["x", "name 7", "y"]).tolist() == [20_000, 7, 20_001]
    assert third.add(["y"]).tolist() == [20_000]
    assert first.add(["z", "name 8"]).tolist() == [20_000, 8]  # it has been copied before
    del third
    fourth = second.copy()
    assert fourth.add(["w", "x"]).tolist() == [20_002, 20_000]
    expected = {0: (first, ["z"]), 1: (second, ["x", "y"]), 2: (fourth, ["x", "y", "w"])}
    for vocabulary, more in expected.values():
        names = MANY + more
        for same in (vocabulary, attached(vocabulary), pickle.loads(pickle.dumps(vocabulary))):
            assert len(same) == len(names)
            assert same.strings() == names
            assert same.lookup(["name 19999", *more, "none"]).tolist() == [
                19_999,
                *range(20_000, len(names)),
                -1,
            ]
            assert same.strings_of(np.array([len(names) - 1, 3])) == [names[-1], "name 3"]
    with pytest.raises(IndexError, match="no such name"):
        first.strings_of(np.array([20_001]))
    refuses("a name must be str", second.add, ["v", 1])  # ... and "v" is taken back
    assert second.strings(20_000) == ["x", "y"]
    assert second.add(["u"]).tolist() == [20_002]


def test_copies_of_copies_stay_right():
    """A layer that has grown large is merged with the one below."""
    vocabulary, names = Vocabulary(MANY), list(MANY)
    for i in range(30):
        vocabulary = vocabulary.copy()
        new = [f"{i} {j}" for j in range(100)]
        assert vocabulary.add(new).tolist() == list(range(len(names), len(names) + 100))
        names += new
    assert vocabulary.strings() == names
    assert vocabulary.lookup(names).tolist() == list(range(len(names)))
