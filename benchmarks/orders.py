"""Chains of many labels and high orders: the cost of a pass, and NETtalk with 150 labels and more.

python benchmarks/orders.py passes             # n-grams beside tables of all transitions, in one process
python benchmarks/orders.py nettalk --tune     # orders and c2 on a held-out fifth of the training words
python benchmarks/orders.py nettalk            # the chosen ones, on the test words
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.append(str(Path(__file__).parent / "papers"))

from tables import table
from treecrf_nettalk import TEST, ngram_items, read_words, scores

from crfkit import CRF
from crfkit.inference import LabelNgrams, Lattice, marginals, viterbi

TABLE = 1e-300  # a score that changes nothing, and is not 0: tables of all transitions are used


def passes(rounds: int) -> str:
    """Marginals and Viterbi of 3,000 positions, one thread, the best of some alternating rounds."""
    rng = np.random.default_rng(0)
    rows = []
    for n_labels, n_after, n_triples, tables in ((2000, 5, 0, True), (300, 5, 4500, False)):
        T = 3000
        edge = np.zeros((n_labels, n_labels))
        for k in range(n_labels):
            edge[k, rng.choice(n_labels, n_after, replace=False)] = rng.normal(size=n_after)
        ngrams = None
        if n_triples:
            runs = np.unique(rng.integers(n_labels, size=(n_triples, 3)), axis=0)
            ngrams = LabelNgrams(runs, rng.normal(size=len(runs)))
        sparse = Lattice(rng.normal(size=(T, n_labels)), edge, [0, T], ngrams=ngrams)
        forms = {"n-grams": sparse}
        if tables:
            forms["tables"] = sparse.changed(edge=np.where(edge == 0, TABLE, edge))
        for what in (marginals, viterbi):
            best = dict.fromkeys(forms, np.inf)
            for _ in range(rounds):
                for name, lattice in forms.items():
                    begun = time.perf_counter()
                    what(lattice, n_jobs=1)
                    best[name] = min(best[name], time.perf_counter() - begun)
            form = f"{n_labels:,} labels, {n_after} successors, {n_triples:,} triples"
            rows.append(
                [form, what.__name__, *(f"{best.get(name, np.nan):.2f} s" for name in ("n-grams", "tables"))]
            )
    return table(["lattice", "result", "n-grams", "tables"], rows)


def nettalk(arguments: argparse.Namespace) -> str:
    """Letters and words right: on held-out training words, or on the test words."""
    rows = []
    for stress in (False, True) if arguments.stress is None else (arguments.stress,):
        X, y = read_words(stress)
        n, last = arguments.test_words, arguments.test_words + arguments.words
        Xt, yt, X, y = X[:n], y[:n], X[n:last], y[n:last]
        if arguments.tune:
            held = range(0, len(X), 5)
            Xt, yt = [X[i] for i in held], [y[i] for i in held]
            X, y = ([part[i] for i in range(len(X)) if i % 5] for part in (X, y))
        for c2 in arguments.c2:
            for order in arguments.orders:
                begun = time.perf_counter(), time.process_time()
                model = CRF(order=order, c2=c2, prune=arguments.prune, n_jobs=arguments.jobs)
                model.fit([ngram_items(word) for word in X], y)
                cost = (
                    f"{time.perf_counter() - begun[0]:.0f} s ({time.process_time() - begun[1]:.0f} s of CPU)"
                )
                found = model.predict([ngram_items(word) for word in Xt])
                left: Any = getattr(model, "pruned_", None)
                lost = "" if left is None else f"{left.mean:.1e}, {left.largest:.1e}"
                row = [f"{len(model.classes_)} labels", str(order), f"{c2:g}", scores(yt, found), cost, lost]
                print(*row, sep=" | ", file=sys.stderr, flush=True)
                rows.append(row)
    head = ["task", "order", "c2", "letters / words", "training", "pruned: mean, largest"]
    return table(head, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("passes", "nettalk"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--words", type=int, default=10_000)
    parser.add_argument("--test-words", type=int, default=TEST)
    parser.add_argument("--tune", action="store_true", help="score a held-out fifth of the training words")
    parser.add_argument("--stress", action=argparse.BooleanOptionalAction)
    parser.add_argument("--orders", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--c2", type=float, nargs="+", default=[0.3])
    parser.add_argument("--prune", type=float, default=1e-3)
    parser.add_argument("--jobs", type=int)
    arguments = parser.parse_args()
    print(passes(arguments.rounds) if arguments.part == "passes" else nettalk(arguments))


if __name__ == "__main__":
    main()
