"""Every estimator of the table: scikit-learn's conventions, predictions, files, progress, bad input."""

import io
import os
import pickle
import warnings
from inspect import signature

import numpy as np
import pytest
from estimators import ESTIMATORS, LENGTHS, TABLE, X, Y, answers, enumerated, fitted, make
from model_files import saved
from refusals import refuses, unreadable
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.utils.validation import check_is_fitted

from crfkit.exceptions import InputError, ModelFileError, NoPathError
from crfkit.inference import Constraints
from crfkit.io.model_arrays import open_model
from crfkit.models.kinds import tagger_of

pytestmark = pytest.mark.parametrize("name", ESTIMATORS)
GAPS = [[None, {"P", "Q"}, *labels[2:]] for labels in Y]
STAY = Constraints(transitions=np.eye(3, dtype=bool))


def history(model):
    """Return one record per round."""
    return model.path_ if hasattr(model, "path_") else model.history_


def objective(model):
    return model.risk_ if hasattr(model, "risk_") else model.objective_


def plain_parameters(model):
    """Return the parameters stored in a file: all except the threads, with kernels by name."""
    parameters = model.get_params(deep=False).items()
    return {key: repr(value) for key, value in parameters if key not in ("n_jobs", "kernel")}


# ---- scikit-learn's conventions; see also tests/test_scikit_learn.py


def test_parameters(name):
    model = make(name)
    kind, settings = ESTIMATORS[name]
    assert set(model.get_params(deep=False)) == set(signature(kind).parameters)
    assert {key: model.get_params()[key] for key in settings} == settings
    assert model.set_params(verbose=2) is model
    assert model.verbose == 2
    twin = clone(fitted(name))
    assert repr(twin) == repr(make(name))
    with pytest.raises(NotFittedError):
        check_is_fitted(twin)
    with pytest.raises(ValueError, match="Invalid parameter"):
        model.set_params(c3=1)


def test_unfitted_use(name, tmp_path):
    model = make(name)
    asked = [model.predict, model.predict_posterior, model.predict_marginals, model.predict_nbest]
    for use in [*asked, lambda X: model.score(X, Y), lambda X: model.save(tmp_path / "nowhere")]:
        with pytest.raises(NotFittedError, match=f"This {type(model).__name__} instance is not fitted yet"):
            use(X)
    assert not list(tmp_path.iterdir())


def test_fit_changes_neither_parameters_nor_arguments(name):
    model, given = make(name), pickle.dumps((X, Y))
    before = repr(model)
    assert model.fit(X, Y, X_dev=X, y_dev=Y) is model
    assert repr(model) == before
    parameters = model.get_params(deep=False)
    own = {key for key in vars(model) if key not in parameters}
    assert all(key.endswith("_") and not key.startswith("_") for key in own)
    seen = dict(vars(model))
    model.predict(X)
    assert vars(model) == seen  # predicting changes no attribute
    assert pickle.dumps((X, Y)) == given


def test_grid_search_and_cross_validation(name):
    search = GridSearchCV(make(name), {"verbose": [0, False]}, cv=KFold(2)).fit(X, Y)
    assert search.predict(X) == search.best_estimator_.predict(X) == fitted(name).predict(X)
    scores = cross_val_score(make(name), X, Y, cv=KFold(2))
    assert scores.mean() == pytest.approx(search.best_score_)
    assert scores.min() > 0.3


# ---- predictions


def test_answers_are_those_of_enumeration(name):
    model = fitted(name)
    lattice, forced = next(model.tagger_.pieces(X))
    assert forced is None
    arrays, marginals = model.predict_marginals(X, as_arrays=True), model.predict_marginals(X)
    best, posterior, nbest = model.predict(X), model.predict_posterior(X), model.predict_nbest(X, 4)
    for i, oracle in enumerate(enumerated(model, lattice, i) for i in range(len(X))):
        order = np.argsort(-oracle.probabilities, kind="stable")[:4]
        names = [["PQR"[label] for label in oracle.paths[k]] for k in order]
        np.testing.assert_allclose(arrays[i], oracle.node(len(X[i]), 3), atol=1e-9)
        assert [list(row) for row in marginals[i]] == [model.classes_] * len(X[i])
        assert [list(row.values()) for row in marginals[i]] == arrays[i].tolist()
        assert posterior[i] == ["PQR"[label] for label in arrays[i].argmax(axis=1)]
        assert [labels for labels, _ in nbest[i]] == names
        np.testing.assert_allclose([p for _, p in nbest[i]], oracle.probabilities[order].astype(float))
        assert all(type(p) is float for _, p in nbest[i])
        if not getattr(model, "boundary_gain", 0):
            by_marginals = getattr(model, "decode", "viterbi") == "marginal"
            assert best[i] == (posterior[i] if by_marginals else names[0])


