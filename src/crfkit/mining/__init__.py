"""Association rules between observations and labels: found, listed, and put to use in a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from crfkit._lazy import lazy_names

if TYPE_CHECKING:
    from crfkit.mining.associations import Associations
    from crfkit.mining.comparison import UseResult, compare_uses
    from crfkit.mining.examples import Example, find_examples
    from crfkit.mining.item_names import ItemNames
    from crfkit.mining.listing import rules_text
    from crfkit.mining.listing_page import rules_html
    from crfkit.mining.miner import AssociationMiner
    from crfkit.mining.rules import Rule, Rules
    from crfkit.mining.search import mine_rules

__all__ = [
    "AssociationMiner",
    "Associations",
    "Example",
    "ItemNames",
    "Rule",
    "Rules",
    "UseResult",
    "compare_uses",
    "find_examples",
    "mine_rules",
    "rules_html",
    "rules_text",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "AssociationMiner": "crfkit.mining.miner",
        "Associations": "crfkit.mining.associations",
        "Example": "crfkit.mining.examples",
        "ItemNames": "crfkit.mining.item_names",
        "Rule": "crfkit.mining.rules",
        "Rules": "crfkit.mining.rules",
        "UseResult": "crfkit.mining.comparison",
        "compare_uses": "crfkit.mining.comparison",
        "find_examples": "crfkit.mining.examples",
        "mine_rules": "crfkit.mining.search",
        "rules_html": "crfkit.mining.listing_page",
        "rules_text": "crfkit.mining.listing",
    },
)
