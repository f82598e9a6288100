"""The occasionally dishonest casino: a fair die that is now and then swapped for a loaded one.

The classic toy of hidden Markov models (Durbin, Eddy, Krogh and Mitchison, Biological Sequence Analysis,
1998, chapter 3): the rolls are observed, the die is the label. The loaded die shows six half of the time; the
casino keeps the fair die from one roll to the next with probability 0.95, the loaded one with 0.9.
"""

from __future__ import annotations

import numpy as np

from crfkit.exceptions import InputError

_LOADED = np.array([0.1, 0.1, 0.1, 0.1, 0.1, 0.5])  # [6] probability of each face


def casino(
    n_sequences: int,
    length: int,
    *,
    stay: tuple[float, float] = (0.95, 0.9),
    random_state: int | None = None,
) -> tuple[list[list[int]], list[list[str]]]:
    """Roll dice in a dishonest casino.

    ``stay`` are the probabilities that the fair and the loaded die are kept for the next roll. Each sequence
    starts from the stationary distribution: by default, two thirds of the rolls are with the fair die.

    Returns
    -------
    rolls, dice : ``n_sequences`` lists of ``length`` numbers 1 to 6, and of labels ``"real"`` (fair) and
        ``"fake"`` (loaded).

    >>> rolls, dice = casino(3, 10, random_state=0)
    >>> len(rolls), len(rolls[0]), set(dice[0]) <= {"real", "fake"}
    (3, 10, True)
    """
    if n_sequences < 0 or length < 0:
        raise InputError(f"n_sequences and length must be 0 or more, got {n_sequences} and {length}")
    rng = np.random.default_rng(random_state)
    if not all(0 <= kept < 1 for kept in stay):
        raise InputError(f"stay must be two probabilities below 1, got {stay!r}")
    leave_real, leave_fake = 1 - stay[0], 1 - stay[1]
    rolls, dice = [], []
    for _ in range(n_sequences):
        chance = rng.random(length + 1)
        fake = bool(chance[0] < leave_real / (leave_real + leave_fake))
        fakes = []
        for t in range(length):
            fakes.append(fake)
            fake = fake != bool(chance[t + 1] < (leave_fake if fake else leave_real))
        loaded = rng.choice(6, size=length, p=_LOADED)  # [T] both dice are rolled, one counts
        fair = rng.integers(6, size=length)  # [T]
        rolls.append([int(face) + 1 for face in np.where(fakes, loaded, fair)])
        dice.append(["fake" if state else "real" for state in fakes])
    return rolls, dice