def test_known_labels_and_constraints(name):
    model, known = fitted(name), [[None] * len(x) for x in X]
    assert model.predict(X, known=known) == model.predict(X)
    assert model.predict(X, known=Y) == Y
    known[0][:3] = "R", None, {"P", "Q"}
    found = model.predict(X, known=known)
    assert (found[0][0], found[0][2] in "PQ", found[1:]) == ("R", True, model.predict(X)[1:])
    row, _, other, *_ = model.predict_marginals(X[:1], known=known[:1])[0]
    assert row == {"P": 0, "Q": 0, "R": pytest.approx(1)}
    assert other["R"] == 0
    assert all(len(set(labels)) == 1 for labels in model.predict(X, constraints=STAY))
    known = [["Q", *[None] * (n - 1)] for n in LENGTHS]
    assert model.predict_posterior(X, known=known, constraints=STAY) == [["Q"] * n for n in LENGTHS]
    with pytest.raises(NoPathError, match="sequence 0"):
        model.predict(X[:1], constraints=STAY, known=[["P", "Q", *[None] * 4]])
    for bad, message in [
        ({"known": [["Z"] * n for n in LENGTHS]}, "sequence 0, position 0: label 'Z' is not among the 3"),
        ({"known": ["A"]}, "known must be a list of sequences of labels, but sequence 0 is str"),
        ({"constraints": [("A", "B")]}, r"constraints must be a crfkit\.inference\.Constraints, got list"),
    ]:
        refuses(message, model.predict, X, **bad)


def test_one_table_with_lengths(name):
    model, given = fitted(name), {"lengths": LENGTHS}
    assert answers(make(name).fit(TABLE, Y)) == answers(make(name).fit(TABLE, Y, **given)) == answers(model)
    assert model.predict(TABLE, **given) == model.predict(X)
    assert model.predict_posterior(TABLE, **given) == model.predict_posterior(X)
    assert model.predict_marginals(TABLE, **given) == model.predict_marginals(X)
    assert model.predict_nbest(TABLE, 2, **given) == model.predict_nbest(X, 2)
    assert model.score(TABLE, Y) == model.score(TABLE, Y, **given) == model.score(X, Y)
    refuses("where sequences end: pass lengths", model.predict, TABLE)


def test_labels_of_all_positions_in_one_list(name):
    flat, given = [label for labels in Y for label in labels], {"lengths": LENGTHS}
    model = make(name).fit(TABLE, flat, **given)
    assert answers(model) == answers(fitted(name)) == answers(make(name).fit(TABLE, np.array(flat), **given))
    assert model.score(TABLE, flat, **given) == model.score(X, Y)
    assert model.score(TABLE, [None, *flat[1:]], **given) == model.score(X, [[None, *Y[0][1:]], *Y[1:]])
    calibrated = make(name).fit(X, Y).calibrate(X, Y).predict_marginals(X)
    assert model.calibrate(TABLE, flat, **given).predict_marginals(X) == calibrated
    for method in (make(name).fit, model.score, model.calibrate):
        refuses("sequence 0 is str '.'; .* in one list need lengths=", method, TABLE, flat)
        longer = [2 * label for label in flat]  # not a sequence of letters
        refuses("sequence 0 is str '..'; .* in one list need lengths=", method, TABLE, longer)
        refuses(r"lengths add up to \d+ positions, but y has 3 labels", method, TABLE, flat[:3], **given)


