"""From tokens to the attributes a CRF learns from.

Names are fetched at first use: tagging with a template does not wait for the builder.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

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

_BUILDER = "crfkit.features.builder"

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **dict.fromkeys(__all__, _BUILDER),
        "Template": "crfkit.features.template",
        "token_features": "crfkit.features.tokens",
    },
)
