import datetime
import gzip

import numpy as np
import pytest
from refusals import refuses

from crfkit.apps.stocks.prices import Prices, read_prices
from crfkit.exceptions import InputError, InputWarning


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_one_file_a_ticker(tmp_path):
    a = write(tmp_path / "AAA.csv", "date,open,close\n2003-01-02,1,2\n2003-01-03,2,3.5\n")
    b = write(tmp_path / "B.B.csv", "Date;Close\n2003/01/02;7\n20030106;8\n")
    found = read_prices([a, b])
    assert [p.ticker for p in found] == ["AAA", "B.B"]
    assert found[0].close.tolist() == [2, 3.5]
    assert found[1].dates.astype(str).tolist() == ["2003-01-02", "2003-01-06"]


def test_long_format_and_gzip(tmp_path):
    path = tmp_path / "all.csv.gz"
    text = "Symbol,Date,Close,Adj Close\nX,2003-01-02,9,1\nY,2003-01-02,9,5\nX,2003-01-03 00:00:00,9,2\n"
    path.write_bytes(gzip.compress(text.encode()))
    x, y = read_prices(path)
    assert (x.ticker, y.ticker) == ("X", "Y")
    assert x.close.tolist() == [1, 2]  # adjusted prices before plain ones
    assert read_prices(path, price_column="Close")[0].close.tolist() == [9, 9]


def test_other_columns_and_dates(tmp_path):
    path = write(tmp_path / "a.csv", "when,px\n01/02/2003,1\n01/03/2003,2\n")
    (found,) = read_prices(path, date_column="when", price_column="px", date_format="%m/%d/%Y")
    assert found.dates.astype(str).tolist() == ["2003-01-02", "2003-01-03"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("2003-01-03,2\n2003-01-02,1", "a.csv:3: a has 2003-01-02 after 2003-01-03; the days are sorted"),
        (
            "2003-01-02,1\n2003-01-03,\n2003-01-06,null\n2003-01-07,2",
            "a.csv:3: a has no price .* on 1 other days",
        ),
        ("2003-01-02,1\n2003-01-02,1\n2003-01-03,2", "2003-01-02 twice with the same price"),
    ],
    ids=["unsorted", "missing", "twice"],
)
def test_what_is_mended_with_a_warning(tmp_path, rows, message):
    path = write(tmp_path / "a.csv", f"date,close\n{rows}\n")
    with pytest.warns(InputWarning, match=message):
        (found,) = read_prices(path)
    assert found.close.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "date,close\n2003-01-02,1\n2003-01-02,2\n",
            r"a.csv:3: a has 2003-01-02 twice, with 1 \(line 2\) and 2",
        ),
        ("date,close\n2003-01-02,1\n2003-13-02,2\n", r"a.csv:3: expected a date such as .* got '2003-13-02'"),
        ("date,close\n2003-01-02,1\n2003-01-03,x\n", r"a.csv:3: expected a price such as 12.5, got 'x'"),
        ("date,close\n2003-01-02,0\n", r"a.csv:2: expected a positive price, got '0'"),
        ("date,close\n2003-01-02,-1\n", r"a.csv:2: expected a positive price"),
        ("date,open\n2003-01-02,1\n", r"which column has the prices\? .* got date, open.*--price-column"),
        ("close\n1\n", r"which column has the dates\?"),
        ("date,close\n", r"there are no rows"),
        ("date,close,ticker\n2003-01-02,1,\n", r"a.csv:2: no ticker"),
    ],
)
def test_bad_files(tmp_path, text, message):
    refuses(message, read_prices, write(tmp_path / "a.csv", text))


def test_bad_calls(tmp_path):
    path = write(tmp_path / "a.csv", "date,close\n2003-01-02,1\n")
    with pytest.raises(InputError, match="no column 'px' for the prices: the columns are date, close"):
        read_prices(path, price_column="px")
    refuses(r"a is in .*a.csv as well", read_prices, [path, path])
    refuses("expected at least one file of prices", read_prices, [])
    with pytest.raises(FileNotFoundError):
        read_prices(tmp_path / "none.csv")


def test_prices_are_checked():
    days = np.array(["2003-01-02", "2003-01-03"], "datetime64[D]")
    refuses("the price -1 on 2003-01-03", Prices, "A", days, np.array([1.0, -1.0]))
    refuses("2003-01-02 after 2003-01-03; dates must rise", Prices, "A", days[::-1], np.array([1.0, 1.0]))
    refuses("2 dates and 1 prices", Prices, "A", days, np.array([1.0]))


@pytest.mark.parametrize(
    "given",
    [
        lambda days: days.astype("datetime64[ns]"),
        lambda days: list(days),
        lambda days: days.astype(str).tolist(),
        lambda days: days.astype(object).tolist(),  # datetime.date
        lambda days: [datetime.datetime(d.year, d.month, d.day, 16, 30) for d in days.astype(object)],
        lambda days: pytest.importorskip("pandas").DatetimeIndex(days),
        lambda days: pytest.importorskip("pandas").DatetimeIndex(days).tz_localize("America/New_York"),
        lambda days: pytest.importorskip("pandas").Series(days),
    ],
)
def test_dates_of_all_kinds(given):
    days = np.array(["2003-01-02", "2003-01-03"], "datetime64[D]")
    found = Prices("A", given(days), [1, 2])
    assert found.dates.dtype == "datetime64[D]"
    assert (found.dates == days).all()
    assert found.close.dtype == np.float64


def test_a_series_of_pandas():
    pandas = pytest.importorskip("pandas")
    series = pandas.Series([1, 2, 4], index=pandas.date_range("2003-01-02", periods=3))
    found = Prices("A", series.index, series)
    assert found.close.tolist() == [1, 2, 4]
    assert found.dates[-1] == np.datetime64("2003-01-04")


@pytest.mark.parametrize(
    ("dates", "close", "message"),
    [
        (
            [1, 2],
            [1.0, 2.0],
            r"prices: dates of A must be dates such as 2007-12-31, one per day: 1 is not a date",
        ),
        (["2003-01-02", "soon"], [1.0, 2.0], "dates of A must be"),
        (np.array(["2003-01-02", "NaT"], "M8[D]"), [1.0, 2.0], "a date is missing"),
        (["2003-01-02", "2003-01-03"], ["x", "y"], "close of A must be numbers"),
        (["2003-01-02", "2003-01-03"], [[1.0], [2.0]], r"not of shape \(2, 1\)"),
    ],
)
def test_wrong_dates_and_prices(dates, close, message):
    refuses(message, Prices, "A", dates, close)


def test_adjusted_columns_are_known(tmp_path):
    path = write(tmp_path / "a.csv", "Date,Close,Adj Close,adj_open\n2003-01-02,9,1,3\n")
    assert read_prices(path)[0].adjusted
    assert read_prices(path, price_column="adj_open")[0].adjusted
    assert not read_prices(path, price_column="Close")[0].adjusted
