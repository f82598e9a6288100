"""Options that several commands share, and the shape of the help texts. Imports nothing heavy."""

from __future__ import annotations

import argparse
from typing import TypeAlias

from crfkit.cli.tables import terminal_columns

Group: TypeAlias = "argparse._ActionsContainer"  # a parser, or a group of its options


class HelpFormatter(argparse.RawDescriptionHelpFormatter):
    """Texts as they are written; options with room for their names, and with their defaults."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=min(terminal_columns(), 100) - 2)

    def _get_help_string(self, action: argparse.Action) -> str | None:
        text = action.help
        told = text is None or "(default" in text
        if told or action.default in (None, argparse.SUPPRESS, []) or action.default is False:
            return text
        return f"{text} (default: %(default)s)"


def whole(least: int) -> type[int]:
    """Type of an option: a whole number of at least ``least``."""

    class Whole(int):
        """Named for the message of argparse."""

        def __new__(cls, text: str) -> Whole:
            number = super().__new__(cls, text)
            if number < least:
                raise argparse.ArgumentTypeError(f"{text} is less than {least}")
            return number

    Whole.__name__ = "whole number"
    return Whole


def add_format(group: Group) -> None:
    """``--format`` and how its columns are told apart."""
    from crfkit.io.formats import FORMATS

    group.add_argument(
        "--format",
        choices=("auto", *FORMATS),
        default="auto",
        help="; ".join(f"{format.name}: {format.words}" for format in FORMATS.values())
        + ". auto goes by name and content",
    )
    add_table_options(group)


def add_table_options(group: Group) -> None:
    """How the rows of columns and csv are cut: ``--separator`` and ``--sequence-column``."""
    group.add_argument(
        "--separator",
        metavar="CHAR",
        help="what stands between columns, such as ',' or '\\t' (default: blanks and tabs; for csv a "
        "comma, semicolon or tab, whichever the header has)",
    )
    group.add_argument(
        "--sequence-column",
        metavar="NAME",
        help="csv: the column that says which sequence a row belongs to (default: empty lines do)",
    )


def add_label_column(group: Group, default: str = "the last") -> None:
    """``--label-column``."""
    group.add_argument(
        "--label-column",
        metavar="K",
        help=f"column of the true labels: 0, 1, …, or -1, -2, … from the end; csv: its name "
        f"(default: {default})",
    )


def add_template(group: Group, words: str) -> None:
    """``--template``."""
    group.add_argument("-t", "--template", metavar="FILE", help=f"template of CRF++ or Wapiti; {words}")


def add_jobs(group: Group) -> None:
    """``--jobs``."""
    group.add_argument("-j", "--jobs", type=whole(1), metavar="N", help="threads (default: one a core)")


def add_quiet(group: Group) -> None:
    """``--quiet``."""
    group.add_argument("-q", "--quiet", action="store_true", help="only errors and warnings on stderr")
