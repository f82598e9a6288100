"""Options that forbid labellings: by a label scheme, by transitions never seen, by the user's rules."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from crfkit.cli.messages import UsageError, warn
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.inference import Constraints
    from crfkit.models.fitted_model import FittedModel

_START, _END = "^", "$"  # unless they are labels, as $ is in the Penn Treebank
_OUTSIDE = "\0"  # stands for both; no label contains it


OPTIONS = """\
  --legal SCHEME            only labellings that are legal in IOB1, IOB2, IOE1, IOE2, IOBES or BILOU; auto:
      the scheme of the model's labels
  --seen-transitions        only transitions that the model has a weight for
  --forbid 'A>B'...         forbid label B directly after A; * matches anything, '^>B' forbids B as the first
      label, 'A>$' forbids A as the last; may be given several times"""


def constraints_of(arguments: argparse.Namespace, tagger: FittedModel) -> Constraints | None:
    """Return the constraints that the options ask for; None if they forbid nothing."""
    rules = [_rule(text) for text in arguments.forbid or ()]
    if arguments.legal is None and not arguments.seen_transitions and not rules:
        return None
    from crfkit import inference

    all_of = inference.Constraints()
    if arguments.legal is not None:
        all_of &= inference.scheme_constraints(tagger.classes, arguments.legal)
    if arguments.seen_transitions:
        from crfkit.models.linear.tagger import LinearTagger

        if not isinstance(tagger, LinearTagger):
            raise UsageError("--seen-transitions needs a linear model: others do not store seen transitions")
        seen = tagger.index.edges
        if seen.all():  # unseen transitions have features too: CRF++ and Wapiti keep their weights at 0
            seen = seen & (tagger.weights.edge != 0)
        seen = seen.copy()
        seen.reshape(-1)[tagger.index.pair_ids] = True
        if not seen.any():
            raise InputError("--seen-transitions: the model has no transitions (its template has no B line)")
        if seen.all():
            warn("--seen-transitions forbids nothing: the model has a weight for every transition")
        all_of &= inference.Constraints(transitions=seen)
    for rule in rules:
        all_of &= _forbidden(rule, tagger.classes)
    return all_of


def _rule(text: str) -> list[str]:
    labels = [part.strip() for part in text.split(">")]
    if len(labels) not in (2, 3) or not all(labels):
        raise UsageError(f"--forbid {text}: expected labels with > between them, such as 'O>I-*'")
    return labels


def _forbidden(rule: list[str], labels: list[str]) -> Constraints:
    """Return the constraints of one rule; the start and the end of a sequence act as an extra label."""
    import numpy as np

    from crfkit import inference

    if len(rule) == 2 and (
        (rule[0] == _START and _START not in labels) or (rule[1] == _END and _END not in labels)
    ):
        named = [_OUTSIDE if part in (_START, _END) and part not in labels else part for part in rule]
        found = inference.rule_constraints([*labels, _OUTSIDE], forbid=[named])
        steps = np.asarray(found.transitions)  # [L+1, L+1]
        return inference.Constraints(starts=steps[-1, :-1], ends=steps[:-1, -1])
    return inference.rule_constraints(labels, forbid=[rule])
