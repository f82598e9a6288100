"""Daily prices from CSV files: one file per ticker, or one file with a column of tickers.

A header is needed. The columns are found by their usual names (``date``; ``adj close`` before ``close``
before ``price``; ``ticker`` or ``symbol``), whatever their case, or are named by the caller. A column whose
name begins with ``adj`` has prices that are adjusted for splits already. Days without a price are left out,
days out of order are sorted, with a warning that names the first; what cannot be right (a date twice with two
prices, a price that is not positive) is an error that names file and line.
"""

from __future__ import annotations

import datetime
import os
import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from crfkit.apps.stocks.days import Dates, as_days
from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError, InputWarning
from crfkit.io.csv_data import NamedColumns, read_csv

_DATE_NAMES = ("date", "day", "datetime", "timestamp", "time")
_PRICE_NAMES = ("adj close", "adjusted close", "adjclose", "close", "price", "last", "value")
_ADJUSTED = "adj"  # how the name of a column begins that has adjusted prices
_TICKER_NAMES = ("ticker", "symbol", "stock", "tic")
_MISSING = frozenset(("", "nan", "na", "n/a", "null", "none", "-", "."))
_FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d.%m.%Y")


@dataclass(frozen=True)
class Prices:
    """The daily prices of a stock, in order of their dates.

    Dates and prices may be given as arrays, lists, or an index and a series of pandas; dates in any unit, as
    Python's dates or as text (2007-12-31).
    """

    ticker: str
    dates: Dates  # [D] datetime64[D], rising
    close: FloatArray  # [D] positive
    source: str = "prices"  # for messages
    adjusted: bool = False  # already adjusted for splits in the file: a jump is then not a split
    # [D] the factor on the prices since they were read (``splits.py``); None: 1.
    multiplied: FloatArray | None = None

    def __post_init__(self) -> None:
        for name, wanted, convert in (
            ("dates", "dates such as 2007-12-31", as_days),
            ("close", "numbers", _numbers),
        ):
            try:
                object.__setattr__(self, name, convert(getattr(self, name)))
            except (TypeError, ValueError) as error:
                raise InputError(
                    f"{self.source}: {name} of {self.ticker} must be {wanted}, one per day: {error}"
                ) from None
        if self.dates.shape != self.close.shape:
            raise InputError(
                f"{self.source}: {self.ticker} has {len(self.dates)} dates and {len(self.close)} prices"
            )
        wrong = np.flatnonzero(~(np.isfinite(self.close) & (self.close > 0)))
        if len(wrong):
            day = wrong[0]
            raise InputError(
                f"{self.source}: {self.ticker} has the price {self.close[day]:g} on {self.dates[day]}; "
                "prices must be positive numbers"
            )
        back = np.flatnonzero(self.dates[1:] <= self.dates[:-1])
        if len(back):
            raise InputError(
                f"{self.source}: {self.ticker} has {self.dates[back[0] + 1]} after {self.dates[back[0]]}; "
                "dates must rise"
            )

    def __len__(self) -> int:
        return len(self.close)

    def until(self, n: int) -> Prices:
        multiplied = None if self.multiplied is None else self.multiplied[:n]
        return replace(self, dates=self.dates[:n], close=self.close[:n], multiplied=multiplied)

    @property
    def factor(self) -> FloatArray:
        """Return the factors on the prices [D]; price divided by factor is the price in the file."""
        return np.ones(len(self)) if self.multiplied is None else self.multiplied


def read_prices(
    paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
    *,
    date_column: str | None = None,
    price_column: str | None = None,
    ticker_column: str | None = None,
    date_format: str | None = None,
) -> list[Prices]:
    """Read all stocks of CSV files (gzipped or not), in the order of the files and of their first rows.

    A file without a column of tickers is one stock, called as the file without its ending. ``date_format`` is
    for ``strptime``; without it dates are such as 2007-12-31, 2007/12/31, 20071231 or 31.12.2007, and a time
    behind the date does not matter.
    """
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    found: dict[str, Prices] = {}
    for path in paths:
        for prices in _read_file(path, date_column, price_column, ticker_column, date_format):
            if prices.ticker in found:
                raise InputError(
                    f"{prices.source}: {prices.ticker} is in {found[prices.ticker].source} as well; give "
                    "each stock once"
                )
            found[prices.ticker] = prices
    if not found:
        raise InputError("expected at least one file of prices, got none")
    return list(found.values())


