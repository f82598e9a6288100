r"""Sets of characters, written as in regular expressions: ``[.,;]``, ``[^\w.]``, ``[0-9]``."""

from __future__ import annotations

from crfkit.exceptions import InputError
from crfkit.features.program_code import flag, many, number

_ESCAPES = "wdsWDS"  # bits 1, 2, 4, … of the program


def character_set(written: object) -> bytes:
    r"""Return a set as feature programs have it.

    It is a list in brackets of characters, ranges ``a-z``, and ``\w`` (letters, digits and ``_``), ``\d``,
    ``\s`` or their complements ``\W``, ``\D``, ``\S``; ``^`` in front means all others. A backslash takes
    other characters literally.
    """
    if not isinstance(written, str) or len(written) < 3 or written[0] != "[" or written[-1] != "]":
        raise _refusal(written)
    body = written[1:-1]
    negated = body.startswith("^")
    escapes, ranges = 0, []
    items = _items(body[1:] if negated else body, written)
    while items:
        kind, item = items.pop(0)
        if kind == "class":
            escapes |= 1 << _ESCAPES.index(item)
            continue
        last = item
        if len(items) > 1 and items[0][0] == "dash":
            ends, last = items[1]
            del items[:2]
            if ends == "class" or ord(last) < ord(item):
                raise InputError(f"{written!r}: {item}-{last} is not a range of characters")
        ranges.append(number(ord(item)) + number(ord(last)))
    if not ranges and not escapes:
        raise _refusal(written)
    return flag(negated) + bytes([escapes]) + many(ranges)


def _items(body: str, written: str) -> list[tuple[str, str]]:
    """Return characters, dashes that may make a range, and the letters of classes."""
    items = []
    i = 0
    while i < len(body):
        character = body[i]
        kind = "dash" if character == "-" else "character"
        if character in "[]":
            raise InputError(f"{written!r}: write \\{character} for a bracket in a set of characters")
        if character == "\\":
            i += 1
            character = body[i : i + 1]
            kind = "class" if character and character in _ESCAPES else "character"
            if not character or (kind == "character" and character.isalnum()):
                raise InputError(
                    f"{written!r}: \\{character} is unknown; a set has \\w, \\d, \\s, \\W, \\D and \\S"
                )
        items.append((kind, character))
        i += 1
    return items


def _refusal(written: object) -> InputError:
    return InputError(
        "expected a set of characters as in regular expressions, such as '[.,;]' or '[^\\w.]', "
        f"got {written!r}"
    )
