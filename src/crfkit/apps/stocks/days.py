"""Days from whatever names them: NumPy's and pandas' dates of any unit, Python's, text as 2007-12-31."""

from __future__ import annotations

import datetime
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Day: TypeAlias = "np.datetime64 | datetime.date | str"
Dates: TypeAlias = npt.NDArray[np.datetime64]


def as_day(value: Any) -> np.datetime64:
    """One day; ``ValueError`` for what is none. A time of the day is dropped, a time zone does not matter."""
    day: np.datetime64
    if isinstance(value, str):
        day = np.datetime64(datetime.datetime.fromisoformat(value.strip()).date())
    elif isinstance(value, datetime.datetime):  # pandas.Timestamp, too
        day = np.datetime64("NaT", "D") if value != value else np.datetime64(value.date())
    elif isinstance(value, datetime.date):
        day = np.datetime64(value)
    elif isinstance(value, np.datetime64):
        day = value.astype("datetime64[D]")
    else:
        raise ValueError(f"{value!r} is no date")
    if np.isnat(day):
        raise ValueError("a date is missing")
    return day


def as_days(values: Any) -> Dates:
    """[D] datetime64[D] of a row of days: an array, a list, an index or a series; ``ValueError`` else."""
    found = np.asarray(values)
    if found.ndim != 1:
        raise ValueError(f"dates must be one row, not of shape {found.shape}")
    if found.dtype.kind != "M":
        return np.array([as_day(value) for value in found.tolist()], "datetime64[D]")
    days = found.astype("datetime64[D]")
    if np.isnat(days).any():
        raise ValueError("a date is missing")
    return days
