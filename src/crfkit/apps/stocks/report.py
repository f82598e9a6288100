"""A backtest as a web page (``io/page.py``).

If matplotlib is not installed, the plots are left out.
"""

from __future__ import annotations

import base64
import io
import os
import re
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from crfkit.apps.stocks import baselines, summary
from crfkit.apps.stocks.backtest import Backtest
from crfkit.io.page import column_head, framed
from crfkit.io.pictures import draw_picture
from crfkit.io.writing import open_output
from crfkit.optional import find


def write_report(
    backtest: Backtest, path: str | os.PathLike[str], *, title: str = "Stock directions: a back-test"
) -> None:
    """Write the page to a file, completely or not at all."""
    page = report_html(backtest, title=title)
    with open_output(path) as file:
        file.write(page.encode("utf-8"))


def report_html(backtest: Backtest, *, title: str = "Stock directions: a back-test") -> str:
    """Return the page as HTML."""
    found = summary.lines(backtest)
    said = "".join(f"<li>{escape(sentence)}</li>" for sentence in summary.verdict(backtest, found))
    by = backtest.methods[0]
    parts = [
        f'<p class="sum">{escape(summary.described(backtest))}</p>',
        f'<p class="note">{escape(summary.NOT_ADVICE)}</p>',
        f"<h2>What is predictable, and what is not</h2><ul>{said}</ul>",
        "<h2>All stocks</h2>",
        _table(*summary.summary_table(backtest, found)),
        "<p class='how'><b>Accuracy</b>: share of the days whose direction of the smoothed price was right. "
        "<b>95 %</b>: intervals from resampled blocks of 20 days and resampled stocks. <b>− persistence</b>: "
        "percentage points above “tomorrow as today”. <b>Log loss</b>: of the probabilities, in nats. "
        "<b>Raw</b>: right on the direction of the raw price, when the forecast is copied to it. The CRF is "
        f"trained every day{_learners(backtest)}.</p>",
        f"<h2>By the accuracy of the {escape(by)}</h2>",
        _pictures(backtest, "categories"),
        _table(*summary.category_table(backtest, by)),
        "<h2>Back to raw prices</h2>",
        "<p class='how'>The smoothed price rises tomorrow exactly if tomorrow's price lies above a threshold "
        "that is known today. Where today's price lies on the other side of it, the forecast implies a "
        "direction of the raw price; elsewhere it leaves it open, and can only be copied. "
        f"The raw price rose on {summary.percent(summary.share_of_rises(backtest))} of the days.</p>",
        _table(*summary.raw_table(found)),
        "<h2>Stock by stock</h2>",
        _pictures(backtest, "stock"),
        _table(*summary.stock_table(backtest)),
    ]
    if backtest.trials:
        parts += [
            "<h2>Settings tried before the first prediction</h2>",
            "<p class='how'>The strongest penalty, and the weakest constraint, within a standard error of "
            "the best log loss are taken.</p>",
            _table(*summary.trial_table(backtest)),
        ]
    if backtest.splits or backtest.jumps:
        rows = [[words, "a split: prices after it are adjusted"] for words in backtest.splits]
        rows += [[words, "left as it is"] for words in backtest.jumps]
        parts += ["<h2>Large changes</h2>", _table(["change", "taken for"], rows)]
    if backtest.left_out:
        rows = [[ticker, why] for ticker, why in backtest.left_out.items()]
        parts += ["<h2>Stocks left out</h2>", _table(["stock", "why"], rows)]
    return framed(title, "\n".join(parts), style=_STYLE)


def _learners(backtest: Backtest) -> str:
    if not backtest.plan.learners:
        return ""
    return (
        f", logistic regression every {baselines.LOGISTIC_EVERY} days, gradient boosting every "
        f"{baselines.BOOSTING_EVERY}, on numbers of the last three days"
    )


def _pictures(backtest: Backtest, what: str) -> str:
    """Return a plot as HTML; empty without matplotlib."""
    if find("matplotlib") is None:
        return "<p class='how'>For pictures, install matplotlib: pip install 'crfkit[plot]'.</p>"
    from crfkit.apps.stocks.plot import plot_categories, plot_stock

    if what == "categories":
        return _image(plot_categories(backtest), "Mean accuracy of the models by category of stocks")
    method = backtest.methods[0]
    order = np.argsort([result.accuracy(method) for result in backtest.results], kind="stable")
    typical = backtest.results[int(order[len(order) // 2])]
    return _image(
        plot_stock(typical, method),
        f"{typical.stock.ticker}, a stock of middling accuracy: price, smoothed price and forecasts",
    )


def _image(figure: Any, words: str) -> str:
    picture = io.BytesIO()
    draw_picture(figure, picture, "svg")
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(words)}">'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numbers = [
        all(_number(row[k]) is not None or not row[k].strip("–") for row in rows) for k in range(len(heads))
    ]
    head = "".join(column_head(name, number=number) for name, number in zip(heads, numbers, strict=True))
    body = "\n".join(
        "<tr>" + "".join(_cell(cell, number) for cell, number in zip(row, numbers, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _cell(text: str, number: bool) -> str:
    value = _number(text)
    kind = ' class="n"' if number else ""
    sortable = f' data-v="{value!r}"' if number and value is not None else ""
    return f"<td{kind}{sortable}>{escape(text)}</td>"


def _number(text: str) -> float | None:
    """Return the number at the start of a cell, to sort by: 81.4 for ``81.4 %``."""
    found = re.match(r"[+−-]?(\d+\.?\d*|\.\d+)", text.replace(",", ""))
    return float(found.group().replace("−", "-")) if found else None


_STYLE = """
:root { --note: #fff6dc; }
@media (prefers-color-scheme: dark) { :root { --note: #3a3115; } }
main { max-width: 66rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
.sum, .how { max-width: 52rem; }
.note { background: var(--note); border-radius: 8px; padding: .7rem 1rem; max-width: 52rem; }
ul { max-width: 52rem; padding-left: 1.2rem; }
li { margin: .35rem 0; }
img { display: block; width: 100%; max-width: 46rem; background: #fff; border-radius: 8px; margin: 0 0 1rem; }
.wide { overflow-x: auto; }
td { white-space: nowrap; }
"""
