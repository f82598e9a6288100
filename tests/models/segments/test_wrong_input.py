"""What functions and lists of the user may return, which forms X may have, and settings that go too far."""

import numpy as np
import pytest
from model_files import saved
from refusals import refuses

from crfkit import SemiCRF
from crfkit.features import Gazetteers

X = [[["a"], ["b"], ["in"]], [["in"], ["a"]], [["b"], ["a"]]] * 4
Y = [["B-X", "I-X", "O"], ["O", "B-X"], ["B-X", "I-X"]] * 4
QUICK = {"c2": 0.3, "max_iterations": 5}
pytestmark = pytest.mark.filterwarnings("ignore:training stopped before")


def fitted(x=X, y=Y, **settings):
    return SemiCRF(**QUICK, **settings).fit(x, y)


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (
            lambda s, a, b: {"n": np.nan},
            r"sequence 0: segment_features for the positions 0 to 1: feature 'n'.*nan",
        ),
        (
            lambda s, a, b: {"n": np.inf if len(s) == 2 else 1},
            "sequence 1: .* for the positions 0 to 0: .*inf",
        ),
        (lambda s, a, b: {"n": 1e300}, r"positions 0 to 1: the value 1e\+300 is too large to train on"),
        (lambda s, a, b: [["a"]], r"positions 0 to 1: an attribute in a list must be str or bytes, got list"),
        (lambda s, a, b: np.ones(2), "positions 0 to 1: an attribute in a list must be str"),
        (lambda s, a, b: "abc", "must return a list of names, .*positions 0 to 1 it returned str 'abc'"),
        (lambda s, a, b: 5, "must return a list of names, .*positions 0 to 1 it returned int 5"),
        (lambda s, a, b: (s[t][9] for t in range(a, b)), "failed for the positions 0 to 1: IndexError"),
    ],
    ids=range(8),
)
def test_what_segment_features_may_not_return(returned, message):
    refuses(message, fitted, segment_features=returned)


def test_what_segment_features_may_return():
    """Arrays, generators and empty values are what lists are."""

    def names(s, a, b):
        return ["".join(item[0] for item in s[a:b])]

    expected = fitted(segment_features=names).segment_features_
    for form in (np.array, tuple, iter, lambda found: dict.fromkeys(found, 1.0)):
        assert fitted(segment_features=lambda *at, f=form: f(names(*at))).segment_features_ == expected
    for nothing in (None, False, np.array([]), iter(()), {}):
        with pytest.warns(UserWarning, match="no segment of the training data has an attribute"):
            fitted(segment_features=lambda *at, n=nothing: n)


def test_places_of_bad_attributes_in_prediction():
    model = fitted(segment_features=lambda s, a, b: {"n": float(len(s[a][0]) < 9)})
    loaded = SemiCRF.load(
        saved(model), segment_features=lambda s, a, b: {"n": np.nan if s[a] == ["bad"] else 1.0}
    )
    refuses(
        "sequence 1: segment_features for the positions 2 to 2:", loaded.predict, [*X[:1], [*X[1], ["bad"]]]
    )
    refuses("segment_features must be None, a function", SemiCRF.load, saved(model), segment_features=5)
    refuses("boundaries must be None or a function", SemiCRF.load, saved(model), boundaries=5)


@pytest.mark.parametrize(
    ("lists", "message"),
    [
        ({}, "got an empty dict"),
        ({"city": None}, "list 'city': .*got NoneType"),
        ({"city": []}, "list 'city': a dictionary must have entries"),
        ({"city": ["", "  "]}, "list 'city': a dictionary must have entries"),
        ({"city": [["a", 1]]}, "list 'city': entry 0"),
        ({"": ["a"]}, "list ''"),
    ],
    ids=range(6),
)
def test_wrong_lists(lists, message):
    refuses(message, Gazetteers, lists)


def test_forms_of_x():
    """Generators of generators, data frames for each sequence, sparse matrices, arrays cut by lengths."""
    pandas, sparse = pytest.importorskip("pandas"), pytest.importorskip("scipy.sparse")
    lists = Gazetteers({"two": ["a b"]}, column="word")
    items = [[{"word": item[0]} for item in x] for x in X]
    expected = fitted(items, Y, segment_features=lists)
    assert expected.segment_features_
    streams = fitted((iter(x) for x in items), Y, segment_features=lists)
    frames = fitted([pandas.DataFrame(x) for x in items], Y, segment_features=lists)
    for model in (streams, frames):
        assert model.segment_features_ == pytest.approx(expected.segment_features_)
    assert frames.predict([pandas.DataFrame(items[0])]) == expected.predict([iter(items[0])])

    def total(rows, a, b):
        return {"total": float(rows[a:b].sum())}

    table = np.random.default_rng(0).normal(size=(4, 1))
    y = np.array(["B-X", "O", "O", "B-X"])
    dense = SemiCRF(**QUICK, segment_features=total).fit(table, y, lengths=[1] * 4)
    for kind in (sparse.csr_matrix, sparse.coo_array):
        thin = SemiCRF(**QUICK, segment_features=total).fit(kind(table), y, lengths=[1] * 4)
        assert thin.segment_features_ == pytest.approx(dense.segment_features_)
    parts = [sparse.csr_matrix(row[None]) for row in table]
    one_by_one = SemiCRF(**QUICK, segment_features=total).fit(parts, y[:, None].tolist())
    assert one_by_one.segment_features_ == pytest.approx(dense.segment_features_)


@pytest.mark.parametrize("positions", [0, None, "0", [0.0], [True], [[0]], [[0], [0, 1]], [10**30], [-1]])
def test_wrong_positions_of_boundaries(positions):
    for given in ({"breaks": positions}, {"starts": {"X": positions}}):
        refuses(
            "sequence 0: positions must be a list of whole numbers from 0 to 2; got",
            fitted,
            boundaries=lambda items, g=given: g,
        )


def test_boundaries_are_not_asked_for_empty_sequences():
    model = fitted([*X, []], [*Y, []], boundaries=lambda items: {"starts": {"X": [0, len(items) - 1]}})
    assert model.predict([[]]) == [[]]


def test_too_many_lengths():
    refuses("max_length=10000000 means 20,000,000 weights of lengths; at most", fitted, max_length=10**7)
    assert fitted(max_length=1000).predict(X[:1])[0][-1] == "O"


def test_values_that_are_too_large():
    refuses(
        r"sequence 0, position 1: the value 1e\+300 is too large",
        fitted,
        [[{"n": 1}, {"n": 1e300}]],
        [["O"] * 2],
    )
