"""A backtest of stock prices as an HTML page.

If matplotlib is not installed, the plots are left out.
"""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from crfkit.apps.stocks import baselines, summary
from crfkit.apps.stocks.backtest import Backtest
from crfkit.io.pictures import draw_picture
from crfkit.optional import find
from crfkit.report.frame import render, write_page

_Cells = tuple[Sequence[str], Sequence[Sequence[str]]]  # heads, and rows of texts


def write_report(
    backtest: Backtest, path: str | os.PathLike[str], *, title: str = "Stock directions: a back-test"
) -> None:
    """Write the page to a file, completely or not at all."""
    write_page(report_html(backtest, title=title), path)


def report_html(backtest: Backtest, *, title: str = "Stock directions: a back-test") -> str:
    """Return the page as HTML."""
    found, method = summary.lines(backtest), backtest.methods[0]
    changes = [[words, "a split: prices after it are adjusted"] for words in backtest.splits]
    changes += [[words, "left as it is"] for words in backtest.jumps]
    left_out = [[ticker, why] for ticker, why in backtest.left_out.items()]
    return render(
        "stocks.html",
        title=title,
        described=summary.described(backtest),
        not_advice=summary.NOT_ADVICE,
        verdict=summary.verdict(backtest, found),
        method=method,
        learners=bool(backtest.plan.learners),
        logistic_every=baselines.LOGISTIC_EVERY,
        boosting_every=baselines.BOOSTING_EVERY,
        rises=summary.percent(summary.share_of_rises(backtest)),
        pictures=_pictures(backtest),
        tables={
            "summary": _table(summary.summary_table(backtest, found)),
            "categories": _table(summary.category_table(backtest, method)),
            "raw": _table(summary.raw_table(found)),
            "stocks": _table(summary.stock_table(backtest)),
            "trials": _table(summary.trial_table(backtest)) if backtest.trials else None,
            "changes": _table((["change", "taken for"], changes)) if changes else None,
            "left_out": _table((["stock", "why"], left_out)) if left_out else None,
        },
    )


class _Image(NamedTuple):
    data: str  # svg in base64
    words: str  # for those who do not see it


def _pictures(backtest: Backtest) -> dict[str, _Image | None]:
    """Return the plots; None instead without matplotlib."""
    if find("matplotlib") is None:
        return {"categories": None, "stock": None}
    from crfkit.apps.stocks.plot import plot_categories, plot_stock

    method = backtest.methods[0]
    order = np.argsort([result.accuracy(method) for result in backtest.results], kind="stable")
    typical = backtest.results[int(order[len(order) // 2])]
    words = f"{typical.stock.ticker}, a stock of middling accuracy: price, smoothed price and forecasts"
    return {
        "categories": _image(plot_categories(backtest), "Mean accuracy of the models by category of stocks"),
        "stock": _image(plot_stock(typical, method), words),
    }


def _image(figure: Any, words: str) -> _Image:
    picture = io.BytesIO()
    draw_picture(figure, picture, "svg")
    return _Image(base64.b64encode(picture.getvalue()).decode("ascii"), words)


def _table(cells: _Cells) -> tuple[list[tuple[str, bool]], list[list[tuple[str, float | None]]]]:
    """Return heads and rows as the templates take them; columns of numbers have numbers to sort by."""
    heads, rows = cells
    numbers = [
        all(_number(row[k]) is not None or not row[k].strip("–") for row in rows) for k in range(len(heads))
    ]
    return list(zip(heads, numbers, strict=True)), [
        [(text, _number(text) if number else None) for text, number in zip(row, numbers, strict=True)]
        for row in rows
    ]


def _number(text: str) -> float | None:
    """Return the number at the start of a cell, to sort by: 81.4 for ``81.4 %``."""
    found = re.match(r"[+−-]?(\d+\.?\d*|\.\d+)", text.replace(",", ""))
    return float(found.group().replace("−", "-")) if found else None
