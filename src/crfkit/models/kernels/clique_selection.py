"""Greedy selection of the cliques that have coefficients in a kernel CRF.

Lafferty, Zhu and Liu (ICML 2004), figure 3. For a candidate h = K((x_i, c, y_c), ·) the derivative of the
regularised risk at f in the direction h is

    dR(f, h) = E_f[h] - Ê[h] + λ ⟨f, h⟩

For all candidates at once: E_f[h] - Ê[h] is the kernel matrix times (marginals - observed), and ⟨f, h⟩ is f
at the clique. The candidate with the largest |dR| is chosen; then all coefficients are fitted again, starting
from their last values.

If a round chooses several candidates, the direction of each chosen one is removed from the gradient before
the next choice: g ← g - φ ⟨g, φ⟩, where φ is the new orthonormal function of kernels/basis.py. This prevents
a round from choosing neighbours of one position, which are nearly redundant.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crfkit.arrays import BoolArray, FloatArray
from crfkit.kernels.basis import Basis
from crfkit.kernels.matrix import KernelMatrix
from crfkit.models.kernels.risk import KernelRisk
from crfkit.optim.problem import State
from crfkit.potentials.kernel_expansion import BasisBlock, KernelExpansion

_ROUNDING = 1e-9  # rounding error, as a share of the largest derivative of a round


@dataclass(frozen=True)
class Pick:
    """A clique that was chosen."""

    kernel: int
    edge: bool
    place: int  # among the training positions; for an edge: of its second vertex
    labeling: int | None  # a label, or a pair y_{t-1} · L + y_t; None: all of them
    derivative: float  # dR when it was chosen; for all labellings: the norm


@dataclass
class _Family:
    """The candidates of one kernel on one kind of clique."""

    kernel: int
    edge: bool
    n_labelings: int
    free: BoolArray  # [c, labellings] not chosen yet
    bases: dict[int, Basis] = field(default_factory=dict)  # labelling (-1: all) -> its functions
    gradient: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # [c, labellings]


class CliqueSelector:
    """Chooses cliques in rounds, and adds their blocks and functions to the risk's expansion."""

    def __init__(
        self,
        risk: KernelRisk,
        matrices: Sequence[KernelMatrix],
        *,
        edge_cliques: bool,
        all_labelings: bool,
        alternate: bool,
    ) -> None:
        self.risk, self.expansion, self.matrices = risk, risk.expansion, list(matrices)
        self.all_labelings, self.alternate = all_labelings, alternate
        self.families: list[_Family] = []
        for s, edge, free in risk.batch.families(self.matrices, edge_cliques):
            k = self.expansion.n_labels ** (1 + edge)
            self.families.append(_Family(s, edge, k, np.repeat(free[:, None], k, axis=1)))
        self._turn = 0
        self._floor = 0.0  # derivatives below are rounding

    @property
    def n_left(self) -> int:
        """Number of cliques that can still be chosen."""
        if self.all_labelings:
            return sum(int(family.free.any(axis=1).sum()) for family in self.families)
        return sum(int(family.free.sum()) for family in self.families)

    def saved(self) -> State:
        """Return the expansion and what was chosen for a checkpoint."""
        places = {id(block.basis): k for k, block in enumerate(self.expansion.blocks)}
        bases = [[(key, places[id(basis)]) for key, basis in f.bases.items()] for f in self.families]
        free = [family.free for family in self.families]
        return {"expansion": self.expansion.saved(), "free": free, "bases": bases, "turn": self._turn}

    def resume(self, saved: State) -> None:
        """Continue from a checkpoint."""
        self.expansion.resume(saved["expansion"], self.matrices)
        self._turn = saved["turn"]
        for family, free, bases in zip(self.families, saved["free"], saved["bases"], strict=True):
            family.free = free.copy()
            family.bases = {key: self.expansion.blocks[k].basis for key, k in bases}

    def derivatives(self) -> list[FloatArray]:
        """Return dR of all candidates: one table [c, labellings] per family.

        Families are ordered by kernel; within a kernel, vertices come before edges.
        """
        residuals = self.risk.residuals()
        tables: list[FloatArray] = []
        for s, matrix in enumerate(self.matrices):
            own = [family for family in self.families if family.kernel == s]
            values = [residuals.edge if family.edge else residuals.vertex for family in own]
            product = matrix.product(np.hstack(values))
            ends = np.cumsum([family.n_labelings for family in own])
            for family, part in zip(own, np.split(product, ends[:-1], axis=1), strict=True):
                function = self.expansion.function(s, family.edge, matrix.candidates)  # ⟨f, h⟩
                tables.append(part + self.risk.reg * function)
        return tables

    def choose(self, count: int) -> list[Pick]:
        """Choose at most ``count`` cliques, fewer if no candidate has a derivative other than 0.

        They are added to the expansion with coefficients of 0. Ctrl-C leaves it unchanged.
        """
        try:
            picks = self._choose(count)
        except KeyboardInterrupt:
            self.expansion.forget_new()  # remove the functions of this round
            raise
        self.expansion.grow()
        return picks

    def _choose(self, count: int) -> list[Pick]:
        for family, table in zip(self.families, self.derivatives(), strict=True):
            family.gradient = np.where(family.free, table, 0.0)
        self._floor = _ROUNDING * max(float(np.abs(family.gradient).max()) for family in self.families)
        if count > 1:
            self._prepare(count)
        picks: list[Pick] = []
        while len(picks) < count:
            found = self._best()
            if found is None:
                break
            family, candidate, labeling, size = found
            pick = self._take(family, candidate, labeling, size)
            if pick is not None:
                picks.append(pick)
                self._turn += 1
        return picks

    def _prepare(self, count: int) -> None:
        """Compute the kernel columns of the steepest candidates together: most picks are among them."""
        for s, matrix in enumerate(self.matrices):
            steepest = np.max(
                [np.abs(family.gradient).max(axis=1) for family in self.families if family.kernel == s],
                axis=0,
            )  # [c]
            matrix.prepare(matrix.candidates[np.argsort(-steepest, kind="stable")[: 3 * count]])

    def _best(self) -> tuple[_Family, int, int, float] | None:
        """Return family, candidate, labelling (-1: all) and |dR| of the steepest; the first of equals."""
        families = self.families
        if self.alternate:
            families = [f for f in families if f.kernel == self._turn % len(self.matrices)]
        best: tuple[_Family, int, int, float] | None = None
        for family in families:
            if self.all_labelings:
                sizes = np.sqrt((family.gradient**2).sum(axis=1))  # [c]
                candidate, labeling = int(sizes.argmax()), -1
                size = float(sizes[candidate])
            else:
                place = int(np.abs(family.gradient).argmax())
                candidate, labeling = divmod(place, family.n_labelings)
                size = float(family.gradient[candidate, labeling])
            if abs(size) > self._floor and (best is None or abs(size) > abs(best[3])):
                best = family, candidate, labeling, size
        others = (float(np.abs(family.gradient).max()) for family in self.families)
        if best is None and self.alternate and any(size > self._floor for size in others):
            self._turn += 1  # this kernel has no candidates left
            return self._best()
        return best

    def _take(self, family: _Family, candidate: int, labeling: int, size: float) -> Pick | None:
        matrix = self.matrices[family.kernel]
        labelings = np.arange(family.n_labelings) if labeling < 0 else np.array([labeling])
        place = int(matrix.candidates[candidate])
        basis = family.bases.get(labeling)
        if basis is None:
            basis = Basis(matrix)
        new = basis.add(place)  # [n]
        family.free[candidate, labelings] = False
        if new is None:  # spanned by the functions chosen before
            family.gradient[candidate, labelings] = 0.0
            return None
        if labeling not in family.bases:
            family.bases[labeling] = basis
            self.expansion.add(BasisBlock(family.kernel, family.edge, labelings, basis))
        parts = family.gradient[candidate, labelings] / new[place]  # ⟨g, φ⟩
        family.gradient[:, labelings] -= new[matrix.candidates][:, None] * parts
        family.gradient[~family.free] = 0.0
        return Pick(family.kernel, family.edge, place, None if labeling < 0 else labeling, size)


def take_all(
    expansion: KernelExpansion,
    matrices: Sequence[KernelMatrix],
    *,
    edge_cliques: bool = False,
    kinds: Sequence[tuple[int, bool]] | None = None,  # kernel, and whether it is on edges
) -> None:
    """Add all labellings of all candidates: the full representer form, without redundant functions.

    By default every kernel is on vertices, and with ``edge_cliques`` on edges too.
    """
    both = (False, True) if edge_cliques else (False,)
    chosen = [(s, edge) for s in range(len(matrices)) for edge in both] if kinds is None else kinds
    bases: dict[int, Basis] = {}
    for s, edge in chosen:
        if s not in bases:
            bases[s] = Basis(matrices[s])
            bases[s].add_all(matrices[s].candidates)
        # First positions of chains have no edge. Their functions do no harm: the coefficients of parts that
        # no edge depends on become 0.
        expansion.add(BasisBlock(s, edge, np.arange(expansion.n_labels ** (1 + edge)), bases[s]))
    expansion.grow()
