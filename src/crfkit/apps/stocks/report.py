"""A back-test as a page to read in a browser: one file without anything from the network.

Tables are sorted by a click on their heads. Where matplotlib is not installed, the pictures are left out.
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
from crfkit.io.opening import open_output


def write_report(
    backtest: Backtest, path: str | os.PathLike[str], *, title: str = "Stock directions: a back-test"
) -> None:
    """Write the page, whole or not at all."""
    page = report_html(backtest, title=title)
    with open_output(path) as file:
        file.write(page.encode("utf-8"))


def report_html(backtest: Backtest, *, title: str = "Stock directions: a back-test") -> str:
    """The page."""
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
    return _PAGE.format(title=escape(title), style=_STYLE, script=_SCRIPT, body="\n".join(parts))


def _learners(backtest: Backtest) -> str:
    if not backtest.plan.learners:
        return ""
    return (
        f", logistic regression every {baselines.LOGISTIC_EVERY} days, gradient boosting every "
        f"{baselines.BOOSTING_EVERY}"
    )


def _pictures(backtest: Backtest, what: str) -> str:
    """A picture inside the page; nothing without matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
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
    figure.savefig(picture, format="svg", metadata={"Date": None})
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    return f'<img src="data:image/svg+xml;base64,{data}" alt="{escape(words)}">'


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    numbers = [
        all(_number(row[k]) is not None or not row[k].strip("–") for row in rows) for k in range(len(heads))
    ]
    head = "".join(
        f'<th scope="col"{_kind(number)}><button type="button">{escape(name)}</button></th>'
        for name, number in zip(heads, numbers, strict=True)
    )
    body = "\n".join(
        "<tr>" + "".join(_cell(cell, number) for cell, number in zip(row, numbers, strict=True)) + "</tr>"
        for row in rows
    )
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>\n{body}\n</tbody></table></div>'


def _kind(number: bool) -> str:
    return ' class="n"' if number else ""


def _cell(text: str, number: bool) -> str:
    value = _number(text)
    sortable = f' data-v="{value!r}"' if number and value is not None else ""
    return f"<td{_kind(number)}{sortable}>{escape(text)}</td>"


def _number(text: str) -> float | None:
    """What a cell begins with, to sort by: 81.4 of ``81.4 %``."""
    found = re.match(r"[+−-]?(\d+\.?\d*|\.\d+)", text.replace(",", ""))
    return float(found.group().replace("−", "-")) if found else None


_STYLE = """
:root { color-scheme: light dark; --bg: #fff; --fg: #1c1c1e; --dim: #6b6b70; --line: #e4e4e8;
  --head: #f6f6f8; --hover: #f2f6fc; --note: #fff6dc; }
@media (prefers-color-scheme: dark) {
  :root { --bg: #17181a; --fg: #e6e6e8; --dim: #98989f; --line: #2e2f33; --head: #1f2023; --hover: #20242b;
    --note: #3a3115; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--bg); color: var(--fg); font: 15px/1.5 system-ui, sans-serif; }
main { max-width: 66rem; margin: 0 auto; padding: 1.5rem 1.25rem 4rem; }
h1 { font-size: 1.5rem; margin: 0 0 .2rem; }
h2 { font-size: 1.15rem; margin: 2.2rem 0 .6rem; }
.sum, .how { color: var(--dim); max-width: 52rem; }
.how { font-size: .92em; }
.how b { color: var(--fg); font-weight: 600; }
.note { background: var(--note); border-radius: 8px; padding: .7rem 1rem; max-width: 52rem; }
ul { max-width: 52rem; padding-left: 1.2rem; }
li { margin: .35rem 0; }
img { display: block; width: 100%; max-width: 46rem; background: #fff; border-radius: 8px; margin: 0 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th { background: var(--head); text-align: left; padding: 0; border-bottom: 1px solid var(--line); }
th button { font: inherit; font-weight: 600; color: inherit; background: none; border: 0; width: 100%;
  text-align: inherit; padding: .45rem .7rem; cursor: pointer; white-space: nowrap; }
th[aria-sort=ascending] button::after { content: " \\2191"; }
th[aria-sort=descending] button::after { content: " \\2193"; }
td { padding: .35rem .7rem; border-bottom: 1px solid var(--line); white-space: nowrap; }
tbody tr:hover { background: var(--hover); }
.n { text-align: right; font-variant-numeric: tabular-nums; }
"""

_SCRIPT = """
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const value = (row, k) => {
    const cell = row.cells[k], number = cell.dataset.v;
    return number === undefined ? cell.textContent : Number(number);
  };
  table.tHead.addEventListener("click", event => {
    const head = event.target.closest("th");
    if (!head) return;
    const k = head.cellIndex, before = head.getAttribute("aria-sort");
    const down = before ? before === "ascending" : head.className === "n";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const keyed = [...body.rows].map(row => [value(row, k), row]);
    keyed.sort(([a], [b]) => {
      const order = typeof a === "number" && typeof b === "number" ? a - b
        : String(a).localeCompare(String(b), undefined, { numeric: true });
      return down ? -order : order;
    });
    body.append(...keyed.map(([, row]) => row));
  });
}
"""

_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; \
script-src 'unsafe-inline'; img-src data:">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
<h1>{title}</h1>
{body}
</main>
<script>{script}</script>
</body>
</html>
"""
