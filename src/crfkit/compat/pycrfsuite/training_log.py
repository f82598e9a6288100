"""Parser for the log of a training run, line by line: events, and the figures of each iteration.

It also reads logs that the original CRFsuite printed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from fractions import Fraction
from typing import Any, NamedTuple


class LabelScore(NamedTuple):
    """The scores of one label on the holdout data; the last three are None if it does not occur there."""

    match: int
    model: int
    ref: int
    precision: float | None
    recall: float | None
    f1: float | None


_HEAD = re.compile(r"\*{5} (?:Iteration|Epoch) #(\d+) \*{5}\n")
_SECONDS = re.compile(r"Seconds required: (\d+\.\d+)")
_FEATURES = re.compile(r"Number of features: (\d+)")
_TOTAL = re.compile(r"Total seconds required for training: (\d+\.\d+)")
_LABEL = re.compile(r"    (.+): \((\d+), (\d+), (\d+)\) \(([\d.*]+), ([\d.*]+), ([\d.*]+)\)")
_MACRO = re.compile(r"Macro-average precision, recall, F1: \((\d\.\d+), (\d\.\d+), (\d\.\d+)\)")
_ACCURACY = re.compile(r"(Item|Instance) accuracy: (\d+) / (\d+)")
_FIGURES: list[tuple[str, re.Pattern[str], Callable[[str], float]]] = [
    ("loss", re.compile(r"Loss: (\d+\.\d+)"), float),
    ("feature_norm", re.compile(r"Feature norm: (\d+\.\d+)"), float),
    ("error_norm", re.compile(r"Error norm: (\d+\.\d+)"), float),
    ("active_features", re.compile(r"Active features: (\d+)"), int),
    ("linesearch_trials", re.compile(r"Line search trials: (\d+)"), int),
    ("linesearch_step", re.compile(r"Line search step: (\d+\.\d+)"), float),
    ("time", re.compile(r"Seconds required for this iteration: (\d+\.\d+)"), float),
]


class TrainLogParser:
    """The log of a training run so far.

    Attributes
    ----------
    iterations : list of dict
        One record per iteration: num, loss, time, feature_norm, error_norm, active_features,
        linesearch_trials, linesearch_step; with a holdout group also scores (by label), avg_precision,
        avg_recall, avg_f1, item_accuracy and instance_accuracy (as fractions; ``…_float`` as numbers).
    last_iteration : dict or None
        The latest record.
    log : list of str
        All messages.
    events : list of tuple
        (event, first message, last message + 1), in order.
    featgen_percent, featgen_num_features, featgen_seconds, training_seconds, storing_seconds
        Figures of feature generation, training and storing; None before they are known.
    """

    def __init__(self) -> None:
        self.state: str | None = None
        self.featgen_percent = -2
        self.featgen_num_features: int | None = None
        self.featgen_seconds: float | None = None
        self.training_seconds: float | None = None
        self.storing_seconds: float | None = None
        self.iterations: list[dict[str, Any]] = []
        self.last_iteration: dict[str, Any] | None = None
        self.log: list[str] = []
        self.events: list[tuple[str, int, int]] = []

    def feed(self, line: str) -> str | None:
        """Parse the next message; return the event that it completes, if any."""
        self.log.append(line)
        stop = len(self.log)
        if self.state is None:
            self.state = "STARTING"
            self._starting(line)
            event: str | None = "start"
        else:
            event = self._STAGES[self.state](self, line)
        if event is not None:
            begin = self.events[-1][2] if self.events else 0
            # These two events are detected by the first line of the next one.
            stop -= event in ("prepared", "optimization_end")
            self.events.append((event, begin, stop))
        return event

    @property
    def last_log(self) -> str:
        """Return the messages that belong to the latest event."""
        _, begin, stop = self.events[-1]
        return "".join(self.log[begin:stop])

    def _starting(self, line: str) -> str | None:
        if line.startswith("Feature generation"):
            self.state = "FEATGEN"
        return None

    def _feature_generation(self, line: str) -> str | None:
        if line == "." or line in map(str, range(11)):
            self.featgen_percent += 2
            return "featgen_progress"
        if found := _FEATURES.match(line):
            self.featgen_num_features = int(found[1])
        elif found := _SECONDS.match(line):
            self.featgen_seconds = float(found[1])
            self.state = "AFTER_FEATGEN"
            return "featgen_end"
        return None

    def _preparing(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            self._iterating(line)
            return "prepared"
        if "terminated with error" in line:
            self.state = "AFTER_ITERATION"
            return "prepare_error"
        return None

    def _iterating(self, line: str) -> str | None:
        if found := _HEAD.match(line):
            self.last_iteration = {"num": int(found[1]), "scores": {}}
            self.iterations.append(self.last_iteration)
        elif line == "\n":
            self.state = "AFTER_ITERATION"
            return "iteration"
        elif self.last_iteration is not None:
            _read_figures(line, self.last_iteration)
        return None

    def _between_iterations(self, line: str) -> str | None:
        if _HEAD.match(line):
            self.state = "ITERATION"
            return self._iterating(line)
        if found := _TOTAL.match(line):
            self.training_seconds = float(found[1])
        elif line.startswith("Storing the model"):
            self.state = "STORING"
            return "optimization_end"
        return None

    def _storing(self, line: str) -> str | None:
        if line == "\n":
            return "end"
        if found := _SECONDS.match(line):
            self.storing_seconds = float(found[1])
        return None

    _STAGES: dict[str, Callable[[TrainLogParser, str], str | None]] = {  # noqa: RUF012
        "STARTING": _starting,
        "FEATGEN": _feature_generation,
        "AFTER_FEATGEN": _preparing,
        "ITERATION": _iterating,
        "AFTER_ITERATION": _between_iterations,
        "STORING": _storing,
    }


def _read_figures(line: str, record: dict[str, Any]) -> None:
    for key, pattern, kind in _FIGURES:
        if found := pattern.match(line):
            record[key] = kind(found[1])
            return
    if found := _LABEL.match(line):
        counts = [int(count) for count in found.groups()[1:4]]
        shares = [None if "*" in share else float(share) for share in found.groups()[4:]]
        record["scores"][found[1]] = LabelScore(*counts, *shares)
    elif found := _MACRO.match(line):
        shares = [float(share) for share in found.groups()]
        record["avg_precision"], record["avg_recall"], record["avg_f1"] = shares
    elif found := _ACCURACY.match(line):
        key = f"{found[1].lower()}_accuracy"
        record[key] = Fraction(int(found[2]), int(found[3]))
        record[f"{key}_float"] = float(record[key])
