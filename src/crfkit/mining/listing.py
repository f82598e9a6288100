"""Rules as a linguist would read them: in the terminal, and as a page."""

from __future__ import annotations

from crfkit.mining.rules import Rules


def rules_text(rules: Rules, n: int = 20) -> str:
    """The first n rules, a line each."""
    return "\n".join(str(rules[i]) for i in range(min(n, len(rules))))
