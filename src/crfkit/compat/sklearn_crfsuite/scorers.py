"""Scorers for scikit-learn, for example for ``cross_val_score`` and ``GridSearchCV``."""

from crfkit.compat.sklearn_crfsuite import metrics
from crfkit.optional import needed

make_scorer = needed("sklearn.metrics", "a scorer of sklearn_crfsuite").make_scorer

flat_accuracy = make_scorer(metrics.flat_accuracy_score)
sequence_accuracy = make_scorer(metrics.sequence_accuracy_score)
