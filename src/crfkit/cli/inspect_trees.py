"""``crfkit inspect`` for a TreeCRF: its columns, feature importances and conjunctions."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crfkit.cli.loading import data_record
from crfkit.cli.tables import fact_lines, file_size, score_matrix, screen_width, shorten
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.models.trees.tagger import Conjunction, TreeTagger

OPTIONS = ()
_IMPORTANT = 12  # features in the overview
_CONJUNCTIONS = 8  # conjunctions in the overview


def dump(
    arguments: argparse.Namespace, tagger: TreeTagger, header: dict[str, Any]
) -> Iterator[tuple[Any, ...]]:
    """Yield all paths of the trees: conditions, label, value."""
    for found in tagger.conjunctions(sys.maxsize, _wanted(arguments, tagger)):
        yield " & ".join(found.conditions), found.label, repr(found.value)


def sections(arguments: argparse.Namespace, tagger: TreeTagger, header: dict[str, Any]) -> list[list[str]]:
    """Return the requested sections as lines of text."""
    overview, shows_top = _overview(arguments), _shows_top(arguments)
    shown = []
    if overview:
        shown += [_summary_lines(arguments.model, tagger, header), _importance_lines(tagger)]
    if overview or shows_top:
        shown.append(_conjunction_lines(_conjunctions(arguments, tagger)))
    if arguments.transitions:
        shown.append(_transition_lines(tagger))
    return shown


def _shows_top(arguments: argparse.Namespace) -> bool:
    return arguments.top is not None or arguments.label is not None


def _overview(arguments: argparse.Namespace) -> bool:
    return not _shows_top(arguments) and not arguments.transitions


def _wanted(arguments: argparse.Namespace, tagger: TreeTagger) -> Any:
    """Return the label that ``--label`` names; None: all labels."""
    return next((label for label in tagger.classes if str(label) == arguments.label), None)


def _conjunctions(arguments: argparse.Namespace, tagger: TreeTagger) -> list[Conjunction]:
    n = arguments.top or (_CONJUNCTIONS if _overview(arguments) else 10)
    return tagger.conjunctions(n, _wanted(arguments, tagger))


def _facts(tagger: TreeTagger, header: dict[str, Any]) -> dict[str, Any]:
    forest, potential = tagger.potential.forest, tagger.potential
    return {
        "labels": len(tagger.classes),
        "columns": len(tagger.schema.columns),
        "window": list(potential.window),
        "rounds": header.get("rounds"),
        "trees": forest.n_trees,
        "leaves": len(forest.leaf),
        "potentials": "joint" if potential.tables is None else "factored",
        "order": 2 if potential.tables is not None and potential.tables.edge2 is not None else 1,
        "decode": tagger.decoding,
    }


def _summary_lines(path: str, tagger: TreeTagger, header: dict[str, Any]) -> list[str]:
    facts = _facts(tagger, header)
    before, after = facts["window"]
    kinds = sum(c.is_category for c in tagger.schema.columns)
    rows = [
        ("labels", f"{facts['labels']:,}", ""),
        ("columns", f"{facts['columns']:,}", f"{kinds} of categories, {facts['columns'] - kinds} of numbers"),
        ("window", f"{before + 1 + after:,}", f"positions, {before} before and {after} after"),
        ("rounds", str(facts["rounds"]), ""),
        ("trees", f"{facts['trees']:,}", ""),
        ("leaves", f"{facts['leaves']:,}", ""),
    ]
    lines = [f"{path}: tree CRF of order {facts['order']}, {facts['potentials']} potentials{file_size(path)}"]
    lines += fact_lines(rows)
    history = header.get("history")
    if isinstance(history, list) and history:
        lines.append(f"  {'training':15}{len(history):>11,}  rounds")
    if isinstance(header.get("objective"), float):
        lines.append(f"  {'objective':15}{header['objective']:>11,.2f}")
    lines.append(f"  {'decoding':15}{facts['decode']:>11}")
    return lines


def _importance_lines(tagger: TreeTagger) -> list[str]:
    shares = tagger.potential.forest.importances()
    order = shares.argsort()[::-1][:_IMPORTANT]
    lines = ["feature importances: share of the total gain of all splits"]
    features = tagger.feature_names
    for place in order.tolist():
        if shares[place] > 0:
            bar = "█" * max(1, round(40 * float(shares[place] / shares[order[0]])))
            lines.append(f"  {features[place]:20} {100 * shares[place]:5.1f} %  {bar}")
    return lines


def _conjunction_lines(found: list[Conjunction]) -> list[str]:
    limit = screen_width() or 10**6
    lines = ["strongest conjunctions: value, training rows, conditions → label"]
    for one in found:
        conditions = " & ".join(one.conditions)
        lines.append(shorten(f"  {one.value:+8.3f}  {one.count:>8,}  {conditions} → {one.label}", limit))
    return lines


def _transition_lines(tagger: TreeTagger) -> list[str]:
    tables = tagger.potential.tables
    if tables is None:
        raise InputError(
            "a joint model has no table of transitions: its trees use the previous label as a feature"
        )
    return score_matrix(tagger.classes, tables.edge)


def to_json(arguments: argparse.Namespace, tagger: TreeTagger, header: dict[str, Any]) -> dict[str, Any]:
    """Return the contents of the model as JSON values, with all digits."""
    shares = tagger.potential.forest.importances().tolist()
    tables = tagger.potential.tables
    return {
        "model": arguments.model,
        "kind": header["model"],
        **_facts(tagger, header),
        "labels": [str(label) for label in tagger.classes],
        "data": data_record(header),
        "importances": {
            name: share for name, share in zip(tagger.feature_names, shares, strict=True) if share > 0
        },
        "conjunctions": [
            {
                "label": str(one.label),
                "conditions": list(one.conditions),
                "value": one.value,
                "rows": one.count,
                "trees": one.n_trees,
            }
            for one in _conjunctions(arguments, tagger)
        ],
        "transitions": None if tables is None else tables.edge.tolist(),
    }
