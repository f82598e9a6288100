"""Association rules between observations and labels: found, listed, and put to use in a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from .associations import Associations
    from .comparison import UseResult, compare_uses
    from .listing import rules_text
    from .miner import AssociationMiner
    from .rules import Rule, Rules
    from .search import mine_rules

__all__ = [
    "AssociationMiner",
    "Associations",
    "Rule",
    "Rules",
    "UseResult",
    "compare_uses",
    "mine_rules",
    "rules_text",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AssociationMiner": "crfkit.mining.miner",
        "Associations": "crfkit.mining.associations",
        "Rule": "crfkit.mining.rules",
        "Rules": "crfkit.mining.rules",
        "UseResult": "crfkit.mining.comparison",
        "compare_uses": "crfkit.mining.comparison",
        "mine_rules": "crfkit.mining.search",
        "rules_text": "crfkit.mining.listing",
    },
)
