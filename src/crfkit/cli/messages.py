"""Messages of the commands beside their results: notes and warnings, all on standard error."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from crfkit.io.text_width import visible


class UsageError(Exception):
    """Wrong or contradicting options; the message names them and says what to do."""


def penalties_in_words(c1: Any, c2: float, penalties: Mapping[str, float]) -> str:
    """Describe penalties that training has found or that belong to groups; ``c1`` is the parameter."""
    from crfkit.features.penalty_groups import PenaltyScales

    common = f"c1 = c2 = {c2:.3g}" if c1 == "auto" else f"c2 {c2:.3g}"
    if len(penalties) == 1:
        return common
    scales = PenaltyScales({name: penalty / c2 for name, penalty in penalties.items()})
    return f"{common}; {scales.in_words()}"


def ending(history: list[dict[str, Any]], converged: bool) -> str:
    """Describe how training ended."""
    found = [record.get("dev_accuracy") for record in history]
    on_dev = [accuracy for accuracy in found if isinstance(accuracy, float)]
    if on_dev:
        return f"iteration {on_dev.index(max(on_dev)) + 1} kept, the best on the dev set"
    return "converged" if converged else "not converged"


def note(text: str) -> None:
    """Print a note about progress or results."""
    complain(f"crfkit: {text}")


def warn(text: str) -> None:
    """Print a warning about the result."""
    complain(f"crfkit: warning: {text}")


def complain(text: str) -> None:
    """Print to standard error; on a terminal, control characters in the text are shown as escapes."""
    print(visible(text) if sys.stderr.isatty() else text, file=sys.stderr, flush=True)


def show(text: object) -> None:
    """Print a result; on a terminal, control characters in it are shown as escapes, except bold and dim."""
    print(visible(str(text), styled=True) if sys.stdout.isatty() else text)
