"""Scales of penalties that carry over: learnt on one data set, given to models of another.

    python benchmarks/papers/penalty_scales.py learn [--draws 3]
    python benchmarks/papers/penalty_scales.py compare [--sizes 50 300] [--draws 5] [--results FILE]

"learn" finds the penalties of token_features and of the default features of tables on parts of CoNLL-2000,
and prints their mean scales: those of ``crfkit.features.general_scales``. "compare" trains on parts of four
data sets with c2=1, with c2="auto", with groups, and with the general scales, and scores the rest: chunks of
CoNLL-2000 and Spanish names (segment F1 on the test and the development file), generated addresses (segment
F1), phonemes of NETtalk (letters right; its attributes have no general scales). Nothing is chosen by test
data. Times are processor seconds over those of one fit with c2=1.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path[:0] = [str(Path(__file__).parent.parent)]

from results_file import Results  # noqa: E402
from tables import provenance, publish, table  # noqa: E402
from tasks import data_directory, nettalk  # noqa: E402

from crfkit import CRF  # noqa: E402
from crfkit.datasets import addresses  # noqa: E402
from crfkit.exceptions import ConvergenceWarning, InputWarning  # noqa: E402
from crfkit.features import PenaltyScales, token_features  # noqa: E402
from crfkit.features.default_features import default_features  # noqa: E402
from crfkit.io import read_columns  # noqa: E402
from crfkit.metrics import segment_scores, token_accuracy  # noqa: E402

Data = tuple[list[Any], list[Any]]
LEARN_SIZES = (50, 150, 400)  # sentences


@dataclass(frozen=True)
class Task:
    """Sequences to draw from, sequences to score, and how."""

    train: Callable[[], Data]
    test: Callable[[], Data]
    score: Callable[[Any, Any], float]
    extractor: Any = token_features


def _f1(y: Any, found: Any) -> float:
    return 100 * float(segment_scores(y, found).f1)


def _accuracy(y: Any, found: Any) -> float:
    return 100 * float(token_accuracy(y, found))


@cache
def words(folder: str, file: str) -> Data:
    """The words and labels of a column file."""
    rows = read_columns(data_directory(folder) / file)
    return [[cells[0] for cells in s] for s in rows], [[cells[-1] for cells in s] for s in rows]


@cache
def table_rows() -> Data:
    """The words with their parts of speech, and the chunks, of CoNLL-2000's training file."""
    rows = read_columns(data_directory("conll2000") / "train.txt")
    return [[list(cells[:2]) for cells in s] for s in rows], [[cells[2] for cells in s] for s in rows]


@cache
def letters(test: bool) -> Data:
    task = nettalk()
    return (task.X_test, task.y_test) if test else (task.X, task.y)


TASKS = {
    "chunks": Task(lambda: words("conll2000", "train.txt"), lambda: words("conll2000", "test.txt"), _f1),
    "Spanish names": Task(
        lambda: words("conll2002_es", "esp.train"), lambda: words("conll2002_es", "esp.testa"), _f1
    ),
    "addresses": Task(lambda: addresses(2000, random_state=1), lambda: addresses(1000, random_state=2), _f1),
    "phonemes": Task(lambda: letters(False), lambda: letters(True), _accuracy, None),
}
MAKERS: dict[str, tuple[Any, int]] = {  # features, and how many columns they take; 0: tokens
    "token_features": (token_features, 0),
    "default features of words": (default_features([0]), 1),
    "default features of words and classes": (default_features([0], [1]), 2),
}
MODELS: dict[str, dict[str, Any]] = {
    "c2=1": {"c2": 1.0},
    "c2=0.1": {"c2": 0.1},
    'c2="auto"': {"c2": "auto"},
    '… penalty_groups="templates"': {"c2": "auto", "penalty_groups": "templates"},
    '… penalty_groups="general"': {"c2": "auto", "penalty_groups": "general"},
    'c2=0.1, penalty_groups="general"': {"c2": 0.1, "penalty_groups": "general"},
}


