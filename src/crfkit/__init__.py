"""Conditional random fields for sequence labelling.

``import crfkit`` loads nothing else: every public name is fetched when it is first used (PEP 562), so a
command such as ``crfkit --version`` does not wait for SciPy and scikit-learn.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit import compat, datasets, exceptions, features, inference, io, metrics
    from crfkit.models.crf import CRF

__version__ = "0.1.0"

__all__ = ["CRF", "__version__", "compat", "datasets", "exceptions", "features", "inference", "io", "metrics"]

# Public name -> module that defines it. A name that is not here but in __all__ is a subpackage.
_DEFINED_IN = {"CRF": "crfkit.models.crf"}


def __getattr__(name: str) -> Any:
    if name in _DEFINED_IN:
        value = getattr(import_module(_DEFINED_IN[name]), name)
    elif name in __all__:
        value = import_module(f"crfkit.{name}")
    else:
        raise AttributeError(f"module 'crfkit' has no attribute {name!r}")
    globals()[name] = value  # the next access no longer comes through here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
