"""A trainer that prints one line per iteration."""

from __future__ import annotations

import sys
from typing import Any

from crfkit.compat.pycrfsuite import LabelScore, Trainer


class LinePerIterationTrainer(Trainer):
    """The trainer of ``CRF(verbose=True)``: prints one line per iteration, and the scores of each label."""

    def on_iteration(self, log: str, info: dict[str, Any]) -> None:
        """Print the figures of the iteration."""
        line = f"Iter {info['num']:<3} time={info['time']:<5.2f} loss={info['loss']:<8.2f} "
        if "active_features" in info:
            line += f"active={info['active_features']:<5} "
        if "avg_precision" in info:
            line += (
                f"precision={info['avg_precision']:0.3f}  recall={info['avg_recall']:0.3f}  "
                f"F1={info['avg_f1']:0.3f}  Acc(item/seq)={info['item_accuracy_float']:0.3f} "
                f"{info['instance_accuracy_float']:0.3f}  "
            )
        if "feature_norm" in info:
            line += f"feature_norm={info['feature_norm']:<8.2f}"
        sys.stdout.write(f"{line.strip()}\n")

    def on_optimization_end(self, log: str) -> None:
        """Print the scores of each label, if there is a dev set."""
        last = self.logparser.last_iteration if self.logparser is not None else None
        if last is not None and last["scores"]:
            sys.stdout.write(_table(last["scores"]))
        super().on_optimization_end(log)


def _table(scores: dict[str, LabelScore]) -> str:
    width = max(5, *map(len, scores))
    head = f"{'Label':<{width}}  Precision  Recall     F1  Support"
    rule = "-" * len(head)
    rows = [
        f"{label:<{width}}  {score.precision or 0:9.3f}  {score.recall or 0:6.3f}  {score.f1 or 0:5.3f}  "
        f"{score.ref:7d}"
        for label, score in sorted(scores.items())
    ]
    return "\n".join(["=" * len(head), head, rule, *rows, rule, ""])
