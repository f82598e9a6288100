"""Label n-grams in a model file: as a table of all triples, or as a list.

Files of order 2 with few labels have a table, ``edge2``, which all versions of crfkit read. Other files have
the n-grams and their weights, and a format version that earlier readers refuse.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray, IdArray
from crfkit.features.index import NO_NGRAMS, FeatureIndex
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays

_LARGEST_TABLE = 1 << 21  # entries


def ngram_arrays(index: FeatureIndex, weights: FloatArray) -> Arrays:
    """Return the arrays of a model file."""
    L = index.n_labels
    if index.order == 1:
        return {}
    if index.order > 2 or L**3 > _LARGEST_TABLE:
        return {"ngrams.labels": index.ngrams, "ngrams.weights": weights}
    mask, table = np.zeros((L, L, L), np.bool_), np.zeros((L, L, L))
    mask[tuple(index.ngrams.T)] = True
    table[tuple(index.ngrams.T)] = weights
    return {"edge2.mask": mask, "edge2.weights": table}


def ngrams_of_file(arrays: ModelArrays, n_labels: int) -> tuple[IdArray, FloatArray]:
    """Return the n-grams [M, order + 1] in a model file and their weights [M]."""
    L = n_labels
    if "edge2.weights" in arrays:
        table = arrays.take("edge2.weights", np.float64, (L, L, L))
        rows = np.argwhere(arrays.take("edge2.mask", np.bool_, (L, L, L)))
        return rows.astype(np.int32), table[tuple(rows.T)]
    if "ngrams.labels" not in arrays:
        return NO_NGRAMS, np.zeros(0)
    labels = arrays.take("ngrams.labels", np.int32, (None, None))
    weights = arrays.take("ngrams.weights", np.float64, (len(labels),))
    known = labels >= 0
    sound = labels.shape[1] >= 3 and len(np.unique(labels, axis=0)) == len(labels)
    sound = sound and bool((labels >= -1).all() and (labels < L).all() and known[:, -3:].all())
    if not sound or (known[:, :-1] & ~known[:, 1:]).any():
        raise arrays.wrong("its label n-grams are malformed")
    return labels, weights
