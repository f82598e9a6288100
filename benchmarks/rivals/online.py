"""The perceptron and its kin: crfkit and python-crfsuite side by side, the same features and settings.

    python benchmarks/rivals/online.py                          # all three tasks: about ten minutes
    python benchmarks/rivals/online.py --tasks chunking --iterations 5 --sentences 1000

Times are wall time of ``Trainer.train`` of each package, with the defaults of each algorithm except
for the number of iterations. The two take the sequences in different random orders, so that their
accuracies differ a little; both are means over ``--seeds`` orders of the training file.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import pycrfsuite as original
import tasks
from measure import seconds_of
from tables import provenance, publish, ratio, seconds, table

from crfkit.compat import pycrfsuite as ours

ALGORITHMS = ("ap", "pa", "arow", "lbfgs")
TASKS = {"chunking": tasks.conll2000, "entities": tasks.conll2002_es, "letters": tasks.nettalk}


def run(module: Any, algorithm: str, task: tasks.Task, order: list[int], iterations: int, path: Path) -> Any:
    """Train one model; return the seconds it took and its accuracy per label on the test data."""
    trainer = module.Trainer(algorithm, {"max_iterations": iterations}, verbose=False)
    for i in order:
        trainer.append(task.X[i], task.y[i])
    took = seconds_of(lambda: trainer.train(str(path)))
    tagger = original.Tagger()
    tagger.open(str(path))
    right = total = 0
    for xseq, yseq in zip(task.X_test, task.y_test, strict=True):
        right += sum(a == b for a, b in zip(tagger.tag(xseq), yseq, strict=True))
        total += len(yseq)
    return took, 100 * right / total


def compare(task: tasks.Task, algorithm: str, iterations: int, seeds: int, folder: Path) -> list[str]:
    """Return a row of the table; the two packages take turns."""
    found: dict[Any, list[tuple[float, float]]] = {ours: [], original: []}
    for seed in range(seeds):
        order = random.Random(seed).sample(range(len(task.X)), len(task.X))
        for module, runs in found.items():
            runs.append(run(module, algorithm, task, order, iterations, folder / "model"))
    times = [statistics.median(took for took, _ in runs) for runs in found.values()]
    scores = [statistics.mean(score for _, score in runs) for runs in found.values()]
    return [
        task.name,
        algorithm,
        *(f"{score:.2f} %" for score in scores),
        f"{scores[0] - scores[1]:+.2f}",
        *map(seconds, times),
        ratio(*times),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--tasks", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--algorithms", nargs="+", choices=ALGORITHMS, default=list(ALGORITHMS[:3]))
    parser.add_argument("--iterations", type=int, default=10)
    parser.add_argument("--sentences", type=int, help="only so many sequences of either part")
    parser.add_argument("--seeds", type=int, default=2, help="orders of the training data")
    parser.add_argument("--markdown", type=Path, help="write the table to this file as well")
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for name in options.tasks:
            task = TASKS[name]().head(options.sentences)
            for algorithm in options.algorithms:
                rows.append(compare(task, algorithm, options.iterations, options.seeds, Path(folder)))
                print(*rows[-1], sep="  ", file=sys.stderr)
    head = [
        "task",
        "algorithm",
        "crfkit",
        "python-crfsuite",
        "difference",
        "crfkit",
        "python-crfsuite",
        "ratio",
    ]
    publish(f"{table(head, rows)}\n\n{provenance('benchmarks/rivals/online.py')}", options.markdown)


if __name__ == "__main__":
    main()
