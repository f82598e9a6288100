"""What the command says beside its results: notes, warnings and progress, all on standard error."""

from __future__ import annotations

import sys


class UsageError(Exception):
    """Options that do not go together: the message says which, and what to do."""


def note(text: str) -> None:
    """A word on what is being done."""
    print(f"crfkit: {text}", file=sys.stderr, flush=True)


def warn(text: str) -> None:
    """Something the user should know about the result."""
    print(f"crfkit: warning: {text}", file=sys.stderr, flush=True)
