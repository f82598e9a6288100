"""Conditional random fields for sequence labelling.

``import crfkit`` loads nothing else: every public name is fetched when it is first used (PEP 562), so a
command such as ``crfkit --version`` does not wait for NumPy and scikit-learn.
"""

from crfkit._lazy import public_names

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
__all__.append("__version__")
