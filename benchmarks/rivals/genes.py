"""crfkit's gene finder beside SNAP and AUGUSTUS, trained and tested on the same windows and splits.

170 genes of Cryptococcus neoformans, four splits of 75% to 25%; and trained on the 371 clean genes of the
chromosome that are not in the sample, tested on the 170. One gene a window, on its own strand. All settings
are the defaults of GeneFinder. They were chosen on those 371 genes (128 to train, the others to test, twice);
test genes are used for the scores alone. SNAP and AUGUSTUS are run where they are installed (gene_tools.py);
figures marked as quoted are those of earlier runs on the same files, which this script does not repeat:
optimising AUGUSTUS takes half an hour a split (``--optimise`` does it).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from gene_tools import Genes, augustus, missing, snap
from gene_windows import Window, percentages, read_splits, read_windows, score

from crfkit.apps.genes import GeneFinder
from crfkit.apps.genes.gene_scores import LEVELS, GeneScores
from crfkit.exceptions import InputWarning

# Sn, Sp at nucleotide, exon and gene level; means over the four splits.
QUOTED = {
    "CRFsuite, 7 labels": (86.3, 90.6, 22.4, 30.0, 1.2, 1.1),
    "CRFsuite, 7 labels, decoding under the grammar": (84.1, 94.9, 34.5, 46.3, 8.9, 10.0),
    "CRFsuite, 15 labels, under the grammar": (89.9, 96.4, 61.7, 71.6, 26.8, 24.8),
    "SNAP, tuned": (95.0, 97.8, 76.6, 83.8, 45.2, 45.8),
    "AUGUSTUS, settings optimised": (97.9, 98.8, 88.1, 90.4, 64.3, 64.3),
}


def evaluate(
    train: list[Window], test: list[Window], jobs: int | None, gc_classes: int = 1
) -> tuple[GeneScores, float, float]:
    """Scores, seconds to train, seconds to predict."""
    begun = time.perf_counter()
    finder = GeneFinder(n_jobs=jobs, gc_classes=gc_classes).fit(
        [w.sequence for w in train], [w.exons for w in train], [w.id for w in train]
    )
    trained = time.perf_counter()
    found = finder.predict([w.sequence for w in test])
    done = time.perf_counter()
    return score(test, [[gene.exons for gene in genes] for genes in found]), trained - begun, done - trained


def run_tool(
    tool: Callable[[list[Window], list[Window], Path], Genes], train: list[Window], test: list[Window]
) -> tuple[GeneScores, float]:
    """Scores, seconds to train and predict."""
    begun = time.perf_counter()
    with tempfile.TemporaryDirectory() as work:
        found = tool(train, test, Path(work))
    return score(test, found), time.perf_counter() - begun


def compare_gc_classes(windows: list[Window], numbers: list[int], jobs: int | None) -> None:
    """By classes of GC content: 128 genes to train, the others to test, twice."""
    for n in numbers:
        scores = []
        for seed in (0, 1):
            order = np.random.default_rng(seed).permutation(len(windows))
            train, test = ([windows[i] for i in part] for part in (order[:128], order[128:]))
            scores.append(evaluate(train, test, jobs, n)[0])
        print(f"{n} classes of GC content: {np.round(percentages(scores), 1).tolist()}", flush=True)


def row(name: str, cells: list[str]) -> str:
    return f"| {name} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one split, a few genes: does it run?")
    parser.add_argument("--jobs", type=int, help="threads")
    parser.add_argument("--optimise", type=int, default=0, metavar="ROUNDS", help="of AUGUSTUS's settings")
    parser.add_argument("--gc-classes", type=int, nargs="+", metavar="N", help="only: compare on other genes")
    parser.add_argument("--markdown", type=Path)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", InputWarning)
    absent = missing()
    if absent:
        print(f"not installed, and left out: {', '.join(absent)} (apt-get install augustus snap)")
    splits = read_splits()
    sample = {w.id for split in splits for part in split for w in part}
    windows = read_windows()
    held = [w for w in windows if w.id in sample], [w for w in windows if w.id not in sample]
    if arguments.gc_classes:
        compare_gc_classes(held[1], arguments.gc_classes, arguments.jobs)
        return
    if arguments.quick:
        splits, held = [(splits[0][0][:12], splits[0][1][:4])], (held[0][:4], held[1][:12])

    lines = [row("four splits, Sn/Sp in %", [*LEVELS, "train s", "predict s"]), "|---" * 7 + "|"]
    for name, numbers in QUOTED.items():
        pairs = [f"{sn:.1f}/{sp:.1f}" for sn, sp in zip(numbers[::2], numbers[1::2], strict=True)]
        lines.append(row(f"{name} (quoted)", [pairs[0], pairs[1], "", pairs[2], "", ""]))
    tools: dict[str, Callable[[list[Window], list[Window], Path], Genes]] = {
        "SNAP": snap,
        "AUGUSTUS": augustus,
    }
    if arguments.optimise:
        tools["AUGUSTUS, settings optimised"] = partial(augustus, optimise=arguments.optimise)
    for name, tool in tools.items():
        if name.split(",")[0] in absent:
            continue
        runs = [run_tool(tool, train, test) for train, test in splits]
        pairs = [f"{sn:.1f}/{sp:.1f}" for sn, sp in percentages([r[0] for r in runs])]
        lines.append(row(name, [*pairs, f"{np.mean([r[1] for r in runs]):.1f} with prediction", ""]))
        print(lines[-1], flush=True)
    results = [evaluate(train, test, arguments.jobs) for train, test in splits]
    seconds = np.mean([r[1:] for r in results], axis=0)

    def report(name: str, scores: list[GeneScores], train: float, predict: float) -> None:
        pairs = [f"{sn:.1f}/{sp:.1f}" for sn, sp in percentages(scores)]
        lines.append(row(name, [*pairs, f"{train:.1f}", f"{predict:.1f}"]))
        print(lines[-1], flush=True)

    report("crfkit", [r[0] for r in results], *seconds)
    for i, (scores, *times) in enumerate(results):
        report(f"crfkit, split {i}", [scores], *times)
    scores, *times = evaluate(held[1], held[0], arguments.jobs)
    report(f"crfkit, {len(held[1])} other genes to train, all {len(held[0])} to test", [scores], *times)
    if arguments.markdown:
        arguments.markdown.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
