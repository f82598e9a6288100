"""The papers' gene model on 170 genes of Cryptococcus neoformans, four splits of 75% to 25%.

7 states, words of 6 bases (28,672 emission features), transitions that require their bases; trained with and
without the grammar, with and without shorter words and words around sites. The penalty c2 is chosen by
three-fold cross-validation on the training genes of each split (exon level: the mean of Sn and Sp); test
genes are looked at once. ``--others`` compares on the chromosome's other genes instead.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from gene_windows import Window, folds, other_splits, percentages, read_splits, score

from crfkit.apps.genes.gene_scores import LEVELS, GeneScores
from crfkit.apps.genes.seven_states import SevenStateGenes
from crfkit.exceptions import ConvergenceWarning

PENALTIES = (1.0, 3.0, 10.0)
VARIANTS: dict[str, dict[str, Any]] = {
    "words of 6 bases, trained without the grammar": {"grammar": False},
    "words of 6 bases": {},
    "words of 1 to 6 bases": {"lengths": range(1, 7)},
    "words of 1 to 6 bases, and around sites": {"lengths": range(1, 7), "sites": True},
}


def evaluate(train: list[Window], test: list[Window], c2: float, settings: dict[str, Any]) -> GeneScores:
    model = SevenStateGenes(c2=c2, tol=1e-4, **settings)
    model.fit([w.sequence for w in train], [w.exons for w in train])
    return score(test, model.predict([w.sequence for w in test]))


def exon_level(scores: list[GeneScores]) -> float:
    return float(percentages(scores)[1].mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one split, a few genes: does it run?")
    parser.add_argument("--variant", choices=list(VARIANTS), action="append")
    parser.add_argument("--c2", type=float, help="this penalty, without cross-validation")
    parser.add_argument(
        "--folds", action="store_true", help="only three folds of the first split's training genes, with --c2"
    )
    parser.add_argument(
        "--others",
        action="store_true",
        help="only the 371 other genes: 128 to train, the rest to test, twice",
    )
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    splits = read_splits()
    penalties = PENALTIES if arguments.c2 is None else (arguments.c2,)
    if arguments.quick:
        splits, penalties = [(splits[0][0][:9], splits[0][1][:3])], (3.0,)
    if arguments.folds or arguments.others:
        parts = other_splits() if arguments.others else folds(splits[0][0], 3)
        for name in arguments.variant or VARIANTS:
            for c2 in penalties:
                held = [evaluate(a, b, c2, VARIANTS[name]) for a, b in parts]
                print(f"{name}, c2 {c2:g}: {np.round(percentages(held), 1).tolist()}", flush=True)
        return
    lines = ["| model | " + " | ".join(LEVELS) + " | seconds a split |", "|---" * 6 + "|"]
    for name in arguments.variant or VARIANTS:
        begun, results = time.perf_counter(), []
        for train, test in splits:
            held = dict.fromkeys(penalties, 0.0)
            if len(penalties) > 1:
                for c2 in penalties:
                    held[c2] = exon_level([evaluate(a, b, c2, VARIANTS[name]) for a, b in folds(train, 3)])
            best = max(held, key=lambda c2: held[c2])
            print(f"{name}: c2 {best:g} of {held}", flush=True)
            results.append(evaluate(train, test, best, VARIANTS[name]))
        seconds = (time.perf_counter() - begun) / len(splits)
        table = percentages(results)
        cells = " | ".join(f"{sn:.1f}/{sp:.1f}" for sn, sp in table)
        lines.append(f"| {name} | {cells} | {seconds:.0f} |")
        print(lines[-1], np.round(table, 1).tolist(), flush=True)
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
