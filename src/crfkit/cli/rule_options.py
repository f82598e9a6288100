"""Options about association rules that ``mine`` and ``train`` share, and the miner that they ask for."""

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
# What each use wants of the miner unless the user says otherwise (docs/associations.md).
USE_DEFAULTS: dict[str, dict[str, Any]] = {
    "features": {},
    "weighted": {},
    "constraints": {"min_support": 20},
    "votes": {"important": False},
}
_BOUNDS = ("support", "confidence", "lengths", "items")


def lengths(text: str) -> tuple[int, int]:
    """``2-3``, or ``2``: how many items a rule has."""
    low, dash, high = text.partition("-")
    least, most = int(low), int(high if dash else low)
    if not 1 <= least <= most:
        raise argparse.ArgumentTypeError(f"{text}: expected such as 2-3, the least being 1")
    return least, most


lengths.__name__ = "range of lengths, such as 2-3,"


def share(text: str) -> float:
    """A number above 0 and up to 1."""
    number = float(text)
    if not 0 < number <= 1:
        raise argparse.ArgumentTypeError(f"{text} is not above 0 and up to 1")
    return number


share.__name__ = "number"


def use_in_words(use: str) -> str:
    """What rules are used as."""
    return "weighted features" if use == "weighted" else use


ITEMS = """only attributes that begin so; may be given several times (default: those of template lines
      with one cell, or all)"""
OPTIONS = f"""
association rules ('crfkit mine' lists them):
  --associations {"|".join(USES)}  mine rules from DATA, and use them as features of their own label, as
      features that are the louder the rarer they are (weighted), as labels that are certain (constraints),
      or by what those that hold say together (votes)
  --rules FILE              the rules of this file, which 'crfkit mine' wrote, instead of mining
  --rule-support N>=1       least support of a rule (default: 2, with --rules any; for constraints 20)
  --rule-confidence X       least confidence (default: 1, with --rules any; for constraints 1)
  --rule-lengths A-B        items of a rule (default: 2-3)
  --rule-items PREFIX...    {ITEMS}
"""
TYPES: dict[str, dict[str, Any]] = {"rule-confidence": {"type": share}, "rule-lengths": {"type": lengths}}


def check_training(arguments: argparse.Namespace) -> None:
    """Options that say nothing, or that contradict one another."""
    given = [name for name in _BOUNDS if getattr(arguments, f"rule_{name}") is not None]
    if arguments.associations is None:
        if arguments.rules is not None or given:
            option = "--rules" if arguments.rules is not None else f"--rule-{given[0]}"
            raise UsageError(f"{option} goes with --associations, which says what to do with the rules")
        return
    if arguments.continued is not None:
        raise UsageError("--associations does not go with --continue, which keeps the rules of the model")
    if arguments.features is not None and arguments.associations != "constraints":
        raise UsageError(
            f"--features has no place for --associations {arguments.associations}: a selection says which "
            "features the model has, and those of the rules are not among them"
        )
    if arguments.rules is not None:
        for name in ("lengths", "items"):
            if name in given:
                raise UsageError(f"--rule-{name} does not go with --rules: 'crfkit mine' is where to say it")
    confidence = arguments.rule_confidence
    if arguments.associations == "constraints" and confidence is not None and confidence < 1:
        raise UsageError("constraints are for rules that are always right: leave out --rule-confidence")


def training_miner(
    arguments: argparse.Namespace, verbose: bool
) -> tuple[AssociationMiner | None, RuleFile | None]:
    """What ``CRF(associations=…)`` takes, and the file that its rules are from, if they are from one."""
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
    """Those of a file that are within the bounds."""
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
            "--associations votes --rules: if these rules were mined from DATA they are always right there, "
            "and the model learns to trust them too much; without --rules it judges them honestly"
        )
    return rules[kept]


def check_template(file: RuleFile | None, template: Template | None, path: str) -> None:
    """Raise where rules were mined with a template whose cells this one calls otherwise."""
    if file is None or file.template is None:
        return
    if template is None:
        raise InputError(f"{path}: its rules are about columns, and the data has ready-made attributes")
    here = template.single_cells
    for prefix, macro in file.template.single_cells.items():
        if here.get(prefix) != macro:
            found = f"here it is {prefix}{here[prefix].text}" if prefix in here else "it is not here"
            raise InputError(
                f"{path}: its rules were mined with another template: there {prefix}{macro.text} is a line, "
                f"{found}; mine again with this template, or train with that one"
            )
