"""The strongest association rules of a model, for ``crfkit inspect``."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

from crfkit.cli.paint import wants_colour
from crfkit.cli.rule_file import column_names
from crfkit.cli.tables import screen_width
from crfkit.exceptions import InputError
from crfkit.mining.item_names import ItemNames
from crfkit.mining.listing import rules_text
from crfkit.models.linear.facts import Facts


class ModelRules:
    """The n strongest rules of a model, by weight times value, or by support if they have no weights."""

    def __init__(self, facts: Facts, record: dict[str, Any] | None, n: int, label: str | None) -> None:
        associations = facts.tagger.associations
        if associations is None:
            raise InputError("the model has no association rules (crfkit train --associations … mines some)")
        rules, weights, values = associations.rules, facts.rule_weights(), associations.values
        say = rules.support.astype(np.float64)  # [R]
        if weights is not None:
            say = np.abs(weights if values is None else weights * values)
        order = np.argsort(-say, kind="stable")
        if label is not None:
            order = order[rules.labels[order] == facts.labels.index(label)]
        self._all, order = len(order), order[:n]
        self._rules = rules[order]
        self._names = ItemNames(facts.tagger.template, column_names(record))
        if values is not None and not (values % 1).any():
            values = values.astype(np.int64)
        columns: dict[str, Any] = {"weight": weights, "value": values}
        self._more = {name: column[order].tolist() for name, column in columns.items() if column is not None}

    def lines(self) -> list[str]:
        """Return the listing as lines of text."""
        if not len(self._rules):
            return ["no such rules"]
        text = rules_text(
            self._rules,
            len(self._rules),
            names=self._names,
            more=self._more,
            width=screen_width(),
            colour=wants_colour(sys.stdout),
        )
        left = self._all - len(self._rules)
        return [*text.split("\n"), *([f"… and {left:,} more"] if left else [])]

    def to_json(self) -> list[dict[str, Any]]:
        """Return one JSON object per rule."""
        found = []
        for r, rule in enumerate(self._rules):
            record = rule._asdict()
            if rule.fixes is None:
                del record["fixes"]
            found.append({**record, **{name: column[r] for name, column in self._more.items()}})
        return found
