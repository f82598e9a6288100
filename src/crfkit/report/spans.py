"""Labelled sentences as coloured spans in HTML, and with brackets in plain text.

The HTML is a fragment: it can stand several times on a page, loads nothing and runs no script. Its style
(``templates/spans.css``) follows the page around it: the theme of a notebook, or the reader's light or dark
setting. Where a page removes styles, the labels are still there as text.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from crfkit.io.text_width import visible, width_of
from crfkit.report.colours import DARK, LIGHT, N_COLOURS, places_of
from crfkit.report.frame import render


class ShownSpan(NamedTuple):
    """A labelled stretch of a sentence: the tokens ``start`` to ``stop`` (not included)."""

    start: int
    stop: int
    type: str
    probability: float | None = None


class Piece(NamedTuple):
    """A span, or the tokens between spans."""

    text: str
    span: ShownSpan | None
    title: str = ""  # shown when the mouse rests on it


class Cell(NamedTuple):
    """What stands above or below one token."""

    span: ShownSpan
    first: bool  # the span starts at this token
    last: bool
    wrong: bool  # the other labelling has no such span


class Column(NamedTuple):
    """A token between its true and its predicted span."""

    token: str
    gap: str  # white space after it
    title: str
    gold: Cell | None
    found: Cell | None


@dataclass(frozen=True)
class ShownSentence:
    """A sentence of T tokens with predicted spans, and with true ones if they are known."""

    tokens: Sequence[str]  # [T]
    spans: Sequence[ShownSpan]  # in order, without overlaps
    gold: Sequence[ShownSpan] | None = None
    gaps: Sequence[str] | None = None  # [T+1] text before each token and after the last; None: blanks
    details: Sequence[str] | None = None  # [T] a note on each token

    @property
    def types(self) -> set[str]:
        return {span.type for span in (*self.spans, *(self.gold or ()))}

    def _between(self, start: int, stop: int) -> str:
        """Return the text of the tokens from ``start`` to ``stop``, as it stands in the sentence."""
        parts = [self._token(start)] if start < stop else []
        for t in range(start + 1, stop):
            parts += [self._gap(t), self._token(t)]
        return "".join(parts)

    def _token(self, t: int) -> str:
        return clean(self.tokens[t]).replace("\n", "\\n").replace("\t", "\\t")

    def _gap(self, t: int) -> str:
        """Return the text before token t; after the last token if t is T."""
        if self.gaps is not None:
            return clean(self.gaps[t])
        return " " if 0 < t < len(self.tokens) else ""

    def pieces(self) -> Iterator[Piece]:
        """Yield spans and the text between them."""
        t = 0
        for span in self.spans:
            if (
                text := self._gap(t)
                + self._between(t, span.start)
                + (self._gap(span.start) if t < span.start else "")
            ):
                yield Piece(text, None)
            yield Piece(self._between(span.start, span.stop), span, self._title(span))
            t = span.stop
        n = len(self.tokens)
        if rest := self._gap(t) + self._between(t, n) + (self._gap(n) if t < n else ""):
            yield Piece(rest, None)

    def _title(self, span: ShownSpan) -> str:
        if self.details is None:
            return ""
        return "\n".join(f"{self._token(t)}  {self.details[t]}" for t in range(span.start, span.stop))

    def columns(self) -> Iterator[Column]:
        """Yield each token with the spans above and below it."""
        n, gold = len(self.tokens), self.gold or ()
        above = _cells(gold, self.spans, n)
        below = _cells(self.spans, gold, n)
        for t in range(n):
            title = "" if self.details is None else self.details[t]
            gap = self._gap(t + 1) if self.gaps is not None else " "
            yield Column(self._token(t), gap, title, above[t], below[t])

    def text(self, width: int = 88) -> str:
        """Return the sentence with its spans in brackets, and with the true ones in the line before."""
        if self.gold is None:
            return _wrapped(_bracketed(self), width, "")
        true = ShownSentence(self.tokens, self.gold, None, self.gaps)
        return "\n".join(
            _wrapped(_bracketed(one), width, head)
            for head, one in (("gold       ", true), ("predicted  ", self))
        )


def _cells(own: Sequence[ShownSpan], others: Sequence[ShownSpan], n: int) -> list[Cell | None]:
    """Return the part of a span at each of n tokens."""
    cells: list[Cell | None] = [None] * n
    known = {span[:3] for span in others}
    for span in own:
        for t in range(span.start, span.stop):
            cells[t] = Cell(span, t == span.start, t == span.stop - 1, span[:3] not in known)
    return cells


def _bracketed(sentence: ShownSentence) -> Iterator[str]:
    """Yield words and bracketed spans, between which a line may be broken."""
    for piece in sentence.pieces():
        words = " ".join(piece.text.split())
        if piece.span is None:
            yield from words.split()
        else:
            p = piece.span.probability
            sure = "" if p is None else f" {shown_probability(p)}"
            yield f"[{clean(piece.span.type)} {words}{sure}]"


def _wrapped(words: Iterable[str], width: int, head: str) -> str:
    lines, used = [head], width_of(head)
    for word in words:
        columns = width_of(word)
        if used > len(head) and used + 1 + columns > width:
            lines.append(" " * len(head))
            used = len(head)
        lines[-1] += (" " if used > len(head) else "") + word
        used = width_of(lines[-1])
    return "\n".join(line.rstrip() for line in lines)


def shown_probability(p: float) -> str:
    """Return a probability as text, with two digits."""
    return f"{p:.2f}"


def clean(text: str) -> str:
    """Return text without control characters and without halves of surrogate pairs."""
    return visible(text).encode("utf-8", "backslashreplace").decode("utf-8")


def span_style() -> str:
    """Return the style sheet of spans, for a page that has many of them."""
    return render("spans.css", light=LIGHT, dark=DARK, n=N_COLOURS)


def spans_html(
    sentences: Sequence[ShownSentence],
    *,
    types: Iterable[str] = (),
    notes: Sequence[str] = (),
    style: bool = True,
) -> str:
    """Return sentences as a fragment of HTML.

    ``types`` are further types that the colours must not confuse with those shown, such as a model's other
    types. ``notes`` are lines below. Without ``style``, the page must have ``span_style()`` itself.
    """
    own = set(types).union(*(sentence.types for sentence in sentences))
    return render(
        "spans.html",
        sentences=sentences,
        places=places_of(own),
        notes=notes,
        n=N_COLOURS,
        style=style,
        light=LIGHT,
        dark=DARK,
        clean=clean,
        probability=shown_probability,
    )
