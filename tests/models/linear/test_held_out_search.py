"""ConstrainedCRF(validation="held-out"): constraints on folds under models that have not seen them."""

import numpy as np
import pytest
from interruptions import interrupt
from model_files import saved
from refusals import refuses
from small_tasks import ADDRESSES

from crfkit import CRF, ConstrainedCRF
from crfkit.data.folds import fold_numbers
from crfkit.datasets import casino
from crfkit.exceptions import ConvergenceWarning
from crfkit.models.linear.held_out_search import HeldOutConstraintSearch

ROLLS, DICE = casino(120, 30, random_state=0)
TEXTS = ["".join(map(str, game)) for game in ROLLS]
WORDS = [[[f"{n}={text[t : t + n]}" for n in (1, 2, 3)] for t in range(30)] for text in TEXTS]
X, Y = WORDS[:20], DICE[:20]  # more words than 20 games can tell anything about


def fitted(X=X, Y=Y, **settings):
    with pytest.warns(ConvergenceWarning, match="held-out constraints are violated"):
        return ConstrainedCRF(validation="held-out", n_jobs=1, **settings).fit(X, Y)


@pytest.fixture(scope="module")
def kept():
    return fitted()


def hinge(crf, X, y, factor):
    """Return max_ŷ S(ŷ) + wrong labels of ŷ - S(y), summed over sequences, by the model's scores."""
    total = 0.0
    lattice = crf.tagger_.lattice(crf.tagger_.encode(X, None))
    for i, labels in enumerate(y):
        node = factor * lattice.node[lattice.offsets[i] : lattice.offsets[i + 1]]
        edge = factor * lattice.edge
        truth = np.array([crf.classes_.index(label) for label in labels])
        wrong = np.ones_like(node)
        wrong[np.arange(len(truth)), truth] = 0
        best = (node + wrong)[0]
        for t in range(1, len(truth)):
            best = (best[:, None] + edge).max(axis=0) + (node + wrong)[t]
        true = node[np.arange(len(truth)), truth].sum() + edge[truth[:-1], truth[1:]].sum()
        total += best.max() - true
    return total


def test_violations_are_those_of_models_trained_without_their_fold(kept):
    crf = kept
    assert not crf.feasible_
    assert not crf.converged_
    assert crf.c2_ > 1
    fold = fold_numbers([len(x) for x in X], None, 5, 0, "folds")
    models, positions = [], []
    for j in range(5):
        weights = (fold != j).astype(float)
        models.append(CRF(c2=crf.c2_, algorithm="lbfgs", n_jobs=1).fit(X, Y, weights))
        positions.append(sum(len(X[i]) for i in np.flatnonzero(fold == j)))
    held = [[[S[i] for i in np.flatnonzero(fold == j)] for S in (X, Y)] for j in range(5)]

    def every(factor):
        return np.array([hinge(models[j], *held[j], factor) for j in range(5)])

    best = min((every(a) for a in np.geomspace(1 / 32, 4, 40)), key=lambda h: h.sum())
    np.testing.assert_allclose(crf.violations_, best / positions, rtol=0.03)
    estimates = crf.outer_history_[-1]["violations"]
    np.testing.assert_allclose(np.sum(estimates), crf.violations_.sum(), rtol=0.05)
    plain = CRF(c2=crf.c2_, algorithm="lbfgs", n_jobs=1).fit(X, Y)
    assert crf.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert crf.predict(X) == plain.predict(X)


def test_a_bar_that_can_be_met_is_certified_and_the_best_fit_under_it_is_kept(kept):
    tau = 1.1 * float(kept.violations_.max())
    crf = ConstrainedCRF(validation="held-out", tau=tau, n_jobs=1).fit(X, Y)  # no warning
    assert crf.feasible_
    assert crf.converged_
    assert (crf.violations_ <= tau).all()
    assert crf.c2_ < kept.c2_  # it fits better
    assert crf.outer_history_[-1]["feasible"]


def test_it_knows_unseen_data_better_than_constraints_on_training_data(kept):
    rest, labels = WORDS[20:], DICE[20:]
    trained = ConstrainedCRF(n_jobs=1, tau=100.0).fit(X, Y)
    assert kept.score(rest, labels) > trained.score(rest, labels) + 0.02


def test_groups_stay_together():
    groups = np.repeat(np.arange(10), 2)
    with pytest.warns(ConvergenceWarning, match="held-out constraints"):
        crf = ConstrainedCRF(validation="held-out", n_jobs=1).fit(X, Y, groups=groups)
    assert len(crf.violations_) == 5
    model = ConstrainedCRF(validation="held-out")
    refuses(
        "the number of folds=5 needs as many groups, but there are 2", model.fit, X, Y, groups=[0, 1] * 10
    )


def test_file_and_repetition(kept):
    crf = kept
    loaded = ConstrainedCRF.load(saved(crf))
    assert loaded.validation == "held-out"
    assert loaded.c2_ == crf.c2_
    np.testing.assert_array_equal(loaded.violations_, crf.violations_)
    assert loaded.predict(X[:3]) == crf.predict(X[:3])
    again = fitted()
    np.testing.assert_array_equal(
        again.tagger_.potential.weights.vector, crf.tagger_.potential.weights.vector
    )
    passes = [record["passes"] for record in crf.history_]
    assert passes == sorted(passes)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"last": 3}, "last=3 names parts of them"),
        ({"c2": "largest"}, "chooses c2 itself: leave c2='largest' out"),
        ({"c2": 0.5}, "chooses c2 itself: leave c2=0.5 out"),
        ({"c1": 0.1}, "needs c1=0, got c1=0.1"),
        ({"gradient": "flip"}, "has no gradient='flip'"),
    ],
)
def test_settings_that_do_not_go_together(settings, message):
    refuses(message, ConstrainedCRF(validation="held-out", **settings).fit, X, Y)


def test_data_that_does_not_go_together(tmp_path):
    model = ConstrainedCRF(validation="held-out")
    refuses("the number of folds=5 needs as many sequences, but there are 4", model.fit, X[:4], Y[:4])
    refuses("does not use a dev set", model.fit, X[5:], Y[5:], None, X[:5], Y[:5])
    refuses("leave checkpoint out", model.fit, X, Y, checkpoint=tmp_path / "c")
    crf = fitted(*(part[:40] for part in ADDRESSES))
    refuses("give all data to fit", crf.partial_fit, *(part[40:] for part in ADDRESSES))


def test_interruption_keeps_the_last_model(monkeypatch):
    interrupt(monkeypatch, HeldOutConstraintSearch, "_note", 30)
    crf = ConstrainedCRF(validation="held-out", n_jobs=1)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 29 iterations"):
        crf.fit(X, Y)
    assert not crf.feasible_
    assert not crf.converged_
    assert np.isfinite(crf.objective_)
    assert crf.predict(X[:1])
