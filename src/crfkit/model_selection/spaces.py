"""The values of parameters that a search tries: default ones for each kind of estimator, and candidates.

A space is a dict of parameter name to a list of values, or several such dicts. A value may be anything that
the parameter takes: a template, an extractor, a number. A dict of values has their names for tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from math import prod
from typing import Any, TypeAlias

import numpy as np

from crfkit.exceptions import InputError

Values: TypeAlias = "Sequence[Any] | Mapping[str, Any]"
Space: TypeAlias = "Mapping[str, Values] | Sequence[Mapping[str, Values]]"

# By the name of the class, the most special first: the classes are not imported.
_DEFAULTS: dict[str, dict[str, list[Any]]] = {
    "ConstrainedCRF": {
        "c2": [0.0, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0],
        "tau": [0.01, 0.1, 1.0],
        "margin": [0.0, 0.3, 1.0],
    },
    "CRF": {
        "c1": [0.0, 0.0, 0.01, 0.03, 0.1, 0.3],  # twice: without it training is faster
        "c2": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
        "min_freq": [0, 0, 2],
    },
    "SemiCRF": {
        "c2": [0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0],
        "last_attributes": [False, True],
        "min_freq": [0, 0, 2],
    },
    "TreeCRF": {
        "window": [1, 3, 5, 7],
        "n_leaves": [4, 8, 16, 31],
        "n_iterations": [50, 100, 200],
        "learning_rate": [0.05, 0.1, 0.2],
        "min_samples_leaf": [2, 5, 20],
        "l2": [0.01, 0.1, 1.0],
    },
    "KernelCRF": {  # "auto": found within the training data of each fold
        "kernel": ["rbf", "laplacian"],
        "gamma": ["auto", "median", "scale"],
        "reg": ["auto", 0.01, 0.1, 1.0],
        "cliques": ["vertex", "vertex+edge"],
    },
}


def default_space(estimator: Any) -> dict[str, list[Any]]:
    """Return the parameters and values that ``tune`` tries for this kind of estimator."""
    for kind in type(estimator).__mro__:
        own = _DEFAULTS.get(kind.__name__)
        if own is not None:
            known = estimator.get_params(deep=False)
            return {name: list(values) for name, values in own.items() if name in known}
    raise InputError(
        f"there is no default space for {type(estimator).__name__}: give one, such as {{'c2': [0.1, 1]}}"
    )


def candidates(space: Space, n_candidates: int, random_state: int) -> list[dict[str, Any]]:
    """Return all combinations of a space if they are at most ``n_candidates``, else as many random ones."""
    spaces = [_checked(one) for one in ([space] if isinstance(space, Mapping) else space)]
    if sum(prod(map(len, one.values())) for one in spaces) <= n_candidates:
        every = [dict(zip(one, values, strict=True)) for one in spaces for values in product(*one.values())]
        return _different(every)
    rng = np.random.default_rng([random_state, 2])
    found: list[dict[str, Any]] = []
    for _ in range(20 * n_candidates):  # in case combinations repeat
        one = spaces[int(rng.integers(len(spaces)))]
        found = _different(
            [*found, {name: values[int(rng.integers(len(values)))] for name, values in one.items()}]
        )
        if len(found) == n_candidates:
            break
    return found


def _checked(space: Any) -> dict[str, list[Any]]:
    if not isinstance(space, Mapping) or not space:
        raise InputError(
            f"space must be a dict of parameter to list of values, or a list of such; got {space!r}"
        )
    for name, values in space.items():
        if isinstance(values, (str, bytes)) or not hasattr(values, "__len__") or not len(values):
            raise InputError(f"space[{name!r}] must be a list of values to try; got {values!r:.60}")
    return {name: list(_plain(values)) for name, values in space.items()}


def names_of_values(space: Space) -> dict[int, str]:
    """Return the names that a space gives to values, by ``id``."""
    spaces = [space] if isinstance(space, Mapping) else space
    named = [values for one in spaces for values in one.values() if isinstance(values, Mapping)]
    return {id(value): str(name) for values in named for name, value in values.items()}


def _plain(values: Values) -> Sequence[Any]:
    return list(values.values()) if isinstance(values, Mapping) else values


def _different(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    for one in found:
        if not any(same(one, other) for other in kept):
            kept.append(one)
    return kept


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    """Tell whether two settings are the same; objects that cannot be compared are if they are identical."""
    return list(one) == list(other) and all(one[k] is other[k] or _equal(one[k], other[k]) for k in one)


def _equal(a: Any, b: Any) -> bool:
    return type(a) is type(b) and isinstance(a, (bool, int, float, str, tuple)) and a == b
