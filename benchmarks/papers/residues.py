"""Amino acids as numbers: columns that say of a residue what a letter does not.

Hydropathy: Kyte and Doolittle, "A simple method for displaying the hydropathic character of a protein",
J. Mol. Biol. 157 (1982). Volume in cubic ångström: Zamyatnin, "Protein volume in solution", Prog. Biophys.
Mol. Biol. 24 (1972). The propensities for the classes, after Chou and Fasman (1978), are not published ones
but estimated from the training chains. Means over stretches of the chain say what a neighbourhood is like;
the hydrophobic moment (Eisenberg, Weiss and Terwilliger, Nature 299, 1982) whether it has a greasy side.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from protein_chains import Chains

_LETTERS = "ARNDCQEGHILKMFPSTWYV"
_HYDROPATHY = (
    1.8, -4.5, -3.5, -3.5, 2.5, -3.5, -3.5, -0.4, -3.2, 4.5,
    3.8, -3.9, 1.9, 2.8, -1.6, -0.8, -0.7, -0.9, -1.3, 4.2,
)  # fmt: skip
_VOLUME = (
    88.6, 173.4, 114.1, 111.1, 108.5, 143.8, 138.4, 60.1, 153.2, 166.7,
    166.7, 168.6, 162.9, 189.9, 112.7, 89.0, 116.1, 227.8, 193.6, 140.0,
)  # fmt: skip
_CHARGE = {"D": -1.0, "E": -1.0, "K": 1.0, "R": 1.0}
_STRETCHES = (1, 2, 4, 8, 15)  # residues on either side that a mean is over
_MOMENTS = ((5, 100.0), (8, 100.0), (3, 170.0))  # residues on either side, degrees a residue: helix, strand
_DRAW = 20.0  # residues that a propensity is drawn to 1 by


class ResidueColumns:
    """Columns of a chain: the letters around a residue, and numbers."""

    def __init__(self, X: Chains, y: Chains, window: int) -> None:
        labels = sorted({label for chain in y for label in chain})
        place = {label: k for k, label in enumerate(labels)}
        counts = np.zeros((len(_LETTERS) + 1, len(labels)))  # the last row: other letters
        for residues, structure in zip(X, y, strict=True):
            for residue, label in zip(residues, structure, strict=True):
                counts[_LETTERS.find(residue), place[label]] += 1
        shares = counts.sum(axis=0) / counts.sum()
        drawn = (counts + _DRAW * shares) / (counts.sum(axis=1, keepdims=True) + _DRAW)
        self._half = window // 2
        charge = [_CHARGE.get(letter, 0.0) for letter in _LETTERS]
        scales = {"hydropathy": _HYDROPATHY, "volume": _VOLUME, "charge": charge}
        self._scales = {name: np.array([*values, np.mean(values)]) for name, values in scales.items()}
        for k, label in enumerate(labels):
            self._scales[f"propensity for {label}"] = np.log(drawn[:, k] / shares[k])

    def __call__(self, chain: Sequence[str]) -> list[dict[str, Any]]:
        """What ``TreeCRF(window=1)`` takes."""
        padded = ["#"] * self._half + list(chain) + ["#"] * self._half
        codes = np.array([_LETTERS.find(residue) for residue in chain], dtype=np.int64)
        numbers: dict[str, np.ndarray] = {}
        for name, scale in self._scales.items():
            for far in _STRETCHES:
                numbers[f"{name}, ±{far}"] = _means(scale[codes], far)
        for far, angle in _MOMENTS:
            numbers[f"moment {angle:g}°, ±{far}"] = _moments(self._scales["hydropathy"][codes], far, angle)
        lists = {name: values.tolist() for name, values in numbers.items()}
        return [
            {f"residue {k - self._half:+d}": padded[t + k] for k in range(2 * self._half + 1)}
            | {name: values[t] for name, values in lists.items()}
            for t in range(len(chain))
        ]


def _means(values: np.ndarray, far: int) -> np.ndarray:
    """The mean of the values around each place that are there [T]."""
    ends = np.concatenate([[0.0], np.cumsum(values)])
    low = np.maximum(np.arange(len(values)) - far, 0)
    high = np.minimum(np.arange(len(values)) + far + 1, len(values))
    return np.asarray((ends[high] - ends[low]) / (high - low))


def _moments(values: np.ndarray, far: int, angle: float) -> np.ndarray:
    """How far the values around each place, turned by an angle a place, lean to one side [T]."""
    found = np.empty(len(values))
    for t in range(len(values)):
        around = np.arange(max(t - far, 0), min(t + far + 1, len(values)))
        turned = np.exp(1j * np.deg2rad(angle) * around)
        found[t] = abs(((values[around] - values[around].mean()) * turned).sum()) / len(around)
    return found
