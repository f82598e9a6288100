"""Kernel logistic regression: the kernel CRF without the chain, for independent points.

Zhu and Hastie, "Kernel logistic regression and the import vector machine" (2005), whose import vectors are
the selected vertices; Lafferty, Zhu and Liu (ICML 2004), section 3.1.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray
from crfkit.conventions import ClassifierMixin, check_is_fitted
from crfkit.data.labelled_positions import read_points
from crfkit.models.checkpoint import Checkpoint
from crfkit.models.kernels.estimator import Form, KernelEstimator


class KernelLogisticRegression(ClassifierMixin, KernelEstimator):
    """Classifier of single points with kernels, selected points, and a graph over unlabelled ones.

    Minimises ``-Σ weight · log p(y | x) + reg/2 (‖f‖² + ‖bias‖²)``. X is [n, d] (or a list of n objects with
    a kernel that is a function), y [n] labels, None if unknown. All parameters are those of
    :class:`crfkit.KernelCRF`; ``n_cliques`` counts points (with one label each, unless ``all_labelings``).
    """

    _points = True

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: npt.ArrayLike | None = None,
        X_dev: Any = None,
        y_dev: Any = None,
        *,
        X_unlabeled: Any = None,
        checkpoint: Checkpoint | str | os.PathLike[str] | None = None,
    ) -> KernelLogisticRegression:
        """Train on points X with labels y; points with None in y and ``X_unlabeled`` only join the graph."""
        form = Form()
        given = (X, y, sample_weight, X_dev, y_dev, X_unlabeled)
        fitted = self._train(form, *given, checkpoint=checkpoint)
        self.classes_ = np.array(fitted.data.classes)
        self.transduction_: npt.NDArray[Any] | None = None  # as KernelCRF has them
        self.transduction_marginals_: FloatArray | None = None
        if fitted.whole is not None:
            self.transduction_marginals_ = _shares(fitted.whole.node)
            self.transduction_ = self.classes_[self.transduction_marginals_.argmax(axis=1)]
        if self.tagger_.width is not None:
            self.n_features_in_ = self.tagger_.width
        self._raise_if_interrupted(fitted.outcome)
        return self

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that a subset of a precomputed kernel has the same rows and columns."""
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags

    def predict_proba(self, X: Any) -> FloatArray:
        """Return p(y = l | x) [n, L]."""
        check_is_fitted(self, "tagger_")
        self.tagger_.n_jobs = self.n_jobs
        width = self.tagger_.width
        points = read_points(X, width is None, width, "X", fitted=True)
        return _shares(self.tagger_.potential.scores(points).node)

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the most probable label of each point [n]."""
        found: npt.NDArray[Any] = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return found


def _shares(scores: FloatArray) -> FloatArray:
    """Return the probabilities [n, L] of scores [n, L]."""
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    found: FloatArray = shares / shares.sum(axis=1, keepdims=True)
    return found
