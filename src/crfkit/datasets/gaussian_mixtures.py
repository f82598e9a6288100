"""A hidden Markov chain whose states emit from mixtures of Gaussians that overlap strongly.

After Lafferty, Zhu and Liu, "Kernel conditional random fields" (ICML 2004), section 5: 3 states, each a
mixture of 2 Gaussians in the plane with random means and covariances.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.datasets.hidden_markov import hidden_states
from crfkit.exceptions import InputError


def gaussian_mixtures(
    n_sequences: int = 100,
    length: int = 30,
    *,
    n_states: int = 3,
    n_components: int = 2,
    stay: float = 0.8,
    spread: float = 1.5,
    world: int = 0,
    random_state: int | None = None,
) -> tuple[list[FloatArray], list[list[int]]]:
    """Make sequences of points from a Markov chain over Gaussian mixtures.

    ``stay`` is the probability to stay in a state; the other states share the rest equally. ``spread`` is the
    standard deviation of the components' means, whose own standard deviations lie between 0.5 and 1.3.
    ``world`` is the seed of means and covariances, ``random_state`` that of the points: samples with the same
    ``world`` have the same distribution.

    Returns
    -------
    X, y : ``n_sequences`` arrays [length, 2], and lists of the states 0, 1, …

    >>> X, y = gaussian_mixtures(3, 10, random_state=0)
    >>> len(X), X[0].shape, set(y[0]) <= {0, 1, 2}
    (3, (10, 2), True)
    """
    if n_states < 2 or n_components < 1:
        raise InputError(
            f"expected at least 2 states and 1 component, got {n_states} states and {n_components} components"
        )
    nature = np.random.default_rng(world)
    means = spread * nature.standard_normal((n_states, n_components, 2))
    angles = nature.uniform(0, np.pi, (n_states, n_components))
    widths = nature.uniform(0.5, 1.3, (n_states, n_components, 2))  # along the axes of each
    turn = np.stack(
        [
            np.stack([np.cos(angles), -np.sin(angles)], axis=-1),
            np.stack([np.sin(angles), np.cos(angles)], axis=-1),
        ],
        axis=-2,
    )  # [states, components, 2, 2]
    roots = turn * widths[..., None, :]  # columns scaled: covariance = root rootᵀ
    rng = np.random.default_rng(random_state)
    states = hidden_states(n_sequences, length, n_states, stay, rng)  # [N, T]
    which = rng.integers(n_components, size=states.shape)
    normal = rng.standard_normal((*states.shape, 2))
    points = means[states, which] + np.einsum("ntij,ntj->nti", roots[states, which], normal)
    return list(points), [row.tolist() for row in states]
