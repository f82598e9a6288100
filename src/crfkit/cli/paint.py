"""Coloured text for terminals; without colours, segments are bracketed."""

from __future__ import annotations

import os
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TextIO

from crfkit.metrics import segments


def wants_colour(stream: TextIO) -> bool:
    """Return whether to use colours: not with NO_COLOR, always with FORCE_COLOR, else on terminals only."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM") != "dumb"


# Light backgrounds for black text (xterm's 256 colours): legible on dark and light terminals.
_BACKGROUNDS = (152, 222, 217, 150, 183, 187, 117, 223, 210, 115, 180)


class Painter:
    """Paints segments of the given types; with ``colour=False`` it brackets and names them instead."""

    def __init__(self, types: Sequence[str], *, colour: bool) -> None:
        self.colour = colour
        self._background = {kind: _BACKGROUNDS[i % len(_BACKGROUNDS)] for i, kind in enumerate(types)}

    def _style(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text

    def bold(self, text: str) -> str:
        return self._style(text, "1")

    def dim(self, text: str) -> str:
        return self._style(text, "2")

    def good(self, text: str) -> str:
        return self._style(text, "32")

    def bad(self, text: str) -> str:
        return self._style(text, "31")

    def segment(self, text: str, kind: str) -> str:
        """Paint the words of one segment; text of an unknown type is not changed."""
        if kind not in self._background:
            return text
        return (
            self._style(f" {text} ", f"30;48;5;{self._background[kind]}")
            if self.colour
            else f"[{kind} {text}]"
        )

    def legend(self, width: int) -> list[str]:
        """Return all types in their colours; no lines without colours, as segments then show their types."""
        if not self.colour:
            return []
        return self._wrap(((kind, kind) for kind in self._background), width)

    def sequence(self, tokens: Sequence[str], labels: Sequence[str], width: int) -> list[str]:
        """Paint a labelled sequence, in lines of at most ``width`` columns."""
        return self._wrap(_pieces(tokens, labels), width)

    def _wrap(self, pieces: Iterable[tuple[str, str]], width: int) -> list[str]:
        """Paint (text, type) pieces and break lines between them; colour codes have no width."""
        lines = [""]
        used = 0  # columns of the last line
        for text, kind in pieces:
            shown = self.segment(text, kind)
            columns = len(text) + 2 if self.colour and kind else len(shown)
            if used and used + 1 + columns > width:
                lines.append("")
                used = 0
            lines[-1] += (" " if used else "") + shown
            used += columns + (1 if used else 0)
        return lines


def _pieces(tokens: Sequence[str], labels: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Split the sequence into pairs (text, segment type), with type "" between segments."""
    t = 0
    for segment in segments(labels):
        for token in tokens[t : segment.start]:
            yield token, ""
        yield " ".join(tokens[segment.start : segment.end]), segment.type
        t = segment.end
    for token in tokens[t:]:
        yield token, ""


def paragraph(text: str, width: int, indent: str) -> str:
    """Wrap text into lines of at most ``width`` columns."""
    return textwrap.fill(text, width, initial_indent=indent, subsequent_indent=indent)


def bar(share: float, width: int) -> str:
    """Return a horizontal bar, ``width`` columns long at ``share`` = 1."""
    eighths = round(share * width * 8)
    return "█" * (eighths // 8) + ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")[eighths % 8]
