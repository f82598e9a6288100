"""Forecast the direction of smoothed prices that are pure chance: what an accuracy of 80 % is worth."""

import numpy as np

from crfkit.apps.stocks import Plan, Prices, Settings, run_backtest
from crfkit.apps.stocks.summary import lines, percent, verdict

# Three random walks: nobody can say whether such a price will rise tomorrow.
rng = np.random.default_rng(0)
days = np.arange("2003-01-01", "2004-06-01", dtype="datetime64[D]")
walks = [
    Prices(f"WALK{i}", days, 50 * np.exp(np.cumsum(0.015 * rng.standard_normal(len(days))))) for i in range(3)
]

plan = Plan(Settings(span=10), c2=3.0, constrained=False, learners=False)
backtest = run_backtest(walks, plan)
found = lines(backtest)
for line in found:
    print(f"{line.method:12} smoothed direction {percent(line.accuracy.value)}, raw {percent(line.raw)}")
print()
for sentence in verdict(backtest, found):
    print(sentence)
