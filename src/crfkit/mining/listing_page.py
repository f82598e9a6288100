"""Rules as an HTML page: an older name of :mod:`crfkit.report.rules_page`."""

from crfkit._lazy import moved_to

__getattr__ = moved_to("crfkit.report.rules_page")
