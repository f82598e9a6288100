"""Checks that a kernel matrix is square, symmetric and positive semi-definite."""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.data.positions import take_rows
from crfkit.exceptions import InputError, InputWarning
from crfkit.kernels.matrix import KernelMatrix
from crfkit.warn import warn

_SAMPLE = 1000  # positions whose kernel matrix is checked
_TOLERANCE = 1e-8


def check_square(n_positions: int, width: int | None) -> None:
    """Raise if a precomputed kernel does not have one column per training position."""
    if width != n_positions:
        raise InputError(
            "kernel='precomputed' needs the kernel between all training positions, a square matrix: "
            f"expected {n_positions} columns for {n_positions} positions, got {width}"
        )


def warn_of_no_kernel(matrix: KernelMatrix, seed: int = 0) -> None:
    """Warn if a user's kernel is not symmetric or not positive semi-definite, and by how much.

    At most 1000 of the candidates are checked, drawn with this seed.
    """
    places = matrix.candidates
    if len(places) > _SAMPLE:
        places = np.sort(np.random.default_rng(seed).choice(places, _SAMPLE, replace=False))
    block: FloatArray = matrix.kernel.between(take_rows(matrix.rows, places), matrix.support(places))
    if block.size == 0:
        return
    name, size = matrix.kernel.name, float(np.abs(block).max())
    apart = float(np.abs(block - block.T).max())
    if apart > _TOLERANCE * size:
        i, j = (int(place) for place in np.unravel_index(np.abs(block - block.T).argmax(), block.shape))
        warn(
            f"the kernel {name} is not symmetric: K[{places[i]}, {places[j]}] = {block[i, j]:.6g} but "
            f"K[{places[j]}, {places[i]}] = {block[j, i]:.6g}; the trained model may be meaningless",
            InputWarning,
        )
    smallest, largest = (float(value) for value in np.linalg.eigvalsh((block + block.T) / 2)[[0, -1]])
    if smallest < -_TOLERANCE * max(abs(largest), size):
        warn(
            f"the kernel {name} is not positive semi-definite: its smallest eigenvalue on {len(places):,} "
            f"positions is {smallest:.3g}, its largest {largest:.3g}. Positions that would make ‖f‖² "
            "negative are skipped",
            InputWarning,
        )
