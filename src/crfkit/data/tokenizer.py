"""Splitting a text into tokens that keep their places in it.

The rule is fixed, so that a model finds the tokens it was trained on: a run of letters, digits, marks and
underscores is a token; so is every other character that is not white space, and every Chinese or Japanese
character. It is native (``native/unicode/tokenize.h``) and uses one version of Unicode.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from crfkit import _native
from crfkit.exceptions import InputError

NAME = "words"  # of the rule, in model files


class Token(NamedTuple):
    """A token, and where it stands in its text: ``text[start:end]``."""

    text: str
    start: int
    end: int


class Span(NamedTuple):
    """A labelled stretch of a text: ``text[start:end]``."""

    start: int
    end: int
    label: str


def tokenize(text: str) -> list[Token]:
    """Return the tokens of a text.

    >>> [token.text for token in tokenize("Dr. Müller, 3rd floor")]
    ['Dr', '.', 'Müller', ',', '3rd', 'floor']
    """
    if not isinstance(text, str):
        raise InputError(f"text must be a str, got {type(text).__name__}")
    return [Token(*token) for token in _native.tokenize(text)]


def labels_of_spans(
    tokens: Sequence[Token], spans: Iterable[Span], text: str, *, snap: bool = False
) -> tuple[list[str], int]:
    """Return the labels (IOB2) of tokens under labelled spans, and how many spans were widened.

    A span that begins or ends inside a token is an error, or is widened to whole tokens with ``snap``. White
    space at the ends of a span does not count. Spans must not overlap.
    """
    labels, widened = ["O"] * len(tokens), 0
    starts, ends = [token.start for token in tokens], [token.end for token in tokens]
    for span in sorted(spans):
        inside = range(bisect_right(ends, span.start), bisect_left(starts, span.end))
        shown = f"{span.label} [{span.start}, {span.end}) {text[span.start : span.end]!r:.60}"
        if not 0 <= span.start < span.end <= len(text):
            raise InputError(f"the span {shown} does not lie in the text of {len(text)} characters")
        if not inside:
            raise InputError(f"the span {shown} has no token in it")
        cut = next(
            (tokens[i] for i in inside if tokens[i].start < span.start or tokens[i].end > span.end), None
        )
        if cut is not None:
            if not snap:
                raise InputError(
                    f"the span {shown} cuts the token {cut.text!r} [{cut.start}, {cut.end}): mend the span, "
                    "or widen such spans to whole tokens with snap=True (--snap)"
                )
            widened += 1
        for i in inside:
            if labels[i] != "O":
                raise InputError(f"the span {shown} overlaps another at the token {tokens[i].text!r}")
            labels[i] = f"{'B' if i == inside[0] else 'I'}-{span.label}"
    return labels, widened
