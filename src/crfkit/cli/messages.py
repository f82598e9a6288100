"""Messages of the commands beside their results: notes and warnings, all on standard error."""

from __future__ import annotations

import sys
from typing import Any


class UsageError(Exception):
    """Wrong or contradicting options; the message names them and says what to do."""


def ending(history: list[dict[str, Any]], converged: bool) -> str:
    """Describe how training ended."""
    on_dev = [record["dev_accuracy"] for record in history if record.get("dev_accuracy") is not None]
    if on_dev:
        return f"iteration {on_dev.index(max(on_dev)) + 1} kept, the best on the dev set"
    return "converged" if converged else "not converged"


def note(text: str) -> None:
    """Print a note about progress or results."""
    print(f"crfkit: {text}", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Print a warning about the result."""
    print(f"crfkit: warning: {text}", file=sys.stderr, flush=True)
