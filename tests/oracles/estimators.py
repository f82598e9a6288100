"""The table of estimators that tests/models/test_estimators.py tests.

A new estimator is one line in ``ESTIMATORS``. All of them train on the same arrays.
"""

from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from enumeration import Oracle, enumerate_paths, oracle_of
from segmentations import all_segmentations, ids_of, score

from crfkit import CRF, ConstrainedCRF, KernelCRF, SemiCRF, TreeCRF
from crfkit.datasets import gaussian_mixtures
from crfkit.inference import SegmentLattice
from crfkit.kernels import GraphKernel

points, states = gaussian_mixtures(12, 6, random_state=0)
X = [x[: 6 - i % 3] for i, x in enumerate(points)]  # [T, 2] each, T from 4 to 6
Y = [["PQR"[state] for state in labels[: len(x)]] for x, labels in zip(X, states, strict=True)]
TABLE, LENGTHS = np.vstack(X), [len(x) for x in X]

EVERY = {"all_possible_states": True, "all_possible_transitions": True}
TREES = {"n_iterations": 12, "min_samples_leaf": 1, "n_jobs": 1}
CLIQUES = {"n_cliques": 12, "per_round": 4, "gamma": 0.5, "reg": 1.0}

ESTIMATORS: dict[str, tuple[type, dict[str, Any]]] = {
    "linear": (CRF, EVERY),
    "second order": (CRF, {"order": 2, "c2": 0.3, "algorithm": "lbfgs", **EVERY}),
    "sparse": (CRF, {"c1": 0.3, "c2": 0.0, "class_weight": {"P": 2.0}, **EVERY}),
    "segments": (SemiCRF, {"all_possible_states": True, "last_attributes": True}),
    "constrained": (ConstrainedCRF, {"c2": 1.0, "tau": 50.0, **EVERY}),
    "trees": (TreeCRF, TREES),
    "factored trees": (TreeCRF, {"potentials": "factored", "decode": "viterbi", "window": (1, 0), **TREES}),
    "kernel": (KernelCRF, {"cliques": "vertex+edge", **CLIQUES}),
    "two kernels": (KernelCRF, {"kernel": ["rbf", "linear"], "turns": "alternate", "bias": True, **CLIQUES}),
    "graph": (KernelCRF, {"graph": GraphKernel(5, n_eigenvectors=12), "decode": "viterbi", **CLIQUES}),
    "all cliques": (KernelCRF, {"n_cliques": None, "boundary_gain": 1.0, "gamma": "median", "reg": 1.0}),
}
if find_spec("lightgbm") is None:  # optional; it grows the trees
    ESTIMATORS = {name: entry for name, entry in ESTIMATORS.items() if entry[0] is not TreeCRF}


def make(name: str, **more: Any) -> Any:
    """Return an unfitted estimator of the table."""
    kind, settings = ESTIMATORS[name]
    return kind(**{**settings, **more})


@cache
def fitted(name: str) -> Any:
    """Return an estimator of the table fitted to X and Y, for tests that do not change it."""
    return make(name).fit(X, Y)


def enumerated(model: Any, scores: Any, sequence: int) -> Oracle:
    """Return all labellings of one sequence with their probabilities, in the labels of the model."""
    if not isinstance(scores, SegmentLattice):
        return enumerate_paths(scores, sequence)
    length, codec = int(np.diff(scores.offsets)[sequence]), model.tagger_.codec
    found = [(one, score(scores, sequence, one)) for one in all_segmentations(length, codec.n_types)]
    return oracle_of([(tuple(codec.class_of[ids_of(one, codec.n_types)].tolist()), s) for one, s in found])


def answers(model: Any, data: Any = X) -> list[Any]:
    """Return everything a fitted model predicts, in a form that == compares to the last bit."""
    arrays = [array.tolist() for array in model.predict_marginals(data, as_arrays=True)]
    return [model.classes_, model.predict(data), arrays, model.predict_nbest(data, 3)]