def test_large_batches_are_cut_into_pieces(name, monkeypatch):
    model = fitted(name)
    labels, arrays = model.predict(X), model.predict_marginals(X, as_arrays=True)
    best = [paths[0][0] for paths in model.predict_nbest(X, 1)]
    monkeypatch.setattr(type(model.tagger_), "piece_scores", 100)
    assert sum(1 for _ in model.tagger_.pieces(X)) > 1
    assert model.predict(X) == labels
    assert [paths[0][0] for paths in model.predict_nbest(X, 1)] == best
    for found, whole in zip(model.predict_marginals(X, as_arrays=True), arrays, strict=True):
        np.testing.assert_allclose(found, whole, atol=1e-12)


def test_constraints_apply_to_pieces(name, monkeypatch):
    """Known labels, and masks of every shape, mean the same positions however the batch is cut."""
    model, rng, n = fitted(name), np.random.default_rng(3), sum(LENGTHS)
    known = [[label if rng.random() < 0.2 else None for label in labels] for labels in Y]
    some = [[{"P", label} if rng.random() < 0.2 else None for label in labels] for labels in Y]
    positions = rng.random((n, 3)) < 0.9
    positions[np.arange(n), rng.integers(0, 3, n)] = True
    steps = Constraints(transitions=rng.random((n, 3, 3)) < 0.95)
    given = [
        {"known": known},
        {"known": some},
        {"constraints": STAY},
        {"constraints": Constraints(positions=positions)},
        {"constraints": steps, "known": [["P"] + [None] * (length - 1) for length in LENGTHS]},
    ]
    if name == "segments":
        refuses("pairs by position need a CRF", model.predict, X, **given.pop())

    def found(chosen):
        arrays = model.predict_marginals(X, as_arrays=True, **chosen)
        return model.predict(X, **chosen), np.concatenate(arrays)

    whole = [found(chosen) for chosen in given]
    monkeypatch.setattr(type(model.tagger_), "piece_scores", 100)
    assert sum(1 for _ in model.tagger_.pieces(X)) > 1
    for (labels, arrays), chosen in zip(whole, given, strict=True):
        again, in_pieces = found(chosen)
        assert again == labels
        np.testing.assert_allclose(in_pieces, arrays, atol=1e-12)
    wrong = [[None] * length for length in LENGTHS]
    wrong[-1][:2] = "P", "Q"
    with pytest.raises(NoPathError, match=f"sequence {len(X) - 1}:") as caught:
        model.predict(X, known=wrong, constraints=STAY)
    assert caught.value.sequence == len(X) - 1
    for bad, message in [
        ({"constraints": Constraints(positions=positions[1:])}, f"each of the {n} positions of the batch"),
        (
            {"constraints": Constraints(transitions=np.ones((n - 1, 3, 3), bool))},
            "transitions must have a row",
        ),
        ({"known": known[1:]}, f"X has {len(X)} sequences but y has {len(X) - 1}"),
    ]:
        refuses(message, model.predict, X, **bad)


def test_empty_sequences_and_empty_batches(name):
    model, nothing = fitted(name), np.zeros((0, 2))
    assert model.predict([nothing, X[0], nothing]) == [[], *model.predict(X[:1]), []]
    assert model.predict([]) == model.predict_marginals([]) == model.predict_nbest([]) == []
    assert model.predict_marginals([nothing]) == [[]]
    assert model.predict_nbest([nothing], 3) == [[([], 1.0)]]
    assert model.predict_marginals([nothing], as_arrays=True)[0].shape == (0, 3)
    among = make(name).fit([nothing, *X, nothing], [[], *Y, []])
    assert objective(among) == pytest.approx(objective(model))
    assert among.predict(X) == model.predict(X)


