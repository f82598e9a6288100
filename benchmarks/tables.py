"""Tables in Markdown, which read well in a terminal too, and the line that says how they were made."""

from __future__ import annotations

import datetime
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    return "\n".join(
        [line(header), "|" + "|".join("-" * (w + 2) for w in widths) + "|", *(line(row) for row in rows)]
    )


def seconds(value: float | None) -> str:
    """A time with three figures; a dash where there is none."""
    if value is None:
        return "–"
    if value >= 100:
        return f"{value:.0f} s"
    return f"{value:.3g} s" if value >= 0.1 else f"{value * 1000:.3g} ms"


def ratio(ours: float | None, theirs: float | None) -> str:
    """How many times as long they take; a dash where one is missing."""
    if not ours or not theirs:
        return "–"
    return f"{theirs / ours:.3g}×"


def provenance(script: str) -> str:
    """The command, the date, the machine and how busy it was."""
    command = " ".join([script, *sys.argv[1:]])
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    load = f"{os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else "unknown"
    return (
        f"`python {command}`, {datetime.date.today().isoformat()}, {platform.machine()}, {cores} cores, "
        f"Python {platform.python_version()}, load {load} at the end (this run's own share included)."
    )


def publish(text: str, path: Path | None) -> None:
    """Print a report; write it to a file as well, if one is named."""
    print(text)
    if path is not None:
        path.write_text(text + "\n", encoding="utf-8")
