"""The function of sklearn-crfsuite's module of this name."""

from crfkit.compat.sklearn_crfsuite.metrics import flatten

__all__ = ["flatten"]
