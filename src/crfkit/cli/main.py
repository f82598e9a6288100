"""Reads the command line and calls the command.

Each command is a module of this package, loaded only when it is named: it has a ``USAGE``, a
``DESCRIPTION``, ``EXAMPLES``, ``add_options(parser)`` and ``run(arguments)``, which returns the exit code.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import io
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from crfkit import __version__
from crfkit.cli.messages import UsageError, warn
from crfkit.cli.options import HelpFormatter
from crfkit.exceptions import CRFKitError

COMMANDS = {
    "train": "learn a model from labelled sequences",
    "select": "choose the features that a model needs",
    "mine": "find rules of observations and labels, and list them",
    "tag": "label sequences with a model",
    "eval": "compare labels with the truth, as conlleval does",
    "inspect": "look into a model: labels, features, transitions",
    "convert": "turn data, labels and models of one format into another",
    "genes": "find genes in DNA: train, predict, eval, plot",
    "stocks": "test forecasts of smoothed stock prices: backtest",
    "demo": "train and show a CRF on generated postal addresses",
}

DONE, KNOWN_ERROR, WRONG_USAGE = 0, 1, 2
INTERRUPTED, CLOSED_PIPE = 130, 141  # 128 + SIGINT, 128 + SIGPIPE: what the shell shows of other programs

_EPILOG = """\
a first round, with one token per line, its label in the last column:
  crfkit train train.txt -m chunks.crfkit --dev dev.txt
  crfkit tag chunks.crfkit test.txt > tagged.txt
  crfkit eval tagged.txt
  crfkit inspect chunks.crfkit

Models of CRFsuite, Wapiti and CRF++ will do in place of chunks.crfkit.
'crfkit COMMAND --help' shows the options of a command, with examples."""


def parser(argv: Sequence[str]) -> argparse.ArgumentParser:
    """The command line's grammar: of the command that ``argv`` names in full, of the others their names."""
    top = argparse.ArgumentParser(
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

    0 done, 1 a known error, 2 a wrong command line, 130 stopped by Ctrl-C, 141 when nobody reads the output.
    """
    argv = sys.argv[1:] if argv is None else argv
    gc.set_threshold(100_000)  # fewer garbage-collection passes make start-up faster
    # NumPy's BLAS, which no command uses, would start one thread per core when it is loaded.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an ASCII terminal shows ? instead of failing
    top = parser(argv)
    arguments, surplus = top.parse_known_args(argv)
    if arguments.command is None:
        top.print_help()
        return WRONG_USAGE
    try:
        if surplus:
            raise UsageError(f"does not know what to do with {' '.join(surplus)}")
        with _warnings_in_words():
            code: int = arguments.run(arguments)
            sys.stdout.flush()
    except UsageError as error:
        print(f"crfkit {arguments.command}: {error}", file=sys.stderr)
        print(f"'crfkit {arguments.command} --help' shows how it is used", file=sys.stderr)
        return WRONG_USAGE
    except BrokenPipeError:
        _forget_output()
        return CLOSED_PIPE
    except (CRFKitError, OSError) as error:
        print(f"crfkit: {_words(error)}", file=sys.stderr)
        return KNOWN_ERROR
    except MemoryError:
        print("crfkit: this needs more memory than there is", file=sys.stderr)
        return KNOWN_ERROR
    except KeyboardInterrupt as error:
        print(f"crfkit: {str(error) or 'stopped'}", file=sys.stderr)
        return INTERRUPTED
    return code


def _words(error: Exception) -> str:
    """What the user reads of an error: of the system's errors, without their numbers."""
    if not isinstance(error, OSError) or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}" if error.filename is not None else error.strerror


def _forget_output() -> None:
    """What is still buffered for the closed pipe goes nowhere: Python would complain when it ends."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


@contextlib.contextmanager
def _warnings_in_words() -> Iterator[None]:
    """Warnings of crfkit as one line on standard error, without the place in its sources."""

    def show(message: Warning | str, *place: Any, **more: Any) -> None:
        warn(str(message))

    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = show
        yield
