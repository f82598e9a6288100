"""The meaning of n_jobs."""

import os
import subprocess
import sys

import numpy as np
import pytest

from crfkit import KernelCRF
from crfkit.exceptions import InputError
from crfkit.threads import thread_count, threads_of_products


def test_all_cores_unless_a_share_is_set(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cores = thread_count(-1)
    assert thread_count(None) == cores >= 1
    for share, threads in (("1", 1), ("100000", cores), ("0", cores), ("", cores), ("2,1", cores)):
        monkeypatch.setenv("OMP_NUM_THREADS", share)
        assert thread_count(None) == threads
        assert thread_count(-1) == cores
        assert thread_count(3) == 3


@pytest.mark.parametrize("bad", [0, -2, True, 1.5, "2"])
def test_bad_numbers_are_refused(bad):
    with pytest.raises(InputError, match="n_jobs must be"):
        thread_count(bad)


def test_workers_of_joblib_get_their_share():
    joblib = pytest.importorskip("joblib")
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(thread_count)(None) for _ in range(2))
    assert found == [max(1, thread_count(-1) // 2)] * 2


FORK = """
import os, sys
from crfkit import CRF, Tagger
X, y = [[["a"], ["b"]]] * 40, [["A", "B"]] * 40
crf = CRF(n_jobs=2).fit(X, y)
crf.save(sys.argv[1])
tagger = Tagger(sys.argv[1])
child = os.fork()
same = crf.predict(X) == y and tagger.tag(X[0]) == y[0]
if child == 0:
    crf.fit(X, y)  # threads are made anew
    os._exit(0 if same and crf.predict(X) == y else 1)
sys.exit(not same or os.waitpid(child, 0)[1])
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")
def test_a_fork_after_threads_were_used(tmp_path):
    command = [sys.executable, "-c", FORK, str(tmp_path / "m.crfkit")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_products_of_small_kernels_use_one_thread():
    """Else waiting threads would take the processor from others, and training ten times as long."""
    pools = pytest.importorskip("threadpoolctl")
    pytest.importorskip("scipy")
    seen = []

    def threads():
        return [pool["num_threads"] for pool in pools.threadpool_info() if pool["user_api"] == "blas"]

    def kernel(a, b):
        seen.extend(threads())
        return np.array([[float(x == y) for y in b] for x in a])

    with pools.threadpool_limits(2, user_api="blas"):
        before = threads()
        KernelCRF(kernel=kernel, n_cliques=2).fit([["a", "b"]] * 4, [["x", "y"]] * 4)
        assert seen.count(1) > 0
        assert threads() == before
        with threads_of_products(10**9, 2):
            assert threads() == before
        with threads_of_products(10**9, 1):
            assert set(threads()) <= {1}
