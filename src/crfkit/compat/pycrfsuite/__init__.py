"""python-crfsuite's ``Trainer``, ``Tagger`` and ``ItemSequence``, with crfkit's training and inference.

Models are files in CRFsuite's format: python-crfsuite reads them, and its models can be read here. Names are
fetched when they are first used: a program that only tags loads no NumPy.
"""

from crfkit._lazy import public_names

CRFSUITE_VERSION = "0.12.2"
"""The version of CRFsuite whose behaviour and files these classes follow."""

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
__all__.append("CRFSUITE_VERSION")
