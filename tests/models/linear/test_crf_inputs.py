"""Valid X and y of CRF, and errors for other input."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse
from frames import Frame
from refusals import refuses

from crfkit import CRF

RNG = np.random.default_rng(0)
LENGTHS = [3, 1, 4, 2, 5, 3]
TABLE = np.round(RNG.normal(size=(sum(LENGTHS), 4)), 2) * (RNG.random((sum(LENGTHS), 4)) < 0.7)
CUTS = np.cumsum([0, *LENGTHS])
ARRAYS = [TABLE[a:b] for a, b in pairwise(CUTS)]
Y = [["A" if row.sum() > 0 else "B" for row in array] for array in ARRAYS]
DICTS = [[{str(j): v for j, v in enumerate(row)} for row in array] for array in ARRAYS]


def frame(table):
    return Frame(**{str(j): column.tolist() for j, column in enumerate(table.T)})


FORMS = {
    "dicts": (DICTS, {}),
    "tuples of dicts": (tuple(tuple(s) for s in DICTS), {}),
    "arrays": (ARRAYS, {}),
    "sparse matrices": ([scipy.sparse.csr_matrix(a) for a in ARRAYS], {}),
    "array and lengths": (TABLE, {"lengths": LENGTHS}),
    "csr and lengths": (scipy.sparse.csr_matrix(TABLE), {"lengths": np.array(LENGTHS)}),
    "coo array and lengths": (scipy.sparse.coo_array(TABLE), {"lengths": LENGTHS}),
    "frames": ([frame(a) for a in ARRAYS], {}),
    "frame and lengths": (frame(TABLE), {"lengths": LENGTHS}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_trains_the_same_model(form):
    X, options = FORMS[form]
    expected = CRF(c2=0.1).fit(DICTS, Y)
    crf = CRF(c2=0.1).fit(X, Y, **options)
    assert crf.objective_ == pytest.approx(expected.objective_, rel=1e-6)
    assert crf.predict(X, **options) == expected.predict(DICTS)
    assert crf.score(X, Y, **options) == expected.score(DICTS, Y)
    assert [len(rows) for rows in crf.predict_marginals(X, as_arrays=True, **options)] == LENGTHS
    assert crf.predict_posterior(X, **options)
    assert len(crf.predict_nbest(X, 2, **options)) == len(LENGTHS)


@pytest.mark.parametrize("form", ["array and lengths", "csr and lengths", "frame and lengths"])
def test_y_says_where_to_cut_when_it_is_there(form):
    X, options = FORMS[form]
    crf = CRF().fit(X, Y, X_dev=X, y_dev=Y)
    assert crf.predict(X, **options) == CRF().fit(DICTS, Y).predict(DICTS)
    assert crf.score(X, Y) == crf.score(X, Y, **options)
    crf.partial_fit(X, Y)
    refuses("does not say where sequences end: pass lengths", crf.predict, X)


def test_generators_and_iterators():
    expected = CRF().fit(DICTS, Y)
    assert CRF().fit((s for s in DICTS), iter(Y)).objective_ == expected.objective_
    assert expected.predict(s for s in DICTS) == expected.predict(DICTS)


def test_three_dimensions_and_equal_lengths_give_lists_of_lists():
    X = RNG.normal(size=(5, 3, 2))
    y = np.where(X.sum(axis=2) > 0, 1, 0)
    crf = CRF().fit(X, y)
    assert crf.classes_ == [0, 1]
    found = crf.predict(X)
    assert type(found) is list
    assert all(type(labels) is list and len(labels) == 3 for labels in found)
    assert {type(label) for labels in found for label in labels} == {int}
    for labels in (found, crf.predict_posterior(X), crf.predict_marginals(X)):
        assert [type(part) for part in labels] == [list] * 5
    assert crf.score(X, y) > 0.9


def test_object_arrays_of_equal_lengths_are_sequences_not_a_table():
    X = np.array([[{"a": 1.0}, {"b": 1.0}], [{"b": 1.0}, {"a": 1.0}]], dtype=object)
    y = [["A", "B"], ["B", "A"]]
    model = CRF(c2=0.1).fit(X, y)
    assert model.predict(X) == y
    assert model.score(X, y) == 1


def test_labels_from_generators():
    X, y = [[["a"], ["b"]], [["b"]]], [["A", "B"], ["B"]]
    assert CRF().fit(X, (iter(labels) for labels in y)).predict(X) == y


def test_strings_sets_and_nested_values():
    X = [
        [["a", "b"], ("a",), {"c"}],
        [{"w": "x", "n": 2, "f": True, "g": False, "in": {"s": "t"}, "l": ["u", "v"]}],
    ]
    crf = CRF().fit(X, [["A", "A", "B"], ["B"]])
    assert {name for name, _ in crf.state_features_} == {
        "a",
        "b",
        "c",
        "w:x",
        "n",
        "f",
        "in:s:t",
        "l:u",
        "l:v",
    }


def test_scale_of_values_matters_as_it_should():
    """A value twice as large with half the weight gives the same scores; signs are kept."""
    up, down = ([[[factor * v] for v in (1.0, -1.0, 2.0)]] * 4 for factor in (1.0, -1.0))
    y = [["P", "N", "P"]] * 4
    a, b = (CRF(c2=0.1).fit([np.array(s) for s in X], y) for X in (up, down))
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-5)
    assert a.state_features_[("0", "P")] == pytest.approx(-b.state_features_[("0", "P")], abs=1e-3)
    assert a.predict([np.array([[3.0], [-3.0]])]) == [["P", "N"]]


GOOD = [[{"a": 1}, {"b": 1}], [{"a": 1}]]
LABELS = [["A", "B"], ["A"]]
BAD = [
    (GOOD, "AB", "y must be a list of sequences of labels, got str"),
    (GOOD, {"A": 1}, "y must be a list of sequences of labels, got dict"),
    (GOOD, ["A", "B"], "sequence 0 is str 'A'"),
    ([[], []], [[], []], "every sequence of X is empty"),
    (None, LABELS, "X must be a list of sequences, got NoneType"),
    ("abc", LABELS, "X must be a list of sequences, got str"),
    (["ab", "c"], LABELS, "sequence 0: expected a list of items, got str"),
    ([{"a": 1}, {"b": 1}], LABELS, "sequence 0: expected a list of items, got dict"),
    ([[{"a": 1}, {"b": np.nan}], [{"a": 1}]], LABELS, "sequence 0, position 1: feature 'b'.*nan"),
    ([[{"a": 1}, {"b": 1}], [{"c": -np.inf}]], LABELS, "sequence 1, position 0: feature 'c'.*-inf"),
    ([[{"a": 1}, {"b": object()}], [{"a": 1}]], LABELS, "sequence 0, position 1: feature 'b'"),
    ([[{"a": 1}, {3: 1}], [{"a": 1}]], LABELS, "sequence 0, position 1"),
    ([[{"a": 1}, 5], [{"a": 1}]], LABELS, "sequence 0, position 1"),
    ([np.ones((2, 2)), np.ones((1, 3))], LABELS, "sequence 1: expected 2 columns like sequence 0, got 3"),
    ([np.ones((2, 2)), np.array([[1, np.inf]])], LABELS, "sequence 1, position 0: feature '1'.*inf"),
    (np.ones((3, 2)), ["A", "A", "B"], "sequence 0 has 1|sequence 0 is str"),
    (np.ones((3, 2)), [1, 1, 0], "y must be a list of sequences of labels, but sequence 0 is int 1"),
    ([[{"a": 1e20}, {"b": 1}], [{"a": 1}]], LABELS, "sequence 0, position 0: the value 1e\\+20 is too large"),
]


@pytest.mark.parametrize(("X", "y", "message"), BAD, ids=range(len(BAD)))
def test_bad_training_data_names_the_place(X, y, message):
    refuses(message, CRF().fit, X, y)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([{"a": 1}], "sequence 0: expected a list of items, got dict"),
        ([[{"a": float("nan")}]], "sequence 0, position 0: feature 'a'"),
        ([np.ones((2, 2))], "the attributes known so far have names"),
        (None, "X must be a list of sequences, got NoneType"),
    ],
)
@pytest.mark.parametrize("method", ["predict", "predict_posterior", "predict_marginals", "predict_nbest"])
def test_bad_data_to_tag(X, message, method):
    crf = CRF().fit(GOOD, LABELS)
    refuses(message, getattr(crf, method), X)


def test_another_width_than_in_training():
    crf = CRF().fit(ARRAYS, Y)
    refuses("X has 3 columns, but 4 were expected, as in training", crf.predict, [np.ones((2, 3))])


def test_no_attributes_at_all():
    crf = CRF(c2=0.01).fit([[[], [], []]] * 5, [["A", "A", "B"]] * 5)
    assert crf.state_features_ == {}
    assert crf.predict([[[], []], [["never seen"]]])[0][0] == "A"


def test_attributes_unseen_in_training_are_passed_over():
    crf = CRF().fit(GOOD, LABELS)
    assert crf.predict([[{"a": 1, "new": 5}, {"newer": "x"}]]) == crf.predict([[{"a": 1}, {}]])


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("c1", -1, "c1 must be a number of at least 0 or one of 'auto', got -1"),
        ("c2", "1", "c2 must be a number of at least 0 or one of 'auto', got '1'"),
        ("c2", float("nan"), "c2 must be"),
        ("c2", float("inf"), "c2 must be"),
        ("c2", True, "c2 must be"),
        ("order", 0, "order must be a whole number from 1 to 30, got 0"),
        ("order", True, "order must be a whole number from 1 to 30, got True"),
        (
            "algorithm",
            "l2sgd",
            "algorithm must be one of 'auto', 'lbfgs', 'sgd', 'ap', 'pa', 'arow', with settings",
        ),
        ("max_iterations", 0, "max_iterations must be None or a whole number of at least 1, got 0"),
        ("max_iterations", 2.5, "max_iterations must be"),
        ("tol", -1e-3, "tol must be"),
        ("min_freq", None, "min_freq must be"),
        ("all_possible_states", 1, "all_possible_states must be True or False, got 1"),
        ("patience", 0, "patience must be"),
        ("warm_start", None, "warm_start must be"),
    ],
)
def test_bad_parameters_show_the_value(name, value, message):
    refuses(message, CRF(**{name: value}).fit, GOOD, LABELS)


def test_numbers_of_numpy_will_do():
    crf = CRF(
        c1=np.float32(0.0),
        c2=np.float64(0.5),
        order=np.int64(2),
        max_iterations=np.int32(99),
        min_freq=np.int8(1),
    ).fit(GOOD, LABELS)
    assert crf.tagger_.index.order == 2


def test_a_model_that_sees_nothing_warns():
    with pytest.warns(UserWarning, match="no attribute occurs min_freq=100 times"):
        CRF(min_freq=100).fit([[["a"], ["b"]]], [["A", "B"]])
