"""ConstrainedCRF: feasible for all settings, and otherwise a CRF."""

import argparse
import io
import warnings

import numpy as np
import pytest
from interruptions import interrupt
from model_files import saved
from refusals import refuses
from sklearn.model_selection import KFold
from small_tasks import ADDRESSES

from crfkit import CRF, ConstrainedCRF
from crfkit.cli import options, validation_options
from crfkit.exceptions import ConvergenceWarning, CRFKitError, InputError
from crfkit.inference import Lattice, PermittedPairs, log_partition, path_score, viterbi
from crfkit.models.linear.constrained_watch import ConstrainedWatch
from crfkit.objectives.validation import GRADIENTS

# Words that say little about the labels: no model gets them all right.
RNG = np.random.default_rng(0)
X = [[[f"a{RNG.integers(6)}", f"b{RNG.integers(6)}"] for _ in range(10)] for _ in range(12)]
Y = [["AB"[int(RNG.random() < 0.5)] for _ in sequence] for sequence in X]


def violations(crf, X, y, sets):
    """Return max_ŷ S(ŷ) - S(y) of each set, from the fitted model's lattice."""
    tagger = crf.tagger_
    lattice = tagger.lattice(tagger.encode(X, None))
    offsets = lattice.offsets
    best = viterbi(lattice).labels
    truth = np.array([crf.classes_.index(label) for labels in y for label in labels])

    def score(ids, i):
        part = slice(offsets[i], offsets[i + 1])
        found = ids[part]
        edges = lattice.edge[found[:-1], found[1:]].sum()
        return lattice.node[part][np.arange(len(found)), found].sum() + edges

    return [sum(score(best, i) - score(truth, i) for i in members) for members in sets]


