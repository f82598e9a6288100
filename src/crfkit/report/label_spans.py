"""Spans from labels: segments of a scheme, or runs of one label."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from crfkit.exceptions import InputError
from crfkit.metrics.segment_rules import RUNS, segment_rules
from crfkit.report.spans import ShownSentence, ShownSpan, shown_probability


def token_sentences(
    tokens: Sequence[Sequence[Any]],  # [N][T]
    labels: Sequence[Any],  # [N][T]
    gold: Sequence[Any],  # [N][T], or None for a sentence whose true labels are not known
    probabilities: Sequence[Any],  # [N][T], or None
    scheme: str | None,
    limit: int,
) -> list[ShownSentence]:
    """Return the first ``limit`` sentences with the spans of their labels."""
    known = [*labels, *(one for one in gold if one is not None)]
    reading = LabelReading(chain.from_iterable(known), scheme)
    sentences = []
    for words, own, true, sure in zip(
        tokens[:limit], labels[:limit], gold[:limit], probabilities[:limit], strict=True
    ):
        numbers = None if sure is None else _probabilities(own, sure)
        details = None
        if numbers is not None:
            details = [f"{label} {shown_probability(p)}" for label, p in zip(own, numbers, strict=True)]
        sentences.append(
            ShownSentence(
                [shown_token(word) for word in words],
                reading.spans(own, numbers),
                None if true is None else reading.spans(true),
                details=details,
            )
        )
    return sentences


class LabelReading:
    """How labels become spans; labels that no scheme explains are read as runs of one label."""

    def __init__(self, labels: Iterable[Any], scheme: str | None = None) -> None:
        names = list(dict.fromkeys("O" if label is None else label for label in labels))
        self._places = {name: k for k, name in enumerate(names)}
        self._rules = segment_rules(names, scheme_of(names, scheme))

    def spans(self, labels: Sequence[Any], probabilities: Sequence[float] | None = None) -> list[ShownSpan]:
        """Return the spans of one sentence's labels; unknown labels (None) are outside."""
        if not len(labels):
            return []
        unknown = self._places.get("O", -1)
        ids = np.array([self._places.get("O" if label is None else label, unknown) for label in labels])
        found = self._rules.find(ids, np.array([0, len(ids)]))
        spans = []
        for start, stop, kind in zip(
            found.start.tolist(), found.stop.tolist(), found.kind.tolist(), strict=True
        ):
            sure = None if probabilities is None else min(probabilities[start:stop])
            spans.append(ShownSpan(start, stop, str(self._rules.types[kind]), sure))
        return spans


def scheme_of(labels: Sequence[Hashable], scheme: str | None) -> str | None:
    """Return the scheme to read labels by; labels that no scheme explains are read as runs of one label."""
    if scheme is not None:
        return scheme
    try:
        segment_rules(labels)
    except InputError:
        return RUNS
    return None


def shown_token(token: Any) -> str:
    """Return a token as text; an empty one as ∅."""
    return str(token) or "∅"


def _probabilities(labels: Sequence[Any], given: Sequence[Any]) -> list[float]:
    """Return the probability of each token's label."""
    found = []
    for label, one in zip(labels, given, strict=True):
        found.append(checked_probability(one.get(label, 0.0) if isinstance(one, Mapping) else one))
    return found


def checked_probability(value: Any) -> float:
    """Return a probability as a float; raise unless it is one."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise InputError(
            f"probabilities must be one number per token or what predict_marginals returns, got {value!r:.80}"
        ) from None
    if not -1e-9 <= number <= 1 + 1e-9:
        raise InputError(f"a probability lies between 0 and 1, got {number:g}")
    return min(max(number, 0.0), 1.0)
