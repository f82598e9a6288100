"""Options that forbid labellings: a label scheme, transitions never seen, rules of the user's own."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crfkit.cli.messages import UsageError
from crfkit.cli.options import Group

if TYPE_CHECKING:
    from crfkit.inference import Constraints
    from crfkit.models.linear_tagger import LinearTagger

_START, _END = "^", "$"


def add_constraints(group: Group) -> None:
    """``--legal``, ``--seen-transitions`` and ``--forbid``."""
    group.add_argument(
        "--legal",
        metavar="SCHEME",
        help="legal labels only, by IOB1, IOB2, IOE1, IOE2, IOBES or BILOU; auto: the scheme that the model's "
        "labels are in",
    )
    group.add_argument(
        "--seen-transitions", action="store_true", help="only transitions that the model has a weight for"
    )
    group.add_argument(
        "--forbid",
        action="append",
        default=[],
        metavar="'A>B'",
        help="label B never right after A; * stands for anything, '^>B' for the beginning of a sequence, "
        "'A>$' for its end. May be given several times",
    )


def constraints_of(arguments: argparse.Namespace, tagger: LinearTagger) -> Constraints | None:
    """What the options forbid, for the labels of the model; None: nothing."""
    rules = [_rule(text) for text in arguments.forbid]
    if arguments.legal is None and not arguments.seen_transitions and not rules:
        return None
    from crfkit import inference

    all_of = inference.Constraints()
    if arguments.legal is not None:
        all_of &= inference.scheme_constraints(tagger.classes, arguments.legal)
    if arguments.seen_transitions:
        seen = tagger.index.edges
        if tagger.index.pair_ids is not None:
            seen = seen.copy()
            seen.reshape(-1)[tagger.index.pair_ids] = True
        all_of &= inference.Constraints(transitions=seen)
    if rules:
        all_of &= inference.rule_constraints(tagger.classes, forbid=rules)
    return all_of


def _rule(text: str) -> tuple[str, str]:
    before, arrow, after = (part.strip() for part in text.partition(">"))
    if not arrow or not before or not after:
        raise UsageError(f"--forbid {text}: expected two labels with > between them, such as 'O>I-*'")
    return before, after
