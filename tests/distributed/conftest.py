"""One cluster of two worker processes for all tests of a session."""

import logging

import pytest

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


@pytest.fixture(scope="session")
def local_cluster():
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    # The scheduler gives up a task at the first loss of its worker, instead of the fourth. On a busy machine,
    # workers may take long to start.
    changed = {"distributed.scheduler.allowed-failures": 0, "distributed.comm.timeouts.connect": "120s"}
    with (
        dask.config.set(changed),
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as cluster,
    ):
        yield cluster


@pytest.fixture
def client(local_cluster):
    with distributed.Client(local_cluster) as made:
        made.wait_for_workers(2)
        yield made