def test_score(name):
    model = fitted(name)
    found = model.predict(X)
    right = np.array([sum(a == b for a, b in zip(*pair, strict=True)) for pair in zip(Y, found, strict=True)])
    weights, sizes = np.arange(len(X), 0.0, -1), np.array(LENGTHS)
    assert model.score(X, Y) == pytest.approx(right.sum() / sum(LENGTHS))
    assert model.score(X, Y) > 0.5
    assert model.score(X, Y, weights) == pytest.approx(weights @ right / (weights @ sizes))
    # where labels are known
    others = weights[1:] @ right[1:] / (weights[1:] @ sizes[1:])
    assert model.score(X, [None, *Y[1:]], weights) == pytest.approx(others)
    wrong = ["PQR"["PQR".index(label) - 1] for label in found[1]]
    gaps = [None, [*found[1][:1], *wrong[1:2], None, {"P", "Q"}, None], *[[None] * n for n in LENGTHS[2:]]]
    assert model.score(X, gaps) == model.score(TABLE, gaps, lengths=LENGTHS) == 0.5
    for y, more, message in [
        ([None] * len(X), {}, "no tokens"),
        ([labels[1:] for labels in Y], {"sample_weight": [1] * len(X)}, "sequence 0"),
    ]:
        refuses(message, model.score, X, y, **more)
    refuses("all sequences with a weight are empty", model.score, [X[0], X[0][:0]], [Y[0], []], [0, 1])


# ---- training


def test_one_label_and_one_position(name):
    model = make(name).set_params(**{"class_weight": None} if hasattr(make(name), "class_weight") else {})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X[:2], [["only"] * len(x) for x in X[:2]])
        assert model.predict(X) == [["only"] * len(x) for x in X]
        assert model.predict_marginals(X[:1])[0][0] == {"only": 1.0}


@pytest.mark.parametrize("labels", [[0, 1], [True, False], ["é", ""], [-(2**40), "x"], ["\n", ":"]], ids=str)
def test_labels_come_back_as_they_were(name, labels):
    model, y = make(name), [[labels[label == "P"] for label in sequence] for sequence in Y]
    if hasattr(model, "class_weight"):
        model.set_params(class_weight={labels[0]: 1.5})
    model.fit(X, y)
    for one in (model, type(model).load(saved(model))):
        assert set(one.classes_) == set(labels)
        assert {type(label) for found in one.predict(X) for label in found} <= set(map(type, labels))
        assert one.score(X, y) > 0.6
        if hasattr(model, "class_weight"):
            assert [(label, type(label)) for label in one.class_weight] == [(labels[0], type(labels[0]))]


def test_partial_labels(name):
    sets = make(name).fit(X, [[{label} for label in labels] for labels in Y])
    assert answers(sets) == answers(fitted(name))
    gaps = make(name).fit(X, GAPS)
    full = [[["P", "Q", "R"] if label is None else label for label in labels] for labels in GAPS]
    assert objective(make(name).fit(X, full)) == pytest.approx(objective(gaps), rel=1e-9)
    assert gaps.score(X, Y) > 0.5


def test_sample_weight_is_repetition(name):
    if name == "graph":
        pytest.skip("a sequence that comes twice is another graph")
    counts = [0 if ESTIMATORS[name][0].__name__ == "CRF" else 1, 2, 3, *[1] * (len(X) - 3)]
    repeated = [i for i, n in enumerate(counts) for _ in range(n)]
    model = make(name)
    exact = {
        "tol": 1e-8,
        "tau": 1e9,
        "gamma": 0.5,
        "l2": 0,
    }  # no parameter that depends on the number of sequences
    model.set_params(**{key: value for key, value in exact.items() if hasattr(model, key)})
    one = clone(model).fit(X, Y, sample_weight=counts)
    two = clone(model).fit([X[i] for i in repeated], [Y[i] for i in repeated])
    if "trees" in name:  # their bins depend on the rows: only the first round is the same
        assert one.history_[0]["objective"] == pytest.approx(two.history_[0]["objective"], rel=1e-4)
    else:
        assert objective(one) == pytest.approx(objective(two), rel=1e-4)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"one number per sequence, \[12\]; got shape \(1,\)"),
        ([*[1] * 11, np.nan], "got nan for sequence 11"),
        ([-1, *[1] * 11], "got -1.0 for sequence 0"),
        ([0] * 12, "0 for every sequence"),
        (["a"] * 12, "sample_weight must be numbers"),
        ([[1], [1, 2]], "sample_weight must be numbers"),
    ],
)
def test_bad_sample_weights(name, weights, message):
    refuses(message, make(name).fit, X, Y, sample_weight=weights)


