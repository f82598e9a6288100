"""gamma and reg by held-out loss, and numbers of cliques by the size of the data."""

import pickle

import numpy as np
import pytest
from interruptions import interrupt
from sklearn.base import clone

from crfkit import KernelCRF, KernelLogisticRegression
from crfkit.datasets import galaxy
from crfkit.exceptions import InputError
from crfkit.inference import log_partition
from crfkit.kernels import GraphKernel, Kernel, median_gamma
from crfkit.models.kernels.held_out_search import HeldOutSearch, _cut_long
from crfkit.models.kernels.sizes import Sizes, sizes_of
from crfkit.potentials.kernel_expansion import KernelExpansion

X, Y = galaxy(60, 20, random_state=0)


@pytest.fixture(scope="module")
def model():
    return KernelCRF().fit(X[:20], Y[:20])


def test_the_default_is_as_good_as_a_good_choice(model):
    """The median heuristic's gamma is far too small for the thin arms: 28 % errors with reg = 1."""
    chosen = KernelCRF(gamma=2.0, reg=0.1).fit(X[:20], Y[:20])
    heuristic = KernelCRF(gamma="median", reg=1.0).fit(X[:20], Y[:20])
    assert model.score(X[20:], Y[20:]) > chosen.score(X[20:], Y[20:]) - 0.01
    assert model.score(X[20:], Y[20:]) > heuristic.score(X[20:], Y[20:]) + 0.1


def test_what_was_tried_is_kept(model):
    best = min(model.search_, key=lambda record: record["loss"])
    assert (best["gamma"], best["reg"]) == (pytest.approx(model.gamma_), model.reg_)
    assert len({record["gamma"] for record in model.search_}) >= 4
    assert model.gamma == model.reg == "auto"  # parameters stay as they were given
    again = clone(model).fit(X[:20], Y[:20])
    assert again.search_ == model.search_
    assert again.cliques_ == model.cliques_


def test_the_loss_is_that_of_models_fitted_to_the_folds(monkeypatch):
    """With all positions as landmarks, a trial is the full representer form on the other folds."""
    found = {}
    folds_of = HeldOutSearch._folds

    def keep(search):
        found["folds"] = folds_of(search)
        return found["folds"]

    monkeypatch.setattr(HeldOutSearch, "_folds", keep)
    model = KernelCRF(gamma=0.5, n_cliques=10).fit(X[:9], Y[:9])
    trial = next(t for t in model.search_ if t["reg"] == pytest.approx(1.0))
    table, labels = np.vstack(X[:9]), np.concatenate(Y[:9])
    total = 0.0
    for fold in found["folds"]:
        n = int(fold.learn.offsets[-1])
        learn, held = fold.places[:n], fold.places[n:]
        assert not set(learn.tolist()) & set(held.tolist())
        whole = KernelCRF(gamma=0.5, reg=1.0, n_cliques=None).fit(
            np.split(table[learn], fold.learn.offsets[1:-1]),
            np.split(labels[learn], fold.learn.offsets[1:-1]),
        )
        lattice, _ = next(whole.tagger_.pieces(np.split(table[held], fold.held.offsets[1:-1])))
        ids = np.searchsorted(["a", "b"], labels[held])
        score = lattice.node[np.arange(len(ids)), ids].sum()
        inner = np.setdiff1d(np.arange(len(ids)), fold.held.offsets[:-1])
        score += whole.transitions_[ids[inner - 1], ids[inner]].sum()
        total += log_partition(lattice).sum() - score
    assert trial["loss"] == pytest.approx(total / len(table), rel=1e-2)


def test_given_values_are_used():
    model = KernelCRF(gamma=0.7, reg=0.3, n_cliques=7, per_round=2).fit(X[:4], Y[:4])
    assert (model.gamma_, model.reg_, model.search_) == (pytest.approx(0.7), 0.3, [])
    assert len(model.path_) == 5  # the transitions alone, then 2, 4, 6 and 7 cliques
    assert all(len(clique.coefficients) == 1 for clique in model.cliques_)
    model = KernelCRF(reg=0.3, n_cliques=7).fit(X[:4], Y[:4])
    assert {record["reg"] for record in model.search_} == {0.3} == {model.reg_}
    model = KernelCRF(gamma="median", n_cliques=7).fit(X[:4], Y[:4])
    assert model.gamma_ == pytest.approx(median_gamma(np.vstack(X[:4])))
    model = KernelCRF(Kernel("rbf", 0.7), n_cliques=7).fit(X[:4], Y[:4])
    assert model.gamma_ == pytest.approx(0.7)
    assert "gamma" not in model.search_[0]


def test_files_and_pickles_keep_it(model, tmp_path):
    model.save(tmp_path / "m.crfkit")
    for other in (KernelCRF.load(tmp_path / "m.crfkit"), pickle.loads(pickle.dumps(model))):
        assert (other.gamma_, other.reg_, other.search_) == (model.gamma_, model.reg_, model.search_)
        assert other.predict(X[20:23]) == model.predict(X[20:23])
    old = pickle.loads(pickle.dumps(KernelCRF(reg=0.5, n_cliques=5).fit(X[:4], Y[:4])))
    del old.reg_, old.search_  # as pickled by an earlier version
    old.save(tmp_path / "old.crfkit")
    assert KernelCRF.load(tmp_path / "old.crfkit").reg_ == 0.5


