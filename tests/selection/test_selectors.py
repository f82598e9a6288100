"""Selectors: the paper's first picks, stopping rules, scikit-learn's conventions, bad input."""

import warnings

import numpy as np
import pytest
from refusals import refuses
from scipy.sparse import csr_matrix
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import Pipeline
from small_tasks import DICE_WORDS

from crfkit import CRF
from crfkit.datasets import addresses, casino
from crfkit.exceptions import ConvergenceWarning, InputWarning
from crfkit.features import Template, token_features
from crfkit.selection import (
    GainSelector,
    GradientSelector,
    L1PathSelector,
    MutualInformationSelector,
    Selection,
    StabilitySelector,
)

X, Y, X_TEST, Y_TEST = (part[half] for half in (slice(30), slice(30, None)) for part in DICE_WORDS)
SELECTORS = [
    GradientSelector,
    GainSelector,
    lambda *args, **kwargs: GainSelector(*args, method="approximate", **kwargs),
    MutualInformationSelector,
    L1PathSelector,
]
NAMES = ["gradient", "gain", "approximate gain", "mutual information", "L1"]
every_selector = pytest.mark.parametrize("make", SELECTORS, ids=NAMES)


def names(selection):
    return [str(feature) for feature in selection]


def test_gradient_on_the_casino():
    """The paper's three features first, and with them the accuracy of the full model."""
    rolls, dice = casino(1, 30_000, random_state=0)
    X = [[[str(roll)] for roll in sequence] for sequence in rolls]
    selector = GradientSelector(c2=0.0).fit(X, dice)
    assert names(selector.selected_) == ["T(real, real)", "T(fake, fake)", "E(fake, 6)"]
    assert "less than" in selector.stopped_because_
    rolls, dice_again = casino(1, 30_000, random_state=1)
    test = [[[str(roll)] for roll in sequence] for sequence in rolls]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        few = CRF(c2=0.0, features=selector.selected_).fit(X, dice).score(test, dice_again)
        full = CRF(c2=0.0).fit(X, dice).score(test, dice_again)
    assert few == pytest.approx(full, abs=2e-3)
    # The casino's own model: log odds of a six, and of staying.
    weights = dict(zip(names(selector.selected_), selector.weights_, strict=True))
    assert weights["E(fake, 6)"] == pytest.approx(np.log(5), abs=0.1)
    assert weights["T(real, real)"] + weights["T(fake, fake)"] == pytest.approx(np.log(171), abs=0.15)


@every_selector
def test_path_and_models(make):
    selector = make(n_features=12, c2=5.0).fit(X, Y)
    assert len(selector.selected_) == 12 == len(selector.weights_)
    path = selector.path_
    assert [record["round"] for record in path] == list(range(len(path)))
    assert path[0]["n_features"] == 0
    assert path[0]["objective"] == pytest.approx(30 * 60 * np.log(2), rel=1e-6)
    objectives = [record["objective"] for record in path]
    assert objectives == sorted(objectives, reverse=True)
    assert path[-1]["n_features"] == 12
    assert sum(len(record["features"]) for record in path) >= 12
    assert selector.objective_ == objectives[-1]
    # The objective is that of a CRF with these features, and so are the weights.
    crf = CRF(c2=5.0, features=selector.selected_, tol=1e-9, algorithm="lbfgs").fit(X, Y)
    assert crf.objective_ == pytest.approx(selector.objective_, rel=1e-5)
    assert crf.tagger_.index.n_features == 12
    table = {**crf.state_features_, **crf.transition_features_}
    for feature, weight in zip(selector.selected_, selector.weights_, strict=True):
        key = feature.labels if feature.attribute is None else (feature.attribute, *feature.labels)
        assert table[key] == pytest.approx(weight, abs=0.02)
    assert crf.score(X_TEST, Y_TEST) > 0.6


@every_selector
def test_scikit_learn(make):
    selector = make(n_features=5)
    again = clone(selector)
    assert again.get_params() == selector.get_params()
    assert "n_features=5" in repr(selector)
    with pytest.raises(ValueError, match="not fitted"):
        selector.transform(X)
    pipe = Pipeline([("select", selector), ("crf", CRF(c2=0.1))]).fit(X, Y)
    kept = pipe["select"].get_feature_names_out().tolist()
    assert sorted(pipe["crf"].tagger_.vocabulary.strings()) == sorted(kept)
    assert pipe.score(X_TEST, Y_TEST) > 0.6
    assert len(pipe.predict(X_TEST)) == len(X_TEST)


