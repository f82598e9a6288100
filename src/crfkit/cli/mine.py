"""``crfkit mine``: find association rules between observations and labels, list and save them."""

from __future__ import annotations

import argparse
import os
import sys
import time
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.output_files import check_outputs, keep
from crfkit.cli.rule_options import ITEMS, USE_DEFAULTS, USES, lengths, share
from crfkit.cli.train_data import Data, check_alike, read_data, read_template
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.cli.rule_file import RuleFile
    from crfkit.features.template import Template
    from crfkit.mining.examples import Example
    from crfkit.mining.miner import AssociationMiner
    from crfkit.mining.rules import Rules

USAGE = "DATA [DATA …] [-o FILE] [-t TEMPLATE] [options]"

DESCRIPTION = """\
Finds observations that together predict a label although each alone predicts
another. Lists these rules, or those of a file (DATA after it gives examples)."""

EXAMPLES = """\
examples:
  crfkit mine train.txt -o rules.crfkit --columns word,pos
  crfkit mine train.txt --min-support 20 --label B-SBAR --sort margin
  crfkit mine rules.crfkit train.txt --sort significance --html rules.html
  crfkit mine rules.crfkit --csv - | head
  crfkit mine train.txt --compare test.txt            which use of rules helps
  crfkit train train.txt -m chunks.crfkit --associations features"""

SORTS = ("support", "confidence", "coverage", "margin", "length", "significance", "fixes")
_HTML_EXAMPLES = 3
_WINDOW = 5  # words on either side of an example


_OPTIONS = f"""
  data DATA...              labelled data, - is standard input; the first may be a file of rules
the rules:
  -o, --output FILE         file for the rules
{options.template()}
the data:
{options.formats()}
{options.label_column()}
which rules:
  --min-support N>=1        least number of positions with the items and the label (default: 2)
  --max-support N>=1        largest number of such positions (default: any)
  --min-confidence X        least share of the positions with the items that have the label (default: 1)
  --lengths A-B             number of items in a rule (default: 2-3)
  --items PREFIX...         {ITEMS}
  --all                     also rules whose single items already predict the same label
  --max-sets N>=1           largest number of sets of items to visit (default: 30 million, some seconds)
  --minimal                 leave out rules if some of their items are as confident as all of them
{options.JOBS}
what to show:
  --sort {"|".join(SORTS)} = support  order of the rules, largest value first
  --top N>=0 = 20           number of rules to print; 0: none
  --label L                 only rules for this label
  --item I                  only rules with this item
  --examples N>=0 = 1       examples from the data per printed rule, if the data has columns; 0: none
  --columns A,B,…           names of the columns in the listing (default: x[row,column])
  --csv FILE                all rules as a table; - is standard output
{options.SPREADSHEET_SAFE}
  --json FILE               all rules as JSON; - is standard output
  --html FILE               an HTML page to read, sort and search; - is standard output; needs Jinja2
  --html-rules N>=1 = 1000  number of rules on the page
comparison:
  --compare FILE            train one model without rules and one for each use of them, and test on FILE
  --c2 X:float = 1.0        L2 penalty of these models
messages:
{options.QUIET}
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``mine``; the miner has the defaults."""
    options.declare(parser, _OPTIONS, {"min-confidence": {"type": share}, "lengths": {"type": lengths}})


