"""The conventions of scikit-learn's estimators: its own classes if it is installed, else small ones.

With scikit-learn, crfkit's estimators inherit from its ``BaseEstimator`` and work in ``GridSearchCV``,
pipelines and ``clone``. Without it they have the same parameters and methods: ``get_params``, ``set_params``,
a short ``repr``, ``NotFittedError`` before ``fit``.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from crfkit.plain_estimator import (
    BaseEstimator,
    ClassifierMixin,
    NotFittedError,
    TransformerMixin,
    check_is_fitted,
    clone,
)

if not TYPE_CHECKING:
    with suppress(ImportError):
        from sklearn.base import BaseEstimator, ClassifierMixin, TransformerMixin, clone
        from sklearn.exceptions import NotFittedError
        from sklearn.utils.validation import check_is_fitted

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "NotFittedError",
    "TransformerMixin",
    "check_is_fitted",
    "clone",
]
