"""``crfkit inspect``: show the contents of a model, as text or as JSON.

Each kind of model (see ``crfkit.models.kinds``) has a module ``inspect_<folder>`` with the functions
``dump``, ``to_json`` and ``sections``, and with ``OPTIONS``: the options below that only some kinds support.
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
Shows the contents of a model: its size, how it was trained, and its largest
weights. Also reads models of CRFsuite, Wapiti and CRF++."""

EXAMPLES = """\
examples:
  crfkit inspect chunks.crfkit                         an overview
  crfkit inspect chunks.crfkit --top 20 --label B-NP   for and against B-NP
  crfkit inspect chunks.crfkit --transitions           transition weights
  crfkit inspect chunks.crfkit --rules 20              association rules
  crfkit inspect chunks.crfkit --attribute U02:the     one attribute
  crfkit inspect chunks.crfkit --attribute 'U02:Th*'   all with this prefix
  crfkit inspect old.crfsuite --dump > weights.tsv     all weights"""


_OPTIONS = """
  model MODEL               a model of crfkit, CRFsuite, Wapiti or CRF++
what to show (default: an overview):
  --top N>=1                the N largest and N smallest weights of each label
  --label L                 the weights of this label only (10 largest and smallest, or --top)
  --transitions             the table of transition weights
  --attribute NAME          the weights of one attribute; with 'NAME*' of the attributes that begin with NAME
  --rules N>=1              the N strongest association rules, with their weights if they have any
  --template                the template that was used in training
  --dump                    all weights other than 0, one per line, separated by tabs: attribute, previous
      label or #, label, weight
how to show it:
  --json                    as JSON, with all digits
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``inspect``."""
    declare(parser, _OPTIONS)


def run(arguments: argparse.Namespace) -> int:
    """Load the model and print the requested parts."""
    if arguments.dump and arguments.json:
        raise UsageError("--dump has its own format: leave out --json")
    tagger, header = load_model(arguments.model)
    from crfkit.models.kinds import folder_of

    folder = folder_of(tagger)
    inspector = import_module(f"crfkit.cli.inspect_{folder}")
    for option in ("attribute", "rules", "template"):
        if getattr(arguments, option) and option not in inspector.OPTIONS:
            raise UsageError(f"--{option} needs a linear model, but {arguments.model} has {folder}")
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
