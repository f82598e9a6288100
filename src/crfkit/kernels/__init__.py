"""Kernels on positions, for kernel CRFs: functions, bandwidths, graphs over unlabelled data."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from crfkit.kernels.bandwidth import median_gamma, scale_gamma
    from crfkit.kernels.graph import GraphKernel
    from crfkit.kernels.mercer import Kernel

__all__ = ["GraphKernel", "Kernel", "median_gamma", "scale_gamma"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "GraphKernel": "crfkit.kernels.graph",
        "Kernel": "crfkit.kernels.mercer",
        "median_gamma": "crfkit.kernels.bandwidth",
        "scale_gamma": "crfkit.kernels.bandwidth",
    },
)
