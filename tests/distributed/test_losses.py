"""Workers that are killed or have no data, and two trainings at once. More: tests/campaigns/losses.py."""

import os
import signal
import threading

import dask
import numpy as np
import pytest

from crfkit import CRF
from crfkit.models.linear.source import Given, open_source


def parts(n):
    X = [[{"w": str(i % 7 + k)} for k in range(i % 5 + 1)] for i in range(40)]
    y = [["even" if int(item["w"]) % 2 == 0 else "odd" for item in x] for x in X]
    return [dask.delayed((X[k::n], y[k::n])) for k in range(n)]


@pytest.mark.skipif(os.name == "nt", reason="signals of Unix")
def test_a_killed_worker(mortal_cluster):
    source = open_source(CRF(), Given(parts(4), None, None, None, None, None))
    x = np.random.default_rng(0).normal(size=source.function.n_parameters)
    expected = source.function(x)
    worker = next(iter(mortal_cluster.workers.values()))
    timer = threading.Timer(0.01, os.kill, [worker.pid, signal.SIGKILL])
    timer.start()
    found = [source.function(x) for _ in range(4)]
    timer.join()
    for one in found:
        assert one.value == expected.value
        np.testing.assert_array_equal(one.gradient, expected.gradient)


def test_more_workers_than_partitions_and_two_fits_at_once(client):
    models = {}

    def fit(c2):
        models[c2] = CRF(c2=c2, tol=1e-2).fit(parts(1))  # one worker has no data

    threads = [threading.Thread(target=fit, args=[c2]) for c2 in (0.5, 2.0)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for c2, model in models.items():
        X, y = parts(1)[0].compute()
        assert model.objective_ == pytest.approx(CRF(c2=c2, tol=1e-2).fit(X, y).objective_, rel=1e-2)
    assert models[0.5].objective_ < models[2.0].objective_
