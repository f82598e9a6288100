"""From tokens to the attributes a CRF learns from.

The builder's names are fetched when first used: a tagger that runs a template does not wait for them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crfkit.features.template import Template
from crfkit.features.tokens import token_features

if TYPE_CHECKING:
    from crfkit.features.builder import Features, bias, column, first, function, last, position, token

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


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'crfkit.features' has no attribute {name!r}")
    from crfkit.features import builder

    value = globals()[name] = getattr(builder, name)
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
