"""Cross-validation of ragged labels: what a loop by hand finds, for every form of the data."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from estimators import ESTIMATORS, LENGTHS, TABLE, X, Y, make
from refusals import refuses
from scipy.sparse import csr_matrix

from crfkit import CRF, KernelCRF, KernelLogisticRegression, TreeCRF
from crfkit.data.columns import Columns
from crfkit.exceptions import InputWarning
from crfkit.metrics import make_sequence_scorer, token_accuracy, token_f1
from crfkit.model_selection import cross_val_predict, cross_val_score, sequence_folds

GROUPS = [i // 2 for i in range(12)]
FLAT = [label for labels in Y for label in labels]


def by_hand(estimator, method="predict", **options):
    found = [None] * len(X)
    for train, test in sequence_folds(LENGTHS, GROUPS, 3):
        model = estimator().fit([X[i] for i in train], [Y[i] for i in train])
        for i in test:
            (found[i],) = getattr(model, method)([X[i]], **options)
    return found


@pytest.mark.parametrize(
    "name", [name for name in ("linear", "constrained", "trees", "kernel") if name in ESTIMATORS]
)
def test_as_by_hand_for_every_form_of_arrays(name):
    expected = by_hand(lambda: make(name))
    assert cross_val_predict(make(name), X, Y, GROUPS, 3) == expected
    assert cross_val_predict(make(name), TABLE, Y, GROUPS, 3) == expected
    assert cross_val_predict(make(name), TABLE, FLAT, GROUPS, 3, lengths=LENGTHS) == expected
    scores = cross_val_score(make(name), X, Y, GROUPS, 3)
    folds = [test for _, test in sequence_folds(LENGTHS, GROUPS, 3)]
    assert scores.tolist() == [
        token_accuracy([Y[i] for i in test], [expected[i] for i in test]) for test in folds
    ]


def test_other_methods_and_inputs():
    crf = CRF(c2=0.1, all_possible_states=True)
    expected = by_hand(lambda: CRF(c2=0.1, all_possible_states=True), "predict_marginals")
    assert cross_val_predict(crf, X, Y, GROUPS, 3, "predict_marginals") == expected
    best = cross_val_predict(crf, X, Y, GROUPS, 3, "predict_nbest", k=2)
    assert [len(paths) for paths in best] == [2] * 12
    sparse = cross_val_predict(crf, csr_matrix(TABLE), Y, GROUPS, 3)
    assert sparse == cross_val_predict(crf, X, Y, GROUPS, 3)
    cells = [[[f"{v:.0f}" for v in row] for row in x] for x in X]
    template = CRF(template="U00:%x[0,0]\nU01:%x[0,1]\nB\n")
    columns = cross_val_predict(template, Columns.from_rows(cells), Y, GROUPS, 3)
    assert columns == cross_val_predict(template, cells, Y, GROUPS, 3)
    weights = np.arange(12.0)
    assert cross_val_predict(crf, X, Y, GROUPS, 3, sample_weight=weights) != sparse


FRAME = pd.DataFrame(
    {
        "sequence": np.repeat(np.arange(12), LENGTHS),
        "document": np.repeat(GROUPS, LENGTHS),
        "a": TABLE[:, 0],
        "b": TABLE[:, 1],
        "label": FLAT,
    },
    index=np.arange(len(FLAT)) * 10,
)
NAMES = {"label": "label", "sequence": "sequence", "group": "document"}


@pytest.mark.parametrize("kind", [CRF, TreeCRF, KernelCRF])
def test_data_frames(kind):
    if kind is TreeCRF:
        pytest.importorskip("lightgbm")
    small = {CRF: {}, TreeCRF: {"n_iterations": 5}, KernelCRF: {"n_cliques": 6, "gamma": 1.0, "reg": 0.1}}[
        kind
    ]
    found = cross_val_predict(kind(**small), FRAME, cv=3, **NAMES)
    assert isinstance(found, pd.Series)
    assert found.index.equals(FRAME.index)
    expected = FRAME.label.copy()
    for train, test in sequence_folds(LENGTHS, GROUPS, 3):
        own = FRAME.drop(columns="document")
        model = kind(**small).fit(own[own.sequence.isin(train)], label="label", sequence="sequence")
        here = own.sequence.isin(test)
        expected[here] = model.predict(own[here])
    assert found.tolist() == expected.tolist()
    scores = cross_val_score(kind(**small), FRAME, cv=3, metric="log_loss", **NAMES)
    assert scores.shape == (3,)
    assert (scores < 0).all()


def test_rows_in_any_order_and_ids_named_once():
    expected = cross_val_predict(CRF(), FRAME, cv=3, **NAMES)
    mixed = FRAME.sort_values("a", kind="stable").sort_values("sequence", kind="stable").iloc[::-1]
    again = cross_val_predict(CRF(), mixed, cv=3, **NAMES)
    assert again.index.equals(mixed.index)
    once = FRAME.assign(sequence=FRAME.sequence.where(~FRAME.sequence.duplicated()))
    assert cross_val_predict(CRF(), once, cv=3, **NAMES).tolist() == expected.tolist()
    found = cross_val_predict(CRF(), pl.from_pandas(FRAME), cv=3, **NAMES)
    assert isinstance(found, pl.Series)
    assert found.to_list() == expected.tolist()


def test_a_leak_is_reported_once():
    with pytest.warns(InputWarning, match="column 'copy' equals the labels") as said:
        cross_val_predict(CRF(), FRAME.assign(copy=FRAME.label), cv=3, **NAMES)
    assert len(said) == 1


def test_metrics():
    data = (CRF(), X, Y, GROUPS, 3)
    by_token = cross_val_score(*data, lambda a, b: token_f1(a, b, average="macro"))
    assert cross_val_score(*data, "f1").tolist() == by_token.tolist()
    loss = make_sequence_scorer(lambda a, b: 1 - token_accuracy(a, b), greater_is_better=False)
    assert np.allclose(cross_val_score(*data, loss), cross_val_score(*data, "accuracy") - 1)
    tags = {"P": "B-X", "Q": "I-X", "R": "O"}
    segments = cross_val_score(CRF(), X, [[tags[label] for label in labels] for labels in Y], GROUPS, 3)
    assert segments.tolist() != cross_val_score(*data).tolist()
    p = cross_val_predict(*data, "predict_marginals")
    logs = [
        np.mean([np.log(p[i][t][Y[i][t]]) for i in test for t in range(LENGTHS[i])])
        for _, test in sequence_folds(LENGTHS, GROUPS, 3)
    ]
    assert np.allclose(cross_val_score(*data, "log_loss"), logs)


def test_partial_labels_are_left_out():
    gaps = [[None, *labels[1:]] if i % 2 else labels for i, labels in enumerate(Y)]
    found = cross_val_predict(CRF(), X, gaps, GROUPS, 3)
    for (_, test), score in zip(
        sequence_folds(LENGTHS, GROUPS, 3), cross_val_score(CRF(), X, gaps, GROUPS, 3), strict=True
    ):
        known = [(gaps[i][t], found[i][t]) for i in test for t in range(LENGTHS[i]) if gaps[i][t] is not None]
        assert score == pytest.approx(np.mean([a == b for a, b in known]))
    whole = [[None] * LENGTHS[0], *Y[1:]]
    assert cross_val_predict(CRF(), X, [None, *Y[1:]], cv=2) == cross_val_predict(CRF(), X, whole, cv=2)


def test_refusals():
    refuses("X has 12 sequences but y has 11", cross_val_predict, CRF(), X, Y[1:])
    refuses("sequence 1 has 5 items but 6 labels", cross_val_predict, CRF(), X, [Y[0], Y[0], *Y[2:]])
    refuses("y is missing: give the labels, or label=", cross_val_score, CRF(), X)
    refuses(
        "lengths add up to 60 positions, but y has 2 labels",
        cross_val_score,
        CRF(),
        TABLE,
        ["P", "Q"],
        lengths=LENGTHS,
    )
    refuses("lengths goes with one 2-D array", cross_val_score, CRF(), X, Y, lengths=LENGTHS)
    refuses("needs label=.* and no y", cross_val_score, CRF(), FRAME, Y, label="label")
    refuses("the table has no column 'tag'", cross_val_score, CRF(), FRAME, label="tag")
    refuses(
        "method must be one of 'predict', .* got 'transform'",
        cross_val_predict,
        CRF(),
        X,
        Y,
        method="transform",
    )
    refuses("metric must be one of .* got 'recall'", cross_val_score, CRF(), X, Y, metric="recall")
    refuses("must be an estimator, such as CRF", cross_val_score, CRF, X, Y)
    refuses("labels single points", cross_val_score, KernelLogisticRegression(), X, Y)
    refuses("precomputed kernel cannot be cut", cross_val_score, KernelCRF(kernel="precomputed"), X, Y)
    some = [[None, *labels[1:]] for labels in Y]
    refuses("no held-out sequence has all its labels", cross_val_score, CRF(), X, some, metric="f1")
