"""Working on the batches of a stream in several threads, with results in the order of the batches.

The core releases Python's lock while it computes, so threads are enough: they share one model, and the error
that is raised is the one that a single thread would have met. At most a few batches per thread are in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

Batch = TypeVar("Batch")
Result = TypeVar("Result")

_AHEAD = 2  # batches per thread that have been read but not passed on


def in_order(
    work: Callable[[Batch, int], Result], batches: Iterator[Batch], n_threads: int
) -> Iterator[tuple[Batch, Result]]:
    """Yield each batch and ``work(batch, threads)``: a single batch has all threads, of several each has one.

    With one thread, nothing is read ahead.
    """
    first, ahead, late = next(batches, None), None, None
    if first is None:
        return
    if n_threads > 1:
        try:
            ahead = next(batches, None)
        except Exception as error:  # the first batch comes before it
            late = error
    if ahead is None:
        yield first, work(first, n_threads)
        if late is not None:
            raise late
        if n_threads == 1:
            yield from ((batch, work(batch, 1)) for batch in batches)
        return
    from concurrent.futures import ThreadPoolExecutor  # slow to import

    pool = ThreadPoolExecutor(n_threads)
    waiting: deque[tuple[Batch, Future[Result]]] = deque()
    try:
        waiting.extend((batch, pool.submit(work, batch, 1)) for batch in (first, ahead))
        while waiting:
            while late is None and len(waiting) < _AHEAD * n_threads:
                try:
                    batch = next(batches, None)
                except Exception as error:
                    late = error
                    break
                if batch is None:
                    break
                waiting.append((batch, pool.submit(work, batch, 1)))
            done, result = waiting.popleft()
            yield done, result.result()
        if late is not None:
            raise late
    finally:
        pool.shutdown(cancel_futures=True)
