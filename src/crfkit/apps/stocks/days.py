"""Conversion to days: from dates of NumPy, pandas and Python, and from text such as 2007-12-31."""

from __future__ import annotations

import datetime
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Day: TypeAlias = "np.datetime64 | datetime.date | str"
Dates: TypeAlias = npt.NDArray[np.datetime64]


def as_day(value: Any) -> np.datetime64:
    """Convert a value to a day; raise ``ValueError`` if it is not a date. Time and time zone are dropped."""
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
        raise ValueError(f"{value!r} is not a date")
    if np.isnat(day):
        raise ValueError("a date is missing")
    return day


def as_days(values: Any) -> Dates:
    """Convert an array, list, index or series to days [D], datetime64[D]; else raise ``ValueError``."""
    found = np.asarray(values)
    if found.ndim != 1:
        raise ValueError(f"dates must be one row, not of shape {found.shape}")
    if found.dtype.kind != "M":
        return np.array([as_day(value) for value in found.tolist()], "datetime64[D]")
    days = found.astype("datetime64[D]")
    if np.isnat(days).any():
        raise ValueError("a date is missing")
    return days
