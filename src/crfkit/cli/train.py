"""``crfkit train``: learn a model from labelled data.

Options and steps that all kinds of model share. The module ``train_<folder>`` of a kind (see
``crfkit.models.kinds``) has ``add_options(parser)``, ``prepare(arguments)`` and ``report(estimator)``, says
what its options go with (``GOES_WITH``), and how they are checked (``CHECKS``).
"""

from __future__ import annotations

import argparse
import os
import signal
import time
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

from crfkit.cli import options
from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.train_data import Data
from crfkit.io.opening import check_writable
from crfkit.models.kinds import KINDS

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
  crfkit train train.txt -m chunks.crfkit --kind constrained --c2 largest
  crfkit train table.csv -m trees.crfkit --kind trees --window 7"""

_KINDS = {kind.name: kind.folder for kind in KINDS.values() if kind.trained_by_command}


def _trainers() -> dict[str, ModuleType]:
    return {folder: import_module(f"crfkit.cli.train_{folder}") for folder in dict.fromkeys(_KINDS.values())}


_OPTIONS = f"""
  data DATA...              labelled data; - is standard input
the model:
  -m, --model FILE          where the model goes
  --kind {"|".join(_KINDS)} = linear  {"; ".join(f"{name}: {KINDS[name].words}" for name in _KINDS)}
the data:
{options.formats()}
{options.label_column()}
  --dev FILE                held-out data; training keeps what is best on it
learning:
  --order 1|2:int           labels that a label depends on (default: 1)
  --max-iterations N>=1     (default: as the algorithm needs)
  --patience N>=1 = 10      iterations without gain on --dev
  --seed N>=0               of the stochastic steps
{options.JOBS}
"""
_MESSAGES = f"""
{options.QUIET}
  -v, --verbose             a line for each iteration
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``train``; the choices and defaults are the estimators' own."""
    options.declare(parser, _OPTIONS, {"model": {"action": _FileOrKind}})
    own = {}
    for folder, trainer in _trainers().items():
        shared = {action.dest for action in parser._actions}
        trainer.add_options(parser)
        own[folder] = [action for action in parser._actions if action.dest not in shared]
    parser.set_defaults(own_options=own)
    options.declare(parser.add_argument_group("messages").add_mutually_exclusive_group(), _MESSAGES)


class _FileOrKind(argparse.Action):
    """``--model`` names the file. It used to say the kind as well, which it still may; ``-m`` never did."""

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Any,
        option_string: str | None = None,
    ) -> None:
        if option_string != "-m" and values in _KINDS:
            warn(f"--model {values}: write --kind {values}; --model is for the file")
            namespace.kind = values
        else:
            namespace.model = values


def run(arguments: argparse.Namespace) -> int:
    """Read, train, save, report."""
    _check(arguments)
    trainers = _trainers()
    for trainer in trainers.values():
        for check in trainer.CHECKS:
            check(arguments)
    folder = _KINDS[arguments.kind]
    for other, actions in arguments.own_options.items():
        for action in actions:
            if other != folder and getattr(arguments, action.dest) != action.default:
                option, goes_with = action.option_strings[-1], trainers[other].GOES_WITH
                raise UsageError(f"{option} goes with {goes_with}, not with --kind {arguments.kind}")
    check_writable(arguments.model)
    began = time.perf_counter()
    job = trainers[folder].prepare(arguments)
    read = time.perf_counter()
    interrupted = _fit_until_stopped(job.fit, job.data, job.dev)
    trained = time.perf_counter()
    path = f"{arguments.model}.unfinished" if interrupted else arguments.model
    job.estimator.save(path, record={} if job.data.record is None else {"data": job.data.record})
    if interrupted:
        raise KeyboardInterrupt(
            f"stopped after {job.estimator.n_iter_} iterations; what was learnt until then is in {path}"
            f"{job.hint.format(path)}, {arguments.model} is as it was"
        )
    if not arguments.quiet:
        seconds = (read - began, trained - read, time.perf_counter() - trained)
        _report(job.estimator, trainers[folder].report(job.estimator), job.data, path, seconds)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.model is None:
        raise UsageError("-m/--model FILE is missing: where the model goes")
    files = [*arguments.data, arguments.dev, arguments.template, arguments.features, arguments.rules]
    if [*files, arguments.continued, arguments.start].count("-") > 1:
        raise UsageError("only one input can come from standard input")
    if arguments.model == "-":
        raise UsageError("the model goes into a file; -m - is not possible")
    if os.path.exists(arguments.model):
        for path in files:
            if path and os.path.exists(path) and os.path.samefile(path, arguments.model):
                raise UsageError(f"-m {arguments.model} would overwrite what is read from {path}")


def _fit_until_stopped(fit: Callable[..., Any], data: Data, dev: Data | None) -> bool:
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


def _report(
    crf: Any, facts: list[tuple[str, str]], data: Data, path: str, seconds: tuple[float, float, float]
) -> None:
    lines = [("data", f"{len(data.y):,} sequences, {data.n_tokens:,} tokens"), *facts]
    if crf.history_ and "dev_accuracy" in crf.history_[-1]:
        best = max(record["dev_accuracy"] for record in crf.history_)
        lines.append(("dev accuracy", f"{100 * best:.2f} %"))
    lines += [
        ("seconds", "reading {:.2f}, training {:.2f}, saving {:.2f}".format(*seconds)),
        ("written", f"{path}, {os.path.getsize(path) / 1e6:,.1f} MB"),
    ]
    for name, words in lines:
        note(f"{name:13}{words}")