def sample(data: Data, n: int, draw: int) -> Data:
    chosen = np.random.default_rng([23, draw]).permutation(len(data[0]))[:n]
    return [data[0][i] for i in chosen], [data[1][i] for i in chosen]


def learn(draws: int) -> str:
    """The mean scales of each kind of features on parts of CoNLL-2000's training file."""
    text = []
    for title, (extractor, n_columns) in MAKERS.items():
        found = []
        for n in LEARN_SIZES:
            for draw in range(draws):
                rows, y = sample(table_rows(), n, 1000 + draw)
                X = (
                    [[r[0] for r in s] for s in rows]
                    if n_columns == 0
                    else [[r[:n_columns] for r in s] for s in rows]
                )
                crf = CRF(extractor=extractor, c2="auto", penalty_groups="templates", n_jobs=1).fit(X, y)
                found.append(crf.penalty_scales_)
                sys.stderr.write(f"{title}, {n} sentences, draw {draw}: {found[-1].in_words()}\n")
        scales = sorted(PenaltyScales.mean(found).factors.items(), key=lambda item: item[1])
        text += [f"{title}:", *(f'    "{name}": {factor:.2g},' for name, factor in scales)]
    return "\n".join(text)


def measured(task: Task, n: int, draw: int, settings: dict[str, Any]) -> dict[str, float]:
    data, (X, y) = sample(task.train(), n, draw), task.test()
    began = time.process_time()
    crf = CRF(extractor=task.extractor, n_jobs=1, **settings).fit(*data)
    spent = time.process_time() - began
    found = [labels for part in range(0, len(X), 500) for labels in crf.predict(X[part : part + 500])]
    return {"score": task.score(y, found), "seconds": spent, "c2": getattr(crf, "c2_", settings["c2"])}


def compare(sizes: list[int], draws: int, known: Results) -> str:
    rows = []
    for n in sizes:
        for title, task in TASKS.items():
            found: dict[str, list[dict[str, float]]] = {}
            for name, settings in MODELS.items():
                if task.extractor is None and settings.get("penalty_groups") == "general":
                    continue
                for draw in range(draws):
                    value = known.get(
                        f"{title}, {n}, draw {draw}, {name}",
                        lambda t=task, d=draw, s=settings, n=n: measured(t, n, d, s),
                    )
                    if value is not None:
                        found.setdefault(name, []).append(value)
            base = found.get("c2=1", [])
            for name, results in found.items():
                gains = np.array([r["score"] - b["score"] for r, b in zip(results, base, strict=False)])
                error = gains.std(ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
                times = [r["seconds"] / b["seconds"] for r, b in zip(results, base, strict=False)]
                rows.append(
                    [
                        title,
                        str(n),
                        name,
                        f"{np.mean([r['score'] for r in results]):.2f}",
                        "" if name == "c2=1" else f"{gains.mean():+.2f} ± {error:.2f}",
                        f"{np.median([r['c2'] for r in results]):.2g}",
                        f"{np.median(times):.1f}",
                    ]
                )
    return table(["task", "sequences", "model", "score", "against c2=1", "c2", "time"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["learn", "compare"])
    parser.add_argument("--quick", action="store_true", help="tiny, to see that it runs")
    parser.add_argument("--sizes", type=int, nargs="*", default=[50, 300], help="training sequences")
    parser.add_argument("--draws", type=int, default=5, help="samples of each size")
    parser.add_argument("--results", type=Path, metavar="FILE", help="keep finished trainings here")
    parser.add_argument("--known", action="store_true", help="the table of what --results has; train nothing")
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="the table goes here as well")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)
    warnings.simplefilter("ignore", InputWarning)
    if arguments.part == "learn":
        text = learn(1 if arguments.quick else arguments.draws)
    else:
        sizes, draws = ([8], 2) if arguments.quick else (arguments.sizes, arguments.draws)
        text = compare(sizes, draws, Results(arguments.results, closed=arguments.known))
    publish(f"{text}\n\n{provenance('benchmarks/papers/penalty_scales.py')}", arguments.markdown)


if __name__ == "__main__":
    main()
