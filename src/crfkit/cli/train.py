"""``crfkit train``: train a model on labelled data.

This module has the options and steps that all kinds of model share. Each kind (see ``crfkit.models.kinds``)
has a module ``train_<folder>`` with ``add_options(parser)``, ``prepare(arguments)``, ``report(estimator)``,
``GOES_WITH`` (the models that its options are for), ``CHECKS`` (functions that check its options) and
possibly ``also(arguments)`` (options of other kinds that it takes as well).
"""

from __future__ import annotations

import argparse
import os
import time
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

from crfkit.cli import group_column, options
from crfkit.cli.messages import UsageError, note, warn
from crfkit.cli.output_files import check_outputs, keep
from crfkit.cli.train_data import Data, Job
from crfkit.models.kinds import KINDS

if TYPE_CHECKING:
    from crfkit.models.checkpoint import Checkpoint

USAGE = "DATA [DATA …] -m MODEL [-t TEMPLATE] [options]"

DESCRIPTION = """\
Trains a model on labelled sequences: columns, CSV, CoNLL-U, JSON lines (default
features, or a template of CRF++ or Wapiti), or ready-made attributes."""

EXAMPLES = """\
examples:
  crfkit train train.txt -m chunks.crfkit              default features
  crfkit train train.txt -m chunks.crfkit -t chunking.template --c2 0.05
  crfkit train a.txt.gz b.txt.gz -m names.crfkit --dev dev.txt --patience 5
  crfkit train train.crfsuite -m small.crfkit --c1 0.5 --c2 0.1
  crfkit train new.txt -m better.crfkit --continue chunks.crfkit
  crfkit train train.txt -m chunks.crfkit --checkpoint chunks.part --resume
  crfkit train part-*.txt.gz -m chunks.crfkit --blocks chunks.blocks
  crfkit train part-*.txt.gz -m chunks.crfkit --dask tcp://scheduler:8786
  crfkit train train.txt -m chunks.crfkit --associations features
  crfkit train train.txt -m chunks.crfkit --kind constrained --c2 largest
  crfkit train table.csv -m trees.crfkit --kind trees --window 7
  crfkit train table.csv -m kernel.crfkit --kind kernel --sequence-column id
  crfkit train train.txt -m names.crfkit --kind segments --max-length 8
  crfkit train --graphs graphs.jsonl -m graphs.crfkit    graphs in JSON lines
  crfkit train --graphs graphs.jsonl -m trees.crfkit --kind trees --leaves 16"""

_KINDS = {kind.name: kind.folder for kind in KINDS.values() if kind.trained_by_command}


def _trainers() -> dict[str, ModuleType]:
    return {folder: import_module(f"crfkit.cli.train_{folder}") for folder in dict.fromkeys(_KINDS.values())}


_OPTIONS = f"""
  data DATA...              labelled data; - is standard input
the model:
  -m, --model FILE          file for the model
  --kind {"|".join(_KINDS)} = linear  {"; ".join(f"{name}: {KINDS[name].words}" for name in _KINDS)}
the data:
{options.formats()}
{options.label_column()}
{group_column.OPTION}
  --dev FILE                held-out data; training keeps the model that is best on it
training:
  --order N>=1              number of previous labels that a label depends on (default: 1; trees: 1 or 2)
  --max-iterations N>=1     most iterations (default: depends on the algorithm)
  --patience N>=1 = 10      stop after N iterations without improvement on --dev
  --class-weight balanced   errors at rare labels cost more
  --seed N>=0               seed of the random numbers
{options.JOBS}
checkpoints:
  --checkpoint FILE         save the state of training in FILE every few minutes; it is removed when the
      model is written
  --checkpoint-minutes X:float = 5  minutes between checkpoints
  --resume                  continue from --checkpoint FILE, if it exists, after a run that was killed: the
      result is that of an uninterrupted run
"""
_MESSAGES = f"""
{options.QUIET}
  -v, --verbose             one line per iteration
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``train``; choices and defaults are those of the estimators."""
    weights: dict[str, Any] = {"choices": ("balanced",), "metavar": None}
    more: dict[str, dict[str, Any]] = {"model": {"action": _FileOrKind}, "class-weight": weights}
    options.declare(parser, _OPTIONS, more)
    own = {}
    for folder, trainer in _trainers().items():
        shared = {action.dest for action in parser._actions}
        trainer.add_options(parser)
        own[folder] = [action for action in parser._actions if action.dest not in shared]
    parser.set_defaults(own_options=own)
    options.declare(parser.add_argument_group("messages").add_mutually_exclusive_group(), _MESSAGES)