@pytest.mark.parametrize(
    "settings",
    [
        {"kernel": ["rbf", "laplacian"]},
        {"kernel": "linear"},
        {"kernel": lambda a, b: a @ b.T},
        {"kernel": None, "graph": GraphKernel(5, n_eigenvectors=20)},
        {"cliques": "vertex+edge", "n_cliques": 20},
        {"transition_reg": 0.1, "bias": True},
    ],
    ids=["two", "linear", "function", "graph", "edges", "bias"],
)
def test_every_kind_of_kernel(settings):
    model = KernelCRF(**settings).fit(X[:6], [None, *Y[1:6]] if "graph" in settings else Y[:6])
    assert model.reg_ == min(model.search_, key=lambda record: record["loss"])["reg"]
    assert ("gamma" in model.search_[0]) == (settings.get("kernel", "rbf") in ("rbf", ["rbf", "laplacian"]))


def test_precomputed_weights_and_partial_labels():
    table = np.vstack(X[:6])
    gram = np.exp(-2.0 * ((table[:, None] - table[None]) ** 2).sum(axis=2))
    partial = [[None, *y[1:]] for y in Y[:6]]
    own = KernelCRF(gamma=2.0, n_cliques=30).fit(X[:6], partial, sample_weight=[1, 2, 3, 1, 2, 3])
    given = KernelCRF("precomputed", n_cliques=30).fit(
        np.split(gram, 6), partial, sample_weight=[1, 2, 3, 1, 2, 3]
    )
    losses = [[record["loss"] for record in model.search_] for model in (own, given)]
    np.testing.assert_allclose(*losses, rtol=1e-3)


def test_few_sequences_are_cut_and_a_single_position_is_no_search():
    assert KernelCRF().fit(X[:1], Y[:1]).search_
    offsets, owner = _cut_long(np.array([0, 10, 12, 12, 19]), 4)
    assert offsets.tolist() == [0, 4, 7, 10, 12, 12, 16, 19]
    assert owner.tolist() == [0, 0, 0, 1, 2, 3, 3]
    model = KernelCRF().fit([[[1.0]]], [["a"]])
    assert (model.reg_, model.search_) == (1.0, [])


def test_points():
    table, labels = np.vstack(X[:20]), np.concatenate(Y[:20])
    model = KernelLogisticRegression().fit(table, labels)
    assert model.search_
    assert model.score(np.vstack(X[20:]), np.concatenate(Y[20:])) > 0.7


def test_ctrl_c_in_the_search(monkeypatch):
    interrupt(monkeypatch, KernelExpansion, "backward", 10)
    model = KernelCRF()
    with pytest.raises(KeyboardInterrupt, match="no model yet"):
        model.fit(X[:10], Y[:10])
    assert not hasattr(model, "tagger_")


AUTO = {"n_cliques": "auto", "per_round": "auto", "n_candidates": "auto", "all_labelings": "auto"}


@pytest.mark.parametrize(
    ("n", "given", "expected"),
    [
        (50, {}, Sizes(50, 5, None, True)),
        (400, {}, Sizes(100, 10, None, True)),
        (4000, {}, Sizes(189, 19, None, True)),
        (7500, {}, Sizes(259, 26, 2666, True)),
        (7500, {"n_labels": 64}, Sizes(692, 70, 2666, True)),
        (160_000, {}, Sizes(250, 25, 500, True)),
        (10_000_000, {}, Sizes(100, 10, 200, True)),
        (400, {"n_cliques": 60}, Sizes(60, 6, None, False)),
        (400, {"n_cliques": None}, Sizes(None, 1, None, False)),
        (400, {"n_candidates": 30}, Sizes(30, 3, 30, True)),
        (80_000, {"n_cliques": 3000, "per_round": 7}, Sizes(3000, 7, 6000, False)),
        (80_000, {"n_candidates": None, "all_labelings": False}, Sizes(500, 50, None, False)),
        (400, {"edge_cliques": True}, Sizes(100, 10, None, False)),
        (400, {"patience": 10}, Sizes(100, 3, None, True)),
    ],
)
def test_numbers_by_size(n, given, expected):
    assert (
        sizes_of(n, **{**AUTO, "n_labels": 2, "edge_cliques": False, "patience": None, **given}) == expected
    )


def test_groups_are_held_out_together():
    """Sequences that come twice: without groups, the copy gives the labels away."""
    rng = np.random.default_rng(0)
    X = [rng.normal(size=(6, 3)) for _ in range(30)]
    y = [rng.choice(["a", "b"], 6).tolist() for _ in X]  # nothing to learn
    both, labels, pairs = [*X, *X], [*y, *y], [*range(30), *range(30)]
    alone = KernelCRF().fit(both, labels)
    grouped = KernelCRF().fit(both, labels, groups=pairs)
    best = [min(trial["loss"] for trial in model.search_) for model in (alone, grouped)]
    assert best[0] < 0.5 < 0.65 < best[1]
    with pytest.raises(InputError, match="groups must be one per sequence, 60 of them; got 30"):
        KernelCRF().fit(both, labels, groups=pairs[:30])
    assert KernelCRF().fit(both, labels, groups=[0] * 60).search_ == []  # nothing can be held out
