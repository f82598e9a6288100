"""Facts about a fitted estimator, for its picture in a notebook."""

from __future__ import annotations

import math
from typing import Any

from crfkit.exceptions import CRFKitError
from crfkit.models.fitted_model import FittedModel

_MOST_LABELS = 12  # that are named
_UNITS = ("bytes", "kB", "MB", "GB")


def fitted_facts(model: Any) -> dict[str, str]:
    """Return kind, labels, numbers of features, how training ended, and the size of a fitted estimator."""
    tagger: FittedModel = model.tagger_
    shown = ", ".join(str(label) for label in tagger.classes[:_MOST_LABELS])
    facts = {
        "kind": tagger.in_files,
        "labels": f"{len(tagger.classes)}: {shown}{', …' if len(tagger.classes) > _MOST_LABELS else ''}",
        **tagger.facts(),
    }
    history = getattr(model, "history_", getattr(model, "path_", []))
    if history:
        how = "converged" if model.converged_ else "stopped before convergence"
        facts["iterations"] = f"{model.n_iter_ if hasattr(model, 'n_iter_') else len(history):,}, {how}"
    for name in ("objective_", "risk_"):
        value = getattr(model, name, math.nan)
        if math.isfinite(value):
            facts[name[:-1]] = f"{value:,.6g}"
    if any("dev_accuracy" in record for record in history):
        best = max(record.get("dev_accuracy", 0.0) for record in history)
        facts["dev accuracy"] = f"{best:.4f} at its best"
    if not tagger.calibration.is_none:
        facts["calibration"] = str(tagger.calibration)
    size = _size(tagger)
    return facts if size is None else {**facts, "size": size}


def _size(tagger: FittedModel) -> str | None:
    """Return the size of the model's arrays; None if it has parts that no file can hold."""
    try:
        _, arrays = tagger.to_parts()
    except CRFKitError:
        return None
    n = float(sum(array.nbytes for array in arrays.values()))
    unit = 0
    while n >= 1000 and unit < len(_UNITS) - 1:
        n, unit = n / 1000, unit + 1
    return f"{n:.3g} {_UNITS[unit]}"
