"""Choosing features: by gradient, by gain, by mutual information, along an L1 path, by stability."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from crfkit.selection.gain import GainSelector
    from crfkit.selection.gradient import GradientSelector
    from crfkit.selection.l1_path import L1PathSelector
    from crfkit.selection.mutual_information import MutualInformationSelector
    from crfkit.selection.selected import Feature, Selection
    from crfkit.selection.stability import StabilitySelector

__all__ = [
    "Feature",
    "GainSelector",
    "GradientSelector",
    "L1PathSelector",
    "MutualInformationSelector",
    "Selection",
    "StabilitySelector",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "Feature": "crfkit.selection.selected",
        "GainSelector": "crfkit.selection.gain",
        "GradientSelector": "crfkit.selection.gradient",
        "L1PathSelector": "crfkit.selection.l1_path",
        "MutualInformationSelector": "crfkit.selection.mutual_information",
        "Selection": "crfkit.selection.selected",
        "StabilitySelector": "crfkit.selection.stability",
    },
)
