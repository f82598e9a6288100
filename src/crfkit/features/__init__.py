"""From tokens to the attributes a CRF learns from.

Names are fetched at first use: tagging with a template does not wait for the builder.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from crfkit.features.builder import Features, bias, column, first, function, last, position, token
    from crfkit.features.template import Template
    from crfkit.features.tokens import token_features

__all__ = [
    "Features",
    "Template",
    "bias",
    "column",
    "first",
    "function",
    "last",
    "position",
    "token",
    "token_features",
]

_ELSEWHERE = {"Template": "crfkit.features.template", "token_features": "crfkit.features.tokens"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'crfkit.features' has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "crfkit.features.builder")), name)
    globals()[name] = value  # the next access no longer comes through here
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
