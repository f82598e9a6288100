"""The name of a training method, with its settings in brackets: ``"ap"``, ``"pa(type=2, c=0.5)"``."""

from __future__ import annotations

import ast
from typing import Any


def split_name(text: str) -> tuple[str, dict[str, Any]]:
    """Return name and settings.

    >>> split_name("pa(type=2, averaging=False)")
    ('pa', {'type': 2, 'averaging': False})
    """
    name, bracket, _ = text.partition("(")
    if not bracket:
        return text, {}
    try:
        call = ast.parse(text, mode="eval").body
        if not isinstance(call, ast.Call) or call.args or not isinstance(call.func, ast.Name):
            raise ValueError
        return call.func.id, {
            str(word.arg): ast.literal_eval(word.value) for word in call.keywords if word.arg
        }
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ValueError(f"expected settings as in {name.strip()}(name=value, …)") from None
