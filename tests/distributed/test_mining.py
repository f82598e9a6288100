"""Rules mined on a cluster against those mined in memory: the same ones in the same order."""

import os
import re
import signal
import threading
from itertools import pairwise
from unittest.mock import patch

import dask
import numpy as np
import pytest
from cluster_data import bag_of
from hypothesis import given
from hypothesis import settings as run
from hypothesis import strategies as st
from mined_data import random_data
from refusals import refuses

from crfkit.distributed.cluster import Cluster
from crfkit.distributed.mining import collection_rules
from crfkit.mining import AssociationMiner

COLUMNS = ("first", "items", "labels", "support", "coverage", "rivals", "margins", "class_counts")
TEMPLATE = "U0:%x[-1,0]\nU1:%x[0,0]\nU2:%x[0,1]\nU3:%x[0,0]/%x[0,1]"
SETTINGS = {
    "plain": {"min_confidence": 0.5, "important": False, "min_support": 1},
    "important": {"min_confidence": 0.6, "lengths": (1, 4), "max_support": 6},
    "minimal": {"minimal": True, "min_confidence": 0.5, "max_support": 9, "important": False},
    "items": {"items": re.compile("^i[0-4]"), "min_confidence": 0.4, "use": "weighted"},
    "template": {"template": TEMPLATE, "min_confidence": 0.3},
}


def data(seed=0, n=60):
    X, y = random_data(seed, n, 12)
    y[3] = [None] * len(y[3])
    y[7] = [{"L0", "L1"}, *y[7][1:]]
    return X, y


def same(there, here):
    assert (there.classes, there.n_positions) == (here.classes, here.n_positions)
    for name in COLUMNS:
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name), name)
    assert there.vocabulary.strings() == here.vocabulary.strings()


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.usefixtures("client")
def test_the_same_rules(how):
    X, y = data()
    if how == "template":
        X = [[[str(len(items)), items[0] if items else "none"] for items in x] for x in X]
    here, there = AssociationMiner(**SETTINGS[how]).fit(X, y), AssociationMiner(**SETTINGS[how])
    assert len(here.rules_) > 3
    for n in (1, 2, 8) if how == "plain" else (5,):
        same(there.fit(bag_of(X, y, n)).rules_, here.rules_)
    found, expected = there.transform(X).sequences, here.transform(X).sequences
    np.testing.assert_array_equal(found.indices, expected.indices)
    assert (found.values is None) == (expected.values is None)


class Here(Cluster):
    """A cluster that does every task at once, in this process."""

    def __init__(self, n_threads):
        self.client, self.n_threads = self, n_threads

    def workers(self):
        return {str(k): 1 for k in range(self.n_threads)}

    def submit(self, function, *arguments, **_):
        return function(*arguments)

    kept = submit

    def results(self, submit):
        return list(submit())

    def computed(self, partitions):
        return list(dask.compute(*partitions, scheduler="synchronous"))


@given(
    st.integers(0, 2**32 - 1),
    st.lists(st.integers(0, 14), max_size=4),
    st.integers(1, 5),
    st.sampled_from([0.01, 0.5, 0.9, 1.0]),
    st.tuples(st.integers(1, 3), st.integers(0, 2)),
    st.integers(1, 3),
    st.tuples(st.booleans(), st.booleans()),
)
@run(max_examples=60, deadline=None)
def test_any_partitions_and_groups(seed, cuts, n_workers, min_confidence, lengths, min_support, how):
    X, y = random_data(seed, 14)
    bounds = [0, *sorted(cuts), 14]
    parts = [dask.delayed((X[a:b], y[a:b])) for a, b in pairwise(bounds)]
    miner = AssociationMiner(
        min_support,
        min_confidence=min_confidence,
        lengths=(lengths[0], sum(lengths)),
        important=how[0],
        minimal=how[1],
    )
    sequences, labels, vocabulary, classes = miner.read(X, y)
    if not sequences.indices.size:
        return
    here = miner.find(sequences, labels, vocabulary, classes, None)
    with patch.object(Cluster, "current", lambda: Here(n_workers)):
        same(collection_rules(miner, parts, None, None, None), here)


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_killed_worker_and_one_without_data(mortal_cluster):
    X, y = data(1, 300)
    miner = AssociationMiner(min_confidence=0.5, important=False, lengths=(2, 5))
    expected = miner.fit(X, y).rules_
    same(miner.fit([dask.delayed((X, y))]).rules_, expected)
    worker = next(iter(mortal_cluster.workers.values()))
    timer = threading.Timer(0.2, os.kill, [worker.pid, signal.SIGKILL])
    timer.start()
    found = [miner.fit(bag_of(X, y, 4)).rules_ for _ in range(2)]
    timer.join()
    for rules in found:
        same(rules, expected)


def test_limits_bad_data_and_refusals(client):
    X, y = data()
    bag = bag_of(X, y, 3)
    wide = {"min_confidence": 0.01, "important": False, "min_support": 1}
    n = len(AssociationMiner(**wide).fit(X, y).rules_)
    assert len(AssociationMiner(**wide, max_rules=n).fit(bag).rules_) == n
    refuses(f"more than max_rules={n - 1} rules", AssociationMiner(**wide, max_rules=n - 1).fit, bag)
    refuses("more than max_sets=9 sets", AssociationMiner(**wide, max_sets=9).fit, bag)
    refuses("no position has an item: items='x'", AssociationMiner(items="x").fit, bag)
    refuses(
        "partition 1 .*1 items but 2 labels",
        AssociationMiner().fit,
        [dask.delayed((X, y)), dask.delayed(([[["a"]]], [["N", "N"]]))],
    )
    refuses("y_pred= is not possible with a Dask", AssociationMiner().fit, bag, y_pred=y)
    refuses("max_support=1 must be at least", AssociationMiner(max_support=1).fit, bag)
