"""From tokens to the attributes a CRF learns from."""

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
