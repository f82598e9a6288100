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

# Who trains on X, by the package that its type is from: functions of an estimator and ``Given`` that return a
# ``Source`` (models/linear/source.py).
_DASK = "crfkit.distributed.source:open_collection"
_SOURCES = {"dask": _DASK, "distributed": _DASK}


def upstairs(name: str) -> Any:
    """Return the function of a higher room that is listed under this name."""
    return fetch(_PLACES[name])


def source_of(X: Any) -> Any:
    """Return the function of a higher room that trains on such an X; None if there is none."""
    first = X[0] if isinstance(X, (list, tuple)) and X else X
    place = _SOURCES.get(type(first).__module__.partition(".")[0])
    return None if place is None else fetch(place)


def fetch(place: str) -> Any:
    """Return the object at a place such as ``"crfkit.report.frame:render"``."""
    module, _, name = place.partition(":")
    return getattr(import_module(module), name)
