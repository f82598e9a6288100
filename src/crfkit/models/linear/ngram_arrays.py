"""Label n-grams in a model file: as a table of all triples, or as a list.

Files of order 2 with few labels have a table, ``edge2``, which all versions of crfkit read. Other files have
the n-grams and their weights, and a format version that earlier readers refuse.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from crfkit.arrays import FloatArray, IdArray
from crfkit.features.index import NO_NGRAMS, FeatureIndex
from crfkit.io.model_arrays import ModelArrays
from crfkit.io.model_file import Arrays

_LARGEST_TABLE = 1 << 21  # entries


def ngram_arrays(index: FeatureIndex, weights: FloatArray) -> Arrays:
    """Return the arrays of a model file."""
    if index.order == 1:
        return {}
    if not in_a_table(index):
        return {"ngrams.labels": index.ngrams, "ngrams.weights": weights}
    known = np.ones(len(index.ngrams), np.bool_)
    return {"edge2.mask": table_of(index, known), "edge2.weights": table_of(index, weights)}


def in_a_table(index: FeatureIndex) -> bool:
    """Return whether a file has the triples of a model as a table."""
    return index.order == 2 and index.n_labels**3 <= _LARGEST_TABLE


def table_of(index: FeatureIndex, numbers: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers of triples [M] as a table [L, L, L], 0 elsewhere."""
    table = np.zeros((index.n_labels,) * 3, numbers.dtype)
    table[tuple(index.ngrams.T)] = numbers
    return table


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
