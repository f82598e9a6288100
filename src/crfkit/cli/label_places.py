"""Errors of metrics in the words of ``crfkit eval``: file, line and options instead of y_true and scheme=."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.data.columns import Columns

_PLACE = re.compile(r"\by(_true|_pred|_a|_b)?\[(\d+)\]\[(\d+)\]")
_ROLES = {"y_true": "true label", "y_pred": "predicted label", "y_b": "label of --compare"}
_SAME = {"y": "y_true", "y_a": "y_pred"}  # other names that metrics have for the same labels
_HINT = (
    "; name another scheme with --scheme or the right columns with --gold-column and --predicted-column, or "
    "score each token by itself with --raw"
)
_WORDS = (  # of metrics, of the command
    ("; pass another scheme=, or use token_report for plain labels", _HINT),
    ("; name the scheme that the labels have (detect_scheme finds it)", _HINT),
    ("scheme must be one of", "--scheme must be one of"),
    ("the labels are legal in no scheme", "--strict: the labels are legal in no scheme"),
)


class Places:
    """The files that labels were read from, by the names that metrics have for the labels."""

    def __init__(self) -> None:
        self.of: dict[str, Columns] = {}

    @contextmanager
    def in_messages(self) -> Iterator[None]:
        """Raise errors of the metrics again, with file and line and the options of the command."""
        try:
            yield
        except InputError as error:
            text = str(error)
            for theirs, ours in _WORDS:
                text = text.replace(theirs, ours)
            raise InputError(_PLACE.sub(self._line, text)) from error

    def _line(self, found: re.Match[str]) -> str:
        name = f"y{found[1] or ''}"
        name = _SAME.get(name, name)
        columns = self.of[name]
        line = columns.lines[columns.offsets[int(found[2])] + int(found[3])]
        return f"{columns.source}:{line}: the {_ROLES[name]}"
