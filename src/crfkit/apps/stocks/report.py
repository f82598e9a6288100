"""A backtest as an HTML page: an older name of :mod:`crfkit.report.stocks_page`."""

from crfkit._lazy import moved_to

__getattr__ = moved_to("crfkit.report.stocks_page")
