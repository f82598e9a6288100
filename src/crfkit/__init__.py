"""Conditional random fields for sequence labelling.

``import crfkit`` loads nothing else: every public name is fetched when it is first used (PEP 562), so a
command such as ``crfkit --version`` does not wait for SciPy and scikit-learn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from crfkit import compat, datasets, exceptions, features, inference, io, kernels, metrics, selection
    from crfkit.models.kernels.kernel_crf import KernelCRF
    from crfkit.models.kernels.kernel_logistic import KernelLogisticRegression
    from crfkit.models.linear.constrained_crf import ConstrainedCRF
    from crfkit.models.linear.crf import CRF
    from crfkit.models.trees.tree_crf import TreeCRF

__version__ = "0.1.0"

__all__ = [
    "CRF",
    "ConstrainedCRF",
    "KernelCRF",
    "KernelLogisticRegression",
    "TreeCRF",
    "__version__",
    "compat",
    "datasets",
    "exceptions",
    "features",
    "inference",
    "io",
    "kernels",
    "metrics",
    "selection",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        **{name: f"crfkit.{name}" for name in __all__},
        "CRF": "crfkit.models.linear.crf",
        "ConstrainedCRF": "crfkit.models.linear.constrained_crf",
        "KernelCRF": "crfkit.models.kernels.kernel_crf",
        "KernelLogisticRegression": "crfkit.models.kernels.kernel_logistic",
        "TreeCRF": "crfkit.models.trees.tree_crf",
    },
)