@pytest.mark.filterwarnings("ignore:the model never predicts")
def test_grid_search():
    pipe = Pipeline([("select", GradientSelector(n_features=2)), ("crf", CRF(c2=0.1))])
    search = GridSearchCV(pipe, {"select__n_features": [2, 6]}, cv=KFold(2), error_score="raise").fit(X, Y)
    assert search.best_params_["select__n_features"] in (2, 6)
    assert len(search.best_estimator_["select"].selected_) in (2, 6)


def test_batches():
    by_four = GradientSelector(n_features=10, batch=4).fit(X, Y)
    assert [record["n_features"] for record in by_four.path_] == [0, 4, 8, 10]
    assert [feature.round for feature in by_four.selected_] == [1] * 4 + [2] * 4 + [3] * 2
    shares = GradientSelector(n_features=30, batch=0.7).fit(X, Y)
    for record in shares.path_[1:-1]:
        assert min(feature.score for feature in record["features"]) >= 0.7 * record["score"]
    assert len({len(record["features"]) for record in shares.path_}) > 1


def test_objective_rules():
    bic, aic = (GradientSelector(tol=tol, c2=0.0).fit(X, Y) for tol in ("bic", "aic"))
    assert len(bic.selected_) <= len(aic.selected_)
    for selector, least in ((bic, 0.5 * np.log(1800)), (aic, 1.0)):
        drops = -np.diff([record["objective"] for record in selector.path_])
        assert (drops >= least).all()
    assert names(GradientSelector(c2=0.0).fit(X, Y).selected_) == names(bic.selected_)
    share = GradientSelector(tol=0.05, c2=0.0).fit(X, Y)
    assert len(share.selected_) <= 3


def test_dev_set():
    X_dev, y_dev = X_TEST, Y_TEST
    selector = GradientSelector(n_features=60, c2=0.0, patience=3).fit(X, Y, X_dev=X_dev, y_dev=y_dev)
    accuracy = [record["dev_accuracy"] for record in selector.path_]
    best = int(np.argmax(accuracy))
    assert len(accuracy) == best + 4 or len(accuracy) == 61
    assert len(selector.selected_) == selector.path_[best]["n_features"] == len(selector.weights_)
    crf = CRF(c2=0.0, features=selector.selected_, algorithm="lbfgs").fit(X, Y)
    assert crf.score(X_dev, y_dev) == pytest.approx(accuracy[best], abs=0.005)
    refuses("X_dev and y_dev go together", GradientSelector().fit, X, Y, X_dev=X_dev)
    refuses("in the dev set", GradientSelector().fit, X, Y, X_dev=X_dev, y_dev=y_dev[:-1])


def test_candidates():
    states = GradientSelector(n_features=3, candidates="state").fit(X, Y)
    assert [feature.round for feature in states.selected_] == [0] * 4 + [1, 2, 3]
    assert all(feature.attribute is None for feature in states.selected_[:4])
    assert states.path_[0]["n_features"] == 4
    steps = GradientSelector(n_features=2, candidates="transitions").fit(X, Y)
    assert len(steps.selected_) == steps.n_candidates_ - 2
    assert all(feature.attribute is None for feature in steps.selected_[-2:])
    l1 = L1PathSelector(n_features=3, candidates="state").fit(X, Y)
    assert sum(feature.round == 0 for feature in l1.selected_) == 4


def test_partial_labels_order_2_and_label_pairs():
    partly = [[None if t % 7 == 0 else label for t, label in enumerate(labels)] for labels in Y]
    found = GradientSelector(n_features=3).fit(X, partly)
    assert "E(fake, 6)" in names(found.selected_)
    second = GradientSelector(n_features=6, order=2).fit(X, Y)
    assert any(len(feature.labels) == 3 for feature in second.selected_)
    crf = CRF(order=2, features=second.selected_).fit(X, Y)
    assert crf.tagger_.index.n_features == 6
    pairs = GradientSelector(n_features=8, edge_attributes={"6": "both"}).fit(X, Y)
    assert any(f.attribute is not None and len(f.labels) == 2 for f in pairs.selected_)
    crf = CRF(features=pairs.selected_).fit(X, Y)
    assert crf.edge_features_


