"""Reading and writing files of association rules; rules can also be read from a model."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from crfkit.exceptions import CRFKitError, InputError, ModelFileError
from crfkit.features.template import Template
from crfkit.io.model_file import read_model
from crfkit.io.model_formats import MAGIC
from crfkit.mining.item_names import ItemNames
from crfkit.mining.rules import RULES_KIND, Rules


@dataclass(frozen=True)
class RuleFile:
    """Association rules, with the template and the column names of their attributes."""

    rules: Rules
    template: Template | None  # made the attributes; None: ready-made attributes, or unknown
    columns: tuple[str, ...] | None  # names of the columns that the template uses

    @property
    def names(self) -> ItemNames:
        """Return the names of the items in listings."""
        return ItemNames(self.template, self.columns)

    def save(self, path: str) -> None:
        record: dict[str, Any] = {}
        if self.template is not None:
            record["template"] = self.template.to_record()
        if self.columns is not None:
            record["columns"] = list(self.columns)
        self.rules.save(path, record=record)


def is_own(path: str) -> bool:
    """Return whether the file is in crfkit's own format: rules or a model."""
    if path == "-" or not os.path.isfile(path):
        return False
    with open(path, "rb") as file:
        return file.read(len(MAGIC)) == MAGIC


def load_rules(path: str) -> RuleFile:
    """Load the rules from a file of rules or from a model with rules."""
    if not is_own(path):
        if not os.path.exists(path):
            raise FileNotFoundError(2, os.strerror(2), path)
        raise InputError(f"{path}: expected association rules, as 'crfkit mine DATA -o FILE' writes them")
    header, arrays = read_model(path)
    if header.get("model") != RULES_KIND:
        return _of_model(path)
    try:
        rules = Rules.from_arrays(header, arrays)
        template = Template.from_record(header.get("template"), "the template of the rules")
    except CRFKitError as error:
        raise ModelFileError(f"{path}: {error}") from error
    columns = header.get("columns")
    if columns is not None and not _are_names(columns):
        raise ModelFileError(f"{path}: its names of columns are malformed: {columns!r:.60}")
    return RuleFile(rules, template, None if columns is None else tuple(columns))


def _of_model(path: str) -> RuleFile:
    from crfkit.cli.loading import data_record, load_linear

    tagger, header = load_linear(path)
    if tagger.associations is None:
        raise InputError(f"{path}: expected association rules, but this is a model without rules")
    record = data_record(header) or {}
    return RuleFile(tagger.associations.rules, tagger.template, column_names(record))


def column_names(record: dict[str, Any] | None) -> tuple[str, ...] | None:
    """Return the names of the columns that a template uses; None if the data had no header."""
    if record is None or "names" not in record:
        return None
    return tuple(name for k, name in enumerate(record["names"]) if k != record["label_column"])


def _are_names(columns: Any) -> bool:
    return isinstance(columns, list) and all(isinstance(name, str) for name in columns)


def named(rules: Rules, names: ItemNames, item: str) -> str:
    """Return the item with this name, or with this name in listings."""
    strings: list[str] = rules.vocabulary.strings()
    used = [strings[i] for i in np.unique(rules.items).tolist()]
    if item in used:
        return item
    shown: str | None = next((name for name in used if str(names(name)) == item), None)
    if shown is None:
        some = ", ".join(str(names(name)) for name in used[:3])
        raise InputError(f"no rule has the item {item!r}; items look like {some or '… (there are no rules)'}")
    return shown
