"""Numbers, bins and vectors."""

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refuses
from sklearn.exceptions import NotFittedError

from crfkit.data import Vocabulary, encode
from crfkit.exceptions import InputError
from crfkit.features import Features, column, position, token

PRICE = column("price")


def rows(*prices):
    return [[{"price": price, "w": "a"} for price in prices]]


def test_numbers_are_values():
    features = Features(column("w"), PRICE.number(), PRICE.number()[-1])
    assert features.transform(rows(2, 0.5, "7", True, Decimal("1.5"), np.float32(0.25))) == [
        [
            {"w=a": 1.0, "price": 2.0},
            {"w=a": 1.0, "price": 0.5, "price[-1]": 2.0},
            {"w=a": 1.0, "price": 7.0, "price[-1]": 0.5},
            {"w=a": 1.0, "price": 1.0, "price[-1]": 7.0},
            {"w=a": 1.0, "price": 1.5, "price[-1]": 1.0},
            {"w=a": 1.0, "price": 0.25, "price[-1]": 1.5},
        ]
    ]


def test_numbers_of_arrays_and_frames():
    expected = [[{"c0": 1.0, "c1": 2.0}], [{"c0": 3.0, "c1": 4.0}]]
    features = Features(column(0).number(), column(1).number())
    assert features.transform(np.array([[[1.0, 2.0]], [[3.0, 4.0]]])) == expected
    assert features.transform(np.array([[1, 2], [3, 4]]), lengths=[1, 1]) == expected
    assert (
        features.transform([pd.DataFrame({"a": [1], "b": [2.0]}), pd.DataFrame({"a": [3], "b": [4.0]})])
        == expected
    )


def test_text_made_into_numbers():
    length = token().map(len, "length").number()
    assert Features(length).transform([["a", "bcd"]]) == [[{"w.length": 1.0}, {"w.length": 3.0}]]
    found = token().find(r"\d+", "no").number()
    assert Features(found).transform([["a", "b42"]]) == [[{}, {"w.no": 42.0}]]


def test_numbers_in_conjunctions():
    features = Features(
        PRICE.number() & column("w"), PRICE.number() & PRICE.number()[1], PRICE.number() & column("w")[-1]
    )
    assert features.transform(rows(2, 3)) == [
        [
            {"price|w=a": 2.0, "price|price[1]": 6.0, "price|w[-1]=<s>": 2.0},
            {"price|w=a": 3.0, "price|w[-1]=a": 3.0},
        ]
    ]


def test_functions_of_numbers():
    logs = PRICE.number().map(math.log, "log")
    assert Features(logs).transform(rows(1, math.e)) == [[{"price.log": 0.0}, {"price.log": 1.0}]]
    with pytest.raises(
        InputError, match=r"sequence 0, position 1: price\.log: the function of 'log' failed for 0\.0: "
    ):
        Features(logs).transform(rows(1, 0))
    with pytest.raises(InputError, match=r"position 0: price\.x: expected a finite number, got inf for 1\.0"):
        Features(PRICE.number().map(lambda x: math.inf, "x")).transform(rows(1))
    with pytest.raises(
        InputError, match=r"position 0: price\.x: map 'x' must give a number, got 'a' for 1\.0"
    ):
        Features(PRICE.number().map(lambda x: "a", "x")).transform(rows(1))


@pytest.mark.parametrize("missing", [None, float("nan"), np.float32("nan"), pd.NA, "", " ", "nan"])
def test_missing_numbers(missing):
    X = [rows(1)[0], rows(1, missing)[0]]
    with pytest.raises(
        InputError, match=r"sequence 1, position 1: column 'price': expected a number, but it is missing"
    ):
        Features(PRICE.number()).transform(X)
    price = column("price", optional=True).number()
    assert Features(price, price.binned([1]), price & column("w")).transform(X)[1] == [
        {"price": 1.0, "price.bin=>=1": 1.0, "price|w=a": 1.0},
        {},
    ]


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, "inf", "abc", [1], 1j, object()])
def test_what_is_no_number(wrong):
    for optional in (False, True):
        with pytest.raises(
            InputError, match=r"sequence 0, position 1: column 'price': expected a (finite )?number, got"
        ):
            Features(column("price", optional=optional).number()).transform(rows(1, wrong))


# ---- learnt from the data


