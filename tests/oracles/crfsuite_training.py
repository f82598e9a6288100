"""Trainers of python-crfsuite's kind, the original's and ours, and the data they are given."""

from typing import Any


def fill(trainer: Any, X: Any, y: Any, group: int = 0) -> Any:
    """Give a trainer sequences with their labels."""
    for xseq, yseq in zip(X, y, strict=True):
        trainer.append(xseq, yseq, group)
    return trainer