class _FileOrKind(argparse.Action):
    """Option ``--model FILE``; for compatibility, ``--model KIND`` still works like ``--kind KIND``."""

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
    """Read the data, train, save the model and report."""
    _check(arguments)
    trainers = _trainers()
    for trainer in trainers.values():
        for check in trainer.CHECKS:
            check(arguments)
    folder = _KINDS[arguments.kind]
    also = trainers[folder].also(arguments) if hasattr(trainers[folder], "also") else ()
    for other, actions in arguments.own_options.items():
        for action in actions:
            if action.dest in also or other == folder:
                continue
            if getattr(arguments, action.dest) != action.default:
                option, goes_with = action.option_strings[-1], trainers[other].GOES_WITH
                raise UsageError(f"{option} is for {goes_with}, not for --kind {arguments.kind}")
    checkpoint = _checkpoint(arguments)
    began = time.perf_counter()
    job = trainers[folder].prepare(arguments)
    read = time.perf_counter()
    interrupted = _fit_until_stopped(job, checkpoint)
    trained = time.perf_counter()
    path = f"{arguments.model}.unfinished" if interrupted else arguments.model
    record = {} if job.data.record is None else {"data": job.data.record}
    keep(path, lambda place: job.estimator.save(place, record=record), "the model")
    if interrupted:
        raise KeyboardInterrupt(
            f"{_progress_in_words(job.estimator.n_iter_)}; the unfinished model is in {path}"
            f"{job.hint.format(path)}{_hint(checkpoint)}"
        )
    if checkpoint is not None:
        checkpoint.remove()  # not before the model is written
    if not arguments.quiet:
        seconds = (read - began, trained - read, time.perf_counter() - trained)
        _report(job.estimator, trainers[folder].report(job.estimator), job.data, path, seconds)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    if arguments.model is None:
        raise UsageError("-m FILE is missing: name the file for the model")
    files = [*arguments.data, arguments.dev, arguments.template, arguments.features, arguments.rules]
    if [*files, arguments.continued, arguments.start].count("-") > 1:
        raise UsageError("only one input can come from standard input")
    if arguments.model == "-":
        raise UsageError("-m needs a file, not standard output")
    if arguments.checkpoint is None and arguments.resume:
        raise UsageError("--resume needs --checkpoint FILE: the file to continue from")
    if arguments.checkpoint == "-":
        raise UsageError("--checkpoint needs a file, not standard output")
    check_outputs(arguments, [arguments.model, arguments.checkpoint], files)


def _checkpoint(arguments: argparse.Namespace) -> Checkpoint | None:
    """Return the checkpoint, checked before the data is read."""
    if arguments.checkpoint is None:
        return None
    from crfkit.models.checkpoint import Checkpoint

    checkpoint = Checkpoint(
        arguments.checkpoint, arguments.checkpoint_minutes, resume=arguments.resume, keep=True
    )
    Checkpoint.of(checkpoint)
    if arguments.resume and not arguments.quiet and not os.path.exists(checkpoint.path):
        note(f"there is no checkpoint {checkpoint.path} yet: training starts from the beginning")
    return checkpoint


def _hint(checkpoint: Checkpoint | None) -> str:
    """Return how to continue from a checkpoint that was written."""
    if checkpoint is None or not os.path.exists(checkpoint.path):
        return ""
    return f"; the same command with --resume continues from the checkpoint {checkpoint.path}"


def _progress_in_words(n_iterations: int) -> str:
    if n_iterations:
        return f"stopped after {n_iterations} iterations"
    return "stopped before the first iteration; the weights so far are kept"


def _fit_until_stopped(job: Job, checkpoint: Checkpoint | None) -> bool:
    """Train, and return whether Ctrl-C or SIGTERM has stopped it with an unfinished model."""
    data, dev = job.data, job.dev
    before = getattr(job.estimator, "tagger_", None)  # of a model that is trained further
    try:
        held = (None, None) if dev is None else (dev.x, dev.y)
        groups = {} if data.groups is None else {"groups": data.groups}
        job.fit(data.x, data.y, data.weights, *held, checkpoint=checkpoint, **groups)
    except KeyboardInterrupt:
        if getattr(job.estimator, "tagger_", None) is before:
            # So early that there is no model yet, or a second Ctrl-C while it was kept.
            raise KeyboardInterrupt(f"stopped{_hint(checkpoint)}") from None
        return True
    return False


def _report(
    crf: Any, facts: list[tuple[str, str]], data: Data, path: str, seconds: tuple[float, float, float]
) -> None:
    lines = [("data", str(data)), *facts]
    if crf.history_ and "dev_accuracy" in crf.history_[-1]:
        best = max(record["dev_accuracy"] for record in crf.history_)
        lines.append(("dev accuracy", f"{100 * best:.2f} %"))
    lines += [
        ("seconds", "reading {:.2f}, training {:.2f}, saving {:.2f}".format(*seconds)),
        ("written", f"{path}, {os.path.getsize(path) / 1e6:,.1f} MB"),
    ]
    for name, words in lines:
        note(f"{name:13}{words}")
