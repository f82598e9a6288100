"""``crfkit inspect``: show the contents of a model, as text or as JSON.

Each kind of model (see ``crfkit.models.kinds``) has a module ``inspect_<folder>`` with the functions
``dump``, ``to_json`` and ``sections``, and with ``OPTIONS``: the options below that only some kinds support.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module
from typing import Any

from crfkit.cli.loading import load_model, model_source
from crfkit.cli.messages import UsageError, show
from crfkit.cli.options import declare
from crfkit.exceptions import InputError

USAGE = "MODEL [options]"

DESCRIPTION = """\
Shows the contents of a model: its size, how it was trained, and its largest
weights. Also reads gene finders and models of CRFsuite, Wapiti and CRF++."""

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
    model, header, folder = _open(arguments.model)
    inspector = import_module(f"crfkit.cli.inspect_{folder}")
    for option in ("attribute", "rules", "template"):
        if getattr(arguments, option) and option not in inspector.OPTIONS:
            raise UsageError(f"--{option} needs a linear model, but {arguments.model} has {folder}")
    labels = [str(label) for label in getattr(model, "classes", ())]
    if arguments.label is not None and arguments.label not in labels:
        raise InputError(f"the model has no label {arguments.label!r}; it has {', '.join(labels) or 'none'}")
    if arguments.dump:
        for row in inspector.dump(arguments, model, header):
            show("\t".join(map(str, row)))
    elif arguments.json:
        found = inspector.to_json(arguments, model, header)
        json.dump(found, sys.stdout, ensure_ascii=False, indent=2)
        print()
    else:
        sections = inspector.sections(arguments, model, header)
        show("\n\n".join("\n".join(lines) for lines in sections if lines))
    return 0


def _open(path: str) -> tuple[Any, dict[str, Any], str]:
    """Return a model, its header, and its folder, which names the module that shows it."""
    from crfkit.io.model_arrays import open_model
    from crfkit.io.model_formats import OWN, model_format
    from crfkit.models.kinds import KINDS, kind_of

    source = model_source(path)
    if model_format(source) == OWN:
        header, _ = open_model(source)
        if header.get("model") not in [kind.in_files for kind in KINDS.values()]:
            from crfkit.apps.genes.finder import GeneFinder

            return GeneFinder.load(source), header, "genes"
    tagger, header = load_model(source)
    return tagger, header, kind_of(tagger).folder
