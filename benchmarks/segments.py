"""A chain (CRF) against segments (SemiCRF) on CoNLL-2000, with the same attributes of words.

    python benchmarks/segments.py                    # choose c2 on the training file, then one report
    python benchmarks/segments.py --attributes       # which attributes of segments help on held-out sentences
    python benchmarks/segments.py --quick            # 300 sentences: does it run?

All choices are made on the training file: its last fifth is held out, and c2 of the chain and of the segments
is the one with the best F1 there, after training on the first 4,000 sentences, not quite to convergence. Then
the models are trained on the whole training file, and the test file is opened, once.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import tasks
from tables import provenance, publish, seconds, table

from crfkit import CRF, SemiCRF
from crfkit.metrics import bootstrap_difference, mcnemar, segment_f1

C2 = (0.01, 0.02, 0.05, 0.1, 0.2)
FIRST = 4000  # sentences to choose with
TOL = 1e-4  # of training in choices
LONGEST = 10  # lengths with weights of their own; longer chunks have a tail
PHRASE = 4  # longest phrases that are attributes as such


class Sentence(NamedTuple):
    """Words in lower case and parts of speech, with one more of each at the end, which is also number -1."""

    words: list[str]
    tags: list[str]

    @classmethod
    def of(cls, items: list[list[str]]) -> Sentence:
        """The sentence with these attributes of words."""
        words, tags = (
            [next(name[5:] for name in item if name.startswith(start)) for item in items]
            for start in ("w[0]=", "p[0]=")
        )
        return cls([*map(str.lower, words), "#"], [*tags, "#"])

    def sequence(self, begin: int, end: int) -> str:
        """The parts of speech of a stretch."""
        return "|".join(self.tags[begin:end])


# Attributes of a chunk of the sentence s from b to e - 1; "" is none.
ATTRIBUTES: dict[str, Callable[[Sentence, int, int], str]] = {
    "sequence": lambda s, b, e: s.sequence(b, e),
    "ends": lambda s, b, e: f"{s.tags[b]}…{s.tags[e - 1]}|{e - b}",
    "after": lambda s, b, e: f"{s.sequence(b, e)}>{s.tags[e]}",
    "before": lambda s, b, e: f"{s.tags[b - 1]}<{s.sequence(b, e)}",
    "last word": lambda s, b, e: f"{s.sequence(b, e)}={s.words[e - 1]}",
    "word before": lambda s, b, e: f"{s.words[b - 1]}<{s.sequence(b, e)}",
    "word after": lambda s, b, e: f"{s.sequence(b, e)}>{s.words[e]}",
    "first word": lambda s, b, e: f"{s.words[b]}={s.sequence(b, e)}",
    "phrase": lambda s, b, e: " ".join(s.words[b:e]) if e - b <= PHRASE else "",
}
CHOSEN = ("sequence", "ends", "after", "before", "last word", "word before", "phrase")
SETS: tuple[tuple[str, ...], ...] = (
    (),
    CHOSEN[:2],
    CHOSEN[:4],
    CHOSEN[:6],
    CHOSEN,
    (*CHOSEN, "word after"),
    (*CHOSEN, "first word"),
)


class Chunks:
    """These attributes of chunks."""

    def __init__(self, names: Iterable[str]) -> None:
        self._kinds = [(f"{name}: ", ATTRIBUTES[name]) for name in names]
        self._items: Any = None
        self._sentence = Sentence([], [])

    def __call__(self, items: list[list[str]], begin: int, end: int) -> list[str]:
        if items is not self._items:
            self._items, self._sentence = items, Sentence.of(items)
        found = ((start, kind(self._sentence, begin, end)) for start, kind in self._kinds)
        return [start + name for start, name in found if name]


def semi(c2: float, names: Iterable[str] = CHOSEN, **more: Any) -> SemiCRF:
    """An unfitted model of segments with these attributes."""
    return SemiCRF(c2=c2, max_length=LONGEST, segment_features=Chunks(names) if names else None, **more)


CHAIN, WITH, ALONE = "chain", "segments with attributes", "segments alone"
MODELS: dict[str, Callable[[float], Any]] = {
    CHAIN: lambda c2: CRF(c2=c2),
    WITH: semi,
    ALONE: lambda c2: semi(c2, ()),
}


def fit(model: Any, X: Any, y: Any) -> tuple[Any, float]:
    """The trained model, and its processor seconds."""
    began = time.process_time()
    return model.fit(X, y), time.process_time() - began


def say(row: list[str]) -> None:
    """Show a row as soon as it is known."""
    print(" ".join(row), file=sys.stderr, flush=True)


def held_out(task: tasks.Task, name: str, model: Any) -> tuple[float, list[str]]:
    """F1 on the last fifth of the training file, and a row with it and the seconds of training."""
    cut = len(task.X) * 4 // 5
    first = min(cut, FIRST)
    took = fit(model.set_params(tol=TOL), task.X[:first], task.y[:first])[1]
    f1 = segment_f1(task.y[cut:], model.predict(task.X[cut:]))
    row = [name, f"{model.c2:g}", f"{100 * f1:.2f}", seconds(took)]
    say(row)
    return f1, row


def title(task: tasks.Task) -> str:
    """The heading of tables of the held-out part."""
    n = len(task.X)
    cut = n * 4 // 5
    return (
        f"### The last {n - cut:,} of {n:,} sentences of the training file, held out; trained on its first "
        f"{min(cut, FIRST):,}"
    )


def attributes(task: tasks.Task) -> str:
    """The table of sets of attributes, on the held-out part."""
    models: dict[str, Any] = {CHAIN: CRF(c2=0.05)}
    models |= {", ".join(names) or "none": semi(0.05, names) for names in SETS}
    models[f"{', '.join(CHOSEN)}; of the last word"] = semi(0.05, last_attributes=True)
    rows = [held_out(task, name, model)[1] for name, model in models.items()]
    return f"{title(task)}\n\n{table(['attributes of segments', 'c2', 'F1', 'processor time'], rows)}\n\n"


def choose(task: tasks.Task) -> tuple[str, dict[str, float]]:
    """The table of the held-out part, and c2 of each model; segments alone take that of those with more."""
    rows, chosen = [], {}
    for name in (CHAIN, WITH):
        found = {c2: held_out(task, name, MODELS[name](c2)) for c2 in C2}
        rows += [row for _, row in found.values()]
        chosen[name] = max(found, key=lambda c2, found=found: found[c2][0])  # type: ignore[misc]
    chosen[ALONE] = chosen[WITH]
    return f"{title(task)}\n\n{table(['model', 'c2', 'F1', 'processor time'], rows)}\n\n", chosen


def test(task: tasks.Task, chosen: dict[str, float]) -> str:
    """The table of the test file, and how sure the difference is."""
    rows, found = [], {}
    for name, make in MODELS.items():
        model, took = fit(make(chosen[name]), task.X, task.y)
        began = time.process_time()
        found[name] = model.predict(task.X_test)
        tagging = time.process_time() - began
        f1 = f"{100 * segment_f1(task.y_test, found[name]):.2f}"
        size = model.tagger_.facts()["features"].partition(", ")[0]
        rows.append(
            [name, f"{chosen[name]:g}", f1, size, str(model.n_iter_), seconds(took), seconds(tagging)]
        )
        say(rows[-1])
    head = ["model", "c2", "test F1", "features", "iterations", "training", "tagging the test file"]
    by = bootstrap_difference(task.y_test, found[WITH], found[CHAIN], random_state=0)
    pairs = mcnemar(task.y_test, found[WITH], found[CHAIN], level="segment")
    noise = (
        f"{WITH.capitalize()} minus chain: {100 * by.value:+.2f}, 95 % interval {100 * by.low:+.2f} to "
        f"{100 * by.high:+.2f} (bootstrap over sentences, p = {by.p_value:.2g}); chunks that only one has "
        f"right: {pairs.only_a} against {pairs.only_b} (McNemar, p = {pairs.p_value:.2g})."
    )
    return f"### Trained on the whole training file, on the test file\n\n{table(head, rows)}\n\n{noise}\n\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--attributes", action="store_true", help="compare sets of attributes instead")
    parser.add_argument("--quick", action="store_true", help="300 sentences of both files")
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    task = tasks.conll2000(300 if options.quick else None)
    if options.attributes:
        text = attributes(task)
    else:
        text, chosen = choose(task)
        text += test(task, chosen)
    publish(text + provenance("benchmarks/segments.py"), options.markdown)


if __name__ == "__main__":
    main()
