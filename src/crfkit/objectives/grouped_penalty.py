"""Penalties of groups of features, as penalties of the parameters that the data can tell apart.

Features that occur at the same positions share one parameter, and may belong to different groups. k of them
with penalties λ_1 .. λ_k act on the scores by their sum s alone. Of all w with Σ w_i = s,

    min Σ λ_i w_i²  =  s² / Σ (1/λ_i),    at  w_i = s · (1/λ_i) / Σ (1/λ_j).

A parameter is v = s/√k (native/linear/linear_layout.h), so its penalty is that of the harmonic mean:

    l2 = k / Σ (1/λ_i),    d l2 / d log λ_g  =  l2 · Σ_{i in g} (1/λ_i) / Σ (1/λ_j).

An L1 penalty is a number of its own, or a multiple of the L2 penalty of its group (an elastic net, of which
groups scale both parts). Under L1, features of different groups must have parameters of their own.
"""

from __future__ import annotations

import numpy as np

from crfkit.arrays import FloatArray, IntArray
from crfkit.objectives.linear_function import LinearFunction


class GroupedPenalty:
    """The penalties of parameters [P] as a function of log penalties of groups [G]."""

    def __init__(
        self,
        function: LinearFunction,
        groups: IntArray,  # the group of each feature, in the order of ``FeatureIndex.sizes``
        n_groups: int,
        *,
        c1: float = 0.0,  # the L1 penalty
        tied: bool = False,  # c1 is a multiple of each group's L2 penalty
    ) -> None:
        self._l1, self._tied = function.penalised(c2=0.0, c1=c1).l1, tied
        self._parameter = function.parameter_of()  # [weights] -1: no parameter
        self._groups, self.n_groups, self._n = groups, n_groups, function.n_parameters
        known = self._parameter >= 0
        keys, counts = np.unique(self._parameter[known] * n_groups + groups[known], return_counts=True)
        self._at, self._of = keys // n_groups, keys % n_groups  # [M] parameters and groups that meet
        self._count = counts.astype(np.float64)  # [M] in how many features
        self._k = np.bincount(self._at, self._count, minlength=self._n)  # [P]
        self.sizes = np.bincount(groups[known], minlength=n_groups)  # [G] features of each group

    def _sums(self, logs: FloatArray) -> FloatArray:
        """Return Σ 1/λ_i of each parameter [P]."""
        terms = self._count * np.exp(-logs)[self._of]
        return np.bincount(self._at, terms, minlength=self._n).astype(np.float64)

    def l2(self, logs: FloatArray) -> FloatArray:
        """Return the penalty of each parameter [P]."""
        l2: FloatArray = self._k / self._sums(logs)
        return l2

    def l1(self, logs: FloatArray) -> FloatArray | None:
        """Return the L1 penalty of each parameter [P]; None: there is none."""
        return self._l1 * self.l2(logs) if self._tied and self._l1 is not None else self._l1

    def pull(self, logs: FloatArray, x: FloatArray) -> FloatArray:
        """Return the derivatives of the penalties' gradients at x by the logs of the parameters' l2 [P]."""
        pull: FloatArray = 2 * self.l2(logs) * x
        l1 = self.l1(logs)
        return pull + l1 * np.sign(x) if self._tied and l1 is not None else pull

    def slope(self, logs: FloatArray, by_log: FloatArray) -> FloatArray:
        """Return derivatives by the logs of groups [G] from those by the logs of the parameters' l2 [P]."""
        share = self._count * np.exp(-logs)[self._of] / self._sums(logs)[self._at]
        return np.bincount(self._of, share * by_log[self._at], minlength=self.n_groups).astype(np.float64)

    def shares(self, logs: FloatArray) -> FloatArray:
        """Return the weight of each feature over the mean of those that share its parameter; 1 if alone."""
        factors = np.ones(len(self._parameter))
        known = self._parameter >= 0
        factors[known] = self.l2(logs)[self._parameter[known]] * np.exp(-logs)[self._groups[known]]
        return factors
