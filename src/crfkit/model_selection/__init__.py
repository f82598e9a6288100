"""Cross-validation and the search for good parameters, for labels of sequences and grouped data."""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
