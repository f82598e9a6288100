"""What lower rooms offer and higher rooms do.

Imports point down: ``models`` may not import ``report``, and yet ``model.report(X, y)`` is a method of every
model. Such a method looks up its function here, by name, when it is first called. The table names modules as
text, so nothing is imported before, and every way up in the house is listed in one place.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    "report": "crfkit.report.model_report:model_report",  # SequenceLabeller.report
}


def upstairs(name: str) -> Any:
    """Return the function of a higher room that is listed under this name."""
    return fetch(_PLACES[name])


def fetch(place: str) -> Any:
    """Return the object at a place such as ``"crfkit.report.frame:render"``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
