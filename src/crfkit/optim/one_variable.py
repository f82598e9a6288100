"""The minimum of a function of one variable.

``minimize_along`` is for an expensive, slightly noisy function, in a handful of evaluations: steps of one
size lead downhill until the function rises or gains too little; a parabola through the lowest point and the
two next to it gives the answer. ``minimize_between`` is for a cheap one with one minimum: golden sections.
"""

from __future__ import annotations

import math
from collections.abc import Callable

_GOLDEN = (math.sqrt(5) - 1) / 2


def minimize_along(
    function: Callable[[float], float],
    start: float,
    *,
    step: float,
    low: float,
    high: float,
    gain: float,
) -> float:
    """Return where ``function`` is least within ``low .. high``, first looking below ``start``.

    Stops where a step gains less than a share ``gain`` of the function.
    """
    values = {start: function(start)}
    best = start
    for direction in (-step, step):
        if best != start:
            break
        while low <= best + direction <= high:
            there = best + direction
            values[there] = function(there)
            won = values[best] - values[there]
            if won > 0:
                best = there
            if not won > max(0.0, gain * abs(values[there])):
                break
    if len(values) < 3:
        return best
    points = sorted(values)
    at = min(max(points.index(best), 1), len(points) - 2)
    a, b, c = points[at - 1 : at + 2]
    left, right = (b - a) * (values[b] - values[c]), (b - c) * (values[b] - values[a])
    if not left < right:  # flat, bent downwards, or not a number
        return best
    lowest = b - 0.5 * ((b - a) * left - (b - c) * right) / (left - right)
    return min(max(lowest, a), c)


def minimize_between(function: Callable[[float], float], low: float, high: float, *, tol: float) -> float:
    """Return where ``function`` is least within ``low .. high``, to ``tol``, if it falls and then rises."""
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    at_left, at_right = function(left), function(right)
    while high - low > tol:
        if at_left <= at_right:
            high, right, at_right = right, left, at_left
            left = high - _GOLDEN * (high - low)
            at_left = function(left)
        else:
            low, left, at_left = left, right, at_right
            right = low + _GOLDEN * (high - low)
            at_right = function(right)
    return (low + high) / 2
