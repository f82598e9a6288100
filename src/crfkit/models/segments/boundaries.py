"""Where segments may begin, go on and end: what a user's function says about each sequence.

``SemiCRF(boundaries=f)``: f(items) returns a dict with any of

- ``"breaks"``: positions to which no segment goes on from the position before,
- ``"starts"``: {label: positions}: segments of this label begin at these positions only,
- ``"ends"``: {label: positions}: segments of this label have their last position at these only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Integral
from typing import Any

import numpy as np

from crfkit.arrays import IntArray
from crfkit.exceptions import InputError
from crfkit.models.segments.label_codec import LabelCodec
from crfkit.potentials.segments import Boundaries
from crfkit.warn import warn

_KEYS = ("breaks", "starts", "ends")


def read_boundaries(
    function: Callable[[Any], Any], items: Sequence[Any], offsets: IntArray, codec: LabelCodec
) -> Boundaries:
    """Return what the function says about all sequences."""
    T, L = int(offsets[-1]), codec.n_types
    found = Boundaries(np.ones((T, 2 * L), np.bool_), np.ones((T, L), np.bool_))
    place = {label: y for y, label in enumerate(codec.types)}
    unknown: set[Any] = set()
    for i, sequence in enumerate(items):
        here = slice(int(offsets[i]), int(offsets[i + 1]))
        if here.start == here.stop:
            continue
        try:
            _read(function(sequence), Boundaries(found.node[here], found.last[here]), place, unknown)
        except InputError as error:
            raise InputError(f"sequence {i}: {error}") from None
        except Exception as error:
            raise InputError(
                f"sequence {i}: the function boundaries failed: {type(error).__name__}: {error}"
            ) from error
    if unknown:
        labels = ", ".join(map(str, place))
        warn(f"boundaries name the label {min(unknown, key=str)!r}, but segments have the labels {labels}")
    return found


def _read(given: Any, into: Boundaries, place: Mapping[Any, int], unknown: set[Any]) -> None:
    """Write what is said about one sequence into its masks; labels that are not there are ``unknown``."""
    if given is None:
        return
    if not isinstance(given, Mapping) or any(key not in _KEYS for key in given):
        raise InputError(
            f"boundaries must return a dict with any of {', '.join(map(repr, _KEYS))}; got {given!r:.100}"
        )
    T, L = into.last.shape
    into.node[_positions(given.get("breaks", ()), T), L:] = False
    for key, mask in (("starts", into.node), ("ends", into.last)):
        rules = given.get(key, {})
        if not isinstance(rules, Mapping):
            raise InputError(f"{key!r} must be a dict of label to positions; got {rules!r:.100}")
        for label, positions in rules.items():
            if label not in place:
                unknown.add(label)
                continue
            permitted = np.zeros(T, np.bool_)
            permitted[_positions(positions, T)] = True
            mask[~permitted, place[label]] = False


def _positions(given: Any, length: int) -> IntArray:
    found = list(given) if isinstance(given, Iterable) else [None]
    if not all(isinstance(t, Integral) and not isinstance(t, bool) and 0 <= int(t) < length for t in found):
        raise InputError(
            f"positions must be a list of whole numbers from 0 to {length - 1}; got "
            f"{found if isinstance(given, Iterable) else given!r:.100}"
        )
    return np.array(found, np.int64)
