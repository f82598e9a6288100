"""Batches in several threads: results in order, the error of a single thread, few batches in memory."""

import threading
import time

import pytest

from crfkit.cli.in_order import in_order

several = pytest.mark.parametrize("n_threads", [1, 3])


def slow_first(batch, n_threads):
    time.sleep(0.02 if batch % 3 == 0 else 0)
    return 10 * batch + n_threads


@several
@pytest.mark.parametrize("n", [0, 1, 2, 20])
def test_in_order(n, n_threads):
    each = n_threads if n == 1 else 1  # threads for one batch
    assert list(in_order(slow_first, iter(range(n)), n_threads)) == [(i, 10 * i + each) for i in range(n)]


@several
@pytest.mark.parametrize("fault", [1, 2, 9])
def test_results_before_an_error_of_reading(fault, n_threads):
    def batches():
        yield from range(fault)
        raise ValueError("cannot read on")

    seen = []
    with pytest.raises(ValueError, match="cannot read on"):
        seen.extend(batch for batch, _ in in_order(slow_first, batches(), n_threads))
    assert seen == list(range(fault))


@several
def test_the_first_error_of_the_work(n_threads):
    def work(batch, n_threads):
        slow_first(batch, n_threads)
        if batch in (3, 4):
            raise ValueError(f"batch {batch}")

    def batches():
        yield from range(5)
        raise OSError("read ahead of the fault")

    with pytest.raises(ValueError, match="batch 3"):
        list(in_order(work, batches(), n_threads))


def test_few_batches_are_read_ahead_and_threads_end():
    read = []

    def batches():
        for batch in range(100):
            read.append(batch)
            yield batch

    before = threading.active_count()
    results = in_order(slow_first, batches(), 2)
    assert next(results)[0] == 0
    assert len(read) <= 5
    results.close()  # as Ctrl-C and a closed pipe do
    assert threading.active_count() == before
