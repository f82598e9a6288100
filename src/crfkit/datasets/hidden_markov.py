"""States of a hidden Markov chain, for data sets that emit something from each of them."""

from __future__ import annotations

import numpy as np

from crfkit.arrays import IntArray
from crfkit.exceptions import InputError


def hidden_states(
    n_sequences: int, length: int, n_states: int, stay: float, rng: np.random.Generator
) -> IntArray:
    """Draw states [N, T]: the first uniformly; each next one stays with this probability, or is any other."""
    if n_sequences < 0 or length < 0:
        raise InputError(f"n_sequences and length must be 0 or more, got {n_sequences} and {length}")
    if not 0 <= stay <= 1:
        raise InputError(f"stay must be a probability, got {stay!r}")
    steps = rng.integers(1, n_states, size=(n_sequences, length))  # to another state
    steps[rng.random((n_sequences, length)) < stay] = 0
    if length:
        steps[:, 0] = rng.integers(n_states, size=n_sequences)
    states: IntArray = np.cumsum(steps, axis=1) % n_states
    return states
