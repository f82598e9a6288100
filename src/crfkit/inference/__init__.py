"""Inference on lattices: given scores for labels and for transitions, everything a chain can answer.

A :class:`Lattice` holds the scores of a batch of sequences; the functions here are pure, take a lattice and
return arrays or named results. Where the scores come from (a linear model, trees, a neural network) does not
matter.
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
