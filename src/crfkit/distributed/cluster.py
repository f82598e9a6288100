"""Tasks on a Dask cluster whose workers may be lost at any time.

Dask recomputes results that were lost with a worker from the tasks that made them. Two things it does not do:
it gives up a task that has met several losses (``KilledWorker``), and data that the client has sent to a
worker is gone with it (``CancelledError``). Here both are submitted again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any

import dask

from crfkit.exceptions import InputError
from crfkit.log import inform
from distributed import CancelledError, Client, Future, KilledWorker, default_client

_TO_CONNECT = 15  # seconds
_TO_START = 600  # until there is a worker
_LOSSES = 20  # in a row, without any result in between
_SECONDS = 3  # to reach a worker that may be lost; Dask's own limit is ten times as long


class Cluster:
    """A client, and the tasks whose results are needed until the end of training."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self._kept: list[Future] = []

    @staticmethod
    def connect(address: str) -> Client:
        """Make the cluster of a scheduler the current one, until the client is closed."""
        try:
            return Client(address, timeout=_TO_CONNECT)
        except (OSError, ValueError) as error:
            raise InputError(f"there is no Dask scheduler at {address}: {error}") from error

    @classmethod
    def current(cls) -> Cluster:
        """Return the cluster of the client that was made last."""
        try:
            return cls(default_client())
        except ValueError as error:
            raise InputError(
                "training on a Dask collection needs a cluster: make a client first, for example client = "
                "dask.distributed.Client('tcp://scheduler:8786'), or Client() for this machine"
            ) from error

    def workers(self) -> dict[str, int]:
        """Return the number of threads of each worker, by address; wait for the first worker."""
        self._wait()
        return dict(sorted(self.client.nthreads().items()))

    def _wait(self) -> None:
        """Wait for a worker, if there is none."""
        try:
            self.client.wait_for_workers(1, timeout=_TO_START)
        except TimeoutError as error:
            raise InputError(
                f"the cluster has had no worker for {_TO_START // 60} minutes: start workers, train again "
                "(with checkpoint=, training continues where it was)"
            ) from error

    @cached_property
    def addresses(self) -> list[str]:
        """The workers at the beginning, one per part of the data."""
        return list(self.workers())

    def near(self, number: int) -> dict[str, Any]:
        """Return the options of a task for a part: on its own worker, or another one if that is lost.

        Without them, Dask may move a part to the worker that has something larger which all parts share.
        """
        return {"workers": [self.addresses[number]], "allow_other_workers": True}

    def kept(self, function: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """Submit a task and keep its result on the cluster."""
        future = self.client.submit(function, *arguments, pure=False, **options)
        self._kept.append(future)
        return future

    def computed(self, partitions: Sequence[Any]) -> list[Future]:
        """Return the futures of delayed objects; futures are returned as they are."""
        # Not bound to workers: with workers=, Dask does not find other ones if these are lost.
        delayed = self.client.compute([one for one in partitions if not isinstance(one, Future)])
        futures = iter(delayed)
        return [one if isinstance(one, Future) else next(futures) for one in partitions]

    def results(self, submit: Callable[[], Iterable[Future]]) -> list[Any]:
        """Return the results of the futures that ``submit`` returns; after a loss, it is called again."""
        lost: Exception | None = None
        for _ in range(_LOSSES):
            try:
                with dask.config.set({"distributed.comm.timeouts.connect": _SECONDS}):
                    return list(self.client.gather(list(submit()), direct=True))
            except (KilledWorker, CancelledError, OSError) as error:  # OSError: also of time and connections
                inform("training", "a worker was lost (%s): the pass is computed again", error)
                lost = error
                self._retry()
        raise InputError(
            f"{_LOSSES} times in a row, workers were lost before the cluster returned a result. Do they "
            "have enough memory? More workers, or more threads on fewer processes, need less of it each"
        ) from lost

    def _retry(self) -> None:
        self._wait()
        given_up = [future for future in self._kept if future.status in ("error", "cancelled")]
        killed = [future.key for future in given_up if isinstance(future.exception(), KilledWorker)]
        if killed:
            self.client.sync(self._tried_again, killed)

    async def _tried_again(self, keys: list[Any]) -> None:
        """Do what ``Client.retry`` does, also if a task was given up for one of which no future is held."""
        found = await self.client.scheduler.retry(keys=keys, client=self.client.id)
        for key in found:
            if key in self.client.futures:
                self.client.futures[key].retry()

    def homes(self, futures: Sequence[Future]) -> list[str | None]:
        """Return the address of a worker that holds each result; None if there is none at this moment."""
        found = self.client.who_has(list(futures))
        return [next(iter(sorted(found.get(future.key, ()))), None) for future in futures]

    def sent(self, data: Sequence[Any], homes: Sequence[str | None]) -> list[Future]:
        """Send data to workers, directly and at the same time; return their futures."""
        client = self.client

        async def send() -> list[Future]:
            return await asyncio.gather(
                *(
                    client.scatter(
                        one,
                        workers=None if home is None else [home],
                        direct=True,
                        hash=False,
                        timeout=_SECONDS,
                        asynchronous=True,
                    )
                    for one, home in zip(data, homes, strict=True)
                )
            )

        try:
            futures: list[Future] = client.sync(send)
        except Exception as error:  # of any type: the scheduler does not expect that a worker has just gone
            raise ConnectionError(f"data could not be sent to a worker: {error}") from error
        return futures
