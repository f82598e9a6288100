"""From tokens to the attributes a CRF learns from."""

from crfkit.features.tokens import token_features

__all__ = ["token_features"]
