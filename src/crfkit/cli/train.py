"""``crfkit train``: learn a model from labelled data."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from crfkit.cli import options
from crfkit.cli.messages import UsageError, ending, note, warn
from crfkit.cli.rule_options import add_training, check_template, check_training, training_miner, use_in_words
from crfkit.cli.train_data import Data, check_alike, read_data
from crfkit.cli.validation_options import (
    add_validation,
    check_validation,
    constraints_in_words,
    estimator,
    penalty,
)
from crfkit.exceptions import InputError
from crfkit.io.opening import check_writable

if TYPE_CHECKING:
    from crfkit.features.template import Template
    from crfkit.models.linear.crf import CRF

USAGE = "DATA [DATA …] -m MODEL [-t TEMPLATE] [options]"

DESCRIPTION = """\
Learns a model from labelled sequences: column files with a template, as CRF++
and Wapiti have them, or files of ready-made attributes. Reports on stderr."""

EXAMPLES = """\
examples:
  crfkit train train.txt -m chunks.crfkit              a usual template
  crfkit train train.txt -m chunks.crfkit -t chunking.template --c2 0.05
  crfkit train a.txt.gz b.txt.gz -m names.crfkit --dev dev.txt --patience 5
  crfkit train train.crfsuite -m small.crfkit --c1 0.5 --c2 0.1
  crfkit train new.txt -m better.crfkit --continue chunks.crfkit
  crfkit train train.txt -m chunks.crfkit --associations features
  crfkit train train.txt -m chunks.crfkit --constrained --c2 largest
  crfkit train table.csv -m trees.crfkit --model trees --window 7"""

# Kinds of models that are not linear: modules with add_options(group), refuse(arguments) and run(arguments).
TRAINERS = {"trees": "crfkit.cli.train_trees"}

_MANY_LABELS = 500  # more than that are hardly ever meant


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``train``; the choices and defaults are the estimator's own."""
    from crfkit.models.training import ALGORITHMS

    parser.add_argument("data", nargs="+", metavar="DATA", help="labelled data; - is standard input")
    needed = parser.add_argument_group("the model")
    needed.add_argument(
        "-m",
        "--model",
        action=_FileOrKind,
        metavar="FILE",
        help="where the model goes; '--model trees' instead says of what kind it is: potentials that are "
        "boosted trees (default: linear)",
    )
    parser.set_defaults(kind="linear")
    options.add_template(needed, "without one, columns get a window of two rows on either side")
    needed.add_argument(
        "--continue",
        dest="continued",
        metavar="MODEL",
        help="go on from this model with new data, and change what the data asks for",
    )
    needed.add_argument(
        "--start", metavar="MODEL", help="begin with the weights of this model, but learn from DATA alone"
    )
    given = parser.add_argument_group("the data")
    options.add_format(given)
    options.add_label_column(given)
    given.add_argument("--dev", metavar="FILE", help="held-out data; training keeps what is best on it")
    learning = parser.add_argument_group("learning")
    learning.add_argument(
        "--c1", type=float, default=0.0, metavar="X", help="L1 penalty; makes models sparse"
    )
    learning.add_argument(
        "--c2",
        type=penalty,
        metavar="X",
        help="L2 penalty (default: 1; with --constrained 0, or 'largest': what the constraints allow)",
    )
    learning.add_argument(
        "--order", type=int, choices=(1, 2), help="labels that a label depends on (default: 1)"
    )
    learning.add_argument(
        "--algorithm",
        choices=tuple(ALGORITHMS),
        default="auto",
        help="lbfgs (with --c1: OWL-QN), sgd (stochastic), or what is fastest",
    )
    learning.add_argument(
        "--max-iterations", type=options.whole(1), metavar="N", help="(default: as the algorithm needs)"
    )
    learning.add_argument(
        "--tol",
        type=float,
        default=1e-5,
        metavar="X",
        help="stop when the objective changes by less, relatively",
    )
    learning.add_argument(
        "--patience", type=options.whole(1), default=10, metavar="N", help="iterations without gain on --dev"
    )
    learning.add_argument("--class-weight", choices=("balanced",), help="rare labels count more")
    learning.add_argument("--seed", type=options.whole(0), metavar="N", help="of the stochastic steps")
    options.add_jobs(learning)
    features = parser.add_argument_group("features")
    features.add_argument(
        "--features", metavar="FILE", help="exactly those of this selection, which 'crfkit select' wrote"
    )
    features.add_argument(
        "--min-freq", type=float, default=0, metavar="N", help="leave out what is seen less often"
    )
    features.add_argument(
        "--all-possible-states", action="store_true", help="also attributes and labels never seen together"
    )
    features.add_argument(
        "--all-possible-transitions", action="store_true", help="also labels never seen in a row"
    )
    add_validation(parser.add_argument_group("validation constraints"))
    add_training(parser.add_argument_group("association rules ('crfkit mine' lists them)"))
    for kind, module in TRAINERS.items():
        import_module(module).add_options(parser.add_argument_group(f"--model {kind}"))
    talk = parser.add_argument_group("messages").add_mutually_exclusive_group()
    options.add_quiet(talk)
    talk.add_argument("-v", "--verbose", action="store_true", help="a line for each iteration")


