"""Selection by gradient on a cluster against the one in memory."""

import os
import signal
import threading

import dask
import numpy as np
import pytest
from cluster_data import bag_of, items, sentences, with_gaps
from refusals import refuses

from crfkit import CRF
from crfkit.exceptions import InputWarning
from crfkit.selection import GainSelector, GradientSelector, MutualInformationSelector, StabilitySelector

pytestmark = pytest.mark.filterwarnings("ignore:.*attributes are copies of others")

X, Y = sentences(40)
X = items(X)

SETTINGS = {
    "number": {"n_features": 9, "batch": 5},
    "share": {"tol": "aic", "batch": 0.5, "c2": 0.1},
    "state": {"n_features": 5, "candidates": "state", "min_freq": 3},
    "transitions": {"n_features": 5, "candidates": "transitions", "order": 2},
    "pairs": {"n_features": 12, "batch": 4, "edge_attributes": {"e:": "both"}, "all_possible_states": True},
}


def same(there, here):
    assert [feature.key for feature in there.selected_] == [feature.key for feature in here.selected_]
    assert [f.round for f in there.selected_] == [f.round for f in here.selected_]
    np.testing.assert_allclose(there.weights_, here.weights_, rtol=2e-3, atol=2e-3)
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-5)
    for name in ("n_candidates_", "n_duplicates_", "classes_", "stopped_because_"):
        assert getattr(there, name) == getattr(here, name)


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.usefixtures("client")
def test_the_same_features(how):
    y = with_gaps(Y) if how == "state" else Y
    here = GradientSelector(**SETTINGS[how]).fit(X, y)
    for n in (1, 2, 8) if how == "number" else (5,):
        same(GradientSelector(**SETTINGS[how]).fit(bag_of(X, y, n)), here)


@pytest.mark.usefixtures("client")
def test_copies_are_alike_in_all_parts():
    """Attributes that are alike in one part only are no copies; parts may differ in having values."""
    x = [[{"a": 1.0, "twin": 1.0, "half": 1.0}, {"b": 1.0, "c": 1.0}] for _ in range(12)]
    x += [[{"a": 2.0, "twin": 2.0}, {"b": 1.0, "half": 1.0}] for _ in range(12)]
    y = [["p", "q"], ["q", "q"]] * 12
    found = []
    for data in ((x, y), (bag_of(x, y, 2),), (bag_of(x[:12], y[:12], 2),)):
        with pytest.warns(InputWarning, match="copies of others.*'twin' occurs wherever 'a' does"):
            found.append(GradientSelector(n_features=3, batch=3).fit(*data))
    here, there, first = found
    same(there, here)
    assert (here.n_duplicates_, first.n_duplicates_) == (1, 3)


def test_held_out_data_and_a_model(client):
    selector = GradientSelector(n_features=16, batch=8, patience=1)
    here = GradientSelector(n_features=16, batch=8, patience=1).fit(X, Y, None, X[:10], Y[:10])
    there = selector.fit(bag_of(X, Y, 3), X_dev=X[:10], y_dev=Y[:10])
    same(there, here)
    accuracies = [[record["dev_accuracy"] for record in one.path_] for one in (there, here)]
    np.testing.assert_allclose(*accuracies)
    models = CRF(features=there.selected_, c2=0.1), CRF(features=here.selected_, c2=0.1)
    objectives = models[0].fit(bag_of(X, Y, 3)).objective_, models[1].fit(X, Y).objective_
    assert objectives[0] == pytest.approx(objectives[1], rel=1e-3)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_killed_worker(mortal_cluster):
    selector = GradientSelector(n_features=6)
    expected = selector.fit(X, Y).selected_
    worker = next(iter(mortal_cluster.workers.values()))
    timer = threading.Timer(0.5, os.kill, [worker.pid, signal.SIGKILL])
    timer.start()
    parts = [*bag_of(X, Y, 3).to_delayed(), dask.delayed(([], []))]
    found = selector.fit(parts).selected_
    timer.join()
    assert [feature.key for feature in found] == [feature.key for feature in expected]


def test_refusals(client):
    bag = bag_of(X, Y, 2)
    refuses("conjunctions= is not possible with a Dask", GradientSelector(conjunctions=5).fit, bag)
    refuses("GainSelector is not possible", GainSelector(3).fit, bag)
    refuses("MutualInformationSelector is not", MutualInformationSelector(3).fit, bag)
    refuses("StabilitySelector draws", StabilitySelector(GradientSelector(3)).fit, bag)
    refuses("sample_weight= is not possible", GradientSelector(3).fit, bag, None, np.ones(40))
    refuses("lengths= is not possible", GradientSelector(3).fit, bag, lengths=[1])
    refuses(
        "partition 1 .*1 items but 2 labels",
        GradientSelector(3).fit,
        [dask.delayed((X, Y)), dask.delayed(([[["a"]]], [["N", "N"]]))],
    )
