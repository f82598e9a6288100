"""Options that several commands share, and the layout of the help texts. Imports nothing heavy."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from crfkit.cli.tables import terminal_columns

Group: TypeAlias = "argparse._ActionsContainer"  # a parser, or a group of its options


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Formats help: keeps line breaks in texts, and adds the defaults to the options."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(terminal_columns(), 100) - 2)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        told = text is None or "(default" in text
        if told or action.default in (None, argparse.SUPPRESS, []) or action.default is False:
            return text
        return f"{text} (default: %(default)s)"


_MOST = 2**31 - 1
_MOST_SEED = 10**18


def whole(least: int, most: int = _MOST) -> type[int]:
    """Return an option type: a whole number from ``least`` to ``most``."""

    class Whole(int):
        """A whole number; argparse shows the name of the class in its messages."""

        def __new__(cls, text: str) -> Whole:
            number = super().__new__(cls, text)
            if number < least:
                raise argparse.ArgumentTypeError(f"{text} is less than {least}")
            if number > most:
                raise argparse.ArgumentTypeError(f"{text} is more than {most}")
            return number

    Whole.__name__ = "whole number"
    return Whole


def _integer(text: str) -> int:
    number = int(text)
    if abs(number) > _MOST:
        raise argparse.ArgumentTypeError(f"{text} is not between -{_MOST} and {_MOST}")
    return number


_integer.__name__ = "whole number"
_TYPES: dict[str, Callable[[str], Any]] = {"int": _integer, "float": float}
_MARKS: dict[str, dict[str, Any]] = {"...": {"nargs": "+"}, "]": {"nargs": "?"}, "!": {"required": True}}
_LINE = re.compile(
    r"(?P<names>[\w-]+(?:, [\w-]+)*)"
    r"(?: \[?(?P<value>\S+?)(?:>=(?P<least>\d+)|:(?P<type>int|float))?(?P<mark>\.\.\.|!|\])?)?"
    r"(?: = (?P<default>\S+))?"
)


def declare(parser: Group, text: str, more: Mapping[str, Mapping[str, Any]] | None = None) -> None:
    """Add the options that ``text`` lists in the form of a help text.

    ::

        what to show:
          --json                  a switch
          --sort name|size = name  one of several, with a default
          --top N>=1              a whole number of at least 1; other types: X:float, K:int
          --label L...            may be given several times
          --output FILE!          required
          --why [N>=1]            the value is optional; ``more`` has its const
          data DATA...            a positional argument

    Two or more blanks precede the help text; lines indented deeper continue it. A line without indent begins
    a group. ``more`` has further arguments of ``add_argument``, by option name without dashes.
    """
    group = parser
    for line in filter(None, re.sub(r"\n {3,}", " ", text).splitlines()):
        if not line.startswith(" "):
            group = parser.add_argument_group(line.removesuffix(":"))
            continue
        head, _, words = line.strip().partition("  ")
        found = _LINE.fullmatch(head)
        if found is None:
            raise ValueError(f"not an option: {line}")
        names = found["names"].split(", ")
        settings: dict[str, Any] = {"help": words.strip()}
        if found["value"] is None:
            settings["action"] = "store_true"
        else:
            most = _MOST_SEED if "--seed" in names else _MOST
            kind = whole(int(found["least"]), most) if found["least"] else _TYPES.get(found["type"], str)
            settings["type"] = kind
            if "|" in found["value"]:
                settings["choices"] = tuple(map(kind, found["value"].split("|")))
            else:
                settings["metavar"] = found["value"]
            if found["mark"] == "..." and names[0].startswith("-"):
                settings["action"] = "append"
            elif found["mark"] is not None:
                settings |= _MARKS[found["mark"]]
        settings |= (more or {}).get(names[-1].lstrip("-"), {})
        if found["default"] is not None:
            settings["default"] = settings["type"](found["default"])
        group.add_argument(*names, **settings)


def given(arguments: argparse.Namespace, *names: str, **renamed: str) -> dict[str, Any]:
    """Return the values of the options that were given, by parameter (``parameter=option`` renames)."""
    options = {**{name: name for name in names}, **renamed}
    values = {parameter: getattr(arguments, option) for parameter, option in options.items()}
    return {parameter: value for parameter, value in values.items() if value is not None}


def verbosity(arguments: argparse.Namespace) -> int | str:
    """Return what an estimator's ``verbose`` should be for ``--verbose`` and ``--quiet``."""
    return 2 if arguments.verbose else 0 if arguments.quiet else "auto"


def formats() -> str:
    """Return the options ``--format``, ``--separator`` and ``--sequence-column``."""
    from crfkit.io.formats import FORMATS

    names = "|".join(("auto", *FORMATS))
    words = "; ".join(f"{format.name}: {format.words}" for format in FORMATS.values())
    return f"  --format {names} = auto  {words}. auto: detected from name and content\n{TABLES}"


def label_column(default: str = "the last") -> str:
    """Return the option ``--label-column``."""
    return f"""\
  --label-column K  column of the true labels: 0, 1, …, or -1, -2, … from the end; csv: its name
      (default: {default})"""


def template(words: str = "default for columns: a window of two rows on either side") -> str:
    """Return the option ``--template``."""
    return f"  -t, --template FILE  template of CRF++ or Wapiti; {words}"


TABLES = """\
  --separator CHAR  separator of columns, such as ',' or '\\t' (default: blanks and tabs; for csv a comma,
      semicolon or tab, as in the header)
  --sequence-column NAME  csv: the column that identifies the sequence of each row (default: as in training;
      empty lines separate sequences, too); 'none': there is no such column
  --no-header  csv: the first line is data; columns are called 0, 1, …
  --snap  jsonl: widen labelled spans that cut a token to whole tokens"""
JOBS = "  -j, --jobs N>=1  threads (default: one thread per core)"
QUIET = "  -q, --quiet  only errors and warnings on stderr"
SPREADSHEET_SAFE = """\
  --spreadsheet-safe  csv: put ' before cells that begin with =, +, - or @: spreadsheets compute such cells"""