def run(arguments: argparse.Namespace) -> int:
    """Mine or load the rules, write and list them, and compare their uses."""
    from crfkit.cli.rule_file import RuleFile, column_names, is_own, load_rules

    _check(arguments)
    own = is_own(arguments.data[0])
    if own and (arguments.all or arguments.minimal or arguments.max_sets is not None):
        raise UsageError(
            f"{arguments.data[0]} is a file of rules: --all, --minimal and --max-sets only work when mining"
        )
    found = load_rules(arguments.data[0]) if own else None
    template = read_template(arguments) or (None if found is None else found.template)
    miner = _miner(arguments)
    data = None
    paths = arguments.data[own:]
    if paths:
        data, template = read_data(paths, arguments, template, miner)
        miner.set_params(template=template)
    began = time.perf_counter()
    if found is None:
        if data is None:  # cannot happen: without a file of rules there is data
            raise UsageError("there is nothing to mine")
        rules = miner.fit(data.x, data.y).rules_
        spent = f" in {time.perf_counter() - began:.1f} s"
        found = RuleFile(rules, template, column_names(data.record))
        if not len(rules):
            raise InputError(
                f"no rules in {rules.n_positions:,} positions: lower --min-support or --min-confidence, "
                "allow other --lengths, or use --all for rules whose single items predict the same label"
            )
    else:
        spent = ""
        found = replace(found, rules=_within(found.rules, arguments), template=template or found.template)
    if arguments.columns is not None:
        found = replace(found, columns=tuple(arguments.columns.split(",")))
    found = replace(found, rules=_chosen(found, arguments))
    if not len(found.rules):
        raise InputError("no rule fits the options: loosen the bounds, --label or --item")
    _write(found, data, arguments)
    if not arguments.quiet:
        files = [p for p in (arguments.output, arguments.csv, arguments.json, arguments.html) if p]
        written = f"; written to {', '.join(files)}" if files else ""
        note(f"{len(found.rules):,} rules from {found.rules.n_positions:,} positions{spent}{written}")
    if arguments.compare is not None and data is not None:
        _compare(miner, data, template, found.rules if own else None, arguments)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    inputs = [*arguments.data, arguments.template, arguments.compare]
    outputs = [arguments.output, arguments.csv, arguments.json, arguments.html]
    if inputs.count("-") > 1:
        raise UsageError("only one input can come from standard input")
    if arguments.output == "-":
        raise UsageError("-o needs a file, not standard output (--csv - and --json - are possible)")
    if arguments.max_support is not None and arguments.max_support < (arguments.min_support or 2):
        raise UsageError(
            f"--max-support {arguments.max_support} is below --min-support {arguments.min_support or 2}"
        )
    if outputs.count("-") > 1:
        raise UsageError("only one of --csv, --json and --html can go to standard output")
    if "-" in outputs:
        arguments.top = 0
    if arguments.html is not None:
        from crfkit.report.frame import check_engine

        check_engine("--html")
    check_outputs(arguments, outputs, inputs)
    if arguments.compare is not None:
        from crfkit.cli.rule_file import is_own

        if len(arguments.data) == 1 and is_own(arguments.data[0]):
            raise UsageError("--compare needs DATA to train on, after the file of rules")
        with open(arguments.compare, "rb"):  # fail before the work, not after it
            pass


def _miner(arguments: argparse.Namespace) -> AssociationMiner:
    """Return the miner with its parameters, but without a template."""
    from crfkit.mining.miner import AssociationMiner

    return AssociationMiner(
        important=not arguments.all,
        minimal=arguments.minimal,
        n_jobs=arguments.jobs,
        verbose=sys.stderr.isatty() and not arguments.quiet,
        **options.given(
            arguments, "min_support", "max_support", "min_confidence", "lengths", "items", "max_sets"
        ),
    )


def _within(rules: Rules, arguments: argparse.Namespace) -> Rules:
    """Return the rules within the bounds that the options set."""
    import numpy as np

    kept = np.ones(len(rules), np.bool_)
    if arguments.min_support is not None:
        kept &= rules.support >= arguments.min_support
    if arguments.max_support is not None:
        kept &= rules.support <= arguments.max_support
    if arguments.min_confidence is not None:
        kept &= rules.confidence >= arguments.min_confidence
    if arguments.lengths is not None:
        kept &= (rules.lengths >= arguments.lengths[0]) & (rules.lengths <= arguments.lengths[1])
    if arguments.items is not None:
        prefixes = tuple(arguments.items)
        fits = np.array([name.startswith(prefixes) for name in rules.vocabulary.strings()], np.bool_)
        kept &= np.minimum.reduceat(np.append(fits[rules.items], True), rules.first[:-1])
    return rules[kept]


def _chosen(found: RuleFile, arguments: argparse.Namespace) -> Rules:
    """Return the rules for ``--label`` and with ``--item``."""
    rules = found.rules
    if arguments.label is not None:
        rules = rules.where(label=arguments.label)
    if arguments.item is not None:
        from crfkit.cli.rule_file import named

        rules = rules.where(item=named(rules, found.names, arguments.item))
    return rules


