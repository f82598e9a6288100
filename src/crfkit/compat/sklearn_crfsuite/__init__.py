"""sklearn-crfsuite's ``CRF``, ``metrics`` and ``scorers``, with crfkit's training and inference."""

from crfkit.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF"]
