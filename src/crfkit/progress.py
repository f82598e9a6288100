"""Progress of training on stderr: one line that changes, with the time that is left, or lines.

The time that is left follows from the number of iterations. If an optimiser stops by itself, its objective
tells how many there will be: it stops when the objective falls by less than a share ``tol`` over ten
iterations, and this fall shrinks by about the same factor every ten iterations. A search of several trainings
has rounds: their mean time and largest number tell how long it can take.
"""

from __future__ import annotations

import math
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from crfkit.log import inform

AFTER = 3.0  # seconds until "auto" shows something
_EVERY = 0.1  # seconds between changes of the line
_TICK = 1.0  # seconds between changes of the line within a pass
_PERIOD = 10  # iterations over which an optimiser judges the objective
_BAR = 20  # characters


class Progress:
    """Displays iterations of training.

    ``verbose``: "auto": a line with the time that is left, after a few seconds, if somebody can see it (on a
    terminal or in a notebook); False: nothing; True: the line from the start, or, if stderr is a file or a
    pipe, one line per iteration; 2: always one line per iteration.
    """

    def __init__(
        self,
        verbose: bool | int | str,
        total: int | None = None,
        tol: float | None = None,
        *,
        name: str = "CRF",
        unit: str = "iterations",
    ) -> None:
        self._name, self._unit = name, unit
        self.total = total  # number of iterations; None: not known
        self._tol = tol  # of the optimiser; None: it does not stop by itself
        self._began = self._drawn = time.monotonic()
        self._iterates = self._began  # since when there are iterations
        self._shown = 0
        self._objectives: list[float] = []
        self._rounds: tuple[int, int] | None = None  # done, and at most; None: one training
        self._last: dict[str, Any] = {}
        automatic = isinstance(verbose, str)
        seen = bool(verbose) and _is_watched()
        self._lines = not automatic and (int(verbose) > 1 or (bool(verbose) and not seen))
        self._rewrites = seen and not self._lines
        self._from = self._began + (AFTER if automatic else 0.0)
        self._width = 0  # characters of the line that is there
        self._lock = threading.Lock()
        self._words = ""  # the last that were to be shown
        self._talks = not automatic and bool(verbose)  # whether to say why training ended

    def say(self, words: str) -> None:
        """Show a message outside the iterations."""
        if not self._shown:
            self._iterates = time.monotonic()
        if self._lines:
            _write(f"{words}\n")
        else:
            self._draw(words)

    def rounds(self, most: int | None) -> None:
        """Announce trainings one after the other, at most so many; None: one training follows."""
        self._rounds = None if most is None else (0, most)
        self._shown, self._objectives = 0, []
        self._iterates = time.monotonic()

    def end_round(self, words: str) -> None:
        """Show a message at the end of a training of several."""
        if self._rounds is not None:
            self._rounds = self._rounds[0] + 1, self._rounds[1]
        self._objectives = []
        if self._lines:
            _write(f"{words}\n")
        else:
            self._draw(words)

    def step(self, words: str) -> None:
        """Show that one step of something other than training is done."""
        self._shown += 1
        if self._lines:
            _write(f"{words}\n")
        else:
            self._draw(words)

    def end(self, message: str) -> None:
        """Close the display, and write a message if anything is to be seen."""
        if self._width:  # the line may be older than the last iteration; its estimate is no longer needed
            done = f"{self._shown} {self._unit}, " if self._shown else ""
            self._rewrite(f"{done}{_clock(time.monotonic() - self._began)}", self._words)
            _write("\n")
            self._width = 0
        if self._talks:
            _write(f"{message}\n")

    @contextmanager
    def within(self, share: Callable[[], float] | None) -> Iterator[None]:
        """Also show how much of a pass over the data is done, if a pass takes more than a second.

        ``share`` says it, 0 .. 1, while the pass runs in another thread.
        """
        if share is None or not self._rewrites:
            yield
            return
        ended = threading.Event()

        def tick() -> None:
            while not ended.wait(_TICK):
                now = time.monotonic()
                if now >= self._from and now - self._drawn > _TICK:
                    self._rewrite(f"{self._times(now)}, pass {min(share(), 1.0):.0%}", self._words)

        thread = threading.Thread(target=tick, name="crfkit progress", daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def show(self, record: dict[str, Any]) -> None:
        """Show an iteration."""
        self._shown += 1
        self._last = record
        self._objectives.append(float(record["objective"]))
        if self._lines:
            _write(f"iteration {record['iteration']:4d}  {_words(record)}\n")
        else:
            self._draw(_words(record))

    def close(self, message: str) -> None:
        """Close the display, and write and log why training ended."""
        facts = f": {_words(self._last)}" if self._last else ""
        inform("training", "training ended after %d iterations%s (%s)", self._shown, facts, message)
        self.end(message)

    @property
    def expected(self) -> int | None:
        """Number of iterations that there will probably be; None if it cannot be told yet."""
        f, k = self._objectives, len(self._objectives) - 1
        if self._tol is None or not self._tol > 0:
            return self.total or None
        if k < 2 * _PERIOD:
            return None
        before = (f[k - 2 * _PERIOD] - f[k - _PERIOD]) / max(abs(f[k - _PERIOD]), 1e-300)
        now = (f[k - _PERIOD] - f[k]) / max(abs(f[k]), 1e-300)
        if not 0 < now < before:
            return None
        left = _PERIOD * math.log(max(now / self._tol, 1.0)) / math.log(before / now)
        number = self._shown + math.ceil(min(left, 1e9))
        return min(number, self.total) if self.total else number

    def _draw(self, words: str) -> None:
        now = time.monotonic()
        self._words = words
        if not self._rewrites or now < self._from or (self._width and now - self._drawn < _EVERY):
            return
        self._drawn = now
        self._rewrite(self._times(now), words)

    def _rewrite(self, times: str, words: str) -> None:
        """Write the line anew; if it is too long, without the last of the words that two blanks divide."""
        with self._lock:  # ``within`` has a thread that writes, too
            self._write_line(times, words)

    def _write_line(self, times: str, words: str) -> None:
        room = shutil.get_terminal_size().columns - 1
        while len(self._name) + len(times) + len(words) + 3 > room and "  " in words:
            words = words.rpartition("  ")[0]
        line = f"{self._name} {times}  {words}"[:room]
        _write(f"\r{line}{' ' * (self._width - len(line))}")
        self._width = len(line)

    def _times(self, now: float) -> str:
        """Return the iterations, the time so far and an estimate of the time that is left."""
        elapsed = now - self._began
        done, most = self._rounds or (0, 0)
        if done:
            left = (now - self._iterates) / done * (most - done)
            times = f"{_clock(elapsed)}, at most {_clock(left)} left"
            return f"{_bar(done / most)} {done} of at most {most}, {times}"
        words = f"{self._shown} {self._unit}, " if self._shown else ""
        number = self.expected
        if number is None or not self._shown:
            return f"{words}{_clock(elapsed)}"
        about = "" if self._tol is None else "about "
        left = (now - self._iterates) / self._shown * max(0, number - self._shown)
        times = f"{_clock(elapsed)}, about {_clock(left)} left"
        more = " in this round" if most else ""
        return f"{_bar(min(1.0, self._shown / number))} {self._shown} of {about}{number}, {times}{more}"


def _bar(done: float) -> str:
    return f"[{'#' * round(_BAR * done):-<{_BAR}}]"


def _is_watched() -> bool:
    """Return whether stderr is a terminal or a notebook, and this is no worker process or thread."""
    process = sys.modules.get("multiprocessing.process")  # loaded in every worker
    if process is not None and process.current_process().name != "MainProcess":
        return False
    if threading.current_thread() is not threading.main_thread():
        return False
    stream = sys.stderr
    return stream is not None and (stream.isatty() or type(stream).__module__.startswith("ipykernel."))


def _write(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}"


def _words(record: dict[str, Any]) -> str:
    words = f"objective {record['objective']:.2f}"
    if "gradient_norm" in record:
        words += f"  |gradient| {record['gradient_norm']:.3g}"
    if "dev_accuracy" in record:
        words += f"  dev accuracy {record['dev_accuracy']:.4f}"
    return words + f"  {record['seconds']:.1f} s"
