"""Paths through trees as conditions: evaluated literally, they add up to the scores of the trees."""

import operator
import re

import numpy as np
import pytest

from crfkit import TreeCRF

pytest.importorskip("lightgbm")


def holds(condition: str, row: dict) -> bool:
    """Return whether a textual condition is true of a row."""
    if found := re.fullmatch(r"(\w+)\[0\] (not )?missing", condition):
        return (row[found[1]] is None) != bool(found[2])
    if condition.endswith(" or missing"):
        short = condition.removesuffix(" or missing")
        return row[short.split("[")[0].split()[-1]] is None or holds(short, row)
    if found := re.fullmatch(r"(\w+)\[0\] (not )?in \{(.*)\}", condition):
        value = "(missing)" if row[found[1]] is None else row[found[1]]
        return (value in found[3].split()) != bool(found[2])
    if found := re.fullmatch(r"c\[0\] (=|≠) (.*)", condition):
        value = "(missing)" if row["c"] is None else row["c"]
        return (value == found[2]) == (found[1] == "=")
    found = re.fullmatch(r"(?:(\S+) (<=?) )?(\w+)\[0\](?: (<=|>=|<|>|=) (\S+))?", condition)
    low, at_least, name, sign, bound = found.groups()
    value = row[name]
    if value is None:
        return False
    if low is not None and not _COMPARED[at_least](float(low), value):
        return False
    return sign is None or _COMPARED[sign](value, float(bound))


_COMPARED = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq}


@pytest.mark.parametrize(("missing", "seed"), [(0.0, 0), (0.3, 1), (0.3, 2), (0.8, 3)])
def test_words_are_true(missing, seed):
    rng = np.random.default_rng(seed)
    X, y = [], []
    for _ in range(60):
        numbers, letters = rng.integers(-3, 4, size=(6, 2)), rng.choice(list("abcdef"), 6)
        gone = rng.random((6, 3)) < missing
        X.append(
            [
                {
                    "x": None if gone[t, 0] else float(numbers[t, 0]),
                    "z": None if gone[t, 1] else int(numbers[t, 1]),
                    "c": None if gone[t, 2] else str(letters[t]),
                }
                for t in range(6)
            ]
        )
        code = (numbers[:, 0] > 0) + 2 * gone[:, 1] + (letters < "c") * (numbers[:, 1] == 0)
        y.append([str(k) for k in code])
    settings = {"window": 1, "n_iterations": 8, "min_samples_leaf": 1, "n_jobs": 1}
    model = TreeCRF(**settings, potentials="factored").fit(X, y)
    paths = model.conjunctions(10**6)
    words = {condition for path in paths for condition in path.conditions}
    assert not any("inf" in condition or "outside" in condition for condition in words)
    assert any("missing" in condition for condition in words) == (missing > 0)
    rows = [row for items in X for row in items]
    scores = model.tagger_.lattice(model.tagger_.encode([rows])).node
    for t, row in enumerate(rows):
        added = dict.fromkeys(model.classes_, 0.0)
        for path in paths:
            if all(holds(condition, row) for condition in path.conditions):
                added[path.label] += path.value
        np.testing.assert_allclose([added[label] for label in model.classes_], scores[t], atol=1e-9)
