"""Association rules side by side with pyfim (Borgelt's C miners) on CoNLL-2000: the same rules, time, memory.

    python benchmarks/rivals/mining.py

Ten singleton templates (the word and its part of speech at -2 .. 2, inside the sentence), rules with 2 or 3
items, support >= 2, confidence 100%. Every contender runs in a process of its own, so that its peak memory is
its own; times are from lists of strings to rules. The first round also compares the
rule sets. "counting" is pyfim's FP-growth that counts the frequent item sets without returning any.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from measure import peak_megabytes, resident_megabytes
from tables import provenance, publish, ratio, seconds, table
from tasks import data_directory

from crfkit.io import read_columns

NAMES = {
    "crfkit": "crfkit, 2 threads",
    "crfkit1": "crfkit, 1 thread",
    "important": "crfkit, important rules only, 2 threads",
    "arules": "pyfim arules",
    "counting": "pyfim FP-growth, counting only",
    "mlxtend": "mlxtend FP-growth and rules",
}


def transactions(n: int | None) -> tuple[list[list[list[str]]], list[list[str]]]:
    """The items of every position, and its label."""
    columns = read_columns(data_directory("conll2000") / "train.txt")[:n]
    X = []
    for sentence in columns:
        X.append(
            [
                [
                    f"{name}[{offset}]={sentence[t + offset][column]}"
                    for column, name in ((0, "w"), (1, "p"))
                    for offset in range(-2, 3)
                    if 0 <= t + offset < len(sentence)
                ]
                for t in range(len(sentence))
            ]
        )
    return X, columns.column(2)


def keys(rules: list[tuple[str, tuple[str, ...], int]]) -> int:
    """A number for a set of rules: that of their sorted text."""
    import zlib

    lines = sorted(f"{label} {support} {' '.join(sorted(items))}" for label, items, support in rules)
    return zlib.crc32("\n".join(lines).encode())


def ours(X: Any, y: Any, threads: int, important: bool) -> dict[str, Any]:
    """crfkit: from lists of strings to the table."""
    from crfkit.mining import AssociationMiner

    miner = AssociationMiner(important=important, n_jobs=threads)
    before, began = resident_megabytes(), time.perf_counter()
    sequences, labels, words, classes = miner.read(X, y)
    rules = miner.find(sequences, labels, words, classes, None)
    spent, peak = time.perf_counter() - began, peak_megabytes()
    found = [(rule.label, rule.items, rule.support) for rule in rules.rows()]
    return {"seconds": spent, "before": before, "peak": peak, "rules": len(rules), "keys": keys(found)}


def pyfim(X: Any, y: Any, counting: bool) -> dict[str, Any]:
    """Borgelt's miners."""
    import fim

    rows = [
        [*items, f"label:{label}"]
        for xs, ys in zip(X, y, strict=True)
        for items, label in zip(xs, ys, strict=True)
    ]
    labels = {row[-1] for row in rows}
    before, began = resident_megabytes(), time.perf_counter()
    if counting:
        found = fim.fpgrowth(rows, target="s", supp=-2, zmin=1, zmax=4, report="#")
        spent, peak = time.perf_counter() - began, peak_megabytes()
        return {"seconds": spent, "before": before, "peak": peak, "rules": None, "keys": None}
    appear = {**dict.fromkeys(labels, "c"), None: "a"}
    found = fim.arules(rows, supp=-2, conf=100, zmin=3, zmax=4, report="a", appear=appear)
    spent, peak = time.perf_counter() - began, peak_megabytes()
    named = keys([(label.removeprefix("label:"), items, support) for label, items, support in found])
    return {"seconds": spent, "before": before, "peak": peak, "rules": len(found), "keys": named}


def mlxtend(X: Any, y: Any) -> dict[str, Any]:
    """mlxtend's FP-growth on a sparse table, and its rules."""
    import pandas as pd
    from mlxtend.frequent_patterns import association_rules, fpgrowth
    from mlxtend.preprocessing import TransactionEncoder

    rows = [
        [*items, f"label:{label}"]
        for xs, ys in zip(X, y, strict=True)
        for items, label in zip(xs, ys, strict=True)
    ]
    before, began = resident_megabytes(), time.perf_counter()
    encoder = TransactionEncoder()
    matrix = encoder.fit(rows).transform(rows, sparse=True)
    frame = pd.DataFrame.sparse.from_spmatrix(matrix, columns=encoder.columns_)
    sets = fpgrowth(frame, min_support=2 / len(rows), use_colnames=True, max_len=4)
    rules = association_rules(sets, metric="confidence", min_threshold=1.0)
    sizes = rules["antecedents"].map(len)
    kept = sizes.between(2, 3) & rules["consequents"].map(
        lambda found: len(found) == 1 and next(iter(found)).startswith("label:")
    )
    spent, peak = time.perf_counter() - began, peak_megabytes()
    return {"seconds": spent, "before": before, "peak": peak, "rules": int(kept.sum()), "keys": None}


def run(name: str, n: int | None) -> dict[str, Any]:
    """One contender, in this process."""
    X, y = transactions(n)
    if name in ("arules", "counting"):
        return pyfim(X, y, name == "counting")
    if name == "mlxtend":
        return mlxtend(X, y)
    return ours(X, y, 1 if name == "crfkit1" else 2, name == "important")


def main() -> None:
    """All contenders in turn, and a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=3, help="runs of each; the fastest counts (default 3)")
    parser.add_argument("--sentences", type=int, help="only so many, to try the script")
    parser.add_argument("--mlxtend", action="store_true", help="run mlxtend as well, once: minutes and 10 GB")
    parser.add_argument("--only", choices=NAMES, help=argparse.SUPPRESS)
    parser.add_argument("--markdown", type=Path, help="write the table here as well")
    options = parser.parse_args()
    if options.only is not None:
        print(json.dumps(run(options.only, options.sentences)))
        return
    results: dict[str, list[dict[str, Any]]] = {}
    command = [sys.executable, __file__]
    if options.sentences is not None:
        command += ["--sentences", str(options.sentences)]
    for round_ in range(options.rounds):
        for name in NAMES:
            if name == "mlxtend" and (round_ or not options.mlxtend):
                continue
            output = subprocess.run([*command, "--only", name], check=True, capture_output=True, text=True)
            results.setdefault(name, []).append(json.loads(output.stdout))
            sys.stderr.write(f"{name}: {results[name][-1]}\n")
    best = {name: min(runs, key=lambda run: run["seconds"]) for name, runs in results.items()}
    peak = {name: float(np.median([r["peak"] for r in runs])) for name, runs in results.items()}
    same = best["crfkit"]["keys"] == best["arules"]["keys"]
    rows = [
        [
            NAMES[name],
            "" if result["rules"] is None else f"{result['rules']:,}",
            seconds(result["seconds"]),
            ratio(best["crfkit"]["seconds"], result["seconds"]),
            f"{peak[name]:,.0f} MB",
            f"{peak[name] - result['before']:,.0f} MB",
            ratio(peak["crfkit"], peak[name]),
        ]
        for name, result in best.items()
    ]
    header = ["miner", "rules", "time", "against crfkit", "peak memory", "of it for mining", "against crfkit"]
    verdict = f"The rules of crfkit and pyfim are {'the same' if same else 'DIFFERENT'}."
    publish(
        f"{table(header, rows)}\n\n{verdict}\n\n{provenance('benchmarks/rivals/mining.py')}", options.markdown
    )
    if not same:
        raise SystemExit("the rule sets differ")


if __name__ == "__main__":
    main()
