"""Progress of training: a tqdm bar if tqdm is installed, else one line per iteration on stderr."""

from __future__ import annotations

import sys
from typing import Any

from crfkit.log import inform
from crfkit.optional import find


class Progress:
    """Displays iterations of training. ``verbose``: False: nothing, True: a bar or lines, 2: always lines."""

    def __init__(self, verbose: bool | int, total: int | None) -> None:
        self._shown = 0
        self._last: dict[str, Any] = {}
        self._bar: Any = None
        self._lines = bool(verbose)
        if verbose and int(verbose) < 2:
            library = find("tqdm.auto")
            if library is None:
                return
            self._lines = False
            self._bar = library.tqdm(total=total, unit="it", file=sys.stderr, dynamic_ncols=True, desc="CRF")

    def say(self, words: str) -> None:
        """Show a message outside the iterations."""
        if self._bar is not None:
            self._bar.set_postfix_str(words)
        elif self._lines:
            sys.stderr.write(f"{words}\n")
            sys.stderr.flush()

    def show(self, record: dict[str, Any]) -> None:
        self._shown += 1
        self._last = record
        if self._bar is not None:
            self._bar.update()
            self._bar.set_postfix_str(_words(record))
        elif self._lines:
            sys.stderr.write(f"iteration {record['iteration']:4d}  {_words(record)}\n")
            sys.stderr.flush()

    def close(self, message: str) -> None:
        """Close the display, and write and log why training ended."""
        facts = f": {_words(self._last)}" if self._last else ""
        inform("training", "training ended after %d iterations%s (%s)", self._shown, facts, message)
        if self._bar is not None:
            self._bar.close()
        if self._bar is not None or self._lines:
            sys.stderr.write(f"{message}\n")


def _words(record: dict[str, Any]) -> str:
    words = f"objective {record['objective']:.2f}"
    if "gradient_norm" in record:
        words += f"  |gradient| {record['gradient_norm']:.3g}"
    if "dev_accuracy" in record:
        words += f"  dev accuracy {record['dev_accuracy']:.4f}"
    return words + f"  {record['seconds']:.1f} s"
