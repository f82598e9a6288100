"""Greedy clique selection: which cliques a kernel CRF keeps coefficients on.

Lafferty, Zhu and Liu (ICML 2004), figure 3. For a candidate h = K((x_i, c, y_c), ·) the derivative of the
regularised risk at f in the direction h is

    dR(f, h) = E_f[h] - Ê[h] + λ ⟨f, h⟩

For all candidates at once: E_f[h] - Ê[h] is the kernel matrix times (marginals - observed), and ⟨f, h⟩ is f
at the clique. The largest |dR| is taken; then all coefficients are fitted anew, from where they were.

Where a round takes several candidates, each further one is chosen as if the gradient had lost what lies in
the direction of those before it: g ← g - φ ⟨g, φ⟩, φ being the new orthonormal function of kernels/basis.py.
So a round does not spend itself on one position's neighbours, which say the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from crfkit.arrays import BoolArray, FloatArray
from crfkit.kernels.basis import Basis
from crfkit.kernels.matrix import KernelMatrix
from crfkit.objectives.kernel_risk import Block, KernelRisk

_ROUNDING = 1e-9  # of the largest derivative of a round


@dataclass(frozen=True)
class Pick:
    """A clique that was chosen."""

    kernel: int
    edge: bool
    place: int  # among the positions of training; an edge's is that of its second vertex
    labeling: int | None  # a label, or a pair y_{t-1} · L + y_t; None: all of them
    derivative: float  # dR when it was chosen; of all labellings: the norm


@dataclass
class _Family:
    """The candidates of one kernel on one kind of clique."""

    kernel: int
    edge: bool
    n_labelings: int
    free: BoolArray  # [c, labellings] not chosen yet
    blocks: dict[int, Block] = field(default_factory=dict)  # labelling (-1: all) -> its block
    gradient: FloatArray = field(default_factory=lambda: np.zeros((0, 0)))  # [c, labellings]


class CliqueSelector:
    """Chooses cliques for a risk, one round after the other. Adds blocks and basis functions to it."""

    def __init__(
        self,
        risk: KernelRisk,
        matrices: Sequence[KernelMatrix],
        *,
        edge_cliques: bool,
        all_labelings: bool,
        alternate: bool,
    ) -> None:
        self.risk, self.matrices = risk, list(matrices)
        self.all_labelings, self.alternate = all_labelings, alternate
        L = risk.n_labels
        first = np.zeros(matrices[0].n_positions, np.bool_)  # no edge ends at a first position
        first[risk.offsets[:-1][np.diff(risk.offsets) > 0]] = True
        self.families: list[_Family] = []
        for s, matrix in enumerate(self.matrices):
            free = np.ones((matrix.n_candidates, L), np.bool_)
            self.families.append(_Family(s, False, L, free))
            if edge_cliques:
                free = np.repeat(~first[matrix.candidates][:, None], L * L, axis=1)
                self.families.append(_Family(s, True, L * L, free))
        self._turn = 0
        self._floor = 0.0  # derivatives below are rounding

    def derivatives(self) -> list[FloatArray]:
        """dR of all candidates [c, labellings], a table a family (kernel by kernel; vertices, then edges)."""
        risk, L = self.risk, self.risk.n_labels
        edges = any(family.edge for family in self.families)
        residuals = risk.residuals(risk.scores(), edges=edges)
        values = residuals.node if residuals.edge is None else np.hstack([residuals.node, residuals.edge])
        products = [matrix.product(values) for matrix in self.matrices]
        tables = []
        for family in self.families:
            columns = slice(L, None) if family.edge else slice(0, L)
            tables.append(products[family.kernel][:, columns] + risk.reg * self._function(family))
        return tables

    def _function(self, family: _Family) -> FloatArray:
        """⟨f, h⟩ of the family's candidates [c, labellings]: the part of f under this kernel, at them."""
        places = self.matrices[family.kernel].candidates
        values = np.zeros((len(places), family.n_labelings))
        for block in family.blocks.values():
            values[:, block.labelings] += block.basis.columns[places] @ block.beta
        return values

    def choose(self, count: int) -> list[Pick]:
        """The next cliques: at most ``count``, fewer where no candidate has a derivative other than 0.

        They are in the risk's blocks from then on, with coefficients of 0. Ctrl-C leaves the risk as it was.
        """
        sizes, x = self.risk.sizes(), self.risk.vector()
        try:
            picks = self._choose(count)
        except KeyboardInterrupt:
            self.risk.restore(sizes, x)  # no functions without coefficients, no cliques that nobody has named
            raise
        for block in self.risk.blocks:
            block.grow()
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
        """Have the kernel columns of the steepest candidates computed together: most picks are among them."""
        for s, matrix in enumerate(self.matrices):
            steepest = np.max(
                [np.abs(family.gradient).max(axis=1) for family in self.families if family.kernel == s],
                axis=0,
            )  # [c]
            matrix.prepare(matrix.candidates[np.argsort(-steepest, kind="stable")[: 3 * count]])

    def _best(self) -> tuple[_Family, int, int, float] | None:
        """Family, candidate, labelling (-1: all) and |dR| of the steepest; the first of equals."""
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
            self._turn += 1  # this kernel has none left
            return self._best()
        return best

    def _take(self, family: _Family, candidate: int, labeling: int, size: float) -> Pick | None:
        matrix = self.matrices[family.kernel]
        block = family.blocks.get(labeling)
        if block is None:
            chosen = np.arange(family.n_labelings) if labeling < 0 else np.array([labeling])
            block = Block(family.kernel, family.edge, chosen, Basis(matrix))
            family.blocks[labeling] = block
            self.risk.blocks.append(block)
        place = int(matrix.candidates[candidate])
        new = block.basis.add(place)  # [n]
        labelings = block.labelings
        family.free[candidate, labelings] = False
        if new is None:  # spanned by those that are there already
            family.gradient[candidate, labelings] = 0.0
            return None
        parts = family.gradient[candidate, labelings] / new[place]  # ⟨g, φ⟩
        family.gradient[:, labelings] -= new[matrix.candidates][:, None] * parts
        family.gradient[~family.free] = 0.0
        return Pick(family.kernel, family.edge, place, None if labeling < 0 else labeling, size)


def take_all(risk: KernelRisk, matrices: Sequence[KernelMatrix], *, edge_cliques: bool) -> None:
    """All labellings of all candidates: the representer theorem in full, up to what others span."""
    L = risk.n_labels
    for s, matrix in enumerate(matrices):
        basis = Basis(matrix)
        basis.add_all(matrix.candidates)
        risk.blocks.append(Block(s, False, np.arange(L), basis))
        if edge_cliques:
            # First positions have no edge; what they would add is no loss: their coefficients come out as 0
            # on what no edge sees.
            risk.blocks.append(Block(s, True, np.arange(L * L), basis))
    for block in risk.blocks:
        block.grow()
