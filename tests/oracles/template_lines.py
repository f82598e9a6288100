"""Checks of invalid template lines."""

import re

from refusals import refuses

from crfkit.features import Template


def refuses_line(line: str, message: str, text: str, dialect: str) -> None:
    """Check that the error about a template whose third line is wrong names source and line, and shows it."""
    pattern = rf"^my\.tpl:3: {re.escape(message)}(?s:.*): {re.escape(repr(line))}$"
    refuses(pattern, Template.parse, text, dialect, "my.tpl")