def test_the_same_data_and_seed_give_the_same_bits(name):
    for n_jobs in (1, 2):
        model = make(name, n_jobs=n_jobs, random_state=3)
        assert answers(model.fit(X, Y)) == answers(clone(model).fit(X, Y))
    assert answers(fitted(name)) == answers(make(name).fit(X, Y))


def test_a_dev_set_is_recorded(name):
    strange = [["new"] * 6, *Y[1:4]]  # a label that training has not seen counts as wrong
    model = make(name).fit(X[4:], Y[4:], X_dev=X[:4], y_dev=strange)
    accuracies = [record["dev_accuracy"] for record in history(model)]
    assert 0 < max(accuracies) <= 15 / 21
    assert model.classes_ == ["P", "Q", "R"]
    model = make(name).fit(TABLE, Y, X_dev=TABLE, y_dev=Y)
    assert 0 < max(record["dev_accuracy"] for record in history(model)) <= 1


@pytest.mark.parametrize(
    ("X_dev", "y_dev", "message"),
    [
        (X, None, "X_dev and y_dev go together"),
        (None, Y, "X_dev and y_dev go together"),
        (X[:1], [["P"]], "sequence 0 has 6 items but 1 labels"),
        (X[:1], [[None] * 6], "the dev set has no label|in the dev set: it has no labels"),
        ([np.ones((1, 3))], [["P"]], "3"),
    ],
    ids=range(5),
)
def test_bad_dev_sets(name, X_dev, y_dev, message):
    refuses(message, make(name).fit, X, Y, X_dev=X_dev, y_dev=y_dev)


@pytest.mark.parametrize(
    ("data", "y", "message"),
    [
        (X, Y[:2], "X has 12 sequences but y has 2"),
        (X[:1], [Y[0][:5]], "sequence 0 has 6 items but 5 labels"),
        ([], [], "no sequences"),
        (X, [[None] * n for n in LENGTHS], "every label in y is None"),
        (X, None, "y must be a list of sequences of labels, got NoneType"),
        (X, 7, "y must be a list of sequences of labels, got int"),
        (X, ["P"] * 12, "sequence 0 is str 'P'"),
        (
            X,
            [[1.5] * n for n in LENGTHS],
            "sequence 0, position 0: a label must be .*got float 1.5",
        ),
        (X, [[set(), *Y[0][1:]], *Y[1:]], "sequence 0, position 0: an empty set permits no label"),
        (X, [[{"B", None}, *Y[0][1:]], *Y[1:]], "sequence 0, position 0: None within a set"),
        (X[:1], [[1, True, 0, 0, 0, 0]], "both the label 1 and the label True"),
        ([X[0], np.ones((5, 3))], Y[:2], "sequence 1.*3"),
        (None, Y, "X must be"),
        ("abc", Y, "X must be|got str"),
        (TABLE, [["A"], ["B"]], "lengths add up to 2 positions, but X has 60 rows"),
        (TABLE, ["A"] * 60, "sequence 0 is str"),
    ],
    ids=range(16),
)
def test_bad_training_data(name, data, y, message):
    refuses(message, make(name).fit, data, y)


@pytest.mark.parametrize("method", ["predict", "predict_posterior", "predict_marginals", "predict_nbest"])
def test_bad_data_to_tag(name, method):
    for data in ([np.ones((2, 3))], None, ["ab"]):
        with pytest.raises(InputError):
            getattr(fitted(name), method)(data)
    for k in (0, -1, 1.5, "2"):
        refuses("k must be a whole number", fitted(name).predict_nbest, X, k)


def test_bad_common_parameters(name):
    for key, value in [("n_jobs", 0), ("n_jobs", 1.5), ("random_state", "x"), ("verbose", "yes")]:
        refuses(f"{key} must be", make(name, **{key: value}).fit, X, Y)
    model = clone(fitted(name)).fit(X, Y).set_params(n_jobs=1)
    model.predict(X)
    assert model.tagger_.n_jobs == 1
    refuses("n_jobs must be", model.set_params(n_jobs=0).predict, X)


def test_silent_unless_asked_and_then_on_stderr_alone(name, capfd):
    make(name).fit(X, Y)
    assert capfd.readouterr() == ("", "")
    for verbose in (True, 2):
        make(name, verbose=verbose).fit(X, Y, X_dev=X, y_dev=Y)
        out, err = capfd.readouterr()
        assert out == ""
        assert err
    assert "iteration    1" in err


