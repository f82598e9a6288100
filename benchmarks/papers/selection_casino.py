"""The dishonest casino: 30,000 rolls to learn from and 30,000 to test on, pools F_0 to F_4.

F_i has four transitions and the emissions E(y_t, x_t … x_t+k) for k = 0 … i. The paper's drawing of its
casino is lost, but its numbers tell the casino: T(real,real) + T(fake,fake) = 2.11 + 1.48 is the logarithm of
the odds of staying, log(0.9/0.1 · 0.8/0.2) = 3.58, so that the dice are kept with 0.9 and 0.8. (E(fake,6) =
1.64 is log((1/2)/(1/10)) = 1.61, and two thirds of the rolls are fair.) The textbook's casino keeps them with
0.95 and 0.9.
"""

from __future__ import annotations

import time
import warnings
from itertools import pairwise
from pathlib import Path
from typing import Any

from tables import seconds, table

from crfkit import CRF
from crfkit.datasets import casino
from crfkit.exceptions import ConvergenceWarning
from crfkit.selection import GainSelector, GradientSelector, MutualInformationSelector

STAY = {"the paper's casino": (0.9, 0.8), "the textbook's casino": (0.95, 0.9)}

# Published rounds, tables 1 and 2: seconds, drop of the objective, accuracy in percent, feature.
PAPER = {
    (0, "gain"): [
        (32, 8951.8, 66.11, "T(fake, real)"),
        (83, 394.2, 66.11, "E(real, 4)"),
        (55, 427.1, 64.64, "E(real, 6)"),
        (63, 1080.5, 73.89, "T(real, real)"),
    ],
    (0, "gradient"): [
        (0, 4317.6, 66.11, "T(real, real)"),
        (0, 4891.5, 66.11, "T(fake, fake)"),
        (0, 1644.0, 73.92, "E(fake, 6)"),
    ],
    (1, "gain"): [
        (199, 8951.8, 66.11, "T(fake, real)"),
        (416, 394.2, 66.11, "E(real, 4)"),
        (423, 433.1, 68.20, "E(fake, 66)"),
        (1151, 786.3, 70.70, "T(real, real)"),
        (1301, 3.2, 73.93, "E(real, 6)"),
        (1475, 2.5, 73.92, "E(fake, 24)"),
        (1536, 2.3, 73.88, "E(fake, 52)"),
        (1559, 1.1, 74.00, "E(real, 33)"),
    ],
    (1, "gradient"): [
        (1, 4317.6, 66.11, "T(real, real)"),
        (0, 4891.5, 66.11, "T(fake, fake)"),
        (0, 1644.0, 73.92, "E(fake, 6)"),
        (1, 1.3, 73.92, "E(real, 3)"),
        (0, 2.4, 73.96, "E(fake, 66)"),
        (0, 3.2, 74.10, "E(real, 52)"),
    ],
}
TO_THE_END = {(0, "gain"): "233 s", (1, "gain"): "36 hours", (1, "gradient"): "5 minutes"}

METHODS: dict[str, Any] = {
    "gradient": GradientSelector,
    "gain": GainSelector,
    "gain, McCallum's approximation": lambda n, **rest: GainSelector(n, method="approximate", **rest),
    "mutual information": MutualInformationSelector,
}


Run = tuple[Any, tuple[float, float]]  # a fitted selector, its seconds by the clock and of the processor


def words(rolls: list[list[int]], order: int) -> list[list[list[str]]]:
    """The attributes of pool F_order."""
    texts = ["".join(map(str, sequence)) for sequence in rolls]
    return [
        [[text[t : t + k + 1] for k in range(order + 1) if t + k < len(text)] for t in range(len(text))]
        for text in texts
    ]


