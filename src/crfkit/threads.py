"""The number of threads that ``n_jobs`` stands for, and that of NumPy's matrix products."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from numbers import Integral

from crfkit.exceptions import InputError
from crfkit.optional import find

_MOST = 4096
_LARGE = 4_000_000  # numbers of a matrix: a product with a vector takes milliseconds


def thread_count(n_jobs: int | None) -> int:
    """Return the number of threads for ``n_jobs``: None and -1 mean every core this process may use.

    None also respects OMP_NUM_THREADS, which joblib sets in its workers, so that a grid search with
    ``n_jobs=-1`` does not start one thread per core in every worker.
    """
    if n_jobs is None or n_jobs == -1:
        cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
        share = os.environ.get("OMP_NUM_THREADS", "")
        return min(cores, int(share)) if n_jobs is None and share.isdecimal() and int(share) > 0 else cores
    if isinstance(n_jobs, bool) or not isinstance(n_jobs, Integral) or n_jobs < 1:
        raise InputError(
            f"n_jobs must be a positive number of threads, or None or -1 for all cores; got {n_jobs!r}"
        )
    if n_jobs > _MOST:
        raise InputError(f"n_jobs must be at most {_MOST} threads, got {n_jobs}")
    return int(n_jobs)


@contextmanager
def threads_of_products(n_numbers: int, n_jobs: int | None) -> Iterator[None]:
    """Let NumPy's products with matrices of so many numbers use as many threads as they gain from.

    Small products gain nothing from a second thread. Between thousands of them the threads wait actively: on
    a busy machine, training then takes many times as long. Without threadpoolctl, nothing changes.
    """
    pools = find("threadpoolctl")
    if pools is None:
        yield
        return
    with pools.threadpool_limits(1 if n_numbers < _LARGE else thread_count(n_jobs), user_api="blas"):
        yield
