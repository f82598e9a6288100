"""A backtest as tables and sentences, for the command and the web page."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from crfkit.apps.stocks.backtest import CONSTRAINED, PERSISTENCE, PLAIN, Backtest
from crfkit.apps.stocks.intervals import Estimate

_TRAINING = {"day": "by the day", "chain": "as a chain"}
NOT_ADVICE = (
    "This is a test of a method on past prices. It is not financial advice, and nothing here says that money "
    "can be made: there are no costs, no positions and no returns in it."
)


@dataclass(frozen=True)
class Line:
    """A method over all stocks."""

    method: str
    accuracy: Estimate  # of the smoothed direction
    above: Estimate | None  # persistence; None for persistence itself
    log_loss: float | None  # nats per forecast; None where the method gives no probabilities
    raw: float  # accuracy on the raw direction, when it is copied
    implied: float  # share of the forecasts that imply a raw direction
    implied_right: float | None  # how many of these were right
    seconds: float  # per stock
    feasible: float | None  # share of the trainings after which the constraint held; None: there is none


def lines(backtest: Backtest) -> list[Line]:
    """Return one line per method."""
    own, above = backtest.intervals()
    found = []
    for method in backtest.methods:
        raws = [result.raw(method) for result in backtest.results]
        certain = all(
            np.isin(result.forecasts[method].probability, (0.0, 1.0)).all() for result in backtest.results
        )
        implied = np.concatenate([raw.implied_correct for raw in raws])
        found.append(
            Line(
                method,
                own[method],
                above.get(method),
                None if certain else backtest.log_loss(method),
                float(np.concatenate([raw.copied_correct for raw in raws]).mean()),
                len(implied) / backtest.n_forecasts,
                float(implied.mean()) if len(implied) else None,
                backtest.seconds(method),
                float(np.mean([r.forecasts[method].feasible for r in backtest.results]))
                if method == CONSTRAINED
                else None,
            )
        )
    return found


def share_of_rises(backtest: Backtest) -> float:
    """Return the share of forecast days on which the raw price rose: the score of always saying "rise"."""
    method = backtest.methods[0]
    return float(np.concatenate([result.raw(method).rises for result in backtest.results]).mean())


def verdict(backtest: Backtest, found: Iterable[Line]) -> list[str]:
    """Return sentences on what is predictable and what is not, with the numbers of this run."""
    by = {line.method: line for line in found}
    persistence = by[PERSISTENCE].accuracy.value
    said = []
    if backtest.plan.features.smoothing != "none":
        said.append(
            f"The direction of the smoothed price can be foretold: {percent(persistence)} of the days by "
            "saying that tomorrow goes on as today. This is arithmetic, not insight into the market: the "
            "smoothed price moves with the distance between price and average, which a day seldom reverses."
        )
    for method in (PLAIN, CONSTRAINED):
        if method in by:
            words = (_compared(method, by[method]), sharpness(backtest, method), _held(by[method]))
            said.append(" ".join(word for word in words if word))
    said.append(_raw(backtest, by[backtest.methods[0]]))
    return said


def _raw(backtest: Backtest, line: Line) -> str:
    rises = share_of_rises(backtest)
    above = backtest.raw_difference(line.method)
    judged = (
        "The direction of the raw price could be foretold by it on these days"
        if above.low > 0
        else "The direction of the raw price cannot be foretold by it"
    )
    return (
        f"{judged}: {percent(line.raw)} right when the forecast is copied to the raw price, where saying "
        f"{'rise' if rises >= 0.5 else 'fall'} every day has {percent(max(rises, 1 - rises))} (difference "
        f"{points(above.value)} points, 95 %: {points(above.low)} to {points(above.high)})."
    )


def _compared(method: str, line: Line) -> str:
    above = line.above
    if above is None:
        return ""
    if above.low == above.high == above.value == 0:
        return f"The {method} has {percent(line.accuracy.value)}: it says what persistence says, day by day."
    interval = f"{points(above.value)} points (95 %: {points(above.low)} to {points(above.high)})"
    if above.low > 0:
        judged = "better than persistence"
    elif above.high < 0:
        judged = "worse than persistence"
    else:
        judged = "no better and no worse than persistence, as far as these days can tell"
    return f"The {method} has {percent(line.accuracy.value)}, {interval} from persistence: {judged}."


def sharpness(backtest: Backtest, method: str) -> str:
    """Compare the log loss of a model with that of the better learner, if there is one."""
    rival = backtest.sharper_learner()
    if rival is None:
        return ""
    apart = backtest.loss_difference(method, rival)
    return (
        f"Its log loss is {backtest.log_loss(method):.4f}, {signed(apart.value, 4)} (95 %: "
        f"{signed(apart.low, 4)} to {signed(apart.high, 4)}) from that of {rival}."
    )


def _held(line: Line) -> str:
    """Say how often the constraint held, if there is one."""
    return (
        ""
        if line.feasible is None
        else f"The constraint held after {percent(line.feasible)} of its trainings."
    )


def percent(value: float | None) -> str:
    """Format a share in percent: 0.8137 as 81.4 %."""
    return "–" if value is None else f"{100 * value:.1f} %"


def points(value: float) -> str:
    """Format a difference of shares in percentage points, with a sign unless it rounds to 0."""
    return signed(100 * value, 2)


def signed(value: float, digits: int) -> str:
    """Format a number with a sign unless it rounds to 0."""
    text = f"{value:+.{digits}f}"
    return text[1:] if float(text) == 0 else text.replace("-", "−")


def summary_table(backtest: Backtest, found: Iterable[Line]) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells: the methods over all stocks."""
    heads = ["method", "accuracy", "95 %", "− persistence", "95 %", "log loss", "raw", "s a stock"]
    return heads, [
        [
            line.method,
            percent(line.accuracy.value),
            f"{100 * line.accuracy.low:.1f} to {100 * line.accuracy.high:.1f}",
            "" if line.above is None else points(line.above.value),
            "" if line.above is None else f"{points(line.above.low)} to {points(line.above.high)}",
            "" if line.log_loss is None else f"{line.log_loss:.4f}",
            percent(line.raw),
            f"{line.seconds:.2f}" if line.seconds else "",
        ]
        for line in found
    ]


