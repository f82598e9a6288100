"""Warnings name the line of the caller, not one of the library or of a notebook's kernel."""

import warnings

import numpy as np
import pandas as pd
import pytest

from crfkit import CRF, KernelCRF, TreeCRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.model_selection import cross_val_score

X, Y = [[["a"], ["b"]]] * 4, [["A", "B"]] * 4
FRAME = pd.DataFrame({"n": [0, 0, 1, 1], "w": ["a", "b", "a", "b"], "tag": ["A", "B", "A", "B"]})


@pytest.mark.parametrize(
    "call",
    [
        lambda: CRF(max_iterations=1).fit(X, Y),
        lambda: CRF(max_iterations=1).fit(FRAME, label="tag", sequence="n"),
        lambda: CRF(max_iterations=1).fit(X, Y).partial_fit(X, Y),
        lambda: cross_val_score(CRF(max_iterations=1), X, Y, cv=2),
        lambda: CRF(class_weight={"C": 1.0}).fit(X, Y),
        lambda: KernelCRF(gamma=1.0, reg=1.0).fit([np.zeros((2, 1))] * 3, [["A", "B"]] * 3),
        lambda: TreeCRF().fit([[{"x": 1}]] * 3, [["A"], ["B"], ["A"]]),
    ],
)
def test_the_line_of_the_caller(call):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        call()
    assert found
    assert {one.filename for one in found} == {__file__}


def test_the_category():
    with pytest.warns(ConvergenceWarning, match="max_iterations=1"):
        CRF(max_iterations=1).fit(X, Y)