SETS = [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("tau", [1.0, 8.0])
def test_what_it_says_of_feasibility_is_true_of_the_model(gradient, tau):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf = ConstrainedCRF(tau=tau, gradient=gradient, max_outer=6).fit(X, Y)
    found = violations(crf, X, Y, SETS)
    np.testing.assert_allclose(crf.violations_, found, atol=1e-9)
    assert crf.feasible_ == bool((crf.violations_ <= tau).all()) == crf.converged_
    assert len(crf.penalties_) == 3
    plain = CRF(c2=0.0).fit(X, Y)
    assert max(violations(plain, X, Y, SETS)) > tau  # the constraints were violated before
    assert max(found) < max(violations(plain, X, Y, SETS))


def test_the_smoothed_search_satisfies_what_the_others_cannot():
    crf = ConstrainedCRF(tau=0.01).fit(X, Y)  # a warning would be an error here
    assert crf.feasible_
    assert max(violations(crf, X, Y, SETS)) <= 0.01 + 1e-9
    assert len(crf.outer_history_) <= 20
    feasible = [record for record in crf.outer_history_ if record["feasible"]]
    kept = min(feasible, key=lambda record: record["objective"])
    np.testing.assert_allclose(kept["violations"], crf.violations_)
    np.testing.assert_allclose(kept["penalties"], crf.penalties_)
    assert kept["objective"] == crf.objective_
    steps = [record["seconds"] for record in crf.outer_history_]
    assert steps == sorted(steps)
    assert crf.outer_history_[0]["penalties"] == [0, 0, 0]
    penalties = np.array([record["penalties"] for record in crf.outer_history_])
    assert (np.diff(penalties, axis=0) >= 0).all()


def test_it_is_better_than_plain_weights_shrunk_until_they_are_feasible():
    crf = ConstrainedCRF(tau=2.0).fit(X, Y)
    plain = ConstrainedCRF(tau=1e9).fit(X, Y)
    assert len(plain.outer_history_) == 1  # feasible at once
    shrink = 2.0 / plain.violations_.max()
    lattice = plain.tagger_.lattice(plain.tagger_.encode(X, None))
    smaller = Lattice(shrink * lattice.node, shrink * lattice.edge, lattice.offsets)
    truth = np.array([crf.classes_.index(label) for labels in Y for label in labels])
    loss = (log_partition(smaller) - path_score(smaller, truth)).sum()
    assert crf.objective_ < loss


def test_violated_to_the_end():
    with pytest.warns(ConvergenceWarning, match=r"3 of 3 validation constraints are violated after 2 outer"):
        crf = ConstrainedCRF(tau=0.01, max_outer=2).fit(X, Y)
    assert not crf.feasible_
    assert (crf.violations_ > 0.01).any()
    assert crf.predict(X[:1])


def test_where_plain_training_is_feasible_it_is_plain_training():
    X, y = ADDRESSES
    crf = ConstrainedCRF(c2=0.1).fit(X, y)
    plain = CRF(c2=0.1).fit(X, y)
    assert crf.feasible_
    assert len(crf.outer_history_) == 1
    np.testing.assert_array_equal(crf.tagger_.weights.state, plain.tagger_.weights.state)


def test_the_largest_penalty_that_the_constraints_allow():
    X, y = ADDRESSES
    crf = ConstrainedCRF(c2="largest").fit(X, y)
    assert crf.feasible_
    assert crf.c2_ > 0
    assert crf.outer_history_[-1]["c2"] == crf.c2_
    plain = CRF(c2=crf.c2_, tol=1e-6).fit(X, y)
    assert crf.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    more = ConstrainedCRF(c2=3 * crf.c2_, max_outer=1)
    with pytest.warns(ConvergenceWarning, match="violated"):
        more.fit(X, y)
    feasible = [r["c2"] for r in crf.outer_history_ if r["feasible"]]
    assert crf.c2_ == max(feasible) or crf.c2_ in feasible


def test_a_margin_asks_for_more():
    X, y = ADDRESSES
    crf = ConstrainedCRF(c2=0.5, margin=2.0, tau=0.1).fit(X, y)
    plain = CRF(c2=0.5).fit(X, y)
    assert crf.feasible_

    def least(model):
        return min(
            p[label]
            for s, q in zip(model.predict_marginals(X), y, strict=True)
            for p, label in zip(s, q, strict=True)
        )

    assert least(crf) > least(plain)


def test_validation_sets_of_all_kinds():
    for validation, n in ((1, 1), ("sequences", 12), ([[0, 5], [7]], 2), (KFold(4), 4)):
        crf = ConstrainedCRF(validation=validation, tau=5.0).fit(X, Y)
        assert len(crf.violations_) == n
        assert crf.feasible_
    assert len(ConstrainedCRF(last=4, tau=5.0).fit(X, Y).violations_) == 1
    crf = ConstrainedCRF(tau=5.0).fit(X, Y, groups=["a", "b"] * 6)
    assert len(crf.violations_) == 2
    assert max(violations(crf, X, Y, [range(0, 12, 2), range(1, 12, 2)])) <= 5
    assert not hasattr(crf, "_groups")


def test_constraints_look_at_permitted_labellings_alone():
    total = sum(map(len, X))
    ids = np.array(["AB".index(label) for labels in Y for label in labels])
    tables = np.ones((2, 2, 2), bool)
    tables[1, 0, 1] = False  # A is not followed by B
    follows = np.concatenate([[False], (ids[:-1] == 0) & (ids[1:] == 1)])
    kinds = np.where(follows | (np.arange(total) % 3 > 0), 0, 1).astype(np.int32)
    pairs = PermittedPairs(kinds, tables)
    crf = ConstrainedCRF(tau=3.0).fit(X, Y, permitted=pairs)
    assert crf.feasible_
    tagger = crf.tagger_
    lattice = tagger.permit(tagger.lattice(tagger.encode(X, None)), pairs.constraints(), None)
    scores = []
    for i in range(12):
        part = slice(lattice.offsets[i], lattice.offsets[i + 1])
        edge = lattice.edge[part]
        for found in (viterbi(lattice).labels[part], ids[part]):
            steps = np.arange(1, len(found))
            scores.append(
                lattice.node[part][np.arange(len(found)), found].sum()
                + edge[steps, found[:-1], found[1:]].sum()
            )
    gaps = np.array(scores[::2]) - np.array(scores[1::2])
    np.testing.assert_allclose(crf.violations_, [gaps[s].sum() for s in np.array(SETS)], atol=1e-9)


def test_files_remember_the_search_and_are_those_of_a_crf(tmp_path):
    X, y = ADDRESSES
    crf = ConstrainedCRF(c2=1.0, tau=0.5, gradient="envelope", max_outer=10).fit(X, y)
    assert crf.score(X, y) > 0.9
    crf.save(tmp_path / "m.crfkit")
    loaded = ConstrainedCRF.load(tmp_path / "m.crfkit")
    assert loaded.outer_history_ == [
        {name: value for name, value in record.items() if name != "seconds"} for record in crf.outer_history_
    ]
    assert loaded.feasible_ == crf.feasible_
    assert loaded.c2_ == crf.c2_
    np.testing.assert_array_equal(loaded.violations_, crf.violations_)
    np.testing.assert_array_equal(loaded.penalties_, crf.penalties_)
    assert CRF.load(tmp_path / "m.crfkit").predict(X[:5]) == crf.predict(X[:5])
    CRF(c2=1.0).fit(X, y).save(tmp_path / "plain.crfkit")
    plain = ConstrainedCRF.load(tmp_path / "plain.crfkit")
    assert plain.outer_history_ == []
    assert not plain.feasible_


@pytest.mark.parametrize(
    "validation",
    [[[0, 5], [7]], ([0], (1, 2)), [np.array([0, 1]), np.array([2])], np.array([[0, 1], [2, 3]]), KFold(4)],
)
def test_files_remember_validation_sets(validation):
    crf = ConstrainedCRF(tau=20.0, validation=validation).fit(X, Y)
    loaded = ConstrainedCRF.load(saved(crf))
    if isinstance(validation, KFold):
        assert loaded.validation == 3  # a splitter is not stored
        return
    assert loaded.validation == [[int(i) for i in members] for members in validation]
    assert loaded.fit(X, Y).violations_ == pytest.approx(crf.violations_)


def test_a_file_of_the_largest_penalty_goes_on_as_a_crf(tmp_path):
    X, y = ADDRESSES
    crf = ConstrainedCRF(c2="largest").fit(X[:-5], y[:-5])
    crf.save(tmp_path / "m.crfkit")
    assert ConstrainedCRF.load(tmp_path / "m.crfkit").c2 == "largest"
    plain = CRF.load(tmp_path / "m.crfkit")
    assert plain.c2 == crf.c2_
    assert plain.partial_fit(X[-5:], y[-5:]).score(X, y) > 0.9


def test_second_order_partial_labels_l1_and_going_on():
    second = ConstrainedCRF(order=2, tau=2.0).fit(X, Y)
    assert second.feasible_
    sparse = ConstrainedCRF(c1=0.5, tau=2.0).fit(X, Y)
    assert sparse.feasible_
    partial = [[None if t % 4 == 3 else label for t, label in enumerate(labels)] for labels in Y]
    assert ConstrainedCRF(tau=2.0).fit(X, partial).feasible_
    crf = ConstrainedCRF(tau=2.0, c2=0.1).fit(X[:6], Y[:6])
    crf.partial_fit(X[6:], Y[6:])
    assert crf.feasible_
    warm = ConstrainedCRF(tau=2.0, c2=0.1, warm_start=True).fit(X, Y)
    first = warm.objective_
    assert warm.fit(X, Y).objective_ == pytest.approx(first, rel=0.05)


def test_with_a_dev_set_the_model_kept_is_the_one_judged():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        crf = ConstrainedCRF(tau=1.0, patience=3, max_outer=5).fit(X[:9], Y[:9], X_dev=X[9:], y_dev=Y[9:])
    np.testing.assert_allclose(
        crf.violations_, violations(crf, X[:9], Y[:9], [[0, 1, 2], [3, 4, 5], [6, 7, 8]])
    )
    assert crf.feasible_ == bool((crf.violations_ <= 1.0).all())
    assert "dev_accuracy" in crf.history_[0]


@pytest.fixture
def interrupted(monkeypatch):
    """Raise Ctrl-C in the third iteration of every training; return a list with one item per iteration."""
    return interrupt(monkeypatch, ConstrainedWatch, "__call__", 3)


@pytest.mark.parametrize("c2", ["largest", 0.0])
def test_interruption_ends_it_with_what_there_is(interrupted, c2):
    crf = ConstrainedCRF(c2=c2, tau=0.01)
    with pytest.raises(KeyboardInterrupt, match="interrupted after 2 iterations"):
        crf.fit(X, Y)
    assert len(interrupted) == 3  # not one iteration more
    assert len(crf.outer_history_) == 1
    assert not crf.feasible_
    assert not crf.converged_
    np.testing.assert_allclose(crf.outer_history_[0]["violations"], crf.violations_, atol=1e-9)


def test_feasible_but_not_converged():
    with pytest.warns(ConvergenceWarning, match="did not converge: it reached max_iterations=1"):
        crf = ConstrainedCRF(tau=1e6, max_iterations=1).fit(X, Y)
    assert crf.feasible_
    assert not crf.converged_


@pytest.mark.usefixtures("interrupted")
def test_feasible_but_interrupted():
    crf = ConstrainedCRF(tau=1e6)
    with pytest.raises(KeyboardInterrupt, match="the best model so far is kept"):
        crf.fit(X, Y)
    assert crf.feasible_
    assert not crf.converged_


def test_feasible_with_smoothing_still_coarse_is_not_converged():
    whole = ConstrainedCRF(tau=5.0).fit(X, Y)
    assert whole.converged_
    first = next(record["step"] for record in whole.outer_history_ if record["feasible"])
    assert first < len(whole.outer_history_)
    with pytest.warns(ConvergenceWarning, match="smoothing may still cost"):
        crf = ConstrainedCRF(tau=5.0, max_outer=first).fit(X, Y)
    assert crf.feasible_
    assert not crf.converged_


def test_the_bound_of_the_search_is_not_called_the_largest_penalty():
    X, y = [[["a"], ["b"]]] * 4, [["A", "B"]] * 4
    with pytest.warns(ConvergenceWarning, match="up to c2=256, where the search ended"):
        crf = ConstrainedCRF(c2="largest").fit(X, y)
    assert crf.feasible_
    assert not crf.converged_


def test_where_no_penalty_will_do_the_saddle_point_is_searched():
    """The records include the penalties tried before."""
    crf = ConstrainedCRF(c2="largest", tau=1.0).fit(X, Y)
    assert crf.feasible_
    assert crf.c2_ == 0
    assert crf.penalties_.any()
    tried = [record["c2"] for record in crf.outer_history_]
    assert tried[0] == 1
    assert tried[-1] == 0
    assert [record["step"] for record in crf.outer_history_] == list(range(1, len(tried) + 1))
    for name in ("passes", "seconds"):
        for history in (crf.outer_history_, crf.history_):
            column = [record[name] for record in history]
            assert column == sorted(column)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": -0.1}, "tau must be a number of at least 0, got -0.1"),
        ({"validation": 0}, "validation must be a number of sets"),
        ({"validation": "three"}, "validation must be a number of sets"),
        ({"validation": []}, "validation must be a number of sets"),
        ({"last": 0}, "last must be None or a whole number of at least 1"),
        ({"gradient": "exact"}, "gradient must be one of 'smooth', 'envelope', 'flip'"),
        ({"algorithm": "sgd"}, "algorithm must be one of 'auto', 'lbfgs', got 'sgd'"),
        ({"max_outer": 0}, "max_outer must be a whole number of at least 1"),
        ({"penalty": 0}, "penalty must be a number above 0"),
        ({"c2": "small"}, "c2 must be a number of at least 0 or one of 'largest'"),
        ({"gradient": "flip", "order": 2}, "gradient='flip' is defined for order=1"),
        ({"last": 11}, "last=11, but sequence 0 has only 10 positions"),
        ({"validation": [[0], [0]]}, "must not overlap"),
        ({"validation": [[99]]}, "names sequence 99"),
    ],
)
def test_bad_input(parameters, message):
    refuses(message, ConstrainedCRF(**parameters).fit, X, Y)