def test_inputs():
    """A selector takes what a CRF takes: arrays, columns with a template, real values."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 5)) for _ in range(20)]
    y = [["a" if row[3] > 0 else "b" for row in x] for x in X]
    selector = GradientSelector(n_features=2).fit(X, y)
    assert "3" in selector.selected_.attributes
    kept = selector.transform([csr_matrix(x) for x in X])
    assert kept.vocabulary.strings() == selector.selected_.attributes
    assert selector.fit_transform(np.concatenate(X), y).sequences.n_sequences == 20
    tokens, labels = addresses(30, random_state=0)
    rows = [[[token] for token in address] for address in tokens]
    template = Template.parse("U0:%x[0,0]\nU1:%x[-1,0]\nB\n")
    selector = GradientSelector(n_features=20, batch=10, template=template).fit(rows, labels)
    assert selector.transform(rows).sequences.n_positions == sum(map(len, tokens))
    assert any(name.startswith("U0:") for name in selector.selected_.attributes)


def test_sample_weight():
    weights = np.repeat([1.0, 0.0], 15)
    weighted = GradientSelector(n_features=5).fit(X, Y, weights)
    fewer = GradientSelector(n_features=5).fit(X[:15], Y[:15])
    assert names(weighted.selected_) == names(fewer.selected_)
    np.testing.assert_allclose(weighted.weights_, fewer.weights_, atol=0.01)


def test_same_bits():
    first, second = (GainSelector(n_features=6, n_jobs=2).fit(X, Y) for _ in range(2))
    assert first.selected_ == second.selected_
    assert (first.weights_ == second.weights_).all()


def test_l1_path_is_that_of_the_whole_pool():
    """Grafting finds what OWL-QN over all features finds."""
    selector = L1PathSelector(c1_min=3.0, tol=0.0, c2=0.01, ratio=0.6).fit(X, Y)
    c1 = selector.selected_[-1].score
    crf = CRF(c1=c1, c2=0.01, tol=1e-8).fit(X, Y)
    found = set(crf.state_features_) | set(crf.transition_features_)
    mine = {f.labels if f.attribute is None else (f.attribute, *f.labels) for f in selector.selected_}
    assert len(found ^ mine) <= 0.1 * len(found)


def test_stability():
    stable = StabilitySelector(GradientSelector(n_features=6), n_resamples=8, threshold=0.75).fit(X, Y)
    assert names(stable.selected_)[:3] == ["T(real, real)", "T(fake, fake)", "E(fake, 6)"]
    shares = list(stable.frequencies_.values())
    assert shares == sorted(shares, reverse=True)
    assert all(feature.score >= 0.75 for feature in stable.selected_)
    assert sum(shares) == pytest.approx(6)
    assert len(stable.path_) == 8
    assert clone(stable).get_params()["selector__n_features"] == 6
    assert stable.transform(X).sequences.n_positions == 1800
    again = clone(stable).fit(X, Y)
    assert again.selected_ == stable.selected_
    refuses("at least 4 sequences, but there are 2: split them", clone(stable).fit, X[:2], Y[:2])
    refuses("must be one of crfkit", StabilitySelector(CRF()).fit, X, Y)
    rng = np.random.default_rng(0)
    noise = [[[str(rng.integers(30))] for _ in range(3)] for _ in range(20)]
    labels = [[str(rng.integers(2)) for _ in range(3)] for _ in range(20)]
    seldom = StabilitySelector(GradientSelector(n_features=1), n_resamples=9, threshold=1.0, share=0.2)
    refuses("lower threshold", seldom.fit, noise, labels)


def test_verbose(capsys):
    GradientSelector(n_features=2, verbose=True).fit(X, Y, X_dev=X, y_dev=Y)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 3
    assert "round    1" in lines[1]
    assert "dev accuracy" in lines[1]
    assert "T(real, real)" in lines[1]
    StabilitySelector(GradientSelector(n_features=2), n_resamples=2, threshold=0.1, verbose=True).fit(X, Y)
    assert "part    2 of 2" in capsys.readouterr().err


def test_interruption_keeps_what_there_is(monkeypatch):
    selector = GradientSelector(n_features=9)

    def stop(search):
        if search.round == 4:
            raise KeyboardInterrupt
        return original(search)

    import crfkit.selection.gradient as module

    original = module.gradient_scores
    monkeypatch.setattr(module, "gradient_scores", stop)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 3 rounds"):
        selector.fit(X, Y)
    assert len(selector.selected_) == 3


# ---- bad input


def test_more_than_there_is():
    with pytest.warns(InputWarning, match=r"n_features=500 are asked for, but there are 88"):
        selector = GradientSelector(n_features=500, batch=20).fit(X, Y)
    assert len(selector.selected_) == 88


def test_copies_are_left_out_and_named():
    X = [[["a", "twin"], ["b"], ["a", "twin"]] for _ in range(6)]
    y = [["x", "y", "x"] for _ in range(6)]
    with pytest.warns(InputWarning, match="1 attributes are copies of others.*'twin' occurs wherever 'a'"):
        selector = GradientSelector(n_features=3, batch=3).fit(X, y)
    assert selector.n_duplicates_ == 1
    assert "twin" not in selector.selected_.attributes


@pytest.mark.parametrize(
    ("X", "y", "parameters", "message"),
    [
        ([], [], {}, "X has no sequences"),
        ([[[]]], [["a"]], {}, "y has only one label"),
        ([[["f"], ["g"]]], [["a", "a"]], {}, "so there is nothing to select"),
        ([[["f"]], [["g"]]], [["a"], ["b"]], {"min_freq": 2}, "nothing to select from.*min_freq=2"),
        ([[["f"]], [["g"]]], [["a"], ["b"]], {"candidates": "transitions"}, "no candidates='transitions'"),
        ([[["f"]]], [["a", "b"]], {}, "has 1 items but 2 labels"),
        ([[["f"], ["g"]]], [["a", "b"]], {"batch": 1.5}, "batch must be"),
        ([[["f"], ["g"]]], [["a", "b"]], {"n_features": 0}, "n_features must be"),
        ([[["f"], ["g"]]], [["a", "b"]], {"tol": "hqc"}, "tol must be"),
        ([[["f"], ["g"]]], [["a", "b"]], {"candidates": "edges"}, "candidates must be"),
        ([[["f"], ["g"]]], [["a", "b"]], {"template": 3}, "template must be"),
    ],
)
def test_bad_input(X, y, parameters, message):
    refuses(message, GradientSelector(**parameters).fit, X, y)


def test_a_selection_of_other_data(tmp_path):
    selection = GradientSelector(n_features=4).fit(X, Y).selected_
    selection.save(tmp_path / "few.json")
    loaded = Selection.load(tmp_path / "few.json")
    assert loaded == selection
    other = [[["one"], ["two"]], [["two"]]]
    labels = [["p", "q"], ["q"]]
    refuses("none of the 4 selected features", CRF(features=loaded).fit, other, labels)
    mixed = [[["6"], ["two"]], [["two"]]]
    with pytest.warns(InputWarning, match=r"of 4 selected features do not occur in this data"):
        CRF(features=loaded).fit(mixed, [["fake", "real"], ["real"]])


def test_plots():
    pytest.importorskip("matplotlib").use("Agg")
    selector = GradientSelector(n_features=5).fit(X, Y)
    assert selector.plot_path().get_ylabel() == "objective"
    selector.fit(X, Y, X_dev=X, y_dev=Y)
    assert selector.plot_path().get_ylabel().startswith("dev accuracy")
    stable = StabilitySelector(GradientSelector(n_features=3), n_resamples=2).fit(X, Y)
    assert stable.plot_path().get_xlabel().startswith("features")
    import matplotlib.pyplot as plt

    plt.close("all")


def test_long_text_pool():
    """Addresses: a pool of thousands of candidates, features in batches."""
    tokens, labels = addresses(60, random_state=0)
    X = [token_features(address, window=1) for address in tokens]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InputWarning)
        selector = GradientSelector(n_features=600, batch=100).fit(X, labels)
    assert [record["n_features"] for record in selector.path_] == list(range(0, 700, 100))
    assert CRF(features=selector.selected_).fit(X, labels).score(X, labels) > 0.8
