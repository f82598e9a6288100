"""Text on a terminal: its width, padded or shortened to a width, without control characters."""

from __future__ import annotations

import re
import unicodedata

# All but line feed and tab: what they do to a terminal is not up to data.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STYLES = re.compile(r"(\x1b\[[0-2]m)")  # normal, bold, dim


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


def visible(text: str, *, styled: bool = False) -> str:
    r"""Return the text with control characters as escapes such as ``\x1b``; ``styled`` keeps bold and dim."""
    if styled:
        return "".join(piece if i % 2 else visible(piece) for i, piece in enumerate(_STYLES.split(text)))
    return _CONTROLS.sub(lambda found: f"\\x{ord(found[0]):02x}", text)
