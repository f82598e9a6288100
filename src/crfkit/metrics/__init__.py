"""Scores of labels by token, sequence and segment; reports, confusion matrices, scikit-learn scorers.

Also confidence intervals of scores, tests whether two taggers differ, and label schemes of segments.
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