def _read_file(
    path: str | os.PathLike[str],
    date_column: str | None,
    price_column: str | None,
    ticker_column: str | None,
    date_format: str | None,
) -> list[Prices]:
    columns = read_csv(path)
    if not columns.n_positions:
        raise InputError(f"{columns.source}: there are no rows; expected a header and one row per day")
    dates = _column(columns, date_column, _DATE_NAMES, "dates", "--date-column")
    prices = _column(columns, price_column, _PRICE_NAMES, "prices", "--price-column")
    tickers = None
    if ticker_column is not None or any(_plain(name) in _TICKER_NAMES for name in columns.names):
        tickers = _column(columns, ticker_column, _TICKER_NAMES, "tickers", "--ticker-column").cells
    rows: dict[str, list[tuple[np.datetime64, float, int]]] = {}
    missing: dict[str, list[int]] = {}
    stem = Path(path).name.removesuffix(".gz")
    stem = stem.rsplit(".", 1)[0] if "." in stem[1:] else stem
    for row, line in enumerate(columns.lines.tolist()):
        where = f"{columns.source}:{line}"
        ticker = stem if tickers is None else tickers[row].strip()
        if not ticker:
            raise InputError(f"{where}: no ticker; every row must name its stock")
        days = rows.setdefault(ticker, [])
        date = _date(dates.cells[row], date_format, where)
        price = _price(prices.cells[row], where)
        if price is None:
            missing.setdefault(ticker, []).append(line)
        else:
            days.append((date, price, line))
    for ticker, lines in missing.items():
        others = f" and on {len(lines) - 1} other days" if len(lines) > 1 else ""
        where = f"{columns.source}:{lines[0]}"
        _warn(f"{where}: {ticker} has no price here{others}; days without a price are left out", 4)
    adjusted = _plain(prices.name).startswith(_ADJUSTED)
    return [_stock(ticker, days, columns.source, adjusted) for ticker, days in rows.items()]


def _stock(ticker: str, rows: list[tuple[np.datetime64, float, int]], source: str, adjusted: bool) -> Prices:
    """Return the prices of a stock from rows (date, price, line): sorted, each date once."""
    for before, after in pairwise(rows):
        if after[0] < before[0]:
            _warn(f"{source}:{after[2]}: {ticker} has {after[0]} after {before[0]}; the days are sorted", 5)
            rows = sorted(rows, key=lambda row: row[0])
            break
    kept: list[tuple[np.datetime64, float, int]] = []
    repeated = []
    for row in rows:
        if kept and row[0] == kept[-1][0]:
            if row[1] != kept[-1][1]:
                raise InputError(
                    f"{source}:{row[2]}: {ticker} has {row[0]} twice, with {kept[-1][1]:g} (line "
                    f"{kept[-1][2]}) and {row[1]:g}; keep one of them"
                )
            repeated.append(row)
        else:
            kept.append(row)
    if repeated:
        others = f", and {len(repeated) - 1} other days" if len(repeated) > 1 else ""
        date, _, line = repeated[0]
        _warn(f"{source}:{line}: {ticker} has {date} twice with the same price{others}; it counts once", 5)
    return Prices(
        ticker,
        np.array([row[0] for row in kept], "datetime64[D]"),
        np.array([row[1] for row in kept], np.float64),
        source,
        adjusted,
    )


def _warn(words: str, stacklevel: int) -> None:
    warnings.warn(words, InputWarning, stacklevel=stacklevel)


def _numbers(values: Any) -> FloatArray:
    """Convert a row of numbers to an array [D]."""
    found = np.array(values, np.float64)
    if found.ndim != 1:
        raise ValueError(f"they must be one row, not of shape {found.shape}")
    return found


def _plain(name: str) -> str:
    return " ".join(name.strip().lower().replace("_", " ").split())


class _Column(NamedTuple):
    name: str
    cells: list[str]  # [rows]


def _column(
    columns: NamedColumns, named: str | None, usual: Sequence[str], what: str, option: str
) -> _Column:
    """Return the column with the given name, or the first with a usual name."""
    names = [_plain(name) for name in columns.names]
    if named is not None:
        place = columns.column_number(named) if named in columns.names else -1
        if place < 0:
            raise InputError(
                f"{columns.source}: there is no column {named!r} for the {what}: the columns are "
                f"{', '.join(columns.names)}"
            )
    else:
        place = next((names.index(name) for name in usual if name in names), -1)
        if place < 0:
            raise InputError(
                f"{columns.source}: which column has the {what}? Expected one called "
                f"{' or '.join(usual)}, got {', '.join(columns.names)}; rename it or say {option}"
            )
    return _Column(columns.names[place], [cell for part in columns.column(place) for cell in part])


def _date(cell: str, date_format: str | None, where: str) -> np.datetime64:
    text = cell.strip()
    if date_format is None:
        text = text.replace("T", " ").split(" ")[0]
    for form in _FORMATS if date_format is None else (date_format,):
        try:
            return np.datetime64(datetime.datetime.strptime(text, form).date())
        except ValueError:
            continue
    expected = "a date such as 2007-12-31" if date_format is None else f"a date in the form {date_format}"
    raise InputError(f"{where}: expected {expected}, got {cell!r}; --date-format names another form")


def _price(cell: str, where: str) -> float | None:
    text = cell.strip()
    if text.lower() in _MISSING:
        return None
    try:
        price = float(text)
    except ValueError:
        raise InputError(f"{where}: expected a price such as 12.5, got {cell!r}") from None
    if not 0 < price < np.inf:
        raise InputError(f"{where}: expected a positive price, got {cell!r}; remove the row or correct it")
    return price