class Casino:
    """One casino's rolls, to learn from and to test on."""

    def __init__(self, stay: tuple[float, float], n_rolls: int) -> None:
        self.learn, self.test = (casino(1, n_rolls, stay=stay, random_state=seed) for seed in (0, 1))

    def run(
        self, method: str, order: int, n: int | None, *, batch: int | float = 1, verbose: bool = False
    ) -> Run:
        """The fitted selector and its seconds, by the clock and of the processor.

        The test accuracy of each round is in its path.
        """
        # No penalty, every word a candidate for both dice, as in the paper. The dev set only watches.
        selector = METHODS[method](
            n,
            c2=0.0,
            tol=0.0,
            all_possible_states=True,
            patience=10**6,
            batch=batch,
            verbose=verbose,
        )
        X, X_test = words(self.learn[0], order), words(self.test[0], order)
        began, used = time.perf_counter(), time.process_time()
        selector.fit(X, self.learn[1], X_dev=X_test, y_dev=self.test[1])
        return selector, (time.perf_counter() - began, time.process_time() - used)

    def full_accuracy(self, order: int) -> float:
        """Of the CRF with the whole pool."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            crf = CRF(c2=0.0, all_possible_states=True).fit(words(self.learn[0], order), self.learn[1])
        return 100 * crf.score(words(self.test[0], order), self.test[1])


def report(quick: bool, plots: Path | None, verbose: bool) -> str:
    n_rolls = 2000 if quick else 30_000
    parts = ["### Casino"]
    for name, stay in list(STAY.items())[: 1 if quick else 2]:
        house = Casino(stay, n_rolls)
        runs: dict[tuple[int, str], Run] = {}
        orders = (0,) if quick else (0, 1)
        for order in orders:
            for method in METHODS:
                runs[order, method] = house.run(method, order, None, verbose=verbose)
        full = {order: house.full_accuracy(order) for order in orders}
        published = name == "the paper's casino"
        parts.append(f"#### {name[0].upper()}{name[1:]}: dice kept with {stay[0]} and {stay[1]}")
        for order in sorted(full) if published else ():
            parts.append(f"Pool F_{order}; the full model reaches {full[order]:.2f} %.")
            parts.append(_rounds(runs, order))
        parts.append(_ends(runs, full, published))
        if plots is not None:
            _draw(runs, full, plots / f"casino-{stay[0]}-{stay[1]}.png", name)
        if published and not quick:
            parts.append(_large(house, verbose))
    return "\n\n".join(parts)


def _rounds(runs: dict[tuple[int, str], Run], order: int) -> str:
    """Round by round, the paper's numbers beside ours where it has any."""
    header = ["method", "round", "feature", "drop", "accuracy", "seconds"]
    header += ["paper: feature", "drop", "accuracy", "seconds"]
    rows = []
    for method in METHODS:
        path = runs[order, method][0].path_
        theirs = PAPER.get((order, method), [])
        n = max(len(theirs), 3 if order == 0 else 6) + 2
        for before, record in list(pairwise(path))[:n]:
            row = [
                method,
                str(record["round"]),
                str(record["features"][0]),
                f"{before['objective'] - record['objective']:.1f}",
                f"{100 * record['dev_accuracy']:.2f}",
                f"{record['seconds'] - before['seconds']:.2f}",
            ]
            known = theirs[record["round"] - 1] if record["round"] <= len(theirs) else None
            row += [""] * 4 if known is None else _published(*known)
            rows.append(row)
    return table(header, rows)


def _published(spent: int, drop: float, accuracy: float, feature: str) -> list[str]:
    return [feature, f"{drop:.1f}", f"{accuracy:.2f}", str(spent)]


def _ends(runs: dict[tuple[int, str], Run], full: dict[int, float], published: bool) -> str:
    """How long the whole pool takes, and how many features reach the full model."""
    header = ["pool", "method", "candidates", "to the end (processor)"]
    header += ["features to within 0.1 of the full model", "best accuracy (features)"]
    header += ["paper, to the end"] if published else []
    rows = []
    for (order, method), (selector, spent) in runs.items():
        path = selector.path_
        reached = next(r["n_features"] for r in path if 100 * r["dev_accuracy"] >= full[order] - 0.1)
        best = max(path, key=lambda record: record["dev_accuracy"])
        row = [
            f"F_{order}",
            method,
            str(selector.n_candidates_),
            f"{seconds(spent[0])} ({seconds(spent[1])})",
            str(reached),
            f"{100 * best['dev_accuracy']:.2f} ({best['n_features']})",
        ]
        rows.append([*row, TO_THE_END.get((order, method), "")] if published else row)
    return table(header, rows)


def _large(house: Casino, verbose: bool) -> str:
    """The gradient on the large pools: one by one, and the whole pool in batches."""
    header = [
        "pool",
        "candidates",
        "chosen",
        "features a round",
        "seconds (processor)",
        "test accuracy",
        "objective",
    ]
    rows = []
    for order in (2, 3, 4):
        for n, batch in ((300, 1), (None, 0.5)):
            selector, spent = house.run("gradient", order, n, batch=batch, verbose=verbose)
            last = selector.path_[-1]
            best = max(100 * record["dev_accuracy"] for record in selector.path_)
            rounds = f"all above {batch:g} of the best: {len(selector.path_) - 1} rounds"
            rows.append(
                [
                    f"F_{order}",
                    f"{selector.n_candidates_:,}",
                    f"{last['n_features']:,}",
                    "1" if batch == 1 else rounds,
                    f"{seconds(spent[0])} ({seconds(spent[1])})",
                    f"{100 * last['dev_accuracy']:.2f} (best {best:.2f})",
                    f"{last['objective']:.1f}",
                ]
            )
    return "The gradient on larger pools.\n\n" + table(header, rows)


def _draw(runs: dict[tuple[int, str], Run], full: dict[int, float], path: Path, name: str) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    size = (5.5 * len(full), 4.2)
    figure, axes = plt.subplots(1, len(full), figsize=size, layout="constrained", squeeze=False)
    for order, ax in zip(sorted(full), axes[0], strict=True):
        for i, method in enumerate(METHODS):
            records = runs[order, method][0].path_[1:]
            numbers = [record["n_features"] for record in records]
            accuracy = [100 * record["dev_accuracy"] for record in records]
            size = 9 - 2 * i  # one over the other: some methods go the same way
            ax.plot(numbers, accuracy, marker="o", markersize=size, color=f"C{i}", label=method)
        ax.axhline(full[order], color="0.4", linewidth=1, linestyle="--", label="full model")
        ax.set_xscale("log")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_ylim(bottom=min(62, full[order] - 12))
        ax.set_title(f"F_{order}, {name}")
        ax.set_xlabel("features")
        ax.set_ylabel("test accuracy, %")
    axes[0][0].legend(fontsize=8)
    figure.savefig(path, dpi=120)
    plt.close(figure)