def test_standardised():
    features = Features(PRICE.number().standardised())
    X = [*rows(1, 2), *rows(3)]
    with pytest.raises(NotFittedError, match="call fit first"):
        features.transform(X)
    values = [item["price.standardised"] for items in features.fit_transform(X) for item in items]
    assert np.allclose(values, (np.array([1, 2, 3]) - 2) / np.std([1, 2, 3]))
    assert features.transform(rows(2)) == [[{"price.standardised": 0.0}]]
    assert features.fit(iter(X)).transform(iter(X)) == features.fit_transform(iter(X))
    assert Features(PRICE.number().standardised()).fit_transform(rows(5, 5)) == [
        [{"price.standardised": 0.0}] * 2
    ]


def test_standardised_after_a_function_and_before_bins():
    number = PRICE.number().map(math.log, "log").standardised()
    features = Features(number, number.binned(2), number[-1]).fit(rows(1, math.e))
    assert features.transform(rows(1, math.e)) == [
        [
            {"price.log.standardised.bin=<0": 1.0, "price.log.standardised": -1.0},
            {
                "price.log.standardised.bin=>=0": 1.0,
                "price.log.standardised": 1.0,
                "price.log.standardised[-1]": -1.0,
            },
        ]
    ]


def test_bins_with_given_edges():
    texts = Features(PRICE.number().binned([10, 20.5])).transform(rows(-1, 10, 20.4, 20.5, 99))
    assert texts == [[[f"price.bin={b}"] for b in ("<10", "[10,20.5)", "[10,20.5)", ">=20.5", ">=20.5")]]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=50), st.integers(2, 6))
def test_learnt_bins(numbers, n):
    features = Features(PRICE.number().binned(n)).fit(rows(*numbers))
    (items,) = features.transform(rows(*numbers))
    bins = [bin_ for (bin_,) in items]
    assert len(set(bins)) <= n
    in_order = [b for _, b in sorted(zip(numbers, bins, strict=True))]
    runs = [b for k, b in enumerate(in_order) if k == 0 or in_order[k - 1] != b]
    assert len(runs) == len(set(runs))  # every bin is one interval
    if len(set(numbers)) >= 50:
        assert len(runs) == n


def test_two_kinds_of_bins():
    price = PRICE.number()
    refuses(r"with \.named\('…'\) for text", Features, price.binned([1]), price.binned(2))
    features = Features(price.binned([1]), price.binned(2).named("half"))
    assert features.fit_transform(rows(1, 3)) == [
        [["price.bin=>=1", "half=<2"], ["price.bin=>=1", "half=>=2"]],
    ]


def test_edges_that_look_alike():
    features = Features(PRICE.number().binned([1.0000001, 1.0000002]))
    assert features.transform(rows(1.00000015)) == [[["price.bin=[1.0000001,1.0000002)"]]]


def test_nothing_to_learn_from():
    for number in (PRICE.number().standardised(), PRICE.number().binned(3)):
        refuses(r"price\..*: there are no numbers to learn from", Features(number).fit, [])


def test_another_setting_is_not_fitted():
    features = Features(position().binned(2)).fit([["a", "b"]])
    features.set_params(extractors=[position().binned(3)])
    with pytest.raises(NotFittedError):
        features.transform([["a"]])


# ---- vectors


def test_vectors():
    vector = column("v").vector()
    X = [[{"v": [1.0, 2.0]}, {"v": np.array([0, 3])}, {"v": None}]]
    features = Features(vector, vector[1])
    assert features.names == ["v:", "v[1]:"]
    vocabulary = Vocabulary()
    sequences = encode(features.transform(X), vocabulary, grow=True)
    assert vocabulary.strings(0, len(vocabulary)) == ["v:0", "v:1", "v[1]:1"]
    assert sequences.values.tolist() == [1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("abc", "expected a vector of numbers, got str 'abc'"),
        ([[1]], r"expected a vector of numbers, got list \[\[1\]\]"),
        ([1, 2, 3], "expected 2 numbers like the others, got 3"),
        ([1, math.nan], "expected finite numbers, got nan"),
    ],
)
def test_what_is_no_vector(cell, message):
    with pytest.raises(InputError, match=f"sequence 0, position 1: column 'v': {message}"):
        Features(column("v").vector()).transform([[{"v": [1, 2]}, {"v": cell}]])
