"""Inference on lattices: log Z, marginals, best paths and samples from scores of labels and transitions.

A :class:`Lattice` holds the scores of a batch of sequences. The functions here are pure: they take a lattice
and return arrays or named results. The scores may come from any model (linear, trees, a neural network).
"""

from crfkit._lazy import public_names

__getattr__, __dir__, __all__ = public_names(__name__, __file__)
