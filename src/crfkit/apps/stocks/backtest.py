"""The backtest: screen the stocks, choose settings on the past, walk forward, compare.

A forecast uses only days before the day it predicts. Smoothing is causal. The ranges of change ratios, the
common model of all stocks, the penalty and the bound come from the days before the first prediction. Models
are trained on the days before the one they predict. Without the later days, the forecasts are bit-identical.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np

from crfkit.apps.stocks import baselines, choosing
from crfkit.apps.stocks.choosing import Trial
from crfkit.apps.stocks.common import common_weights
from crfkit.apps.stocks.days import Day
from crfkit.apps.stocks.features import Settings, Stock, make_stock
from crfkit.apps.stocks.forecast import Forecast, walk_forward
from crfkit.apps.stocks.intervals import Estimate, Resampling
from crfkit.apps.stocks.prices import Prices
from crfkit.apps.stocks.screening import Screening, check_start, first_prediction
from crfkit.apps.stocks.splits import adjust_splits
from crfkit.apps.stocks.translation import RawForecast, translate
from crfkit.arrays import FloatArray
from crfkit.exceptions import InputError
from crfkit.io.shown_table import ShownTable, TabularRecords
from crfkit.optional import needed

PLAIN, CONSTRAINED = "CRF", "constrained CRF"
PERSISTENCE, UNCHANGED = "persistence", "unchanged price"
LOGISTIC, BOOSTING = "logistic regression", "gradient boosting"
# The paper's Figure 6 sorts stocks by the accuracy of the plain CRF.
CATEGORIES = (0.0, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90, 1.01)

Say = Callable[[str, int, int], None]  # progress callback: task, number done, total


@dataclass(frozen=True)
class Plan:
    """The settings of a backtest."""

    features: Settings = field(default_factory=Settings)
    start: float | Day = 0.6  # the first prediction: a share of the history, or a date
    c2: float | None = None  # None: chosen before the first prediction
    tau: float | None = None  # of the constrained model; None: chosen before the first prediction
    last: int = 100  # V
    plain: bool = True
    constrained: bool = True
    common: bool = True  # penalise differences from a common model; else, as in the paper, from 0
    learners: bool = True  # logistic regression and gradient boosting
    adjust: bool = True  # adjust prices for splits
    screening: Screening = field(default_factory=Screening)
    n_jobs: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", check_start(self.start))
        if self.last < 1:
            raise InputError(f"the constraint needs at least 1 of the last days, got last={self.last}")
        if self.c2 is not None and not 0 <= self.c2 < np.inf:
            raise InputError(f"c2 must be a number of at least 0, got {self.c2}")
        if self.tau is not None and not 0 <= self.tau < np.inf:
            raise InputError(f"tau must be a number of at least 0, got {self.tau}")
        if not self.plain and not self.constrained:
            raise InputError("plain and constrained are both False: at least one model is needed")


@dataclass(frozen=True)
class StockResult:
    """All forecasts of a stock."""

    stock: Stock
    start: int
    forecasts: dict[str, Forecast]  # by method

    def accuracy(self, method: str) -> float:
        """Return the share of days with the right direction of the smoothed price."""
        return float(self.forecasts[method].correct(self.stock).mean())

    def raw(self, method: str) -> RawForecast:
        """Return the forecast in terms of raw prices."""
        return translate(self.stock, self.forecasts[method])


@dataclass(frozen=True, repr=False)
class Backtest(TabularRecords):
    """All results of a backtest."""

    plan: Plan
    results: list[StockResult]
    left_out: dict[str, str]  # ticker: why
    c2: float
    tau: float | None
    trials: list[Trial] = field(default_factory=list)  # the settings that c2 and tau were chosen from
    splits: list[str] = field(default_factory=list)  # splits that prices were adjusted for
    jumps: list[str] = field(default_factory=list)  # other large changes, not adjusted

    def _shown(self) -> ShownTable:
        from crfkit.apps.stocks.summary import described, lines, summary_table  # which use this class

        head, rows = summary_table(self, lines(self))
        return ShownTable(head, [rows], [described(self)])

    def _records(self) -> Iterator[dict[str, Any]]:
        from crfkit.apps.stocks.summary import lines

        for line in lines(self):
            yield {
                "method": line.method,
                "accuracy": line.accuracy.value,
                "low": line.accuracy.low,
                "high": line.accuracy.high,
                "log_loss": line.log_loss,
                "seconds": line.seconds,
            }

    @property
    def methods(self) -> list[str]:
        """Return the names of the methods, the models first."""
        return list(self.results[0].forecasts)

    @property
    def n_forecasts(self) -> int:
        """Return the number of forecasts of one method for all stocks."""
        return sum(len(r.forecasts[self.methods[0]].probability) for r in self.results)

    def mean_accuracy(self, method: str) -> float:
        """Return the accuracy over all forecasts of all stocks."""
        right = sum(int(r.forecasts[method].correct(r.stock).sum()) for r in self.results)
        return right / self.n_forecasts

    def seconds(self, method: str) -> float:
        """Return the mean seconds per stock for training and forecasting."""
        return float(np.mean([r.forecasts[method].seconds for r in self.results]))

    def better_baseline(self) -> str:
        """Return the baseline with the most right forecasts."""
        rivals = [method for method in self.methods if method not in (PLAIN, CONSTRAINED)]
        return max(rivals, key=self.mean_accuracy)

    def sharper_learner(self) -> str | None:
        """Return the learner with the lower log loss; None if there are no learners."""
        rivals = [method for method in (LOGISTIC, BOOSTING) if method in self.methods]
        return min(rivals, key=self.log_loss, default=None)

    def log_loss(self, method: str) -> float:
        """Return the log loss over all forecasts of all stocks, in nats per forecast."""
        return float(np.concatenate([r.forecasts[method].losses(r.stock) for r in self.results]).mean())

    def intervals(self) -> tuple[dict[str, Estimate], dict[str, Estimate]]:
        """Return the accuracy of each method, and its difference to persistence; both with intervals."""
        right = {method: self._right(method) for method in self.methods}
        own = {method: self._mean(right[method]) for method in self.methods}
        return own, {method: self.difference(method, PERSISTENCE) for method in own if method != PERSISTENCE}

    def difference(self, method: str, other: str) -> Estimate:
        """Return the accuracy of one method minus that of another."""
        return self._mean([a - b for a, b in zip(self._right(method), self._right(other), strict=True)])

    def loss_difference(self, method: str, other: str) -> Estimate:
        """Return the log loss of one method minus that of another."""
        return self._mean(
            [r.forecasts[method].losses(r.stock) - r.forecasts[other].losses(r.stock) for r in self.results]
        )

    def raw_difference(self, method: str) -> Estimate:
        """Return the accuracy on raw prices minus that of always forecasting the more frequent direction."""
        raws = [r.raw(method) for r in self.results]
        up = float(np.concatenate([raw.rises for raw in raws]).mean()) >= 0.5
        return self._mean([raw.copied_correct.astype(float) - (raw.rises == up) for raw in raws])

    def categories(self, by: str) -> list[tuple[str, int, dict[str, float]]]:
        """Group stocks by the accuracy of a method: range, number of stocks, mean accuracy of each method."""
        found = []
        own = np.array([r.accuracy(by) for r in self.results])
        for low, high in pairwise(CATEGORIES):
            members = [r for r, a in zip(self.results, own, strict=True) if low <= a < high]
            if members:
                name = f"below {high:.0%}" if low == 0 else f"{low:.0%} to {min(high, 1):.0%}"
                means = {m: float(np.mean([r.accuracy(m) for r in members])) for m in self.methods}
                found.append((name, len(members), means))
        return found

    def _right(self, method: str) -> list[FloatArray]:
        """Return 1 for each right forecast, else 0; S arrays [n]."""
        return [r.forecasts[method].correct(r.stock).astype(np.float64) for r in self.results]

    def _mean(self, values: Sequence[FloatArray]) -> Estimate:
        """Return the mean of one value per forecast; S arrays [n]."""
        grid = np.zeros(self._resampling.present.shape)
        for row, present, own in zip(grid, self._resampling.present, values, strict=True):
            row[present] = own
        return self._resampling.mean(grid)

    @cached_property
    def _resampling(self) -> Resampling:
        """Return the resampling over stocks and all days with a forecast for any of them."""
        days = [r.stock.prices.dates[r.start :] for r in self.results]
        calendar = np.unique(np.concatenate(days))  # [D]
        return Resampling(np.stack([np.isin(calendar, own) for own in days]))


def run_backtest(prices: Sequence[Prices], plan: Plan | None = None, say: Say | None = None) -> Backtest:
    """Forecast every day of every stock from the first prediction on, and compare with the baselines.

    Stocks that the screening leaves out are listed with their reasons. If none remains, an error is raised.
    """
    plan = plan or Plan()
    say = say or (lambda what, done, total: None)
    starts: dict[str, int] = {}
    left_out: dict[str, str] = {}
    adjusted = [adjust_splits(p) for p in prices] if plan.adjust else [(p, [], []) for p in prices]
    prices = [p for p, _, _ in adjusted]
    for p in prices:
        if p.ticker in starts or p.ticker in left_out:
            raise InputError(f"{p.source}: there are two stocks called {p.ticker}; give each once")
        start = first_prediction(p, plan.start)
        complaint = plan.screening.complaint(p, start) or _too_short(start, plan)
        if complaint is None:
            starts[p.ticker] = start
        else:
            left_out[p.ticker] = complaint
    kept = [p for p in prices if p.ticker in starts]
    if not kept:
        ticker, why = next(iter(left_out.items()))
        raise InputError(f"no stock is left to forecast; {ticker}: {why}")
    firsts = [starts[p.ticker] for p in kept]

    plan, trials = _chosen(kept, firsts, plan, say)
    centre = _centre(kept, firsts, plan, say)
    tasks = [(p, start, plan, centre) for p, start in zip(kept, firsts, strict=True)]
    results = list(_each(_walk, tasks, plan.n_jobs, "walking forward", say))
    if plan.learners:
        say("gradient boosting", 0, 1)
        boosted = baselines.gradient_boosting([r.stock for r in results], firsts)
        for result, forecast in zip(results, boosted, strict=True):
            result.forecasts[BOOSTING] = forecast
        say("gradient boosting", 1, 1)
    return Backtest(
        plan,
        results,
        left_out,
        plan.c2 or 0.0,
        plan.tau if plan.constrained else None,
        trials,
        [words for _, splits, _ in adjusted for words in splits],
        [words for _, _, jumps in adjusted for words in jumps],
    )


def _too_short(start: int, plan: Plan) -> str | None:
    """Say why a stock with ``start`` days before the first prediction is left out; None if it has enough."""
    chosen = plan.c2 is None or (plan.constrained and plan.tau is None)
    days = choosing.inner_start(start) if chosen else start  # of the first training of all
    features = plan.features
    where = f"the first {days} days" + (" (settings are chosen on those after them)" if chosen else "")
    if days <= features.first:
        return (
            f"{where} are too few for training: a span of {features.span} and features over "
            f"{features.days} days need more than {features.first}"
        )
    if plan.constrained and days - features.first < plan.last:
        return (
            f"{where} are too few to constrain the last {plan.last} of them: the features begin on day "
            f"{features.first + 1}"
        )
    return None


def _chosen(
    prices: Sequence[Prices], starts: Sequence[int], plan: Plan, say: Say
) -> tuple[Plan, list[Trial]]:
    """Return the plan with c2 and τ filled in, and the settings tried."""

    if plan.c2 is not None and (plan.tau is not None or not plan.constrained):
        return plan, []
    centre = _centre(prices, [choosing.inner_start(start) for start in starts], plan, say)

    def trial(c2: float, tau: float | None) -> Trial:
        tasks = [
            (p, s, plan.features, centre, c2, tau, plan.last) for p, s in zip(prices, starts, strict=True)
        ]
        words = f"before the first prediction: c2 {c2:g}" + ("" if tau is None else f", tau {tau:g}")
        return choosing.together(list(_each(_try, tasks, plan.n_jobs, words, say)))

    trials: list[Trial] = []
    if plan.c2 is None:
        penalties = choosing.PENALTIES if centre is None else choosing.COMMON_PENALTIES
        trials = [trial(c2, None) for c2 in penalties]
        plan = replace(plan, c2=choosing.most_cautious(trials).c2)
    if plan.constrained and plan.tau is None:
        bounds = choosing.BOUNDS if centre is None else choosing.COMMON_BOUNDS
        constrained = [trial(plan.c2 or 0.0, tau) for tau in bounds]
        plan = replace(plan, tau=choosing.most_cautious(constrained).tau)
        trials += constrained
    return plan, trials


def _centre(prices: Sequence[Prices], starts: Sequence[int], plan: Plan, say: Say) -> FloatArray | None:
    """Return the weights of the common model, from the days before any stock's first prediction."""
    if not plan.common or len(prices) == 1:
        return None
    before = min(p.dates[start] for p, start in zip(prices, starts, strict=True))
    say("what stocks have in common", 0, 1)
    centre = common_weights(prices, plan.features, before)
    say("what stocks have in common", 1, 1)
    return centre


