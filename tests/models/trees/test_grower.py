"""Trees grown by LightGBM and evaluated by crfkit, against LightGBM's own predictions."""

import pickle
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refusals import unreadable

from crfkit.data.tables import Table
from crfkit.io.model_arrays import ModelArrays
from crfkit.models.trees.grower import GrowthSettings, TrainingRows, TreeGrower, lightgbm, read_trees
from crfkit.potentials.forest import Forest
from crfkit.potentials.transitions import TransitionTables
from crfkit.potentials.tree import TreePotential

library = pytest.importorskip("lightgbm")

SETTINGS = GrowthSettings(7, 0.3, 1, 0.1, 1.0, 1.0, 0, 1, {})


def table_of(rng, lengths, missing=0.2):
    """Return a table of two columns of numbers and one of four categories."""
    n = sum(lengths)
    values = np.column_stack([rng.normal(size=n), rng.integers(3, size=n), rng.integers(4, size=n)])
    values = np.where(rng.random(values.shape) < missing, np.nan, values)
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    return Table(values, np.array([np.nan, np.nan, 4.0]), offsets)


def grown(rng, lengths, n_labels, context, window=(1, 1), rounds=3, missing=0.2):
    table = table_of(rng, lengths, missing)
    rows = TrainingRows(table, window, n_labels, context)
    grower = TreeGrower(rows, [2], SETTINGS)
    made = []
    for _ in range(rounds):
        gradient = rng.normal(size=(len(rows), n_labels))
        gradient += rows.block(0, len(rows))[:, [2]] > 1
        made.append(grower.grow(gradient, np.ones_like(gradient)))
    return table, rows, Forest.end_to_end(made), grower


@settings(max_examples=20, deadline=None)
@given(
    st.integers(0, 10**6),
    st.lists(st.integers(0, 12), min_size=1, max_size=6).filter(lambda lengths: sum(lengths) > 15),
    st.integers(2, 4),
    st.booleans(),
    st.sampled_from([(0, 0), (1, 1), (2, 0), (0, 3)]),
)
def test_scores_are_lightgbms(seed, lengths, n_labels, context, window):
    rng = np.random.default_rng(seed)
    table, rows, forest, grower = grown(rng, lengths, n_labels, context, window)
    expected = grower._booster.predict(rows.block(0, len(rows)), raw_score=True)
    potential = TreePotential(forest, window, None if context else TransitionTables.zeros(n_labels, 1))
    scores = potential.without_trees(table)
    scores.add(forest, n_jobs=2)
    found = potential.targets(table, scores.node, scores.edge)  # in the order of rows
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_missing_where_training_had_none_goes_with_the_majority():
    rng = np.random.default_rng(0)
    values = np.concatenate([np.zeros(30), np.ones(10)])[:, None]
    table = Table(values, np.array([np.nan]), np.array([0, 40]))
    grower = TreeGrower(TrainingRows(table, (0, 0), 2, False), [], SETTINGS)
    gradient = np.column_stack([values[:, 0] - 0.5, 0.5 - values[:, 0]]) + rng.normal(size=(40, 2)) * 0.01
    forest = grower.grow(gradient, np.ones_like(gradient))
    rows = Table(np.array([[0.0], [1.0], [np.nan]]), np.array([np.nan]), np.array([0, 3]))
    node = np.zeros((3, 2))
    forest.add_scores(rows, (0, 0), node, None)
    assert node[2].tolist() == node[0].tolist() != node[1].tolist()


def test_rounds_that_cannot_split_do_not_shift_later_ones():
    rng = np.random.default_rng(5)
    table = table_of(rng, [40])
    rows = TrainingRows(table, (0, 0), 2, False)
    grower = TreeGrower(rows, [2], SETTINGS)
    nothing, gradient = np.zeros((40, 2)), rng.normal(size=(40, 2))
    made = [
        grower.grow(given, np.ones((40, 2))) for given in (nothing, gradient, nothing, nothing, -gradient)
    ]
    assert [forest is None for forest in made] == [True, False, True, True, False]
    node = np.zeros((40, 2))
    for forest in made:
        if forest is not None:
            forest.add_scores(table, (0, 0), node, None)
    np.testing.assert_allclose(node, grower._booster.predict(rows.block(0, 40), raw_score=True), atol=1e-12)
    assert not np.array_equal(made[1].leaf, made[4].leaf)


def test_stages_and_scaling():
    rng = np.random.default_rng(1)
    table, _, forest, _ = grown(rng, [9, 8, 7], 3, True)
    whole = TreePotential(forest, (1, 1), None).scores(table)
    by_round = np.zeros_like(whole.edge)
    node = np.zeros_like(whole.node)
    for m in range(3):
        forest.add_scores(table, (1, 1), node, by_round, first=3 * m, last=3 * m + 3)
    np.testing.assert_allclose(by_round, whole.edge)
    half = TreePotential(forest.scaled(0.5), (1, 1), None).scores(table)
    np.testing.assert_allclose(half.edge, whole.edge / 2)


def test_importances_add_up_and_pickles_are_equal():
    rng = np.random.default_rng(2)
    table, _, forest, _ = grown(rng, [30, 20], 2, True)
    importances = forest.importances()
    assert importances.shape == (10,)
    assert importances.sum() == pytest.approx(1)
    again = pickle.loads(pickle.dumps(forest))
    potential, same = TreePotential(forest, (1, 1), None), TreePotential(again, (1, 1), None)
    np.testing.assert_array_equal(potential.scores(table).edge, same.scores(table).edge)


def test_threads_do_not_matter():
    rng = np.random.default_rng(3)
    table, _, forest, _ = grown(rng, [300, 400, 5, 0, 260], 3, True)
    one, many = (TreePotential(forest, (1, 1), None).scores(table, n_jobs=n).edge for n in (1, 4))
    np.testing.assert_array_equal(one, many)


def test_trees_that_do_not_split():
    text = "tree\n\nTree=0\nnum_leaves=1\nnum_cat=0\nleaf_value=0.25\n\nend of trees\n"
    forest = read_trees(text, 1, 1, False)
    node = np.zeros((2, 1))
    forest.add_scores(Table(np.zeros((2, 1)), np.zeros(1), np.array([0, 2])), (0, 0), node, None)
    assert node.tolist() == [[0.25], [0.25]]


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("left", lambda a: np.full_like(a, 10**6), "points to a node that is not there"),
        ("left", lambda a: np.zeros_like(a), "points to a node that is not there"),
        ("right", lambda a: np.full_like(a, -(10**6)), "points to a node that is not there"),
        ("feature", lambda a: np.full_like(a, 99), "tests a feature that does not exist"),
        ("root", lambda a: np.full_like(a, 10**6), "out of range"),
        ("label", lambda a: np.full_like(a, -1), "out of range"),
        ("leaf", lambda a: np.full_like(a, np.nan), "not finite"),
        ("threshold", lambda a: a.astype(np.float32), "expected an array"),
        ("set_indptr", lambda a: a[::-1].copy(), "set_indptr"),
        ("gain", lambda a: a[:1], "do not fit together"),
    ],
)
def test_hostile_arrays(name, change, message):
    _, _, forest, _ = grown(np.random.default_rng(4), [30, 20], 2, True)
    arrays = forest.to_arrays()
    arrays[f"trees.{name}"] = change(arrays[f"trees.{name}"])
    unreadable(message, Forest.from_arrays, ModelArrays(arrays, "m"), n_features=10, n_labels=2, context=True)


def test_lightgbm_is_not_there(monkeypatch):
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    with pytest.raises(ImportError, match=r"pip install 'crfkit\[trees\]'"):
        lightgbm()
