"""Finding genes in DNA.

Two models: that of the papers (``SevenStateGenes``: 7 states, words of 6 bases, a grammar that requires
certain bases), and the recommended one (``GeneFinder``).
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