def category_table(backtest: Backtest, by: str) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells: stocks by the accuracy of a method."""
    heads = [f"{by} has", "stocks", *backtest.methods]
    return heads, [
        [name, str(n), *(percent(means[method]) for method in backtest.methods)]
        for name, n, means in backtest.categories(by)
    ]


def stock_table(backtest: Backtest) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells: stock by stock."""
    model = backtest.methods[0]
    heads = ["stock", "days", *backtest.methods, f"raw, {model}"]
    return heads, [
        [
            result.stock.ticker,
            str(len(result.forecasts[model].probability)),
            *(percent(result.accuracy(method)) for method in backtest.methods),
            percent(float(result.raw(model).copied_correct.mean())),
        ]
        for result in backtest.results
    ]


def raw_table(found: Iterable[Line]) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells: the forecasts in terms of raw prices."""
    heads = ["method", "copied: right", "implied: share of days", "implied: right"]
    return heads, [
        [line.method, percent(line.raw), percent(line.implied), percent(line.implied_right)] for line in found
    ]


def trial_table(backtest: Backtest) -> tuple[list[str], list[list[str]]]:
    """Return heads and cells: the settings tried before the first prediction."""
    heads = ["c2", "tau", "log loss", "accuracy"]
    return heads, [
        [
            f"{trial.c2:g}",
            "–" if trial.tau is None else f"{trial.tau:g}",
            f"{trial.log_loss:.4f}",
            percent(trial.accuracy),
        ]
        for trial in backtest.trials
    ]


def described(backtest: Backtest) -> str:
    """Describe the backtest in one sentence."""
    f, results = backtest.plan.features, backtest.results
    first = min(r.stock.prices.dates[r.start] for r in results)
    last = max(r.stock.prices.dates[-1] for r in results)
    smoothing = (
        "raw prices" if f.smoothing == "none" else f"prices smoothed by {f.smoothing} over {f.span} days"
    )
    text = (
        f"{len(results)} stocks, {backtest.n_forecasts:,} forecasts from {first} to {last}; {smoothing}, "
        f"{2 * f.n_attributes:,} features, trained {_TRAINING[f.training]}"
        f"{', from what stocks have in common' if backtest.plan.common and len(results) > 1 else ''}; "
        f"c2 = {backtest.c2:g}"
    )
    if backtest.tau is not None:
        text += f", tau = {backtest.tau:g} over the last {backtest.plan.last} days"
    return text
