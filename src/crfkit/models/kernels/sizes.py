"""How many cliques a kernel model selects if its parameters say "auto": by the size of the data.

Functions on m positions cost n·m numbers of memory, and each evaluation of the risk 4·n·m·L operations. The
error falls slowly in m, so a small multiple of √n is enough, somewhat larger for many labels
(benchmarks/papers/kernel_defaults.py).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

_LEAST = 100
_VALUES = 40_000_000  # n·m at most
_PAIRS = 20_000_000  # kernel values between candidates and positions, at most
_ROUNDS = 10
_PER_PATIENCE = 4  # rounds per round of patience


class Sizes(NamedTuple):
    """Numbers for the rounds of selection."""

    n_cliques: int | None  # None: all
    per_round: int
    n_candidates: int | None  # None: all
    all_labelings: bool


def sizes_of(
    n_positions: int,
    n_labels: int,
    *,
    n_cliques: int | str | None,
    per_round: int | str,
    n_candidates: int | str | None,
    all_labelings: bool | str,
    edge_cliques: bool,
    patience: int | None,
) -> Sizes:
    """Return the given numbers, with the chosen ones in place of "auto"."""
    n = max(1, n_positions)
    wanted = int((2 + np.log2(max(2, n_labels))) * np.sqrt(n))
    chosen = min(n, max(_LEAST, min(wanted, _VALUES // n)))
    candidates = n_candidates
    if isinstance(candidates, str):
        number = chosen if isinstance(n_cliques, str) else n_cliques
        candidates = None if number is None else max(2 * number, _PAIRS // n)
    if candidates is not None and candidates >= n:
        candidates = None
    cliques = min(chosen, candidates or n) if isinstance(n_cliques, str) else n_cliques
    if isinstance(per_round, str):
        rounds = _ROUNDS if patience is None else max(_ROUNDS, _PER_PATIENCE * patience)
        per_round = 1 if cliques is None else -(-cliques // rounds)
    if isinstance(all_labelings, str):
        all_labelings = isinstance(n_cliques, str) and not edge_cliques
    return Sizes(cliques, int(per_round), candidates, bool(all_labelings))
