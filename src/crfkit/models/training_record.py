"""The training record in a model file: parameters, objective, history.

No times: the same training must write the same bytes.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from crfkit.exceptions import InputError, ModelFileError
from crfkit.features.edge_attributes import edge_prefixes
from crfkit.features.penalty_groups import groups_record
from crfkit.parameters import Rule


@dataclass(frozen=True)
class TrainingRecord:
    """Parameters, objective and history of training. The defaults are for models of other tools."""

    params: dict[str, Any] = field(default_factory=dict)  # of the estimator
    objective: float = float("nan")
    converged: bool = True
    history: list[dict[str, Any]] = field(default_factory=list)

    def to_header(self) -> dict[str, Any]:
        """Return the record as JSON values, without template and selected features, which the model has.

        ``verbose`` is left out: what training shows must not change the bytes of the file.
        """
        kept = {name: value for name, value in self.params.items() if name not in ("template", "verbose")}
        params = {name: _plain(value) for name, value in kept.items()}
        params = {name: value for name, value in params.items() if _is_json(value)}
        params["features"] = None if self.params.get("features") is None else "selected"
        params["edge_attributes"] = edge_prefixes(self.params.get("edge_attributes")) or None
        params["class_weight"] = weight_pairs(self.params.get("class_weight"))
        if self.params.get("penalty_groups") is not None:
            params["penalty_groups"] = groups_record(self.params["penalty_groups"])
        return {
            "params": params,
            "objective": float(self.objective) if np.isfinite(self.objective) else None,
            "converged": bool(self.converged),
            "history": for_file(self.history),
        }

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> TrainingRecord:
        """Return the record in a model file's header; the defaults if it has none."""
        if not any(name in header for name in ("params", "history", "objective")):
            return cls()
        params, history, objective = (header.get(name) for name in ("params", "history", "objective"))
        if (
            not isinstance(params, dict)
            or not isinstance(history, list)
            or not all(isinstance(record, dict) for record in history)
            or not isinstance(objective, (float, type(None)))
        ):
            raise ModelFileError("cannot read the model: its training record is malformed")
        params = dict(params)
        if "class_weight" in params:
            params["class_weight"] = weights_of_pairs(params["class_weight"])
        try:
            edge_prefixes(params.get("edge_attributes"))
        except InputError as error:
            raise ModelFileError(f"cannot read the model: {error}") from error
        return cls(
            params, float("nan") if objective is None else objective, bool(header.get("converged")), history
        )


class PenaltyRecord(NamedTuple):
    """The penalties that training has found, or that belong to groups of features."""

    c2: float  # the common one
    groups: dict[str, float]
    history: list[dict[str, Any]]

    def to_header(self) -> dict[str, Any]:
        """Return the entries of a file's header."""
        own = {"c2": self.c2, "groups": self.groups, "history": for_file(self.history)}
        return {"penalties": own, "chosen": {"c2": self.c2}}

    @classmethod
    def from_header(cls, header: Mapping[str, Any]) -> PenaltyRecord | None:
        """Return the record in a file's header; None if it has none."""
        own = header.get("penalties")
        if own is None:
            return None
        fields: list[Any] = [own.get(name) if isinstance(own, dict) else None for name in cls._fields]
        c2, groups, history = fields
        if not (
            isinstance(groups, dict)
            and isinstance(history, list)
            and all(isinstance(record, dict) for record in history)
            and groups
            and all(isinstance(p, float) and 0 < p < math.inf for p in [c2, *groups.values()])
        ):
            raise ModelFileError("cannot read the model: its record of penalties is malformed")
        return cls(c2, groups, history)


def for_file(history: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records of training without times, and with None for numbers that JSON does not have."""
    return [
        {name: _finite(value) for name, value in record.items() if name != "seconds"} for record in history
    ]


def chosen_instead(
    params: Mapping[str, Any], header: Mapping[str, Any], rules: Mapping[str, Rule]
) -> dict[str, Any]:
    """Return the values that training has ``chosen`` for parameters that break a class's rules.

    A model trained with c2="largest", loaded by a class that accepts only numbers, gets the c2 found.
    """
    chosen = header.get("chosen", {})
    if not isinstance(chosen, dict):
        raise ModelFileError("cannot read the model: its training record is malformed")
    return {
        name: value
        for name, value in chosen.items()
        if name in params and name in rules and not rules[name][1](params[name])
    }


def _plain(value: Any) -> Any:
    """Return NumPy scalars as Python numbers, and arrays and tuples as lists."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return [_plain(each) for each in value]
    return value.item() if isinstance(value, np.generic) else value


def _finite(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _is_json(value: Any) -> bool:
    if isinstance(value, list):  # sequences by their numbers, as validation= has them
        return all(isinstance(each, (int, list)) and _is_json(each) for each in value)
    return value is None or isinstance(value, (bool, int, float, str))


def weight_pairs(class_weight: Any) -> Any:
    """Return class weights as a model file has them: pairs, because the keys of JSON objects are strings."""
    if not isinstance(class_weight, Mapping):
        return class_weight
    return [[_plain(label), float(weight)] for label, weight in class_weight.items()]


def weights_of_pairs(pairs: Any) -> Any:
    """Return the class weights of a model file."""
    if not isinstance(pairs, list):
        return pairs
    for pair in pairs:
        if (
            not isinstance(pair, list)
            or len(pair) != 2
            or not isinstance(pair[0], (str, int))
            or not isinstance(pair[1], float)
        ):
            raise ModelFileError(f"cannot read the model: its class weights are malformed at {pair!r:.60}")
    return dict(pairs)
