"""Confidence intervals of scores, and tests whether two taggers differ, as text and as JSON."""

from __future__ import annotations

import argparse
from typing import Any

from crfkit import metrics
from crfkit.data.label_codes import LabelCodes
from crfkit.metrics.segments import are_plain

_RESAMPLES = 1000  # for --compare without --bootstrap


class Sureness:
    """Bootstrap intervals of scores; for a second labelling also of differences, and McNemar's test."""

    def __init__(
        self, true: LabelCodes, found: LabelCodes, other: LabelCodes | None, arguments: argparse.Namespace
    ) -> None:
        self._n: int = arguments.bootstrap or _RESAMPLES
        self._names = (arguments.file or arguments.predicted or "<stdin>", arguments.compare)
        plain = arguments.raw or (not arguments.scheme and are_plain([*true.names, *found.names]))
        scores: dict[str, tuple[str, dict[str, Any]]] = {"accuracy": ("token_accuracy", {})}
        if not plain and arguments.strict:
            scores["FB1"] = ("strict_segment_f1", {"scheme": arguments.scheme or "auto"})
        elif not plain:
            for name in ("precision", "recall", "f1"):
                shown = "FB1" if name == "f1" else name
                scores[shown] = (f"segment_{name}", {"scheme": arguments.scheme})
        how = {"n": self._n, "random_state": arguments.seed}
        self._intervals = {}
        if arguments.bootstrap is not None:
            self._intervals = {
                name: metrics.bootstrap(true, found, metric, **how, **options)
                for name, (metric, options) in scores.items()
            }
        self._differences, self._tests = {}, []
        if other is not None:
            self._differences = {
                name: metrics.bootstrap_difference(true, found, other, metric, **how, **options)
                for name, (metric, options) in scores.items()
            }
            self._tests = [
                metrics.mcnemar(true, found, other, level=level) for level in ("token", "sequence")
            ]
            if not plain:
                scheme = arguments.scheme or ("auto" if arguments.strict else None)
                self._tests.append(
                    metrics.mcnemar(
                        true, found, other, level="segment", scheme=scheme, strict=arguments.strict
                    )
                )

    def lines(self) -> list[str]:
        """Return the intervals and tests as lines of text, in percent."""
        lines = []
        if self._intervals:
            lines.append(f"95 % intervals from {self._n} resamples of the sequences")
            for name, found in self._intervals.items():
                value, low, high = (100 * x for x in (found.value, found.low, found.high))
                lines.append(f"  {name:10}{value:6.2f}  {low:6.2f} to {high:6.2f}")
        if self._differences:
            lines += [""] if lines else []
            lines.append(
                f"a: {self._names[0]}, b: {self._names[1]}; the difference a - b, 95 % of {self._n} resamples"
            )
            for name, gap in self._differences.items():
                a, b, value, low, high = (100 * x for x in (gap.a, gap.b, gap.value, gap.low, gap.high))
                lines.append(
                    f"  {name:10}{a:6.2f} - {b:6.2f} = {value:+6.2f}  {low:+6.2f} to {high:+6.2f}  "
                    f"{_chance(gap.p_value)}"
                )
            lines += ["", "McNemar's test, exact"]
            for test in self._tests:
                lines.append(
                    f"  {test.level + 's':10}right in a alone {test.only_a:,}, in b alone {test.only_b:,}  "
                    f"{_chance(test.p_value)}"
                )
        return lines

    def to_json(self) -> dict[str, Any]:
        """Return the intervals and tests as JSON values, with all digits."""
        result: dict[str, Any] = {}
        if self._intervals:
            result["intervals"] = {
                name: {"value": x.value, "low": x.low, "high": x.high, "confidence": x.confidence}
                for name, x in self._intervals.items()
            }
        if self._differences:
            fields = ("a", "b", "value", "low", "high", "confidence", "p_value")
            result["differences"] = {
                name: {field: getattr(x, field) for field in fields} for name, x in self._differences.items()
            }
            counts = ("both_right", "only_a", "only_b", "both_wrong", "p_value")
            result["mcnemar"] = {
                test.level: {field: getattr(test, field) for field in counts} for test in self._tests
            }
        return result


def _chance(p_value: float) -> str:
    return f"p = {p_value:.3g}" if p_value > 1e-99 else "p < 1e-99"
