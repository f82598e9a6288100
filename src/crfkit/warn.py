"""Warnings that name the line of the user's code, however deep in the library they arise."""

from __future__ import annotations

import sys
import warnings

_INSIDE = ("crfkit", "sklearn", "joblib")  # packages whose frames are skipped


def warn(message: str, category: type[Warning] = UserWarning) -> None:
    """Issue a warning at the first caller outside this library and those that call it for the user."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in _INSIDE:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
