"""Bandwidth and penalty of a kernel model, chosen by held-out loss within the training data.

The search never fits the whole data. It draws sequences until they have ``_POSITIONS`` positions and cuts
them into folds, whole sequences each; in every fold, f is an expansion on at most ``_LANDMARKS`` positions
drawn at random (Williams and Seeger, "Using the Nyström method to speed up kernel machines", NIPS 2000), with
a coefficient for every label. For one bandwidth these functions are the same for all penalties, so a path
from large penalties to small ones costs little more than one fit. Bandwidths are tried in steps of 4 as long
as the loss falls, then in steps of 2 around the best.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.data.labelled_positions import TrainingSet
from crfkit.data.labels import Labels
from crfkit.data.sequences import gather, offsets_of
from crfkit.kernels.matrix import KernelMatrix
from crfkit.kernels.mercer import Kernel
from crfkit.models.kernels.clique_selection import take_all
from crfkit.models.kernels.risk import KernelRisk
from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.lbfgs import minimize_lbfgs
from crfkit.potentials.kernel_expansion import KernelExpansion, Stretch
from crfkit.progress import Progress

REG = 1.0  # if there are too few positions to hold some out
_FOLDS, _FOLDS_OF_FEW = 3, 6  # of more than _POSITIONS positions, and of all others
_POSITIONS = 1500
_LANDMARKS = 300
_REG_STEP = 10**0.5
_LARGEST, _SMALLEST = 4, -8  # exponents of _REG_STEP: from 100 to 0.0001
_START, _FARTHEST = 2, 10  # exponents of 2 of the bandwidth over the median heuristic's
_MOST_FACTORS = 4 + _FARTHEST // 2  # bandwidths: two, then in steps of two exponents, then two
_TOL, _ITERATIONS = 1e-3, 60  # of each fit


class Trial(NamedTuple):
    """A bandwidth and a penalty with their held-out loss."""

    factor: float  # gamma over that of the median heuristic
    reg: float
    loss: float  # -log p(y | x) per position


@dataclass(frozen=True)
class _Fold:
    places: IntArray  # [n] positions of the training data: to learn from, then held out
    learn: Stretch
    held: Stretch
    labels: tuple[Labels, Labels]
    weights: tuple[FloatArray | None, FloatArray | None]
    landmarks: IntArray  # [m] among the positions to learn from


@dataclass
class HeldOutSearch:
    """Looks for the factor on gamma and for reg; either may be given."""

    data: TrainingSet
    matrices: Sequence[KernelMatrix]  # with the bandwidths of the median heuristic
    scaled: Sequence[bool]  # which of them get the factor
    reg: float | None  # None: it is looked for
    parametric_reg: float | None  # None: the same as reg
    transitions: bool
    bias: bool
    seed: int
    n_jobs: int | None
    progress: Progress
    groups: IntArray | None = None  # [N] sequences of one group stay together
    trials: list[Trial] = field(default_factory=list)

    def run(self) -> Trial:
        """Return the best trial; ``trials`` has all of them."""
        folds = self._folds()
        if not folds:
            return Trial(1.0, REG if self.reg is None else self.reg, np.nan)
        self.progress.rounds(_MOST_FACTORS if any(self.scaled) else 1)
        try:
            if any(self.scaled):
                self._climb(folds)
            else:
                self._try_factor(0, folds)
        except KeyboardInterrupt:
            raise KeyboardInterrupt("interrupted while gamma and reg were chosen: no model yet") from None
        self.progress.rounds(None)
        return min(self.trials, key=lambda trial: trial.loss)

    def _climb(self, folds: list[_Fold]) -> None:
        """Try bandwidths in steps of 4 as long as the loss falls, then in steps of 2."""
        losses = {k: self._try_factor(k, folds) for k in (0, _START)}
        direction = 2 if losses[_START] < losses[0] else -2
        place = (_START if direction > 0 else 0) + direction
        while abs(place) <= _FARTHEST:
            losses[place] = self._try_factor(place, folds)
            if losses[place] > losses[place - direction]:
                break
            place += direction
        best = min(losses, key=lambda k: losses[k])
        for k in (best - 1, best + 1):
            losses[k] = self._try_factor(k, folds)

    def _try_factor(self, exponent: int, folds: list[_Fold]) -> float:
        """Follow the path of penalties for one bandwidth, until the loss rises; return the smallest loss."""
        factor = 2.0**exponent
        fits = [self._fit_of(fold, factor) for fold in folds]
        n = sum(int(fold.held.offsets[-1]) for fold in folds)
        best = np.inf
        for reg in self._path():
            loss = sum(fit(reg) for fit in fits) / n
            self.trials.append(Trial(factor, reg, loss))
            words = f"choosing gamma and reg: held-out loss {min(t.loss for t in self.trials):.4f}"
            self.progress.say(words)
            if loss > best:
                break
            best = loss
        self.progress.end_round(words)
        return best

    def _path(self) -> list[float]:
        """Return the penalties to try, from large to small: from two steps above the best so far."""
        if self.reg is not None:
            return [self.reg]
        first = _LARGEST
        if self.trials:
            best = min(self.trials, key=lambda trial: trial.loss)
            first = min(first, round(np.log(best.reg) / np.log(_REG_STEP)) + 2)
        return [float(_REG_STEP**k) for k in range(first, _SMALLEST - 1, -1)]

    def _fit_of(self, fold: _Fold, factor: float) -> Callable[[float], float]:
        """Return a function of reg: it fits the fold, starting from its last fit, and returns the loss."""
        matrices = []
        for matrix, scaled in zip(self.matrices, self.scaled, strict=True):
            kernel = matrix.kernel
            if scaled and isinstance(kernel, Kernel):
                kernel = kernel.scaled(factor)
            matrices.append(matrix.part(kernel, fold.places, fold.landmarks, int(fold.learn.offsets[-1])))
        expansion = KernelExpansion(
            len(self.data.classes), edge_cliques=False, transitions=self.transitions, bias=self.bias
        )
        take_all(expansion, matrices, edge_cliques=False)
        losses = [
            Likelihood(expansion, batch, labels, weights=weights, n_jobs=self.n_jobs)
            for batch, labels, weights in zip((fold.learn, fold.held), fold.labels, fold.weights, strict=True)
        ]

        def fit(reg: float) -> float:
            parametric = reg if self.parametric_reg is None else self.parametric_reg
            risk = KernelRisk(expansion, fold.learn, losses[0], reg, parametric)
            found = minimize_lbfgs(risk.function(), expansion.w, tol=_TOL, max_iterations=_ITERATIONS)
            if found.interrupted:
                raise KeyboardInterrupt
            expansion.w = found.x
            return losses[1](found.x).value

        return fit

    def _folds(self) -> list[_Fold]:
        """Draw sequences and cut them into folds; none if there is nothing to hold out."""
        rng = np.random.default_rng(self.seed)
        whole = self.data.learn.offsets
        n_folds = _FOLDS if int(whole[-1]) > _POSITIONS else _FOLDS_OF_FEW
        offsets, owner = _cut_long(whole, int(whole[-1]) // (2 * n_folds))
        order = rng.permutation(len(offsets) - 1)
        sums = np.cumsum(np.diff(offsets)[order])
        order = order[: max(n_folds, int(np.searchsorted(sums, _POSITIONS, side="right")))]
        of = np.arange(len(order))  # [pieces] its group
        if self.groups is not None:
            _, of = np.unique(self.groups[owner[order]], return_inverse=True)
        if of.max(initial=0) < 1:
            return []
        number = of % min(n_folds, int(of.max()) + 1)  # [pieces] the fold that holds it out
        weights = None if self.data.weights is None else self.data.weights[owner]
        folds = []
        for k in range(int(number.max()) + 1):
            parts = [np.sort(order[number != k]), np.sort(order[number == k])]
            drawn = [gather(offsets, part) for part in parts]
            n = int(drawn[0][0][-1])
            folds.append(
                _Fold(
                    np.concatenate([places for _, places in drawn]),
                    Stretch(0, drawn[0][0]),
                    Stretch(n, drawn[1][0]),
                    (self._labels(drawn[0][1]), self._labels(drawn[1][1])),
                    (None, None) if weights is None else (weights[parts[0]], weights[parts[1]]),
                    np.sort(rng.choice(n, min(n, _LANDMARKS), replace=False)),
                )
            )
        return folds

    def _labels(self, places: IntArray) -> Labels:
        labels = self.data.labels
        return Labels(labels.ids[places], None if labels.allowed is None else labels.allowed[places])


def _cut_long(offsets: IntArray, limit: int) -> tuple[IntArray, IntArray]:
    """Cut sequences of more than ``limit`` positions into pieces of nearly equal length.

    Return the offsets of the pieces, and the sequence of each piece.
    """
    lengths = np.diff(offsets)
    counts = np.maximum(1, -(-lengths // max(1, limit)))
    pieces = [
        len(part)
        for n, count in zip(lengths.tolist(), counts.tolist(), strict=True)
        for part in np.array_split(np.empty(n), count)
    ]
    return offsets_of(pieces), np.repeat(np.arange(len(lengths)), counts)
