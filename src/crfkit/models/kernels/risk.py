"""The regularised risk of a kernel CRF: log-loss + ½λ‖f‖²_K, over functions spanned by selected cliques.

    R(f) = -Σ_i weight_i log p(y_i | x_i) + ½λ ‖f‖²_K + ½λ' ‖w‖²

Lafferty, Zhu and Liu, "Kernel conditional random fields: representation and clique selection" (ICML 2004). f
and w are those of ``potentials/kernel_expansion.py``, which grows between minimisations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.objectives.likelihood import Likelihood
from crfkit.optim.penalised import Penalised
from crfkit.potentials.kernel_expansion import CliqueBatch, CliqueTables, KernelExpansion

Loss = Likelihood[Any, Any, Any]  # over chains or graphs


@dataclass(frozen=True)
class KernelRisk:
    """The risk of a growing expansion on training data."""

    expansion: KernelExpansion
    batch: CliqueBatch[Any, Any]  # the training data
    loss: Loss  # of the expansion on it
    reg: float  # λ
    parametric_reg: float  # λ'

    def function(self) -> Penalised[Loss]:
        """Return the risk as a function of all current coefficients of the expansion."""
        l2 = np.full(len(self.expansion.w), 0.5 * self.reg)
        l2[: self.expansion.n_parametric] = 0.5 * self.parametric_reg
        return Penalised(self.loss, l2)

    def residuals(self) -> CliqueTables:
        """Return the gradient of the log-loss with respect to the scores of cliques: expected - observed."""
        return self.batch.tables(self.loss.residuals(self.expansion.w).d_scores)
