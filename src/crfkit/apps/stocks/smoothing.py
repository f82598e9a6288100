"""Causal smoothing: the smoothed price of a day depends only on the prices up to that day.

All smoothers here are linear, so that tomorrow's smoothed price is

    s(t+1) = a · p(t+1) + what is known today,

and rises exactly if tomorrow's price lies above a threshold q(t) that is known today:

    name    s(t)                                        q(t)
    none    p(t)                                        p(t)
    ema     s(t-1) + a (p(t) - s(t-1))                  s(t)
    double  the same of ema e(t)                        e(t) + (s(t) - e(t)) / a
    mean    mean of the last n prices                   p(t+1-n)

with a = 2 / (n + 1), n the span in days. The threshold is what makes the direction of a smoothed price easy
to foretell (today's price mostly lies far from it), and it is what carries a forecast back to raw prices.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError


@dataclass(frozen=True)
class Smoothed:
    """A smoothed price series."""

    values: FloatArray  # [D] s
    threshold: FloatArray  # [D] q: tomorrow's smoothed price is above today's iff tomorrow's price is above q
    warm_up: int  # days at the beginning that still depend on how the smoother was started

    @property
    def change(self) -> FloatArray:
        """Return s(t) / s(t-1) - 1, [D]; 0 on the first day."""
        ratio = np.zeros_like(self.values)
        ratio[1:] = self.values[1:] / self.values[:-1] - 1
        return ratio


def _ema(p: FloatArray, a: float) -> FloatArray:
    s = np.empty_like(p)
    last = s[0] = p[0]
    for t in range(1, len(p)):
        last += a * (p[t] - last)
        s[t] = last
    return s


Both: TypeAlias = tuple[FloatArray, FloatArray]  # s and q, [D] each


def _none(p: FloatArray, span: int) -> Both:
    return p, p


def _single(p: FloatArray, span: int) -> Both:
    s = _ema(p, 2 / (span + 1))
    return s, s


def _double(p: FloatArray, span: int) -> Both:
    a = 2 / (span + 1)
    e = _ema(p, a)
    s = _ema(e, a)
    return s, e + (s - e) / a


def _mean(p: FloatArray, span: int) -> Both:
    s, q = np.empty_like(p), np.empty_like(p)
    for t in range(len(p)):  # a running sum would carry its rounding errors along
        window = p[max(0, t + 1 - span) : t + 1]
        s[t] = window.mean()
        q[t] = window[0] if len(window) == span else s[t]  # the price that leaves tomorrow
    return s, q


SMOOTHERS: dict[str, Callable[[FloatArray, int], Both]] = {
    "ema": _single,
    "double": _double,
    "mean": _mean,
    "none": _none,
}


def warm_up_days(method: str, span: int) -> int:
    """Return the number of days at the beginning that still depend on the initial value."""
    if method not in SMOOTHERS:
        raise InputError(f"the smoothing must be one of {', '.join(SMOOTHERS)}, got {method!r}")
    if span < 1:
        raise InputError(f"the span must be at least 1 day, got {span}")
    return {"none": 1, "double": 2 * span}.get(method, span)


def smooth(prices: FloatArray, method: str = "ema", span: int = 10) -> Smoothed:
    """Smooth prices [D] over about ``span`` days by one of ``SMOOTHERS``."""
    warm_up = warm_up_days(method, span)
    if not len(prices):
        raise InputError("there are no prices to smooth")
    return Smoothed(*SMOOTHERS[method](np.asarray(prices, np.float64), span), warm_up)
