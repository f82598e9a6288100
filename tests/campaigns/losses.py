"""Trainings on a Dask cluster whose workers are killed, again and again, and one that joins late.

Five workers are killed within one training, which is more than Dask's scheduler puts up with by itself
(``allowed-failures``: 3). The training must end with the objective of an undisturbed one.

    make losses
"""

from __future__ import annotations

import argparse
import contextlib
import logging
import os
import signal
import sys
import threading
import time

import dask.bag

import distributed
from crfkit import CRF
from crfkit.datasets import addresses
from crfkit.features import token_features


class Killer(threading.Thread):
    """Kills one worker after the other, each when the one before has been replaced."""

    def __init__(self, cluster: distributed.LocalCluster, n: int) -> None:
        super().__init__(daemon=True)
        self.cluster, self.n, self.killed, self.ended = cluster, n, 0, False

    def run(self) -> None:
        while self.killed < self.n and not self.ended:
            time.sleep(0.7)
            workers = list(self.cluster.workers.values())
            if len(self.cluster.scheduler.workers) < len(workers):
                continue  # one is being replaced
            with contextlib.suppress(ProcessLookupError):
                os.kill(workers[self.killed % len(workers)].pid, signal.SIGKILL)
                self.killed += 1


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=5)
    parser.add_argument("--sequences", type=int, default=4000)
    options = parser.parse_args()
    X, y = addresses(options.sequences)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**settings, silence_logs=logging.CRITICAL) as cluster,
        distributed.Client(cluster) as client,
    ):
        bag = dask.bag.from_sequence(list(zip(X, y, strict=True)), npartitions=6)
        crf = CRF(extractor=token_features, c2=0.1, tol=1e-7)
        objective = crf.fit(bag).objective_
        print(f"undisturbed: {crf.n_iter_} iterations, objective {objective:.8g}")
        killer = Killer(cluster, options.kills)
        killer.start()
        while killer.killed < options.kills:
            before, began = killer.killed, time.perf_counter()
            found = crf.fit(bag).objective_
            seconds, kills = time.perf_counter() - began, killer.killed - before
            print(f"{kills} kills in {seconds:.1f} s, objective {found:.8g}", flush=True)
            if abs(found - objective) > 1e-5 * objective:
                print("the objective differs")
                return 1
        cluster.scale(3)
        late = threading.Timer(0.2, client.wait_for_workers, [3])
        late.start()
        found = crf.fit(bag).objective_
        late.join()
        print(f"with a late worker: objective {found:.8g}")
    return int(abs(found - objective) > 1e-5 * objective)


if __name__ == "__main__":
    sys.exit(main())
