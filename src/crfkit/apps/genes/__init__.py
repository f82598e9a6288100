"""Finding genes in DNA.

Two models: the one of the papers (``SevenStateGenes``: 7 states, words of 6 bases, a grammar that requires
its bases), and the one to use (``GeneFinder``).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from crfkit.apps.genes.finder import GeneFinder
    from crfkit.apps.genes.seven_states import SevenStateGenes

__all__ = ["GeneFinder", "SevenStateGenes"]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "GeneFinder": "crfkit.apps.genes.finder",
        "SevenStateGenes": "crfkit.apps.genes.seven_states",
    },
)
