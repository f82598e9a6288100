"""Charts of training: the history of a fitted model, and a learning curve of others like it."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from crfkit.data.label_codes import LabelCodes
from crfkit.metrics.pairs import Pairs
from crfkit.metrics.resampling import bootstrap
from crfkit.model_selection.labelled_sequences import LabelledSequences
from crfkit.report.charts import Chart, Series, line_chart
from crfkit.report.predictions import spans_of

# Entries of the history, in the order of preference: name, title, whether its axis is logarithmic.
_ENTRIES = (
    ("objective", "objective", False),
    ("risk", "regularised risk", False),
    ("dev_accuracy", "accuracy on the dev set", False),
    ("dev_log_likelihood", "log-likelihood of the dev set", False),
    ("violations", "violated constraints", False),
    ("violation", "violation", False),
    ("gradient_norm", "size of the gradient", True),
    ("log_loss", "log loss", False),
)
_CHARTS = 3
_POINTS = 120  # of a line
_SHARES = (1 / 16, 1 / 8, 1 / 4, 1 / 2, 1.0)
_SEEN = 500  # training sequences that are scored
_RESAMPLES = 200


def history_charts(model: Any) -> list[Chart]:
    """Return charts of the training history; none if the model has no history."""
    history: Sequence[Mapping[str, Any]] = getattr(model, "history_", None) or ()
    by_cliques = any("n_cliques" in record for record in history)
    charts: list[Chart] = []
    for key, title, log in _ENTRIES:
        points = [
            (
                float(record.get("n_cliques", k + 1) if by_cliques else record.get("iteration", k + 1)),
                float(record[key]),
            )
            for k, record in enumerate(history)
            if isinstance(record.get(key), (int, float)) and math.isfinite(record[key])
        ]
        if len(points) < 2 or len(charts) == _CHARTS:
            continue
        kept = np.unique(
            np.linspace(0, len(points) - 1, min(len(points), _POINTS)).round().astype(int)
        ).tolist()
        x, y = zip(*(points[k] for k in kept), strict=True)
        positive = log and min(y) > 0
        charts.append(
            line_chart(
                title, [Series("", x, y)], "selected cliques" if by_cliques else "iteration", log_y=positive
            )
        )
    return charts


def learning_curve(
    fresh: Callable[[], Any],
    train: LabelledSequences,
    test: LabelledSequences,
    scheme: str | None,
    seed: int,
    told: Callable[[str], None] = lambda words: None,
) -> Chart | None:
    """Return scores of models trained on growing parts of the training data; None if there is too little."""
    order = np.random.default_rng(seed).permutation(len(train))
    sizes = sorted({round(share * len(train)) for share in _SHARES} - {0})
    sizes = [size for size in sizes if size >= 2]
    rows: list[tuple[int, float, float, float, float]] = []
    seen = order[: min(_SEEN, sizes[0])] if sizes else order[:0]
    for size in sizes:
        told(f"learning curve: training on {size:,} of {len(train):,} sequences")
        model = fresh()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of small parts: rare labels, no convergence
            train.part(np.sort(order[:size])).fit(model)
            unseen = _score(model, test, scheme)
            own = _score(model, train.part(np.sort(seen)), scheme)
        rows.append((size, unseen.value, unseen.low, unseen.high, own.value))
    if len(rows) < 2:
        return None
    n, value, low, high, own_value = (list(map(float, column)) for column in zip(*rows, strict=True))
    percent = [[100 * number for number in column] for column in (value, low, high, own_value)]
    segmented = _is_segmented(test, scheme)
    return line_chart(
        "learning curve",
        [Series("test data", n, percent[0], percent[1], percent[2]), Series("training data", n, percent[3])],
        "training sequences",
        "F1" if segmented else "accuracy",
        log_x=True,
    )


def _score(model: Any, data: LabelledSequences, scheme: str | None) -> Any:
    """Return the score with its interval: F1 of segments, or accuracy of labels."""
    kept = [
        i for i, labels in enumerate(data.y) if labels and all(isinstance(one, (str, int)) for one in labels)
    ]
    part = data.part(np.array(kept, np.int64))
    found = part.ask(model, "predict")
    how: dict[str, Any] = {"n": _RESAMPLES, "random_state": 0}
    if _is_segmented(part, scheme):
        return bootstrap(part.y, found, "segment_f1", scheme=scheme, **how)
    return bootstrap(part.y, found, "token_accuracy", **how)


def _is_segmented(data: LabelledSequences, scheme: str | None) -> bool:
    codes = LabelCodes.of([[one for one in labels if isinstance(one, (str, int))] for labels in data.y])
    return spans_of(Pairs.of(codes, codes), scheme) is not None
