"""From tokens to the attributes a CRF learns from.

Names are fetched at first use: tagging with a template does not wait for the builder.
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
