"""What lower rooms offer and higher rooms do.

Imports point down: ``models`` may not import ``report``, and yet ``model.report(X, y)`` is a method of every
model. Such a method looks up its function here, by name, when it is first called. The table names modules as
text, so nothing is imported before, and every way up in the house is listed in one place.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

_PLACES = {
    "frame parts": "crfkit.distributed.frames:frame_parts",  # TakesFrames.fit of a Dask data frame
    "report": "crfkit.report.model_report:model_report",  # SequenceLabeller.report
}

# Who reads X, by the package that its type is from and by what X is read for: functions of an estimator and
# of the arguments of its ``fit``.
_DASK = {
    "source": "crfkit.distributed.source:open_collection",  # returns a Source (models/linear)
    "candidates": "crfkit.distributed.candidates:collection_candidates",  # returns Candidates (selection)
    "rules": "crfkit.distributed.mining:collection_rules",  # returns Rules (mining)
}
_ELSEWHERE = {"dask": _DASK, "distributed": _DASK}


def upstairs(name: str) -> Any:
    """Return the function of a higher room that is listed under this name."""
    return fetch(_PLACES[name])


def elsewhere(what: str, X: Any) -> Any:
    """Return the function of a higher room that reads such an X for this purpose; None if there is none."""
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    place = _ELSEWHERE.get(type(first).__module__.partition(".")[0], {}).get(what)
    return None if place is None else fetch(place)


def fetch(place: str) -> Any:
    """Return the object at a place such as ``"crfkit.report.frame:render"``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
