"""Base classes of estimators without scikit-learn: parameters, ``repr``, copies, and the state before fit.

They do what scikit-learn's classes of these names do for crfkit's estimators. A pickle written with one of
the two is read with the other.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from inspect import Parameter, signature
from typing import Any, TypeVar

_Self = TypeVar("_Self", bound="BaseEstimator")
_LONGEST = 700  # characters of a repr


class NotFittedError(ValueError, AttributeError):
    """An estimator is used before it is fitted."""


class BaseEstimator:
    """An object whose parameters are the arguments of ``__init__``, stored under their names."""

    @classmethod
    def _defaults(cls) -> dict[str, Any]:
        various = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
        parameters = signature(cls).parameters.values()
        return {one.name: one.default for one in parameters if one.kind not in various}

    @classmethod
    def _get_param_names(cls) -> list[str]:
        return sorted(cls._defaults())

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters by name; with ``deep`` those of a nested estimator too, as ``name__own``."""
        found: dict[str, Any] = {}
        for name in self._get_param_names():
            value = getattr(self, name)
            if deep and hasattr(value, "get_params") and not isinstance(value, type):
                found |= {f"{name}__{own}": inner for own, inner in value.get_params().items()}
            found[name] = value
        return found

    def set_params(self: _Self, **params: Any) -> _Self:
        """Change parameters; ``name__own`` changes one of a nested estimator."""
        known = self._get_param_names()
        nested: dict[str, dict[str, Any]] = {}
        for key, value in params.items():
            name, within, own = key.partition("__")
            if name not in known:
                raise ValueError(
                    f"Invalid parameter {name!r} for estimator {self!r}. Valid parameters are: {known!r}."
                )
            if within:
                nested.setdefault(name, {})[own] = value
            else:
                setattr(self, name, value)
        for name, own_params in nested.items():
            getattr(self, name).set_params(**own_params)
        return self

    def __getstate__(self) -> dict[str, Any]:
        return dict(self.__dict__)

    def __repr__(self) -> str:
        changed = [
            f"{name}={getattr(self, name)!r}"
            for name, usual in self._defaults().items()
            if not _same(getattr(self, name, usual), usual)
        ]
        text = f"{type(self).__name__}({', '.join(changed)})"
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST // 2]}...{text[-_LONGEST // 2 :]}"
        return text


class ClassifierMixin:
    """The accuracy of a classifier of single points."""

    _estimator_type = "classifier"

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the share of points labelled as in y, weighted by ``sample_weight``."""
        import numpy as np

        right = np.asarray(self.predict(X)) == np.asarray(y)  # type: ignore[attr-defined]
        return float(np.average(right, weights=sample_weight))


class TransformerMixin:
    """Marks a transformer; each of crfkit's has its own ``fit_transform``."""


def check_is_fitted(estimator: Any, attributes: str | Sequence[str]) -> None:
    """Raise ``NotFittedError`` unless the estimator has these attributes."""
    names = [attributes] if isinstance(attributes, str) else attributes
    if not all(hasattr(estimator, name) for name in names):
        raise NotFittedError(
            f"This {type(estimator).__name__} instance is not fitted yet. Call 'fit' with appropriate "
            "arguments before using this estimator."
        )


def clone(estimator: Any, *, safe: bool = True) -> Any:
    """Return an unfitted copy with the same parameters; anything but an estimator is copied whole."""
    if isinstance(estimator, (list, tuple, set, frozenset)):
        return type(estimator)(clone(one, safe=safe) for one in estimator)
    if hasattr(estimator, "__sklearn_clone__") and not isinstance(estimator, type):
        return estimator.__sklearn_clone__()
    if not hasattr(estimator, "get_params") or isinstance(estimator, type):
        if safe:
            raise TypeError(f"expected an estimator with get_params, got {type(estimator).__name__}")
        return copy.deepcopy(estimator)
    params = estimator.get_params(deep=False)
    return type(estimator)(**{name: clone(value, safe=False) for name, value in params.items()})


def _same(value: Any, usual: Any) -> bool:
    """Tell whether a parameter has its default value; arrays and other objects only if they are the same."""
    if value is usual:
        return True
    return type(value) is type(usual) and isinstance(value, (bool, int, float, str, tuple)) and value == usual
