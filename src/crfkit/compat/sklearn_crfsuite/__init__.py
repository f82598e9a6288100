"""sklearn-crfsuite's ``CRF``, on crfkit's training and inference; ``metrics`` and ``scorers`` beside it."""

from crfkit.compat.sklearn_crfsuite.estimator import CRF

__all__ = ["CRF"]
