"""A model with the features of a batch put into it; the oracle is a dict of weights by name."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_taggers import LABELS, NAMES, by_name, random_tagger

from crfkit import _native
from crfkit.data.labels import Labels
from crfkit.data.sequences import Sequences
from crfkit.features.labelled import LabelledInput
from crfkit.models.linear.curvature import Curvature
from crfkit.models.linear.growth import grown
from crfkit.models.linear.local_problem import local_problem


@given(st.integers(0, 2**31), NAMES, LABELS, NAMES, LABELS, st.integers(1, 2), st.booleans())
def test_local_weights_take_their_places(seed, old_names, old_classes, new_names, more, order, sparse):
    """Old labels in any order, as models of other tools have them; the others are sorted."""
    rng = np.random.default_rng(seed)
    classes = old_classes if set(more) <= set(old_classes) else sorted({*old_classes, *more})
    old = random_tagger(seed, old_names, old_classes, order)
    old.curvature = Curvature.of(old.index, rng.random(sum(old.index.sizes)))
    before = by_name(old)
    vocabulary = old.vocabulary.copy()
    attributes = np.sort(vocabulary.add(new_names)).astype(np.int64)
    names = vocabulary.strings_of(attributes)
    found = random_tagger(seed + 1, names, classes, order).index
    data = LabelledInput(
        Sequences(np.array([0, 1]), np.array([0, 0]), np.zeros(0, np.int32), None, len(names)),
        Labels(np.zeros(1, np.int32), None),
        *(classes, vocabulary, None, None, None, None),
    )
    local = local_problem(old, data, found, attributes)
    touched = random_tagger(seed, names, classes, order)  # a model of the batch's attributes alone
    as_model = type(old)(classes, touched.encoder, local.index, local.start)
    of_batch = {key: w for key, w in before.items() if key[0] in old_classes or _name(key) in names}
    assert by_name(as_model) == of_batch

    w = np.where(rng.random(len(local.start)) < 0.5, rng.normal(size=len(local.start)), 0)
    w[: sum(local.index.sizes[:2])] *= np.isin(np.arange(sum(local.index.sizes[:2])), local.index.places)
    h = rng.random(len(w))
    encoder = replace(old.encoder, vocabulary=vocabulary)
    new = grown(old, encoder, classes, local, w, Curvature.of(local.index, h), sparse=sparse)
    changed = by_name(type(old)(classes, touched.encoder, local.index, w))
    assert by_name(new) == {key: v for key, v in before.items() if key not in of_batch} | changed
    assert by_name(old) == before
    n_features = old.index.n_features + int((~local.known[local.index.places]).sum())
    assert new.index.n_features == n_features or (sparse and new.index.n_features < n_features)
    rows = new.index.state_indptr
    for a in range(new.index.n_attributes):
        assert (np.diff(new.index.state_labels[rows[a] : rows[a + 1]]) > 0).all()
    for i, name in enumerate(new.vocabulary.strings()):
        here = Curvature.of(local.index, h).state[names.index(name)] if name in names else 0
        there = old.curvature.state[old_names.index(name)] if name in old_names else 0
        assert new.curvature.state[i] == pytest.approx(here + there)
    if sparse:
        assert set(new.vocabulary.strings()) <= {*old_names, *(_name(key) for key in changed)}


def _name(key):
    return key[1] if key[0] == "edge" else key[0]


def test_rows_are_checked():
    old = (np.array([0, 1, 3]), np.array([0, 0, 1], np.int32), np.array([1.0, 2.0, 3.0]))
    new = (np.array([0, 1]), np.array([1], np.int32), np.array([9.0]))
    indptr, ids, weights = _native.replace_rows(*old, np.array([3]), *new, 5)
    assert indptr.tolist() == [0, 1, 3, 3, 4, 4]
    assert ids.tolist() == [0, 0, 1, 1]
    assert weights.tolist() == [1.0, 2.0, 3.0, 9.0]
    indptr, ids, weights = _native.replace_rows(*old, np.array([1]), *new, 2)
    assert (indptr.tolist(), ids.tolist(), weights.tolist()) == ([0, 1, 2], [0, 1], [1.0, 9.0])
    for rows, n_rows in ((np.array([2]), 2), (np.array([-1]), 2), (np.array([0, 1]), 2), (np.array([0]), 1)):
        with pytest.raises(ValueError, match="row"):
            _native.replace_rows(*old, rows, *new, n_rows)
    assert _native.row_means(np.array([0, 2, 2, 3]), np.array([1.0, 2.0, -4.0]), 1e30).tolist() == [1.5, 0, 0]
