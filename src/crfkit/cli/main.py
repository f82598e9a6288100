"""Reads the command line and runs the command.

Each command is a module of this package, imported only when the command is used. It has ``USAGE``,
``DESCRIPTION``, ``EXAMPLES``, ``add_options(parser)`` and ``run(arguments)``, which returns the exit code.
"""

from __future__ import annotations

import argparse
import contextlib
import errno
import gc
import io
import os
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from crfkit import __version__
from crfkit.cli.messages import UsageError, complain, note, warn
from crfkit.cli.options import HelpFormatter
from crfkit.cli.output_files import unchanged
from crfkit.exceptions import CRFKitError

COMMANDS = {
    "train": "train a model on labelled sequences",
    "tune": "find good features and parameters by cross-validation, and train with them",
    "select": "select the features that a model needs",
    "mine": "find and list association rules between observations and labels",
    "tag": "label sequences with a model",
    "annotate": "label sentences on a local page, with a model that learns meanwhile",
    "eval": "score predicted labels, as conlleval does",
    "calibrate": "make a model's probabilities true on held-out data; thresholds for a precision",
    "report": "write an HTML page about a model: how good it is, where it errs, what it has learnt",
    "inspect": "show the contents of a model: labels, features, transitions",
    "convert": "convert data, labels and models to another format",
    "genes": "find genes in DNA: train, predict, eval, plot",
    "stocks": "test forecasts of smoothed stock prices: backtest",
    "demo": "train a CRF on generated postal addresses and show the results",
}

DONE, KNOWN_ERROR, WRONG_USAGE = 0, 1, 2
# 128 + the signal's number, as the shell reports them: SIGINT, SIGPIPE, SIGTERM
INTERRUPTED, CLOSED_PIPE, TERMINATED = 130, 141, 143

_EPILOG = """\
first steps, for data with one token per line and the label in the last column:
  crfkit train train.txt -m chunks.crfkit --dev dev.txt
  crfkit tag chunks.crfkit test.txt > tagged.txt
  crfkit eval tagged.txt
  crfkit inspect chunks.crfkit

Models of CRFsuite, Wapiti and CRF++ can be used in place of chunks.crfkit.
'crfkit COMMAND --help' shows the options of a command, with examples."""


class _Parser(argparse.ArgumentParser):
    def _print_message(self, message: str, file: Any = None) -> None:
        """Write a message; argparse itself passes over errors."""
        (file or sys.stderr).write(message or "")


def parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """Return the parser, with the options of the command in ``argv`` and the names of all commands."""
    top = _Parser(
        prog="crfkit",
        description="Conditional random fields for sequence labelling.",
        epilog=_EPILOG,
        formatter_class=HelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"crfkit {__version__}")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    named = next((argument for argument in argv if not argument.startswith("-")), None)
    for name, summary in COMMANDS.items():
        if name != named:
            commands.add_parser(name, help=summary, formatter_class=HelpFormatter)
            continue
        module = import_module(f"crfkit.cli.{name}")
        command = commands.add_parser(
            name,
            help=summary,
            usage=f"crfkit {name} {module.USAGE}",
            description=module.DESCRIPTION,
            epilog=module.EXAMPLES,
            formatter_class=HelpFormatter,
        )
        module.add_options(command)
        command.set_defaults(run=module.run)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code.

    0: done, 1: a known error, 2: a wrong command line, 130: stopped by Ctrl-C, 141: output pipe closed, 143:
    stopped by SIGTERM, which does what Ctrl-C does.
    """
    argv = sys.argv[1:] if argv is None else argv
    _open_closed_streams()
    gc.set_threshold(100_000)  # fewer garbage-collection passes make start-up faster
    # Otherwise NumPy's BLAS, which no command uses, starts one thread per core when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an ASCII terminal shows ? instead of failing
    top = parser(argv)
    try:
        try:
            arguments, surplus = top.parse_known_args(argv)
            if arguments.command is None:
                top.print_help()
                return WRONG_USAGE
        finally:  # --help and --version have written to standard output
            sys.stdout.flush()
    except BrokenPipeError:
        _forget_output()
        return CLOSED_PIPE
    except OSError as error:
        complain(f"crfkit: {_words(error)}")
        _forget_output()
        return KNOWN_ERROR
    code = _run(arguments, surplus)
    if code not in (DONE, CLOSED_PIPE):
        with contextlib.suppress(KeyboardInterrupt):  # a second Ctrl-C
            for path in unchanged(arguments):
                note(f"{path} is unchanged: it is the result of an earlier run")
    return code


def _run(arguments: argparse.Namespace, surplus: Sequence[str]) -> int:
    """Run the command; print what it raises and return the exit code."""
    terminated: list[int] = []
    try:
        if len(surplus) == 1 and surplus[0][:1] != "-" and getattr(arguments, "input", None) == "-":
            arguments.input, surplus = surplus[0], []  # argparse does not find it behind options
        if surplus:
            raise UsageError(f"unknown arguments: {' '.join(surplus)}")
        with _warnings_in_words(), _sigterm_as_ctrl_c(terminated):
            code: int = arguments.run(arguments)
            sys.stdout.flush()
    except UsageError as error:
        complain(f"crfkit {arguments.command}: {error}")
        complain(f"'crfkit {arguments.command} --help' shows the options")
        return WRONG_USAGE
    except BrokenPipeError:
        _forget_output()
        return CLOSED_PIPE
    except (CRFKitError, OSError) as error:
        complain(f"crfkit: {_words(error)}")
        _forget_output()
        return KNOWN_ERROR
    except MemoryError:
        complain("crfkit: out of memory")
        return KNOWN_ERROR
    except KeyboardInterrupt as error:
        complain(f"crfkit: {str(error) or 'stopped'}")
        return TERMINATED if terminated else INTERRUPTED
    return code


@contextlib.contextmanager
def _sigterm_as_ctrl_c(received: list[int]) -> Iterator[None]:
    """Let SIGTERM raise ``KeyboardInterrupt``, and note it in ``received``."""

    def stop(number: int, frame: Any) -> None:
        received.append(number)
        raise KeyboardInterrupt

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not in the main thread, which alone can handle signals
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _words(error: Exception) -> str:
    """Return the message of an error; for system errors without the error number."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    if error.errno == errno.EBADF and error.filename is None:
        return "standard input or standard output is closed: name a file, or do not close it"
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


def _open_closed_streams() -> None:
    """Give a standard stream that was closed a descriptor: reading and writing then fail with an error.

    Without it, the next file that is opened would take its place, and messages could get into that file.
    """
    for number, mode in ((0, os.O_WRONLY), (1, os.O_RDONLY), (2, os.O_WRONLY)):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, mode)  # the lowest number that is free
    for name, number in (("stdin", 0), ("stdout", 1), ("stderr", 2)):
        if getattr(sys, name) is None:
            setattr(sys, name, open(number, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115


def _forget_output() -> None:
    """Discard buffered output that cannot be written; Python would complain about it at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)


@contextlib.contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Print warnings as one line on standard error, without their place in the source code."""

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
