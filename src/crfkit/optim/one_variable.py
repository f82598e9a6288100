"""The minimum of an expensive, slightly noisy function of one variable, in a handful of evaluations.

Steps of one size lead downhill until the function rises or gains too little; a parabola through the lowest
point and the two next to it gives the answer.
"""

from __future__ import annotations

from collections.abc import Callable


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
