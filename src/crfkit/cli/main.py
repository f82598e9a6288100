"""Reads the command line and calls the command. Each command is a module with ``add_parser`` and ``run``."""

from __future__ import annotations

import argparse
import io
import sys
from collections.abc import Sequence

from crfkit import __version__
from crfkit.cli import demo
from crfkit.exceptions import CRFKitError

COMMANDS = (demo,)


def parser() -> argparse.ArgumentParser:
    """The command line's grammar."""
    top = argparse.ArgumentParser(
        prog="crfkit", description="Conditional random fields for sequence labelling."
    )
    top.add_argument("--version", action="version", version=f"crfkit {__version__}")
    commands = top.add_subparsers(title="commands", dest="command", metavar="COMMAND")
    for command in COMMANDS:
        command.add_parser(commands)
    return top


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return its exit code: 0 done, 1 a known error, 2 a wrong command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # an ASCII terminal shows ? instead of failing
    top = parser()
    arguments = top.parse_args(argv)
    if arguments.command is None:
        top.print_help()
        return 2
    try:
        code: int = arguments.run(arguments)
    except CRFKitError as error:
        print(f"crfkit: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("crfkit: stopped", file=sys.stderr)
        return 130
    return code
