"""Feature selection by gradient, by gain, by mutual information, along an L1 path, or by stability."""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