class _FileOrKind(argparse.Action):
    """``--model`` names the file, or one of the kinds there are; ``-m`` always the file."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if option_string != "-m" and values in ("linear", *TRAINERS):
            namespace.kind = values
        else:
            namespace.model = values


def run(arguments: argparse.Namespace) -> int:
    """Read, train, save, report."""
    _check(arguments)
    if arguments.kind != "linear":
        done: int = import_module(TRAINERS[arguments.kind]).run(arguments)
        return done
    for module in TRAINERS.values():
        import_module(module).refuse(arguments)
    check_writable(arguments.model)
    crf, template = _estimator(arguments)
    miner, rule_file = training_miner(arguments, sys.stderr.isatty() and not arguments.quiet)
    began = time.perf_counter()
    if not arguments.quiet and arguments.template is not None and template is not None:
        note(f"{arguments.template}: {template.dialect} template")
        if not template.transitions and not template.edge_attributes:
            note(f"{arguments.template} has no line B: a label does not depend on the label before it")
    data, template = read_data(arguments.data, arguments, template, crf)
    check_template(rule_file, template, arguments.rules)
    crf.set_params(template=template, associations=miner)
    dev = None
    if arguments.dev is not None:
        dev, _ = read_data([arguments.dev], arguments, template, crf)
        check_alike(data, dev, arguments.dev)
    n_labels = len({label for labels in data.y for label in labels})
    if n_labels > _MANY_LABELS:
        warn(
            f"{n_labels:,} different labels: time and memory grow with their square; if the labels are in "
            "another column, say so with --label-column"
        )
    read = time.perf_counter()
    interrupted = fit_until_stopped(crf.fit if arguments.continued is None else crf.partial_fit, data, dev)
    trained = time.perf_counter()
    if miner is not None and not len(crf.rules_):
        _without_rules(data, arguments)
    if interrupted:
        keep_unfinished(crf, data, arguments, " (--start {} goes on from there)")
    save(crf, data, arguments.model)
    saved = time.perf_counter()
    if not arguments.quiet:
        _report(crf, data, arguments.model, (read - began, trained - read, saved - trained))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.model is None:
        raise UsageError("-m/--model FILE is missing: where the model goes")
    if arguments.continued is not None and arguments.start is not None:
        raise UsageError("--continue and --start exclude each other")
    check_training(arguments)
    check_validation(arguments)
    inputs = [*arguments.data, arguments.dev, arguments.template, arguments.continued, arguments.start]
    inputs += [arguments.features, arguments.rules]
    if inputs.count("-") > 1:
        raise UsageError("only one input can come from standard input")
    if arguments.model == "-":
        raise UsageError("the model goes into a file; -m - is not possible")
    for path in (*arguments.data, arguments.dev, arguments.template, arguments.features, arguments.rules):
        both_there = path and os.path.exists(path) and os.path.exists(arguments.model)
        if both_there and os.path.samefile(path, arguments.model):
            raise UsageError(f"-m {arguments.model} would overwrite what is read from {path}")


def _estimator(arguments: argparse.Namespace) -> tuple[CRF, Template | None]:
    """The estimator with its parameters, the model it goes on from inside it; and the template, if known."""
    talkative = sys.stderr.isatty() and not arguments.quiet
    settings = {
        "c1": arguments.c1,
        "order": arguments.order or 1,
        "algorithm": arguments.algorithm,
        "max_iterations": arguments.max_iterations,
        "tol": arguments.tol,
        "min_freq": arguments.min_freq,
        "all_possible_states": arguments.all_possible_states,
        "all_possible_transitions": arguments.all_possible_transitions,
        "class_weight": arguments.class_weight,
        "patience": arguments.patience,
        "n_jobs": arguments.jobs,
        "random_state": arguments.seed,
        "verbose": 2 if arguments.verbose else talkative,
        "warm_start": arguments.start is not None,
    }
    crf = estimator(arguments, settings)
    if arguments.features is not None:
        from crfkit.selection.selected import Selection

        crf.set_params(features=Selection.load(arguments.features))
    template = None
    if arguments.template is not None:
        from crfkit.features.template import Template

        template = Template.read(arguments.template)
    earlier = arguments.continued or arguments.start
    if earlier is not None:
        from crfkit.cli.loading import load_linear

        crf.tagger_, header = load_linear(earlier, arguments.jobs)
        crf.set_params(edge_attributes=(header.get("params") or {}).get("edge_attributes"))
        if arguments.order is None:
            crf.set_params(order=crf.tagger_.index.order)
        if template is None:
            template = crf.tagger_.template
        elif template != crf.tagger_.template:
            raise InputError(f"{arguments.template} is not the template of {earlier}: leave out --template")
    return crf, template


def fit_until_stopped(fit: Callable[..., Any], data: Data, dev: Data | None) -> bool:
    """Train; whether the user stopped it. (The optimisers take Ctrl-C as a wish to end early.)"""
    pressed = []

    def remember(number: int, frame: Any) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGINT, remember)
    except ValueError:  # not in the main thread: somebody else's signals
        before = None
    try:
        fit(data.x, data.y, data.weights, *((None, None) if dev is None else (dev.x, dev.y)))
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    return bool(pressed)


def save(crf: Any, data: Data, path: str) -> None:
    """Write the model with what it should remember of its data."""
    crf.save(path, record={} if data.record is None else {"data": data.record})


def _without_rules(data: Data, arguments: argparse.Namespace) -> None:
    """None was found, or none is left because the user wants few features."""
    if arguments.c1 > 0 or arguments.min_freq > 1:
        warn("no rule has a weight: --c1 and --min-freq leave out what is rare, and rules are")
        return
    raise InputError(
        f"no rules in {data.n_tokens:,} tokens, so there is no model with rules: lower --rule-support or "
        "--rule-confidence, or leave out --associations"
    )


def keep_unfinished(crf: Any, data: Data, arguments: argparse.Namespace, hint: str) -> None:
    """What was learnt until Ctrl-C goes beside the model, and the command ends as interrupted."""
    beside = f"{arguments.model}.unfinished"
    save(crf, data, beside)
    raise KeyboardInterrupt(
        f"stopped after {crf.n_iter_} iterations; what was learnt until then is in {beside}"
        f"{hint.format(beside)}, {arguments.model} is as it was"
    )


def _report(crf: CRF, data: Data, path: str, seconds: tuple[float, float, float]) -> None:
    index = crf.tagger_.index
    how = ending(crf.history_, crf.converged_)
    size = os.path.getsize(path) / 1e6
    lines = [
        ("data", f"{len(data.y):,} sequences, {data.n_tokens:,} tokens"),
        (
            "model",
            f"{len(crf.classes_):,} labels, {index.n_attributes:,} attributes, {index.n_features:,} features",
        ),
        ("objective", f"{crf.objective_:,.4f} after {crf.n_iter_:,} iterations ({how})"),
        ("seconds", "reading {:.2f}, training {:.2f}, saving {:.2f}".format(*seconds)),
        ("written", f"{path}, {size:,.1f} MB"),
    ]
    constraints = constraints_in_words(crf)
    if constraints is not None:
        lines.insert(3, ("constraints", constraints))
    associations = crf.tagger_.associations
    if associations is not None:
        n, given = len(associations.rules), getattr(crf.associations, "rules", None)
        some = f" of {len(given):,}" if given is not None and len(given) > n else ""
        lines.insert(2, ("rules", f"{n:,}{some} as {use_in_words(associations.use)}"))
    if crf.history_ and "dev_accuracy" in crf.history_[-1]:
        best = max(record["dev_accuracy"] for record in crf.history_)
        lines.insert(-2, ("dev accuracy", f"{100 * best:.2f} %"))
    for name, words in lines:
        note(f"{name:13}{words}")