# ---- files and pickles


def test_pickle(name):
    model = fitted(name)
    assert repr(pickle.loads(pickle.dumps(make(name)))) == repr(make(name))
    copy = pickle.loads(pickle.dumps(model))
    assert answers(copy) == answers(model)
    assert repr(copy) == repr(model)
    assert history(copy) == history(model)


def test_everything_comes_back_from_a_file(name, tmp_path):
    model, path = fitted(name), tmp_path / "modèle"
    model.save(path)
    load = type(model).load
    with open(path, "rb") as file:
        found = [load(path), load(str(path)), load(file), load(saved(model)), load(io.BytesIO(saved(model)))]
    for loaded in found:
        assert answers(loaded) == answers(model)
        assert plain_parameters(loaded) == plain_parameters(model)
        timeless = [{k: v for k, v in record.items() if k != "seconds"} for record in history(model)]
        assert history(loaded) == timeless
        assert objective(loaded) == objective(model)
        assert loaded.converged_ == model.converged_
        assert saved(loaded.set_params(n_jobs=model.n_jobs)) == saved(model)
    assert tagger_of(*open_model(path)).predict(X) == model.predict(X)
    assert objective(clone(found[0]).fit(X, Y)) == pytest.approx(objective(model), rel=1e-4)


def test_the_same_training_writes_the_same_bytes(name):
    assert saved(make(name).fit(X, Y)) == saved(fitted(name))


def test_a_file_overwritten_in_place_does_not_change_a_loaded_model(name, tmp_path):
    """As ``cp new model`` does. With a mapped file, the process would end with SIGBUS."""
    model, path = fitted(name), tmp_path / "model"
    model.save(path)
    loaded = type(model).load(path)
    with open(path, "r+b") as file:
        file.truncate(0)
    assert answers(loaded) == answers(model)


def test_a_mapped_file_may_be_replaced(name, tmp_path):
    model, path = fitted(name), tmp_path / "model"
    model.save(path)
    loaded = type(model).load(path, mmap=True)
    model.save(path)
    assert answers(loaded) == answers(model)


@pytest.mark.parametrize("label", [10**20, -(10**19), "\ud800"])
def test_labels_that_a_file_cannot_hold_are_refused_before_training(name, label):
    y = [[label, *labels[1:]] for labels in Y]
    refuses("sequence 0, position 0: the label has .* no model file can hold it", make(name).fit, X, y)


def test_parameters_that_a_file_cannot_hold_are_refused_before_training(name):
    refuses("random_state has an integer of more than 20", make(name, random_state=10**20).fit, X, Y)


def test_a_failing_save_leaves_the_old_file(name, tmp_path, monkeypatch):
    def fail(*args):
        raise OSError("no space left on device")

    path = tmp_path / "model"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="no space"):
        fitted(name).save(path)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["model"]


def test_damaged_files_and_files_of_another_kind(name, tmp_path):
    load, content = type(make(name)).load, saved(fitted(name))
    rng = np.random.default_rng(0)
    for at in rng.integers(len(content), size=20).tolist():
        flipped = bytearray(content)
        flipped[at] ^= 1 << int(rng.integers(8))
        for damaged in (content[:at], bytes(flipped)):
            with pytest.raises(ModelFileError):
                load(damaged)
    with pytest.raises(ModelFileError):
        load(content + b"x")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    (tmp_path / "empty").touch()
    unreadable(r"it is (empty|not a crfkit model)", load, tmp_path / "empty")
    kinds = {
        "CRF": "linear-chain CRF",
        "TreeCRF": "tree CRF",
        "KernelCRF": "kernel CRF",
        "SemiCRF": "semi-Markov CRF",
    }
    own = kinds[type(make(name)).__name__.replace("Constrained", "")]
    for other in {"linear", "trees", "kernel"} & set(ESTIMATORS):
        got = kinds[ESTIMATORS[other][0].__name__]
        if got != own:
            unreadable(f"expected a {own}, got '{got}'", load, saved(fitted(other)))
