"""What the command says beside its results: notes, warnings and progress, all on standard error."""

from __future__ import annotations

import sys
from typing import Any


class UsageError(Exception):
    """Options that do not go together: the message says which, and what to do."""


def ending(history: list[dict[str, Any]], converged: bool) -> str:
    """How training ended."""
    on_dev = [record["dev_accuracy"] for record in history if record.get("dev_accuracy") is not None]
    if on_dev:
        return f"iteration {on_dev.index(max(on_dev)) + 1} kept, the best on the dev set"
    return "converged" if converged else "not converged"


def note(text: str) -> None:
    """A word on what is being done."""
    print(f"crfkit: {text}", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Something the user should know about the result."""
    print(f"crfkit: warning: {text}", file=sys.stderr, flush=True)