def _try(task: tuple[Any, ...]) -> Trial:
    return choosing.try_setting(*task)


def _walk(task: tuple[Prices, int, Plan, FloatArray | None]) -> StockResult:
    """Return all forecasts of one stock that need no other stock."""
    prices, start, plan, centre = task
    stock = make_stock(prices, plan.features, start)
    forecasts: dict[str, Forecast] = {}
    c2 = plan.c2 or 0.0
    if plan.plain:
        forecasts[PLAIN] = walk_forward(stock, start, c2=c2, centre=centre)
    if plan.constrained:
        forecasts[CONSTRAINED] = walk_forward(
            stock, start, c2=c2, tau=plan.tau, last=plan.last, centre=centre
        )
    forecasts[PERSISTENCE] = baselines.persistence(stock, start)
    if plan.features.smoothing in ("double", "mean"):  # with ema it is the same as persistence
        forecasts[UNCHANGED] = baselines.unchanged_price(stock, start)
    if plan.learners:
        forecasts[LOGISTIC] = baselines.logistic_regression(stock, start)
    return StockResult(stock, start, forecasts)


def _each(do: Callable[[Any], Any], tasks: Sequence[Any], n_jobs: int, words: str, say: Say) -> Iterator[Any]:
    """Yield the results of the tasks in their order, computed by ``n_jobs`` processes."""
    say(words, 0, len(tasks))
    if n_jobs == 1 or len(tasks) == 1:
        found: Iterator[Any] = map(do, tasks)
    else:
        joblib = needed("joblib", "a backtest with n_jobs above 1")
        calls = (joblib.delayed(do)(task) for task in tasks)
        found = joblib.Parallel(n_jobs=n_jobs, return_as="generator")(calls)
    for done, result in enumerate(found, 1):
        say(words, done, len(tasks))
        yield result