def test_the_command_line_knows_the_same_gradients():
    parser = argparse.ArgumentParser()
    options.declare(parser, validation_options.OPTIONS, validation_options.TYPES)
    choices = next(action.choices for action in parser._actions if action.dest == "gradient")
    assert tuple(choices) == GRADIENTS


def test_progress_says_what_goes_on(capfd):
    ConstrainedCRF(tau=5.0, verbose=2).fit(X, Y)
    shown = capfd.readouterr().err
    assert "outer step 1: objective" in shown
    assert "largest violation" in shown
    assert "all constraints hold after" in shown


def test_plots(tmp_path):
    pytest.importorskip("matplotlib").use("Agg")
    from crfkit.models.linear.constrained_plot import draw_accuracies

    crf = ConstrainedCRF(tau=5.0).fit(X, Y)
    panes = crf.plot_search(tmp_path / "search.png")
    assert (tmp_path / "search.png").stat().st_size > 1000
    assert [ax.get_ylabel() for ax in panes] == ["objective", "violations", "penalties"]
    assert crf.plot_search(axes=panes) == panes
    with pytest.raises(InputError, match="axes must be three"):
        crf.plot_search(axes=panes[:2])
    figure = draw_accuracies({"test": {"plain": [(1.0, 0.5), (2.0, 0.75)]}})
    buffer = io.BytesIO()
    figure.savefig(buffer)
    crf.outer_history_ = []
    with pytest.raises(CRFKitError, match="no outer steps"):
        crf.plot_search()
