"""How good are the labels? By token, sequence and segment; reports, confusions, scikit-learn scorers.

Also how sure a score is and whether two taggers differ, and the label schemes that segments are written in.
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
