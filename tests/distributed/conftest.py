"""A cluster of two worker processes for all tests of a session, and one per test that kills workers."""

import contextlib
import logging

import pytest

distributed = pytest.importorskip("distributed")
dask = pytest.importorskip("dask")


@contextlib.contextmanager
def two_workers():
    # The scheduler gives up a task at the first loss of its worker, instead of the fourth. On a busy machine,
    # workers may take long to start.
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    changed = {"distributed.scheduler.allowed-failures": 0, "distributed.comm.timeouts.connect": "120s"}
    with (
        dask.config.set(changed),
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as cluster,
    ):
        yield cluster


@pytest.fixture(scope="session")
def local_cluster():
    with two_workers() as cluster:
        yield cluster


@pytest.fixture
def client(local_cluster):
    with distributed.Client(local_cluster) as made:
        made.wait_for_workers(2, timeout=120)
        yield made


@pytest.fixture
def mortal_cluster():
    """Give a cluster whose workers may be killed: Dask does not always start a new one."""
    with two_workers() as cluster, distributed.Client(cluster) as made:
        made.wait_for_workers(2, timeout=120)
        yield cluster
