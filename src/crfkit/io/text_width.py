"""The width of text on a terminal, and text padded or shortened to a width."""

from __future__ import annotations

import unicodedata


def width_of(text: str) -> int:
    """Return the width of text on a terminal: wide characters take two columns, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def pad(text: str, width: int, *, right: bool = False) -> str:
    """Pad the text to ``width`` columns, on the right, or with ``right`` on the left."""
    blanks = " " * (width - width_of(text))
    return blanks + text if right else text + blanks


def shorten(text: str, width: int) -> str:
    """Shorten the text to at most ``width`` columns, with an ellipsis if it is cut."""
    if width_of(text) <= width:
        return text
    kept = ""
    for c in text:
        if width_of(kept + c) > width - 1:
            break
        kept += c
    return kept + "…"
