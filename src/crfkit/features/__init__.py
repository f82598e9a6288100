"""Conversion of tokens to the attributes that a CRF is trained on.

Names are imported at first use: tagging with a template does not import the builder.
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
