"""From tokens to the attributes a CRF learns from."""

from crfkit.features.template import Template
from crfkit.features.tokens import token_features

__all__ = ["Template", "token_features"]
