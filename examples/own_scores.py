"""Inference without training: scores of your own, from a hidden Markov model, a network or a rule book.

A casino uses a fair die, and now and then a loaded one. The rules are known, so there is nothing to learn:
logarithms of the probabilities are the scores, and the question is which die was on the table.
"""

from itertools import pairwise

import numpy as np

from crfkit.datasets import casino
from crfkit.inference import (
    Constraints,
    Lattice,
    constrain,
    log_partition,
    marginals,
    max_marginal,
    nbest,
    sample,
    viterbi,
)
from crfkit.metrics import token_accuracy

LABELS = ["real", "fake"]
FACES = np.log([[1 / 6] * 6, [0.1] * 5 + [0.5]])  # [L, 6] log probability of each face
STAY = np.log([[0.95, 0.05], [0.1, 0.9]])  # [L, L] from die to die
FIRST = np.log([2 / 3, 1 / 3])  # [L]

rolls, dice = casino(3, 60, random_state=4)

# All sequences lie one after the other; offsets say where each begins.
offsets = np.cumsum([0, *map(len, rolls)])  # [N+1]
node = FACES[:, np.concatenate(rolls) - 1].T  # [ΣT, L] score of each die for each roll
lattice = Lattice(node, STAY, offsets, start=FIRST)


def per_sequence(ids):
    """Names of the labels [ΣT], sequence by sequence."""
    return [[LABELS[i] for i in ids[a:b]] for a, b in pairwise(offsets)]


def line(labels):
    return "".join("F" if label == "fake" else "." for label in labels)


best = viterbi(lattice)
likely = max_marginal(lattice)
probability = np.exp(best.score[0] - log_partition(lattice)[0])
print("rolls        ", "".join(map(str, rolls[0])))
print("truth        ", line(dice[0]))
print("best path    ", line(per_sequence(best.labels)[0]), f"(probability {probability:.2g})")
print("by itself    ", line(per_sequence(likely.labels)[0]))
print("P(fake) × 9  ", "".join(f"{9 * p:.0f}" for p in marginals(lattice).node[:60, 1]))

paths = nbest(lattice, 2)
print("second best  ", "".join(".F"[i] for i in paths.paths_of(0)[1]))
print("one sample   ", "".join(".F"[i] for i in sample(lattice, 1, random_state=0)[0][:60]))

# Somebody saw that the casino never goes back to the fair die, and that it begins with it.
no_return = Constraints(transitions=[[True, True], [False, True]], starts=[True, False])
forced = viterbi(constrain(lattice, no_return))
print("no way back  ", line(per_sequence(forced.labels)[0]))

print("\ntoken accuracy, all sequences")
print(f"  best path       {token_accuracy(dice, per_sequence(best.labels)):.3f}")
print(f"  each by itself  {token_accuracy(dice, per_sequence(likely.labels)):.3f}")
