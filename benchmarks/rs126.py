"""RS126: 126 protein chains with their secondary structure, for the benchmarks on proteins.

The set of Rost and Sander as Cuff and Barton kept it, one ``*.concise`` file a chain: rows ``name:values``
with one character a residue. ``seq_*`` are aligned sequences of the chain's family (the first is the chain
itself), ``OrigSeq`` the chain, ``dssp`` its structure in three states (H helix, E strand, - the rest), and
``phd``, ``dsc``, ``nnssp``, ``mul``, ``zpred``, ``pred``, ``cons`` what other programs predicted. These have
probably seen some of the chains in their training. See tasks.py for where the data is looked for.

    chains = read_chains()
    X = [windows(profile(chain), 13) for chain in chains]        # [T, 13 · 22] each
    y = [list(chain.structure) for chain in chains]
    for learn, held in folds(len(chains)): ...
    for learn, held in [few_chains(len(chains), 5, seed)]: ...
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from tasks import data_directory

FloatArray = npt.NDArray[np.float64]
Labels = Sequence[Sequence[str]]

AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"
PREDICTORS = ("phd", "dsc", "nnssp", "mul", "zpred", "pred", "cons")  # cons: their consensus
STATES = "-EH"
N_FOLDS = 7

# Letters for one of two residues count half for either; X and gaps count for none.
_SHARES = {a: {a: 1.0} for a in AMINO_ACIDS} | {"B": {"D": 0.5, "N": 0.5}, "Z": {"E": 0.5, "Q": 0.5}}


@dataclass(frozen=True)
class Chain:
    """A protein chain of T residues."""

    name: str
    sequence: str  # T letters
    structure: str  # T of H, E, -
    aligned: tuple[str, ...]  # T letters each, the chain's own first; "." is a gap
    predicted: dict[str, str]  # predictor -> T of H, E, -

    def __len__(self) -> int:
        return len(self.sequence)


def read_chains(directory: Path | None = None) -> list[Chain]:
    """All chains, sorted by name."""
    directory = data_directory("rs126") if directory is None else directory
    return [_read_chain(path) for path in sorted(directory.glob("*.concise"))]


def _read_chain(path: Path) -> Chain:
    rows: dict[str, str] = {}
    aligned: list[str] = []
    for line in path.read_text(encoding="ascii").splitlines():
        name, colon, values = line.partition(":")
        if not colon:  # 1csei has a few stray lines
            continue
        if name.startswith("seq_"):
            aligned.append(values)
        else:
            rows[name] = values
    n = len(rows["OrigSeq"])
    # In 6acn four predictors lack a residue: three the first one (an X in the alignment), the consensus the
    # last one, as far as agreement with the structure tells.
    pads = {name: str.ljust if name == "cons" else str.rjust for name in PREDICTORS}
    predicted = {name: pad(rows[name], n, "-") for name, pad in pads.items()}
    lengths = {len(row) for row in (rows["dssp"], *aligned, *predicted.values())}
    if lengths != {n} or set(rows["dssp"]) - set(STATES):
        raise SystemExit(f"{path}: expected rows of {n} residues and dssp of {STATES}; lengths {lengths}")
    return Chain(path.stem, rows["OrigSeq"], rows["dssp"], tuple(aligned), predicted)


def counts(chain: Chain) -> FloatArray:
    """How often each amino acid stands at each residue in the aligned sequences [T, 20]."""
    table = np.zeros((256, len(AMINO_ACIDS)))  # [letter, amino acid]
    for letter, shares in _SHARES.items():
        for amino_acid, share in shares.items():
            table[ord(letter), AMINO_ACIDS.index(amino_acid)] = share
    rows = [np.frombuffer(row.upper().encode("ascii"), np.uint8) for row in chain.aligned]
    found = np.zeros((len(chain), len(AMINO_ACIDS)))
    for row in rows:
        found += table[row]
    return found


def profile(chain: Chain) -> FloatArray:
    """Shares of the 20 amino acids among the aligned sequences, and the share of gaps [T, 21].

    A residue of which nothing is known (an X that is aligned with gaps) has shares of 0.
    """
    found = counts(chain)
    total = found.sum(axis=1, keepdims=True)  # [T, 1]
    shares = np.divide(found, total, out=np.zeros_like(found), where=total > 0)
    gaps = np.mean([[letter == "." for letter in row] for row in chain.aligned], axis=0)  # [T]
    return np.column_stack([shares, gaps])


def windows(rows: FloatArray, width: int = 13) -> FloatArray:
    """Each position with its neighbours, ``width`` in all: [T, width · (d + 1)].

    The last of the d + 1 numbers of a neighbour is 1 where it lies outside the chain; the others are 0 then.
    """
    if width < 1 or width % 2 == 0:
        raise ValueError(f"width must be odd, got {width}")
    half, (n, d) = width // 2, rows.shape
    padded = np.zeros((n + 2 * half, d + 1))
    padded[:, d] = 1.0
    padded[half : half + n, :d] = rows
    padded[half : half + n, d] = 0.0
    return np.hstack([padded[k : k + n] for k in range(width)])


def folds(n_chains: int, k: int = N_FOLDS) -> list[tuple[list[int], list[int]]]:
    """(to learn from, held out) k times: chain i of a permutation with seed 0 is in fold i mod k."""
    order = np.random.default_rng(0).permutation(n_chains)
    return [
        (sorted(order[np.arange(n_chains) % k != fold].tolist()), sorted(order[fold::k].tolist()))
        for fold in range(k)
    ]


def few_chains(n_chains: int, n_learn: int, seed: int) -> tuple[list[int], list[int]]:
    """(to learn from, all others): the first of a permutation with this seed."""
    order = np.random.default_rng(seed).permutation(n_chains).tolist()
    return order[:n_learn], sorted(order[n_learn:])


def q3(y_true: Labels, y_pred: Labels) -> float:
    """Residues with the right state, in %."""
    right = [a == b for t, p in zip(y_true, y_pred, strict=True) for a, b in zip(t, p, strict=True)]
    return 100.0 * float(np.mean(right))


def transition_accuracy(y_true: Labels, y_pred: Labels) -> float:
    """Of the places where the true state changes, those with the right state on both sides, in %."""
    right = [
        p[t - 1] == y[t - 1] and p[t] == y[t]
        for y, p in zip(y_true, y_pred, strict=True)
        for t in range(1, len(y))
        if y[t] != y[t - 1]
    ]
    return 100.0 * float(np.mean(right))
