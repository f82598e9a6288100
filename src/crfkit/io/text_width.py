"""How wide text is on a terminal, and text that fits into so many columns of it."""

from __future__ import annotations

import unicodedata


def width_of(text: str) -> int:
    """Columns that the text takes on a terminal: wide characters two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text
    )


def pad(text: str, width: int, *, right: bool = False) -> str:
    """The text in ``width`` columns, at the left or the right of them."""
    blanks = " " * (width - width_of(text))
    return blanks + text if right else text + blanks


def shorten(text: str, width: int) -> str:
    """The text in at most ``width`` columns, with an ellipsis where something is left out."""
    if width_of(text) <= width:
        return text
    kept = ""
    for c in text:
        if width_of(kept + c) > width - 1:
            break
        kept += c
    return kept + "…"
