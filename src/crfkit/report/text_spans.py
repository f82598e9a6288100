"""Spans of a plain text, given by places of characters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from crfkit.data.tokenizer import tokenize
from crfkit.exceptions import InputError
from crfkit.report.label_spans import checked_probability
from crfkit.report.spans import ShownSentence, ShownSpan

_TextSpan = tuple[int, int, str, float | None]


def text_sentence(text: str, spans: Iterable[Any], gold: Iterable[Any] | None) -> ShownSentence:
    """Return a text with spans given by places of characters; a token is cut where a span ends inside it."""
    found = sorted(_text_span(span, text) for span in spans)
    true = None if gold is None else sorted(_text_span(span, text) for span in gold)
    for own in (found, true or []):
        for before, after in pairwise(own):
            if after[0] < before[1]:
                raise InputError(f"spans must not overlap, but {before[:3]} and {after[:3]} do")
    cuts = {place for span in (*found, *(true or ())) for place in span[:2]}
    tokens = []
    for token in tokenize(text):
        places = [token.start, *sorted(cut for cut in cuts if token.start < cut < token.end), token.end]
        tokens += list(pairwise(places))
    ends = [0, *(end for _, end in tokens)]
    starts = [*(start for start, _ in tokens), len(text)]

    def placed(own: list[_TextSpan]) -> list[ShownSpan]:
        shown = []
        for start, end, label, sure in own:
            inside = [t for t, (a, b) in enumerate(tokens) if start <= a and b <= end]
            if inside:  # a span of white space alone has none
                shown.append(ShownSpan(inside[0], inside[-1] + 1, label, sure))
        return shown

    return ShownSentence(
        [text[a:b] for a, b in tokens],
        placed(found),
        None if true is None else placed(true),
        [text[a:b] for a, b in zip(ends, starts, strict=True)],
    )


def _text_span(span: Any, text: str) -> _TextSpan:
    if isinstance(span, Mapping):
        start, end, label = (span.get(name) for name in ("start", "end", "label"))
        sure = span.get("probability")
    elif hasattr(span, "label"):
        start, end, label, sure = span.start, span.end, span.label, getattr(span, "probability", None)
    elif isinstance(span, (tuple, list)) and len(span) == 3:
        (start, end, label), sure = span, None
    else:
        start = end = label = sure = None
    if not isinstance(start, int) or not isinstance(end, int) or label is None:
        raise InputError(f"a span of a text has start, end and label, got {span!r:.80}")
    if not 0 <= start < end <= len(text):
        raise InputError(f"the span {span!r:.80} does not lie in the text of {len(text)} characters")
    return start, end, str(label), None if sure is None else checked_probability(sure)
