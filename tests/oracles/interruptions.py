"""Ctrl-C at a given moment."""

from typing import Any


def interrupt(monkeypatch: Any, kind: type, method: str, call: int, *, after: bool = False) -> list[None]:
    """Make one call of a method raise KeyboardInterrupt, before or after its work; return the calls."""
    original, calls = getattr(kind, method), []

    def interrupted(*args: Any, **kwargs: Any) -> Any:
        calls.append(None)
        if len(calls) == call and not after:
            raise KeyboardInterrupt
        found = original(*args, **kwargs)
        if len(calls) == call:
            raise KeyboardInterrupt
        return found

    monkeypatch.setattr(kind, method, interrupted)
    return calls
