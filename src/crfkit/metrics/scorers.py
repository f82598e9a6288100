"""Scorers for scikit-learn: pass them as ``scoring=`` to ``GridSearchCV``, ``cross_val_score`` and the like.

scikit-learn's own ``make_scorer`` does not fit sequence labels: its metrics expect one flat array. A scorer
here is a callable ``scorer(estimator, X, y)`` for any estimator with ``predict``; higher is better.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from crfkit.data.label_codes import LabelSequences
from crfkit.metrics.segment_scores import segment_f1, strict_segment_f1
from crfkit.metrics.tokens import sequence_accuracy, token_accuracy, token_f1


@dataclass(frozen=True)
class SequenceScorer:
    """Calls ``metric(y, estimator.predict(X), **options)``. Pickles, so that it works with ``n_jobs``."""

    metric: Callable[..., float]
    options: Mapping[str, Any] = field(default_factory=dict)
    sign: int = 1

    def __call__(self, estimator: Any, X: Any, y: LabelSequences) -> float:
        """Predict the labels of X and score them against y."""
        return self.sign * self.metric(y, estimator.predict(X), **self.options)

    def _accept_sample_weight(self) -> bool:
        """Tell scikit-learn, which calls this for several scorers, that sequence metrics take no weights."""
        return False

    def __repr__(self) -> str:
        options = "".join(f", {name}={value!r}" for name, value in self.options.items())
        return f"make_sequence_scorer({self.metric.__name__}{options})"


def make_sequence_scorer(
    metric: Callable[..., float], *, greater_is_better: bool = True, **options: Any
) -> SequenceScorer:
    """Make a scorer of ``metric(y_true, y_pred, **options)``.

    ``greater_is_better=False`` is for losses: their scores are negated, as scikit-learn expects.
    """
    return SequenceScorer(metric, options, 1 if greater_is_better else -1)


token_accuracy_scorer = make_sequence_scorer(token_accuracy)
sequence_accuracy_scorer = make_sequence_scorer(sequence_accuracy)
token_f1_macro_scorer = make_sequence_scorer(token_f1, average="macro")
token_f1_weighted_scorer = make_sequence_scorer(token_f1, average="weighted")
segment_f1_scorer = make_sequence_scorer(segment_f1)
strict_segment_f1_scorer = make_sequence_scorer(strict_segment_f1)
