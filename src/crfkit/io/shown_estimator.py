"""Estimators in a notebook: scikit-learn's diagram, or a table of parameters, and facts about the fit."""

from __future__ import annotations

from html import escape
from typing import Any

from crfkit.io.shown_table import ShownTable

_LONGEST = 60  # characters of a value


class ShownEstimator:
    """An estimator that a notebook shows with facts about what ``fit`` has found.

    With scikit-learn installed, the first part is its diagram, as ``sklearn.set_config(display=…)`` says.
    """

    def _facts(self) -> dict[str, str]:
        """Return facts about the fitted model, in order; none before ``fit``."""
        return {}

    def _repr_html_(self) -> str:
        return self._diagram() + self._fitted_html()

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        bundle = {"text/plain": repr(self)}
        above: Any = getattr(super(), "_repr_mimebundle_", None)
        if above is None or "text/html" in above():  # scikit-learn's setting may be plain text
            bundle["text/html"] = self._repr_html_()
        return bundle

    def _diagram(self) -> str:
        above: Any = getattr(super(), "_repr_mimebundle_", None)
        if above is not None:
            return str(above().get("text/html", ""))
        params: dict[str, Any] = self.get_params(deep=False)  # type: ignore[attr-defined]
        rows = [[name, _shortened(repr(value))] for name, value in params.items()]
        return (
            f"<details><summary><code>{escape(repr(self))}</code></summary>"
            f"{ShownTable(['parameter', 'value'], [rows], left=True).html()}</details>"
        )

    def _fitted_html(self) -> str:
        facts = self._facts()
        if not facts:
            return ""
        rows = [[name, value] for name, value in facts.items()]
        return ShownTable([type(self).__name__, "fitted"], [rows], left=True).html()


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
