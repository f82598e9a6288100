"""``crfkit stocks``: backtest forecasts of the direction of smoothed stock prices."""

from __future__ import annotations

import argparse
import os
import sys
import time
from functools import partial
from typing import TYPE_CHECKING

from crfkit.cli import options
from crfkit.cli.messages import UsageError, note, show, warn
from crfkit.cli.output_files import check_outputs, keep
from crfkit.optional import needed

if TYPE_CHECKING:
    import numpy as np

    from crfkit.apps.stocks.backtest import Backtest, Plan

USAGE = "backtest FILE … [options]"

DESCRIPTION = """\
Tests day by day how well a CRF predicts the direction of smoothed prices,
compared with persistence and other models. Not financial advice."""

EXAMPLES = """\
examples:
  crfkit stocks backtest prices/*.csv --report out.html
  crfkit stocks backtest all.csv --span 5 --start 2006-05-16
the paper's model:
  crfkit stocks backtest prices/*.csv --orders 3 --numbers 0 --training chain
      --alone --c2 0.001 --tau 0.01"""


_OPTIONS = f"""
  prices FILE...            CSV with dates and prices: one file per stock, or a ticker column
  --report FILE             write a report as a web page: .html; needs Jinja2
  --forecasts FILE          write all forecasts: .csv
  --figure FILE             plot accuracy by category: .png, .svg or .pdf
{options.QUIET}
the files:
  --date-column NAME        column of the dates (default: date)
  --price-column NAME       column of the prices (default: adj close, close or price)
  --ticker-column NAME      column of the tickers (default: ticker or symbol, if there is one)
  --date-format FORM        such as %%m/%%d/%%Y (default: ISO dates such as 2007-12-31)
  --keep-splits             do not adjust prices for splits
smoothing and features:
  --smoothing ema|double|mean|none = ema  smoothing of the prices; all use past prices only
  --span DAYS>=1 = 10       span of the smoothing
  --ranges N>=2 = 10        number of ranges for the change ratios
  --orders N,… = 1,2,3      numbers of days in a feature (default: 1,2,3)
  --numbers DAYS>=0 = 3     days whose changes are also features as numbers; 0: ranges only, as in the paper
  --observe change|distance = change  change: of the smoothed price; distance: of the price from the level at
      which the smoothed price would turn
training:
  --training chain|day = day  chain: all of the past as one sequence, as in the paper; day: each label given
      the label before it
  --alone                   train on each stock alone, as in the paper, without a common model of all stocks
  --models both|plain|constrained = both  CRFs to test
  --start WHEN              first day to predict: a date, or a share of the days
  --c2 X                    L2 penalty (default: chosen on the days before --start)
  --tau X                   bound of the constraint (default: chosen on the days before --start)
  --last DAYS>=1 = 100      number of days under the constraint
  --no-learners             leave out logistic regression and gradient boosting
  --least-days N>=50 = 250  least number of days before --start
  -j, --jobs N>=1           processes (default: one process per core)
"""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the action ``backtest`` and its options."""
    doing = parser.add_subparsers(title="what to do", dest="action", metavar="ACTION")
    test = doing.add_parser(
        "backtest",
        usage="crfkit stocks backtest FILE … [options]",
        help="forecast each day from the days before it",
        formatter_class=options.HelpFormatter,
        description=DESCRIPTION,
        epilog=EXAMPLES,
    )
    penalty = {"type": _at_least_zero}
    start = {"type": _start, "default": 0.6}
    options.declare(
        test, _OPTIONS, {"orders": {"type": _orders}, "start": start, "c2": penalty, "tau": penalty}
    )


def run(arguments: argparse.Namespace) -> int:
    """Run the backtest, print and write its results."""
    if arguments.action is None:
        raise UsageError("name the action: backtest")
    check_outputs(arguments, [arguments.report, arguments.forecasts, arguments.figure], arguments.prices)
    if arguments.figure is not None:
        _check_figure(arguments.figure)
    if arguments.report is not None:
        from crfkit.report.frame import check_engine

        check_engine("--report")
    from crfkit.apps.stocks.backtest import run_backtest
    from crfkit.apps.stocks.prices import read_prices

    began = time.perf_counter()
    prices = read_prices(
        arguments.prices,
        date_column=arguments.date_column,
        price_column=arguments.price_column,
        ticker_column=arguments.ticker_column,
        date_format=arguments.date_format,
    )
    progress = _Progress(quiet=arguments.quiet)
    backtest = run_backtest(prices, _plan(arguments), progress.say)
    progress.close()
    if backtest.splits:
        warn(f"{_several(backtest.splits)}: a split; later prices are adjusted (not with --keep-splits)")
    if backtest.jumps:
        warn(f"{_several(backtest.jumps)}: check whether this is right")
    for ticker, why in backtest.left_out.items():
        warn(f"{ticker} is left out: {why}")
    _print(backtest)
    _write(backtest, arguments)
    if not arguments.quiet:
        note(f"{len(backtest.results)} stocks in {time.perf_counter() - began:.0f} s")
    return 0


def _plan(arguments: argparse.Namespace) -> Plan:
    from crfkit.apps.stocks.backtest import Plan
    from crfkit.apps.stocks.features import Settings
    from crfkit.apps.stocks.screening import Screening

    return Plan(
        features=Settings(
            arguments.smoothing,
            arguments.span,
            arguments.ranges,
            arguments.orders,
            arguments.observe,
            arguments.training,
            arguments.numbers,
        ),
        start=arguments.start,
        c2=arguments.c2,
        tau=arguments.tau,
        last=arguments.last,
        plain=arguments.models != "constrained",
        constrained=arguments.models != "plain",
        common=not arguments.alone,
        learners=not arguments.no_learners,
        adjust=not arguments.keep_splits,
        screening=Screening(least_days=arguments.least_days),
        n_jobs=arguments.jobs or os.cpu_count() or 1,
    )


def _print(backtest: Backtest) -> None:
    from crfkit.apps.stocks import summary
    from crfkit.cli.tables import matrix

    found = summary.lines(backtest)
    print(summary.described(backtest))
    by = backtest.methods[0]
    for heads, cells in (
        summary.summary_table(backtest, found),
        summary.category_table(backtest, by),
        summary.raw_table(found),
    ):
        print()
        for line in matrix(
            heads[0], [row[0] for row in cells], heads[1:], [row[1:] for row in cells], gap="  "
        ):
            show(line)
    print()
    for sentence in (*summary.verdict(backtest, found), summary.NOT_ADVICE):
        print(_wrapped(sentence))


def _wrapped(text: str) -> str:
    import textwrap

    from crfkit.cli.tables import terminal_columns

    return textwrap.fill(text, min(terminal_columns(), 100), initial_indent="- ", subsequent_indent="  ")


def _several(words: list[str]) -> str:
    """Return the first text, and the number of others."""
    return words[0] + (f" (and {len(words) - 1} more)" if len(words) > 1 else "")


def _write(backtest: Backtest, arguments: argparse.Namespace) -> None:
    if arguments.report is not None:
        from crfkit.report.stocks_page import write_report

        keep(arguments.report, partial(write_report, backtest), "the report")
    if arguments.forecasts is not None:
        from crfkit.apps.stocks.forecast_table import write_forecasts

        keep(arguments.forecasts, partial(write_forecasts, backtest), "the table")
    if arguments.figure is not None:
        from crfkit.apps.stocks.plot import plot_categories
        from crfkit.io.pictures import save_picture

        keep(arguments.figure, partial(save_picture, plot_categories(backtest), dpi=130), "the figure")


def _check_figure(path: str) -> None:
    """Raise an error before the backtest if the figure cannot be drawn."""
    from crfkit.io.pictures import picture_format

    picture_format(path)
    needed("matplotlib", "--figure")


class _Progress:
    """Progress messages: on a terminal one line that changes, elsewhere one line per task."""

    def __init__(self, quiet: bool) -> None:
        self._shown = not quiet
        self._terminal = sys.stderr.isatty()
        self._task = ""

    def say(self, task: str, done: int, total: int) -> None:
        """Show how much of a task is done."""
        if not self._shown:
            return
        if self._terminal:
            sys.stderr.write(f"\r\x1b[Kcrfkit: {task}: {done} of {total}")
            sys.stderr.flush()
        elif task != self._task:
            note(task)
        self._task = task

    def close(self) -> None:
        """Clear the progress line."""
        if self._shown and self._terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()


def _orders(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected numbers of days such as 1,2,3, got {text!r}") from None


def _start(text: str) -> float | np.datetime64:
    import datetime

    import numpy as np

    try:
        share = float(text)
    except ValueError:
        try:
            return np.datetime64(datetime.date.fromisoformat(text))
        except ValueError:
            raise argparse.ArgumentTypeError(
                f"expected a date such as 2006-05-16, or a share such as 0.6, got {text!r}"
            ) from None
    if not 0 < share < 1:
        raise argparse.ArgumentTypeError(f"expected a share between 0 and 1, got {text}")
    return share


def _at_least_zero(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number of at least 0, got {text!r}")
    return number
