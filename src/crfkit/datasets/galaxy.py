"""Galaxy: two spiral arms around a dense core that both classes share.

After Lafferty, Zhu and Liu, "Kernel conditional random fields" (ICML 2004), figure 4. Points come from a
hidden Markov chain of two states. Each state emits points of its arm or, with the probability ``core``, of
the core, where both have the same distribution. Without the chain, half of the core's points are classified
wrongly. The arms are thin and long, so a graph kernel with unlabelled points helps.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.datasets.hidden_markov import hidden_states
from crfkit.exceptions import InputError

_TURNS = 1.5  # of an arm around the core
_START, _END = 1.0, 4.0  # radii of an arm
_CORE = 0.6  # radius of the core


def galaxy(
    n_sequences: int = 100,
    length: int = 20,
    *,
    stay: float = 0.9,
    core: float = 0.4,
    noise: float = 0.1,
    random_state: int | None = None,
) -> tuple[list[FloatArray], list[list[str]]]:
    """Make sequences of points of two spiral arms and their common core.

    ``stay`` is the probability to stay in a state, ``core`` the share of points in the core, ``noise`` the
    standard deviation around an arm's line. The i.i.d. Bayes error is core / 2, as the arms do not overlap.

    Returns
    -------
    X, y : ``n_sequences`` arrays [length, 2], and lists of the labels ``"a"`` and ``"b"``.

    >>> X, y = galaxy(3, 10, random_state=0)
    >>> len(X), X[0].shape, set(y[0]) <= {"a", "b"}
    (3, (10, 2), True)
    """
    if not 0 <= core <= 1:
        raise InputError(f"core must be a share between 0 and 1, got {core!r}")
    if not 0 <= noise < np.inf:
        raise InputError(f"noise must be 0 or more, got {noise!r}")
    rng = np.random.default_rng(random_state)
    states = hidden_states(n_sequences, length, 2, stay, rng)  # [N, T]
    # Along an arm, uniform by length: the line is longer per turn further out.
    radius = np.sqrt(rng.uniform(_START**2, _END**2, states.shape))
    angle = 2 * np.pi * _TURNS * (radius - _START) / (_END - _START) + np.pi * states
    arm = radius[..., None] * np.stack([np.cos(angle), np.sin(angle)], axis=-1)  # [N, T, 2]
    arm += noise * rng.standard_normal(arm.shape)
    turn = rng.uniform(0, 2 * np.pi, states.shape)
    distance = _CORE * np.sqrt(rng.random(states.shape))
    middle = distance[..., None] * np.stack([np.cos(turn), np.sin(turn)], axis=-1)
    points = np.where((rng.random(states.shape) < core)[..., None], middle, arm)
    labels = np.array(["a", "b"])
    return list(points), [labels[row].tolist() for row in states]