def _write(found: RuleFile, data: Data | None, arguments: argparse.Namespace) -> None:
    """Write the rules to the files and print them."""
    listed = arguments.top or any((arguments.csv, arguments.json, arguments.html))
    rules = found.rules.sorted(arguments.sort) if listed else found.rules
    if arguments.output is not None:
        keep(arguments.output, found.save, "the rules")
    if arguments.csv is not None:
        table = partial(rules.to_csv, spreadsheet_safe=arguments.spreadsheet_safe)
        keep(arguments.csv, table, "the table")
    if arguments.json is not None:
        keep(arguments.json, rules.to_json, "the list")
    if arguments.html is not None:
        from crfkit.report.rules_page import rules_html

        page = partial(
            rules_html,
            rules,
            n=arguments.html_rules,
            title=f"Rules of {', '.join(os.path.basename(path) for path in arguments.data)}",
            names=found.names,
            examples=_examples(rules[: arguments.html_rules], found, data, arguments, _HTML_EXAMPLES),
            more=_more(rules[: arguments.html_rules], arguments),
        )
        keep(arguments.html, page, "the page")
    if arguments.top:
        from crfkit.cli.paint import wants_colour
        from crfkit.cli.tables import screen_width
        from crfkit.mining.listing import rules_text

        shown = rules[: arguments.top]
        text = rules_text(
            shown,
            arguments.top,
            names=found.names,
            examples=_examples(shown, found, data, arguments, arguments.examples),
            more=_more(shown, arguments),
            width=screen_width(),
            colour=wants_colour(sys.stdout),
        )
        print(text)
        if len(rules) > len(shown):
            print(f"… and {len(rules) - len(shown):,} more")


def _examples(
    shown: Rules, found: RuleFile, data: Data | None, arguments: argparse.Namespace, n: int
) -> list[list[Example]] | None:
    """Return examples of each rule from the data; None if the data has no words to show."""
    if data is None or not data.tables or not arguments.examples or not n:
        return None
    from crfkit.mining.examples import find_examples

    words = list(chain.from_iterable(table.column(0) for table in data.tables))
    examples = find_examples(
        shown,
        data.x,
        data.y,
        template=found.template,
        words=words,
        n=n,
        window=_WINDOW,
        n_jobs=arguments.jobs,
    )
    if not any(examples):
        warn("no listed rule occurs in the data; was it mined from other data or with another template?")
        return None
    return examples


def _more(shown: Rules, arguments: argparse.Namespace) -> dict[str, Any] | None:
    """Return the values that the rules are sorted by, if the listing has no column for them."""
    import numpy as np

    if arguments.sort == "significance":
        return {"log10 p": (shown.log_p / np.log(10)).tolist()}
    return {"coverage": shown.coverage.tolist()} if arguments.sort == "coverage" else None


def _compare(
    miner: AssociationMiner,
    data: Data,
    template: Template | None,
    rules: Rules | None,
    arguments: argparse.Namespace,
) -> None:
    """Train and test a model without rules and one for each use of them, and print their scores."""
    from crfkit.cli.tables import matrix
    from crfkit.data.label_codes import LabelCodes
    from crfkit.metrics import segment_f1, token_accuracy
    from crfkit.metrics.segments import are_plain
    from crfkit.mining.comparison import compare_uses
    from crfkit.models.linear.crf import CRF

    test, _ = read_data([arguments.compare], arguments, template, miner)
    check_alike(data, test, arguments.compare)
    settings = {use: dict(USE_DEFAULTS[use]) for use in USES}
    uses: tuple[str, ...] = USES
    if arguments.min_support is not None:
        settings["constraints"] = {}
    if arguments.min_confidence is not None and arguments.min_confidence < 1:
        settings["constraints"]["min_confidence"] = 1.0
    if rules is not None:
        # Rules mined from DATA are always right there, so training cannot learn how far to trust their votes.
        uses = tuple(use for use in USES if use != "votes")
        settings = {use: {"rules": rules} for use in uses}
        least = 1 if arguments.min_support is not None else USE_DEFAULTS["constraints"]["min_support"]
        certain = (rules.confidence == 1) & (rules.support >= least)
        settings["constraints"] = {"rules": rules[certain]}
    crf = CRF(template=template, c2=arguments.c2, n_jobs=arguments.jobs, verbose=miner.verbose)
    plain = are_plain(LabelCodes.of(test.y).names)
    results = compare_uses(
        crf,
        miner,
        data.x,
        data.y,
        test.x,
        test.y,
        uses=uses,
        settings=settings,
        score=token_accuracy if plain else segment_f1,
    )
    cells = [
        [
            f"{result.n_rules:,}",
            f"{result.n_features:,}",
            f"{result.seconds:.1f}",
            f"{100 * result.score:.2f}",
            "" if result.p_value is None else f"{result.p_value:.3g}",
        ]
        for result in results
    ]
    head = ["rules", "features", "seconds", "accuracy" if plain else "F1", "p"]
    if arguments.top:
        print()
    for line in matrix("use", [result.use for result in results], head, cells, gap="  "):
        print(line)
