"""``crfkit inspect`` of a TreeCRF: its columns, what its trees ask for, and the conjunctions they found."""

from __future__ import annotations

import argparse
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from crfkit.cli.loading import data_record
from crfkit.cli.messages import UsageError
from crfkit.cli.tables import matrix, screen_width, shorten
from crfkit.exceptions import InputError

if TYPE_CHECKING:
    from crfkit.models.trees.tagger import Conjunction, TreeTagger

_IMPORTANT = 12  # features that the overview shows
_CONJUNCTIONS = 8  # and conjunctions


def run(arguments: argparse.Namespace, tagger: TreeTagger, header: dict[str, Any]) -> int:
    """Print what was asked for."""
    for option in ("attribute", "rules", "template"):
        if getattr(arguments, option):
            raise UsageError(f"--{option} goes with linear models, and {arguments.model} has trees")
    labels = [str(label) for label in tagger.classes]
    if arguments.label is not None and arguments.label not in labels:
        raise InputError(f"the model has no label {arguments.label!r}; it has {', '.join(labels)}")
    wanted = None if arguments.label is None else tagger.classes[labels.index(arguments.label)]
    if arguments.dump:
        for found in tagger.conjunctions(sys.maxsize, wanted):
            print(" & ".join(found.conditions), found.label, repr(found.value), sep="\t")
        return 0
    top = arguments.top
    shows_top = top is not None or arguments.label is not None
    overview = not shows_top and not arguments.transitions
    conjunctions = tagger.conjunctions(top or (_CONJUNCTIONS if overview else 10), wanted)
    if arguments.json:
        _print_json(arguments, tagger, header, conjunctions)
        return 0
    sections = []
    if overview:
        sections += [_summary_lines(arguments.model, tagger, header), _importance_lines(tagger)]
    if overview or shows_top:
        sections.append(_conjunction_lines(conjunctions))
    if arguments.transitions:
        sections.append(_transition_lines(tagger, labels))
    print("\n\n".join("\n".join(lines) for lines in sections if lines))
    return 0


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
        "decode": tagger.decode,
    }


def _summary_lines(path: str, tagger: TreeTagger, header: dict[str, Any]) -> list[str]:
    facts = _facts(tagger, header)
    size = "" if path == "-" else f", {os.path.getsize(path) / 1e6:,.1f} MB"
    before, after = facts["window"]
    kinds = sum(c.is_category for c in tagger.schema.columns)
    rows = [
        ("labels", f"{facts['labels']:,}", ""),
        ("columns", f"{facts['columns']:,}", f"{kinds} of categories, {facts['columns'] - kinds} of numbers"),
        ("window", f"{before + 1 + after:,}", f"positions, {before} before and {after} behind"),
        ("rounds", str(facts["rounds"]), ""),
        ("trees", f"{facts['trees']:,}", ""),
        ("leaves", f"{facts['leaves']:,}", ""),
    ]
    lines = [f"{path}: tree CRF of order {facts['order']}, {facts['potentials']} potentials{size}"]
    lines += [f"  {name:15}{number:>11}  {words}".rstrip() for name, number, words in rows]
    history = header.get("history")
    if isinstance(history, list) and history and isinstance(history[-1].get("seconds"), float):
        lines.append(f"  {'training':15}{len(history):>11,}  rounds, {history[-1]['seconds']:.1f} s")
    if isinstance(header.get("objective"), float):
        lines.append(f"  {'objective':15}{header['objective']:>11,.2f}")
    lines.append(f"  {'decoding':15}{facts['decode']:>11}")
    return lines


def _importance_lines(tagger: TreeTagger) -> list[str]:
    shares = tagger.potential.forest.importances()
    order = shares.argsort()[::-1][:_IMPORTANT]
    lines = ["what the trees ask for, and its share of what all splits gained"]
    features = tagger.feature_names
    for place in order.tolist():
        if shares[place] > 0:
            bar = "█" * max(1, round(40 * float(shares[place] / shares[order[0]])))
            lines.append(f"  {features[place]:20} {100 * shares[place]:5.1f} %  {bar}")
    return lines


def _conjunction_lines(found: list[Conjunction]) -> list[str]:
    limit = screen_width() or 10**6
    lines = ["the conjunctions that carry most: value, training rows, conditions → label"]
    for one in found:
        conditions = " & ".join(one.conditions)
        lines.append(shorten(f"  {one.value:+8.3f}  {one.count:>8,}  {conditions} → {one.label}", limit))
    return lines


def _transition_lines(tagger: TreeTagger, labels: list[str]) -> list[str]:
    tables = tagger.potential.tables
    if tables is None:
        raise InputError(
            "the trees of a joint model ask for the label before themselves: there is no table of transitions"
        )
    cells = [[f"{score:.2f}" for score in row] for row in tables.edge.tolist()]
    return list(matrix("from \\ to", labels, labels, cells))


def _print_json(
    arguments: argparse.Namespace,
    tagger: TreeTagger,
    header: dict[str, Any],
    conjunctions: list[Conjunction],
) -> None:
    shares = tagger.potential.forest.importances().tolist()
    tables = tagger.potential.tables
    result: dict[str, Any] = {
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
            for one in conjunctions
        ],
        "transitions": None if tables is None else tables.edge.tolist(),
    }
    json.dump(result, sys.stdout, ensure_ascii=False, indent=2)
    print()
