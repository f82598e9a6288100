"""Options for association rules that ``mine`` and ``train`` share, and the miner they configure."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.options import given
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.cli.rule_file import RuleFile
    from crfkit.features.template import Template
    from crfkit.mining.miner import AssociationMiner
    from crfkit.mining.rules import Rules

USES = ("features", "weighted", "constraints", "votes")
# Default settings of the miner for each use (docs/associations.md).
USE_DEFAULTS: dict[str, dict[str, Any]] = {
    "features": {},
    "weighted": {},
    "constraints": {"min_support": 20},
    "votes": {"important": False},
}
_BOUNDS = ("support", "confidence", "lengths", "items")


def lengths(text: str) -> tuple[int, int]:
    """Parse the number of items of a rule: ``2-3``, or ``2``."""
    low, dash, high = text.partition("-")
    least, most = int(low), int(high if dash else low)
    if not 1 <= least <= most:
        raise argparse.ArgumentTypeError(f"{text}: expected a range such as 2-3, from 1 up")
    return least, most


lengths.__name__ = "range of lengths, such as 2-3,"


def share(text: str) -> float:
    """Parse a number above 0 and up to 1."""
    number = float(text)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"expected a number above 0 and up to 1, got {text}")
    return number


share.__name__ = "number"


def use_in_words(use: str) -> str:
    """Return the name of a use of rules in messages."""
    return "weighted features" if use == "weighted" else use


ITEMS = """only attributes with this prefix; may be given several times (default: those of template
      lines with one cell, or all)"""
OPTIONS = f"""
association rules ('crfkit mine' lists them):
  --associations {"|".join(USES)}  mine rules from DATA and use them; features: one feature per rule and its
      label; weighted: features whose value is larger for rarer rules; constraints: where a rule applies, its
      label is certain; votes: features that sum up the rules that apply
  --rules FILE              use the rules of this file, written by 'crfkit mine', instead of mining
  --rule-support N>=1       least support of a rule (default: 2; with --rules: any; for constraints: 20)
  --rule-confidence X       least confidence of a rule (default: 1; with --rules: any; for constraints: 1)
  --rule-lengths A-B        number of items in a rule (default: 2-3)
  --rule-items PREFIX...    {ITEMS}
"""
TYPES: dict[str, dict[str, Any]] = {"rule-confidence": {"type": share}, "rule-lengths": {"type": lengths}}


def check_training(arguments: argparse.Namespace) -> None:
    """Raise an error for rule options that have no effect or contradict each other."""
    given = [name for name in _BOUNDS if getattr(arguments, f"rule_{name}") is not None]
    if arguments.associations is None:
        if arguments.rules is not None or given:
            option = "--rules" if arguments.rules is not None else f"--rule-{given[0]}"
            raise UsageError(f"{option} needs --associations, which says how to use the rules")
        return
    if arguments.continued is not None:
        raise UsageError("--associations cannot be combined with --continue, which keeps the model's rules")
    if arguments.features is not None and arguments.associations != "constraints":
        raise UsageError(
            f"--features cannot be combined with --associations {arguments.associations}: the selection "
            "lists all features of the model, and does not contain those of the rules"
        )
    if arguments.rules is not None:
        for name in ("lengths", "items"):
            if name in given:
                raise UsageError(f"--rule-{name} cannot be combined with --rules: give it to 'crfkit mine'")
    confidence = arguments.rule_confidence
    if arguments.associations == "constraints" and confidence is not None and confidence < 1:
        raise UsageError("constraints need rules with confidence 1: leave out --rule-confidence")


def training_miner(
    arguments: argparse.Namespace, verbose: bool
) -> tuple[AssociationMiner | None, RuleFile | None]:
    """Return the miner for ``CRF(associations=…)``, and the file of its rules if ``--rules`` names one."""
    use = arguments.associations
    if use is None:
        return None, None
    from crfkit.mining.miner import AssociationMiner

    settings: dict[str, Any] = {"use": use, "n_jobs": arguments.jobs, "verbose": verbose}
    if arguments.rules is not None:
        from crfkit.cli.rule_file import load_rules

        file = load_rules(arguments.rules)
        return AssociationMiner(rules=_usable(file.rules, arguments), **settings), file
    settings |= USE_DEFAULTS[use] | given(
        arguments,
        min_support="rule_support",
        min_confidence="rule_confidence",
        lengths="rule_lengths",
        items="rule_items",
    )
    return AssociationMiner(**settings), None


def _usable(rules: Rules, arguments: argparse.Namespace) -> Rules:
    """Return the rules of a file that are within the bounds."""
    support = arguments.rule_support or 1
    confidence = arguments.rule_confidence or 0.0
    if arguments.associations == "constraints":
        support = arguments.rule_support or USE_DEFAULTS["constraints"]["min_support"]
        confidence = 1.0
    kept = (rules.support >= support) & (rules.confidence >= confidence)
    bounds = f"a support of {support} or more and a confidence of {confidence:g} or more"
    if not kept.any():
        raise InputError(
            f"{arguments.rules}: none of its {len(rules):,} rules has {bounds}; see --rule-support"
        )
    if not kept.all() and not arguments.quiet:
        note(f"{arguments.rules}: {int(kept.sum()):,} of its {len(rules):,} rules have {bounds}")
    if arguments.associations == "votes":
        warn(
            "--associations votes --rules: if these rules were mined from DATA, they are always right there, "
            "and the model learns to trust them too much; leave out --rules to avoid this"
        )
    return rules[kept]


def check_template(file: RuleFile | None, template: Template | None, path: str) -> None:
    """Raise an error if the rules were mined with a template that names cells differently."""
    if file is None or file.template is None:
        return
    if template is None:
        raise InputError(
            f"{path}: its rules are about the lines of a template, but this model has none: train it with "
            "--template, and mine with the same template"
        )
    here = template.single_cells
    for prefix, macro in file.template.single_cells.items():
        if here.get(prefix) != macro:
            found = f"this one has {prefix}{here[prefix].text}" if prefix in here else "this one has not"
            raise InputError(
                f"{path}: its rules were mined with another template, with a line {prefix}{macro.text}; "
                f"{found}; mine again with this template, or train with that one"
            )
