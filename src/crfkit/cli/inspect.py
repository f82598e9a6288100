"""``crfkit inspect``: what is in a model, for reading or as JSON.

What there is to show depends on the kind of model. The module ``inspect_<folder>`` of a kind (see
``crfkit.models.kinds``) has ``OPTIONS``, those of the options below that go with it, and the functions
``dump``, ``to_json`` and ``sections``.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

from crfkit.cli.loading import load_model
from crfkit.cli.messages import UsageError
from crfkit.cli.options import declare
from crfkit.exceptions import InputError

USAGE = "MODEL [options]"

DESCRIPTION = """\
Shows what is in a model: how many features, how it was trained, and which
attributes and transitions carry the weight. Reads models of other tools too."""

EXAMPLES = """\
examples:
  crfkit inspect chunks.crfkit                         an overview
  crfkit inspect chunks.crfkit --top 20 --label B-NP   for and against B-NP
  crfkit inspect chunks.crfkit --transitions           label after label
  crfkit inspect chunks.crfkit --rules 20              of --associations
  crfkit inspect chunks.crfkit --attribute U02:the     one attribute
  crfkit inspect chunks.crfkit --attribute 'U02:Th*'   the strongest such ones
  crfkit inspect old.crfsuite --dump > weights.tsv     every weight there is"""


_OPTIONS = """
  model MODEL               a model of crfkit, CRFsuite, Wapiti or CRF++
what to show (default: an overview):
  --top N>=1                the N largest and N smallest weights of each label
  --label L                 of this label only (10 of each unless --top says more)
  --transitions             the table of transition weights
  --attribute NAME          the weights of one attribute, or of those that begin with 'NAME*'
  --rules N>=1              the N strongest association rules, with their weights where they have some
  --template                the template, as it was given in training
  --dump                    every weight but 0, one per line: attribute, previous label or #, label, weight,
      between tabs
how to show it:
  --json                    as JSON, with all digits
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``inspect``."""
    declare(parser, _OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Load the model and print what was asked for."""
    if arguments.dump and arguments.json:
        raise UsageError("--dump is a format of its own: leave out --json")
    tagger, header = load_model(arguments.model)
    from crfkit.models.kinds import folder_of

    folder = folder_of(tagger)
    inspector = import_module(f"crfkit.cli.inspect_{folder}")
    for option in ("attribute", "rules", "template"):
        if getattr(arguments, option) and option not in inspector.OPTIONS:
            raise UsageError(f"--{option} goes with linear models, and {arguments.model} has {folder}")
    labels = [str(label) for label in tagger.classes]
    if arguments.label is not None and arguments.label not in labels:
        raise InputError(f"the model has no label {arguments.label!r}; it has {', '.join(labels)}")
    if arguments.dump:
        for row in inspector.dump(arguments, tagger, header):
            print(*row, sep="\t")
    elif arguments.json:
        found = inspector.to_json(arguments, tagger, header)
        json.dump(found, sys.stdout, ensure_ascii=False, indent=2)
        print()
    else:
        sections = inspector.sections(arguments, tagger, header)
        print("\n\n".join("\n".join(lines) for lines in sections if lines))
    return 0
