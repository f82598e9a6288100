"""The spans that ``crfkit.show(model, X)`` shows: found by the model, with their exact probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from crfkit.exceptions import InputError
from crfkit.metrics.segment_rules import segment_rules
from crfkit.optional import needed
from crfkit.report.label_spans import LabelReading, scheme_of, shown_token
from crfkit.report.spans import ShownSentence, ShownSpan, shown_probability
from crfkit.report.text_spans import text_sentence


class FoundSpans(NamedTuple):
    """The first sentences of X as a model labels them."""

    sentences: list[ShownSentence]
    types: list[str]  # all that the model knows
    total: int  # sentences of X


def shown_by_model(model: Any, X: Any, gold: Any, scheme: str | None, limit: int) -> FoundSpans:
    """Return the spans that a model finds in X: a text, the tokens of a sentence, or sentences."""
    if not hasattr(model, "predict_segments"):
        raise InputError(f"show(model, X) needs a model that labels sequences, got {type(model).__name__}")
    if isinstance(X, str):
        spans = model.tag_text(X)
        return FoundSpans([text_sentence(X, spans, gold)], _types(model, scheme), 1)
    if isinstance(X, (list, tuple)) and len(X) and isinstance(X[0], str):  # one sentence
        X, gold = [X], None if gold is None else [gold]
    total = None
    if isinstance(X, (list, tuple)):
        X, total = X[:limit], len(X)
    scheme = scheme_of(model.classes_, scheme)
    labels, words = _labels_and_tokens(model, X)
    found = model.predict_segments(X, scheme=scheme)
    marginals = model.predict_marginals(X, as_arrays=True)
    place = {label: k for k, label in enumerate(model.classes_)}
    true: list[Any] = [None] * len(labels) if gold is None else list(gold[: len(labels)])
    if len(true) != len(labels):
        raise InputError(f"expected gold labels of {len(labels)} sentences, got those of {len(true)}")
    known = (one for one in true if one is not None)
    reading = LabelReading(chain(model.classes_, chain.from_iterable(known)), scheme)
    sentences = []
    for i, own in enumerate(labels[:limit]):
        if true[i] is not None and len(true[i]) != len(own):
            raise InputError(f"sentence {i} has {len(own)} tokens, but {len(true[i])} gold labels")
        sure = marginals[i][np.arange(len(own)), [place[label] for label in own]]  # [T]
        sentences.append(
            ShownSentence(
                words[i],
                [ShownSpan(s.start, s.stop, str(s.type), s.probability) for s in found[i]],
                None if true[i] is None else reading.spans(true[i]),
                details=[
                    f"{label} {shown_probability(p)}" for label, p in zip(own, sure.tolist(), strict=True)
                ],
            )
        )
    return FoundSpans(sentences, _types(model, scheme), len(labels) if total is None else total)


def _types(model: Any, scheme: str | None) -> list[str]:
    return [str(name) for name in segment_rules(model.classes_, scheme_of(model.classes_, scheme)).types]


def _labels_and_tokens(model: Any, X: Any) -> tuple[list[list[Any]], list[list[str]]]:
    """Return the labels of each sequence, and its tokens as text."""
    given, lengths, rows = model._given(X)
    labels = model._fitted().predict(given, lengths=lengths)
    if rows is not None:
        column = next((name for name, kind in model.table_.kinds.items() if kind == "text"), None)
        if column is not None:
            nw = needed("narwhals", "a data frame")
            cells = nw.from_native(rows.frame, eager_only=True)[column].to_list()
            words = [shown_token(cells[row]) for row in rows.order.tolist()]
            ends = np.cumsum([0, *map(len, labels)]).tolist()
            return labels, [words[start:stop] for start, stop in pairwise(ends)]
    elif isinstance(given, Sequence):
        return labels, [_tokens(one, len(own), model) for one, own in zip(given, labels, strict=True)]
    return labels, [_numbers(len(own)) for own in labels]


def _tokens(sequence: Any, n: int, model: Any) -> list[str]:
    """Return the n tokens of a sequence: strings, or the first cells of rows; else numbers of positions."""
    items = list(sequence) if isinstance(sequence, Iterable) else []
    if len(items) == n and all(isinstance(item, str) for item in items):
        return [shown_token(item) for item in items]
    rows = model._fitted().n_columns is not None and len(items) == n
    if rows and all(isinstance(item, (list, tuple)) and item for item in items):
        return [shown_token(item[0]) for item in items]
    return _numbers(n)


def _numbers(n: int) -> list[str]:
    return [str(t) for t in range(n)]
