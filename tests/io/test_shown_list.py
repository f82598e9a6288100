"""Lists that notebooks show as tables: they stay lists."""

import json
import pickle
from collections import namedtuple
from dataclasses import dataclass

import pytest
from html_page import Page

from crfkit.io.shown_list import ShownList, ShownLists

BAD = "<script>x</script>"
Pair = namedtuple("Pair", ["a", "b"])


@dataclass
class Point:
    a: object
    b: object


@pytest.mark.parametrize(
    "item", [{"a": 1, "b": BAD}, Pair(1, BAD), Point(1, BAD)], ids=["dict", "tuple", "data"]
)
def test_records(item):
    shown = ShownList([item])
    page = Page(shown._repr_html_())
    assert page.words == f"ab1{BAD}"
    assert shown == [item]
    assert repr(shown) == repr([item])
    assert shown.to_frame().to_dict("records") == [{"a": 1, "b": BAD}]


def test_cells():
    values = [None, True, 12345, 0.123456789, [1, (2.0, "x")], {"p": 0.5}, "long " * 20]
    page = Page(ShownList([{str(k): value for k, value in enumerate(values)}])._repr_html_())
    long = ("long " * 20)[:59] + "…"
    assert page.words == "0123456" + "yes" + "12,345" + "0.123457" + "1 2 x" + "p: 0.5" + long


def test_records_with_different_keys_and_plain_items():
    assert Page(ShownList([{"a": 1}, {"b": 2}])._repr_html_()).words == "ab12"
    assert Page(ShownList([3, "x"])._repr_html_()).words == "3x"
    assert Page(ShownList()._repr_html_()).words == "nothing"


def test_long_lists_are_cut_in_the_middle():
    page = Page(ShownList({"k": f"<{k}>"} for k in range(1000))._repr_html_())
    assert page.tags.count("tr") == 41
    assert "<19>" in page.words
    assert "<980>" in page.words
    assert "<20>" not in page.words
    assert "960 rows between the first and the last 20 are left out" in page.words


def test_one_list_per_sequence():
    shown = ShownLists([ShownList([Pair(1, 2)]), [], [Pair(3, 4)]])
    assert Page(shown._repr_html_()).words == "sequenceab" + "012" + "234"
    assert list(shown.to_frame()["sequence"]) == [0, 2]


def test_they_travel():
    shown = ShownList([{"a": 1}])
    again = pickle.loads(pickle.dumps(shown))
    assert (again, type(again)) == (shown, ShownList)
    assert json.dumps(shown) == '[{"a": 1}]'
