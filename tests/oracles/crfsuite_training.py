"""Helpers for trainers with python-crfsuite's interface, the original's and ours."""

from typing import Any


def fill(trainer: Any, X: Any, y: Any, group: int = 0) -> Any:
    """Give a trainer sequences with their labels."""
    for xseq, yseq in zip(X, y, strict=True):
        trainer.append(xseq, yseq, group)
    return trainer
