"""Charts as numbers in the units of a drawing; the templates (``templates/charts.html``) draw them as SVG."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

WIDTH, HEIGHT = 380.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 12.0, 14.0, 40.0  # margins
_TICKS = 5  # about how many on an axis

Point = tuple[float, float]


class Tick(NamedTuple):
    """A mark on an axis: where, and its text."""

    at: float
    text: str


class Line(NamedTuple):
    """A line through points, with a band around it."""

    name: str
    style: int  # which colour and dash
    points: list[Point]
    band: list[Point]  # a polygon; may be empty


class Dot(NamedTuple):
    """A circle, and what it stands for."""

    x: float
    y: float
    radius: float
    text: str


class Chart(NamedTuple):
    """Lines and dots between two axes."""

    title: str
    words: str  # for readers who do not see it
    x_name: str
    y_name: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    lines: list[Line]
    dots: list[Dot]
    left: float = _LEFT
    right: float = WIDTH - _RIGHT
    top: float = _TOP
    bottom: float = HEIGHT - _BOTTOM
    width: float = WIDTH
    height: float = HEIGHT


class Series(NamedTuple):
    """A line in its own units: x rising."""

    name: str
    x: Sequence[float]
    y: Sequence[float]
    low: Sequence[float] = ()
    high: Sequence[float] = ()


class _Axis:
    """A scale from numbers to places of the drawing."""

    def __init__(self, low: float, high: float, start: float, stop: float, log: bool = False) -> None:
        self.log = log and low > 0
        if high <= low:
            low, high = (low / 2, low * 2) if self.log else (low - 0.5, low + 0.5)
        self.low, self.high = low, high
        self._from, self._to = (math.log(low), math.log(high)) if self.log else (low, high)
        self._start, self._stop = start, stop

    def __call__(self, value: float) -> float:
        place = math.log(value) if self.log else value
        share = (place - self._from) / (self._to - self._from)
        return round(self._start + share * (self._stop - self._start), 1)

    def ticks(self) -> list[Tick]:
        return [Tick(self(value), short(value)) for value in self._values()]

    def _values(self) -> list[float]:
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            few = [times * 10.0**k for k in powers for times in (1, 2, 5)]
            inside = [value for value in few if self.low <= value * 1.0001 and value <= self.high * 1.0001]
            tens = [value for value in inside if round(math.log10(value), 6) % 1 == 0]
            if len(inside) > _TICKS + 1:
                return tens[:: math.ceil(len(tens) / (_TICKS + 1))]
            if len(inside) > 1:
                return inside
        step = _round_step((self.high - self.low) / _TICKS)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def line_chart(
    title: str,
    series: Sequence[Series],
    x_name: str,
    y_name: str = "",
    *,
    log_x: bool = False,
    log_y: bool = False,
) -> Chart:
    """Return a chart of lines over common axes."""
    xs = [x for one in series for x in one.x]
    ys = [y for one in series for y in (*one.y, *one.low, *one.high)]
    x = _Axis(min(xs), max(xs), _LEFT, WIDTH - _RIGHT, log_x)
    pad = 0.0 if log_y else 0.06 * (max(ys) - min(ys))
    y = _Axis(min(ys) - pad, max(ys) + pad, HEIGHT - _BOTTOM, _TOP, log_y)
    lines = []
    for k, one in enumerate(series):
        points = [(x(a), y(b)) for a, b in zip(one.x, one.y, strict=True)]
        band: list[Point] = []
        if one.low:
            upper = [(x(a), y(b)) for a, b in zip(one.x, one.high, strict=True)]
            lower = [(x(a), y(b)) for a, b in zip(one.x, one.low, strict=True)]
            band = [*upper, *reversed(lower)]
        lines.append(Line(one.name, k, points, band))
    words = "; ".join(
        f"{one.name or title}: from {short(one.y[0])} at {short(one.x[0])} to {short(one.y[-1])} at "
        f"{short(one.x[-1])}"
        for one in series
    )
    return Chart(title, words, x_name, y_name, x.ticks(), y.ticks(), lines, [])


def share_chart(title: str, words: str, dots: Sequence[tuple[float, float, float, str]]) -> Chart:
    """Return a chart of shares from 0 to 1 over probabilities, with the diagonal: x, y, weight, text."""
    x, y = _Axis(0, 1, _LEFT, WIDTH - _RIGHT), _Axis(0, 1, HEIGHT - _BOTTOM, _TOP)
    most = max((weight for *_, weight, _ in dots), default=1.0)
    placed = [
        Dot(x(a), y(b), round(2.5 + 7 * math.sqrt(weight / most), 1), text) for a, b, weight, text in dots
    ]
    line = [(dot.x, dot.y) for dot in placed]
    lines = [Line("", 2, [(x(0), y(0)), (x(1), y(1))], []), *([Line("", 0, line, [])] if line else [])]
    return Chart(title, words, "probability", "share that is right", x.ticks(), y.ticks(), lines, placed)


def short(value: float) -> str:
    """Return a number in few characters."""
    size = abs(value)
    if size >= 1e6 or (0 < size < 1e-3):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e−").replace("e+", "e").replace("e-", "e−")
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


def _round_step(step: float) -> float:
    """Return 1, 2 or 5 times a power of ten, near to a step."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(times * power for times in (1, 2, 5, 10) if times * power >= step * 0.999)
