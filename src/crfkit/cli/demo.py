"""``crfkit demo``: train a CRF that parses postal addresses, and show the results."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from crfkit import datasets, metrics
from crfkit.cli.messages import UsageError
from crfkit.cli.options import declare
from crfkit.cli.paint import Painter, bar, paragraph, wants_colour
from crfkit.datasets.address_formats import FIELDS
from crfkit.features import token_features

if TYPE_CHECKING:
    from crfkit.models.linear.crf import CRF

Sentences = list[list[str]]

# Commands to try next; one that names a file is shown only if the file exists.
_NEXT = (
    ("crfkit demo --noise 0.9", "worse addresses"),
    ("crfkit demo --train 20000", "more training data"),
    ("python examples/plain.py", "the same in twenty lines"),
    ("python examples/nbest_and_marginals.py", "n best labellings, probabilities"),
    ("python examples/partial_labels.py", "train on incomplete labels"),
    ("python examples/grid_search.py", "find c1 and c2"),
    ("less docs/tutorial.md", "your own model in ten minutes"),
)


USAGE = "[options]"

DESCRIPTION = """\
Trains a CRF that parses generated postal addresses. Shows its scores, labelled
addresses, an uncertain address, and the largest weights."""

EXAMPLES = """\
examples:
  crfkit demo
  crfkit demo --noise 0.9            worse addresses
  crfkit demo --train 20000          more training data"""


_OPTIONS = """
  --train N:int = 3000      number of addresses to train on
  --test N:int = 1000       number of held-out addresses
  --noise X:float = 0.5     0 (clean) to 1 (a mess)
  --seed N:int = 0          seed of the generated addresses
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``demo``."""
    declare(parser, _OPTIONS)


@dataclass(frozen=True)
class Result:
    """A trained model and its predictions for the held-out addresses."""

    model: CRF
    tokens: Sentences
    features: list[list[list[str]]]
    y_true: Sentences
    y_pred: Sentences
    train_seconds: float
    tag_seconds: float
    n_train_tokens: int
    unseen: float  # share of held-out tokens that training never saw


def train(n_train: int, n_test: int, noise: float, seed: int) -> Result:
    """Generate addresses, fit a CRF on the first ``n_train``, tag the others."""
    tokens, labels = datasets.addresses(n_train + n_test, noise=noise, random_state=seed)

    from crfkit.models.linear.crf import CRF  # loads SciPy and scikit-learn: only when a model is made

    features = [token_features(address) for address in tokens]
    start = time.perf_counter()
    model = CRF(c1=0.05, c2=0.05, random_state=seed).fit(features[:n_train], labels[:n_train])
    trained = time.perf_counter()
    y_pred = model.predict(features[n_train:])
    tagged = time.perf_counter()
    known = {word for address in tokens[:n_train] for word in address}
    held_out = [word for address in tokens[n_train:] for word in address]
    return Result(
        model=model,
        tokens=tokens[n_train:],
        features=features[n_train:],
        y_true=labels[n_train:],
        y_pred=y_pred,
        train_seconds=trained - start,
        tag_seconds=tagged - trained,
        n_train_tokens=sum(map(len, tokens[:n_train])),
        unseen=sum(word not in known for word in held_out) / len(held_out),
    )


def run(arguments: argparse.Namespace) -> int:
    """Train, then print everything."""
    for option in ("train", "test"):
        if getattr(arguments, option) < 1:
            raise UsageError(f"--{option} must be 1 or more")
    painter = Painter(FIELDS, colour=wants_colour(sys.stdout))
    width = min(shutil.get_terminal_size((96, 24)).columns, 96)

    def heading(text: str) -> None:
        print("\n" + painter.bold(text) + " " + painter.dim("─" * (width - len(text) - 1)))

    print(painter.bold("crfkit demo: parsing postal addresses"), flush=True)
    print(
        paragraph(
            f"{arguments.train:,} generated addresses of seven countries to train on, {arguments.test:,} "
            "held out. Each token gets one label: the field it belongs to. Words are misspelt, abbreviated, "
            "misread by a scanner, left out and out of order.",
            width,
            "",
        ),
        flush=True,
    )
    result = train(arguments.train, arguments.test, arguments.noise, arguments.seed)
    heading("Accuracy and speed")
    show_scores(result, painter)
    heading("Some held-out addresses with predicted labels")
    show_addresses(result, painter, width)
    heading("The address it is least sure of")
    show_uncertain(result, painter, width)
    heading("The largest weights")
    show_weights(result.model, painter, width)
    heading("What to try next")
    show_next(painter)
    return 0


def show_scores(result: Result, painter: Painter) -> None:
    """Print precision, recall and F1 per field, the totals, and the times."""
    report = metrics.segment_scores(result.y_true, result.y_pred)
    print(f"  {'field':12}{'precision':>10}{'recall':>9}{'F1':>9}{'held out':>10}")
    for kind, score in sorted(report.scores.items(), key=lambda item: -item[1].f1):
        precision, recall, f1 = score.percentages
        line = f"  {kind!s:12}{precision:10.1f}{recall:9.1f}{f1:9.1f}{score.true:10,}"
        print(f"{line}  {painter.dim(bar(score.f1, 20))}")
    precision, recall, f1 = report.overall.percentages
    total = f"  {'all fields':12}{precision:10.1f}{recall:9.1f}{f1:9.1f}{report.overall.true:10,}"
    print(painter.bold(total))
    right = f"{100 * report.token_accuracy:.1f} %"
    whole = f"{100 * metrics.sequence_accuracy(result.y_true, result.y_pred):.1f} %"
    n_tokens = sum(map(len, result.tokens))
    data = f"{result.n_train_tokens:,} tokens, {len(result.model.classes_)} labels"
    print()
    for name, value, remark in (
        ("tokens right", right, f"{100 * result.unseen:.0f} % of them never seen before"),
        ("addresses right", whole, "every single token"),
        ("training", f"{result.train_seconds:.2f} s", data),
        ("tagging", f"{n_tokens / result.tag_seconds:,.0f} tokens/s", f"{n_tokens:,} tokens"),
    ):
        print(f"  {name:16}{painter.bold(f'{value:>16}')}   {painter.dim(remark)}")


def show_addresses(result: Result, painter: Painter, width: int) -> None:
    """Print five correctly labelled addresses and three wrong ones, these with the true labels below."""
    for line in painter.legend(width - 2):
        print(f"  {line}")
    right = [i for i, (t, p) in enumerate(zip(result.y_true, result.y_pred, strict=True)) if t == p]
    wrong = sorted(set(range(len(result.tokens))) - set(right))
    for i in right[:5] + wrong[:3]:
        mark = painter.good("✓") if result.y_true[i] == result.y_pred[i] else painter.bad("✗")
        _print_lines(f"{mark} ", painter.sequence(result.tokens[i], result.y_pred[i], width - 4))
        if result.y_true[i] != result.y_pred[i]:
            print(f"    {painter.dim('it should be')}")
            _print_lines("  ", painter.sequence(result.tokens[i], result.y_true[i], width - 4))


def _print_lines(mark: str, lines: Sequence[str], indent: int = 2) -> None:
    """Print the lines, the first after ``mark``, the others indented by ``indent`` columns."""
    for n, line in enumerate(lines):
        print(f"  {mark if n == 0 else ' ' * indent}{line}")


def show_uncertain(result: Result, painter: Painter, width: int) -> None:
    """Print the held-out address whose best labelling is least probable, with its two best labellings."""
    candidates = [
        (paths[0][1], i)
        for i, paths in enumerate(result.model.predict_nbest(result.features, 1))
        if 3 <= len(result.tokens[i]) <= 9  # short enough to show
    ]
    if not candidates:
        print("  (all held-out addresses are too short or too long to show)")
        return
    i = min(candidates)[1]
    x = [result.features[i]]
    print(f"  {'token':16} {'most probable label':22} {'next':22} true label")
    for token, probabilities, true in zip(
        result.tokens[i], result.model.predict_marginals(x)[0], result.y_true[i], strict=True
    ):
        first, second = sorted(probabilities, key=probabilities.__getitem__, reverse=True)[:2]
        best, next_best = (f"{label:13} {100 * probabilities[label]:5.1f} %" for label in (first, second))
        colour = painter.good if first == true else painter.bad
        word = token if len(token) <= 16 else f"{token[:15]}…"
        print(f"  {word:16} {colour(f'{best:22}')} {painter.dim(f'{next_best:22}')} {true}")
    print("\n  The two most probable labellings of the whole address:")
    for labels, probability in result.model.predict_nbest(x, 2)[0]:
        lines = painter.sequence(result.tokens[i], labels, width - 11)
        _print_lines(f"{100 * probability:5.1f} %  ", lines, indent=9)


def show_weights(model: CRF, painter: Painter, width: int) -> None:
    """Print the attributes with the largest weights per label, and the most and least likely transitions."""
    by_label: dict[str, list[tuple[float, str]]] = {}
    for (attribute, label), weight in model.state_features_.items():
        by_label.setdefault(label, []).append((weight, attribute))
    for label in ("B-recipient", "B-street", "I-street", "B-city", "B-postcode", "B-country"):
        _print_weights(label, sorted(by_label.get(label, []), reverse=True), painter, width)
    print()
    transitions = sorted((weight, f"{a} → {b}") for (a, b), weight in model.transition_features_.items())
    _print_weights("likely", transitions[::-1], painter, width)
    _print_weights("unlikely", transitions, painter, width)


def _print_weights(name: str, weights: Sequence[tuple[float, str]], painter: Painter, width: int) -> None:
    """Print one line: the name, and as many of the first four weights as fit."""
    line, used = f"  {name:12}", 14
    for weight, what in weights[:4]:
        used += len(what) + 7
        if used > width:
            break
        line += f"  {what} {painter.dim(f'{weight:+.1f}')}"
    print(line)


def show_next(painter: Painter) -> None:
    """Print commands that work from this directory without activating an environment."""
    here = Path(sys.executable).parent
    on_path = shutil.which("crfkit") == str(here / "crfkit")
    for command, what in _NEXT:
        program, argument, *_ = command.split()
        if "/" in argument and not Path(argument).exists():
            continue
        if not on_path and (here / program).exists():
            command = f"{os.path.relpath(here)}/{command}"
        print(f"  {command:48} {painter.dim(what)}")
