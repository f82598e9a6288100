"""Continued training: what it costs on a large model, what it forgets, and how a stream compares to one fit.

    python benchmarks/continued.py cost         # one sentence on a model of 2.25 million attributes
    python benchmarks/continued.py forgetting   # a batch of new labels only
    python benchmarks/continued.py stream       # 4,000 sentences of CoNLL-2000 in batches

``stream`` also shows what the penalty c2 alone reaches, without the curvature of earlier data.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
import tasks
from tables import provenance, seconds, table

from crfkit import CRF
from crfkit.exceptions import ConvergenceWarning
from crfkit.metrics import segment_f1


def cost() -> str:
    """Time a sentence of three words, again and again, with and without new attributes and labels."""
    rng, n = np.random.default_rng(0), 25_000
    words = [[f"w={100 * i + k}" for k in range(90)] for i in range(n)]
    X = [[[*row[9 * t : 9 * t + 9], "bias"] for t in range(10)] for row in words]
    y = [["ABCDE"[int(label)] for label in rng.integers(0, 5, 10)] for _ in range(n)]
    crf = CRF(c2=1.0, max_iterations=3, algorithm="lbfgs")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        began = time.perf_counter()
        crf.fit(X, y)
        rows = [["fit, three iterations", seconds(time.perf_counter() - began)]]
        cases = {"nothing new": (None, "B"), "two new attributes": ("new", "B"), "a new label": (None, "Z")}
        for case, (new, label) in cases.items():
            times = []
            for k in range(7):
                extra = [f"{new}{k}"] if new else []
                sentence = [["w=1", "w=5", "bias", *extra], ["w=77", "bias"], ["w=800", "bias", *extra]]
                path = ["A", label + str(k) if label == "Z" else label, "A"]
                began = time.perf_counter()
                crf.partial_fit([sentence], [path])
                times.append(time.perf_counter() - began)
            rows.append([f"partial_fit, {case}", seconds(float(np.median(times[1:])))])
    return table(["attributes: " + f"{len(crf.tagger_.vocabulary):,}", "time"], rows)


def chains(labels: str, n: int, seed: int, prefix: str) -> tuple[list[list[list[str]]], list[list[str]]]:
    """Return noisy chains over labels; all attributes but one begin with the prefix."""
    rng, L = np.random.default_rng(seed), len(labels)
    X: list[list[list[str]]] = []
    y: list[list[str]] = []
    for _ in range(n):
        state = int(rng.integers(L))
        X.append([])
        y.append([])
        for _ in range(12):
            y[-1].append(labels[state])
            seen = state if rng.random() > 0.3 else int(rng.integers(L))
            X[-1].append(["bias", f"{prefix}o={seen}", f"{prefix}r={rng.integers(20)}"])
            if rng.random() >= 0.2:
                state = (state + 1) % L if rng.random() < 0.9 else int(rng.integers(L))
    return X, y


def forgetting() -> str:
    """Train on five labels, then on five others, and test both."""
    first, second = chains("ABCDE", 300, 0, "first "), chains("VWXYZ", 300, 2, "second ")
    tests = chains("ABCDE", 300, 1, "first "), chains("VWXYZ", 300, 3, "second ")

    def scores(crf: CRF) -> list[str]:
        return [f"{crf.score(*test):.3f}" for test in tests]

    plain = CRF(c2=1.0).fit(*first)
    plain.tagger_.curvature = None
    rows = [
        ["the first batch", *scores(CRF(c2=1.0).fit(*first))],
        ["then the second", *scores(CRF(c2=1.0).fit(*first).partial_fit(*second))],
        ["... with c2 alone", *scores(plain.partial_fit(*second))],
        ["one fit on both", *scores(CRF(c2=1.0).fit(first[0] + second[0], first[1] + second[1]))],
    ]
    return table(["accuracy on", "old labels", "new labels"], rows)


def stream(c2: float = 0.5) -> str:
    """Train on CoNLL-2000 batch by batch."""
    task = tasks.conll2000(4000)
    whole = tasks.conll2000(None)

    def scores(crf: CRF) -> list[str]:
        found = crf.predict(whole.X_test)
        return [
            f"{crf.score(whole.X_test, whole.y_test):.4f}",
            f"{segment_f1(whole.y_test, found):.4f}",
        ]

    rows = [["one fit", *scores(CRF(c2=c2).fit(task.X, task.y))]]
    for size in (200, 20, 5):
        for remembers in (True, False):
            crf = CRF(c2=c2)
            for i in range(0, len(task.X), size):
                crf.partial_fit(task.X[i : i + size], task.y[i : i + size])
                if not remembers:
                    crf.tagger_.curvature = None
            rows.append([f"batches of {size}{'' if remembers else ', c2 alone'}", *scores(crf)])
    return table(["training", "accuracy", "F1"], rows)


PARTS = {"cost": cost, "forgetting": forgetting, "stream": stream}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=PARTS)
    print(PARTS[parser.parse_args().part]())
    print(provenance("benchmarks/continued.py"))


if __name__ == "__main__":
    main()
