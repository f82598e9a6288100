"""Clocks and memory."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


def seconds_of(call: Callable[[], Any]) -> float:
    """Wall time of one call."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def alternate(calls: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The median wall time of each call; they take turns, so that noise hits them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            gc.collect()
            times[name].append(seconds_of(call))
    return {name: statistics.median(found) for name, found in times.items()}


def _status(field: str) -> int:
    """A field of /proc/self/status in kB."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field + ":"):
            return int(line.split()[1])
    raise SystemExit(f"/proc/self/status has no {field}: peak memory can be measured on Linux only")


def resident_megabytes() -> float:
    """Memory that this process holds now."""
    gc.collect()
    return _status("VmRSS") / 1024


def reset_peak() -> None:
    """Let the peak be counted from here."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_megabytes() -> float:
    """The most memory this process has held since ``reset_peak``."""
    return _status("VmHWM") / 1024
