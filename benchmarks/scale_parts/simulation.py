"""What an evaluation on more workers than this machine has would take: measured costs, a stated network.

Weak scaling: each worker has as much data as one of the two real ones, and its data has all weights. The
client's link and processor carry one message at a time; links of different workers work at the same time.

    down   W messages of 4 F bytes, one after the other: it is the client that sends
    pass   of a worker, as measured
    up     W <= 8: W messages of 4 F bytes to the client. Otherwise groups of 8 are added up on workers, all
           groups at once, and their sums, 8 F bytes each, go to the client
    tasks  what W tasks without data take, as measured: the scheduler's work and the client's

Every byte costs what it costs on this machine (serialisation, copies, addition: measured) and its share of
the network, one after the other; a message also costs the network's delay.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from crfkit.distributed.cluster_sum import FAN_IN

BANDWIDTH, DELAY = 1.25e9, 2e-4  # bytes per second (10 Gbit/s); seconds
WORKERS = (1, 2, 4, 8, 16, 32, 64)


@dataclass(frozen=True)
class Costs:
    """What was measured."""

    pass_s: float  # of one worker over its own data
    byte_s: float  # of a byte that is sent, in this machine
    tasks_s: Callable[[int], float]  # of so many tasks without data


def evaluation(costs: Costs, workers: int, weights: int, *, network: bool = True) -> float:
    """Return the seconds of an evaluation."""
    byte_s = costs.byte_s + (1 / BANDWIDTH if network else 0.0)
    delay, message = (DELAY if network else 0.0), 4 * weights * byte_s
    groups = -(-workers // FAN_IN)
    up = workers * message + delay
    if groups > 1:
        up = FAN_IN * message + delay + groups * 2 * message + delay
    return costs.pass_s + costs.tasks_s(workers) + workers * message + delay + up


def efficiencies(costs: Costs, weights: int) -> dict[int, float]:
    """Return, for each number of workers, the pass of a worker as a share of the evaluation."""
    return {n: round(costs.pass_s / evaluation(costs, n, weights), 3) for n in WORKERS}


def draw(curves: dict[str, dict[int, float]], path: Path) -> None:
    """Write a picture of the efficiencies."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4))
    for name, curve in curves.items():
        axes.plot(list(curve), list(curve.values()), marker="o", label=name)
    axes.axhline(0.8, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="workers", ylabel="efficiency", ylim=(0, 1.05))
    axes.set(xticks=list(WORKERS), xticklabels=[str(n) for n in WORKERS])
    axes.minorticks_off()
    axes.set_title("Weak scaling, simulated from measured costs: 10 Gbit/s, 0.2 ms", fontsize=10)
    axes.legend()
    figure.savefig(path)
