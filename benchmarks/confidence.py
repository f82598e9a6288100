"""Confidence and small models: calibration, thresholds for a precision, and what the compact form costs.

    python benchmarks/confidence.py                  # CoNLL-2000 chunks and CoNLL-2002 Spanish names
    python benchmarks/confidence.py --quick          # 60 sentences: does it run?

A model is trained on one part; calibration and thresholds are chosen on the second (held out from training);
every figure is from the third, the test file. CoNLL-2000 has no second part: the last sixth of the training
file is held out.
"""

from __future__ import annotations

import argparse
import io
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tasks
from tables import provenance, publish, seconds, table

from crfkit import CRF
from crfkit.cli.default_template import default_template
from crfkit.exceptions import ConvergenceWarning
from crfkit.features import token_features
from crfkit.io import read_columns
from crfkit.metrics import (
    expected_calibration_error,
    segment_f1,
    segment_outcomes,
    threshold_for_precision,
    token_outcomes,
)

PRECISIONS = (0.9, 0.95, 0.98, 0.99)
Part = tuple[list[list[Any]], list[list[str]]]  # X, y


@dataclass(frozen=True)
class Data:
    """A task in three parts."""

    name: str
    features: dict[str, Any]  # of CRF
    train: Part
    held_out: Part
    test: Part


def conll2000(most: int | None) -> Data:
    """Chunks, with words and parts of speech in the default template."""

    def part(file: str) -> Part:
        sentences = read_columns(tasks.data_directory("conll2000") / file)[:most]
        return [[row[:2] for row in s] for s in sentences], [[row[2] for row in s] for s in sentences]

    X, y = part("train.txt")
    cut = len(X) * 5 // 6
    template = {"template": default_template(2)}
    return Data("CoNLL-2000", template, (X[:cut], y[:cut]), (X[cut:], y[cut:]), part("test.txt"))


def spanish(most: int | None) -> Data:
    """Names, with ``token_features`` of the words."""

    def part(file: str) -> Part:
        sentences = read_columns(tasks.data_directory("conll2002_es") / file)[:most]
        return [[row[0] for row in s] for s in sentences], [[row[-1] for row in s] for s in sentences]

    words = {"extractor": token_features}
    return Data("CoNLL-2002 Spanish", words, part("esp.train"), part("esp.testa"), part("esp.testb"))


def errors(model: CRF, part: Part) -> list[str]:
    """The expected calibration errors of segments and of labels, in points."""
    X, y = part
    found = (segment_outcomes(y, model.predict_segments(X)), token_outcomes(y, model.predict_marginals(X)))
    return [f"{100 * expected_calibration_error(*outcomes):.2f}" for outcomes in found]


def calibration_rows(data: Data, name: str, model: CRF) -> Iterator[list[str]]:
    """Calibration errors on the test file: before, and after each method."""
    for method in (None, "temperature", "isotonic"):
        model.calibrate(*data.held_out, method)
        shown = "none" if method is None else method
        if method == "temperature":
            shown += f", {model.calibration_.temperature:.3f}"
        yield [data.name, name, shown, *errors(model, data.test)]


def threshold_rows(data: Data, name: str, model: CRF) -> Iterator[list[str]]:
    """Thresholds chosen on held-out data, and their precision on the test file."""
    model.calibrate(*data.held_out, "temperature")
    chosen = segment_outcomes(data.held_out[1], model.predict_segments(data.held_out[0]))
    p, right = segment_outcomes(data.test[1], model.predict_segments(data.test[0]))
    for wanted in PRECISIONS:
        found = threshold_for_precision(*chosen, wanted)
        if found is None:
            yield [data.name, name, f"{100 * wanted:g} %", "none", "–", "–"]
            continue
        kept = p >= found.probability
        reached = f"{100 * right[kept].mean():.2f} %" if kept.any() else "–"
        shown = [f"{found.probability:.4f}", reached, f"{100 * kept.mean():.1f} %"]
        yield [data.name, name, f"{100 * wanted:g} %", *shown]


def size_rows(data: Data, name: str, model: CRF, drops: tuple[float, ...]) -> Iterator[list[str]]:
    """Size, attributes, time to open and scores of model files."""
    before, scores = model.predict(data.test[0]), []
    for drop in (None, *drops):
        file = io.BytesIO()
        model.save(file, **({} if drop is None else {"compact": True, "drop_below": drop}))
        start = time.perf_counter()
        small = CRF.load(file.getvalue())
        took = time.perf_counter() - start
        found = small.predict(data.test[0])
        scores.append(100 * segment_f1(data.test[1], found))
        dev = 100 * segment_f1(data.held_out[1], small.predict(data.held_out[0]))
        differ = sum(a != b for s, r in zip(before, found, strict=True) for a, b in zip(s, r, strict=True))
        form = "full" if drop is None else "compact" + (f", without weights below {drop:g}" if drop else "")
        shown = [f"{file.tell() / 1000:,.0f} kB", f"{len(small.tagger_.vocabulary):,}", seconds(took)]
        yield [data.name, name, form, *shown, f"{dev:.2f}", f"{scores[-1]:.2f}", f"{differ:,}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="60 sentences of each file, few iterations")
    parser.add_argument(
        "--data", nargs="+", choices=["conll2000", "spanish"], default=["conll2000", "spanish"]
    )
    parser.add_argument("--markdown", type=Path, help="write the tables to this file as well")
    options = parser.parse_args()
    most = 60 if options.quick else None
    calibration, thresholds, sizes = [], [], []
    warnings.simplefilter("ignore", ConvergenceWarning)
    for reader in (conll2000, spanish):
        if reader.__name__ not in options.data:
            continue
        data = reader(most)
        for name, penalties in (
            ("c2 = 1", {"c2": 1.0}),
            ("c2 = 0.1", {"c2": 0.1}),
            ("c2 = 0.01", {"c2": 0.01}),
            ("c1 = 0.5", {"c1": 0.5, "c2": 0.0}),
        ):
            model = CRF(**data.features, **penalties, max_iterations=5 if options.quick else None)
            model.fit(*data.train)
            calibration += calibration_rows(data, name, model)
            thresholds += threshold_rows(data, name, model)
            sizes += size_rows(data, name, model.calibrate([], [], None), (0.0, 0.01, 0.02, 0.05))
    text = "### Calibration: expected calibration error on the test file, in points\n\n"
    text += table(("data", "model", "calibration", "segments", "labels"), calibration)
    text += "\n\n### Thresholds chosen on held-out data (temperature), on the test file\n\n"
    text += table(("data", "model", "wanted", "threshold", "precision", "segments kept"), thresholds)
    text += "\n\n### Sizes of model files\n\n"
    columns = (
        "data",
        "model",
        "form",
        "size",
        "attributes",
        "opening",
        "dev F1",
        "test F1",
        "labels that differ",
    )
    publish(f"{text}{table(columns, sizes)}\n\n{provenance('benchmarks/confidence.py')}", options.markdown)


if __name__ == "__main__":
    main()
